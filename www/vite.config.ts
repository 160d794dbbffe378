import { defineConfig, type Plugin } from 'vitest/config';

/**
 * The development server puts styles and its reload client into the page inline, which the page's content
 * security policy forbids. The built page keeps the policy.
 */
const withoutPolicyInDevelopment: Plugin = {
  name: 'without-policy-in-development',
  apply: 'serve',
  transformIndexHtml: (html) => html.replace(/<meta[^>]*http-equiv="Content-Security-Policy"[^>]*>/i, ''),
};

/** The list of everything that was built: what the page needs without a network, fetched so far or not. */
const listOfFiles: Plugin = {
  name: 'list-of-files',
  apply: 'build',
  generateBundle(_options, bundle) {
    const source = JSON.stringify(Object.keys(bundle).filter((name) => !name.endsWith('.html')));
    this.emitFile({ type: 'asset', fileName: 'files.json', source });
  },
};

export default defineConfig({
  // Relative addresses: the page works from any sub-path of any static host.
  base: './',
  // A missing file is a 404, not a second copy of the page.
  appType: 'mpa',
  publicDir: '../static',
  plugins: [withoutPolicyInDevelopment, listOfFiles],
  worker: { format: 'es' },
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: 'es2022',
    // `data:` addresses would need a wider content security policy.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { host: '127.0.0.1', port: 8080 },
  preview: { host: '127.0.0.1', port: 8080 },
  test: {
    include: ['src/**/*.test.ts', 'tests/**/*.test.ts'],
    environment: 'node',
  },
});
