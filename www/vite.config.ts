import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import type { ResolvedConfig } from 'vite';
import type { Rolldown } from 'vite';
import { defineConfig, type Plugin } from 'vitest/config';
import type { Manifest } from './src/offline/copy.js';
import { TABLE_OF_DEFAULT } from './src/simulation/default-table.js';

/**
 * The development server puts styles and its reload client into the page inline, which the page's content
 * security policy forbids. The built page keeps the policy.
 */
const withoutPolicyInDevelopment: Plugin = {
  name: 'without-policy-in-development',
  apply: 'serve',
  transformIndexHtml: (html) => html.replace(/<meta[^>]*http-equiv="Content-Security-Policy"[^>]*>/i, ''),
};

/** What the package is made of, beside this folder. */
const RUST_SOURCES = ['crate', 'Cargo.toml', 'Cargo.lock', 'wasm-pack.toml'].map((name) => resolve(import.meta.dirname, '..', name));
/** Several files are often saved at once. */
const SAVED_TOGETHER_MS = 200;

/** Rebuilds the package when a Rust source changes; the page reloads because the package is one of its sources. */
function rebuildsPackage(): Plugin {
  let wait: NodeJS.Timeout | undefined;
  let isBuilding = false;
  let isStale = false;
  const build = (): void => {
    if (isBuilding) {
      isStale = true;
      return;
    }
    isBuilding = true;
    const cargo = spawn('cargo', ['xtask', 'package'], { cwd: resolve(import.meta.dirname, '..'), stdio: 'inherit' });
    const ended = (problem: string): void => {
      if (problem !== '') console.error(`cargo xtask package: ${problem}; the page keeps the former package`);
      isBuilding = false;
      if (isStale) {
        isStale = false;
        build();
      }
    };
    cargo.once('error', (error) => { ended(error.message); });
    cargo.once('exit', (code) => { ended(code === 0 ? '' : `exit status ${String(code)}`); });
  };
  return {
    name: 'rebuilds-package',
    apply: 'serve',
    configureServer: ({ watcher }) => {
      watcher.add(RUST_SOURCES);
      watcher.on('all', (_event, path) => {
        if (!RUST_SOURCES.some((source) => path === source || path.startsWith(source + sep))) return;
        clearTimeout(wait);
        wait = setTimeout(build, SAVED_TOGETHER_MS);
      });
    },
  };
}

/** Its name is fixed, since browsers look for the next version of it by its name. */
const SERVICE_WORKER = 'sw.js';
/** In the documentation and in previews of links only. */
const PICTURE = 'screenshot.png';
const NOT_OF_THE_PAGE = [PICTURE];
/** Where the page will be, as its host sets it: other sites take the picture of a link from a whole address only. */
const { SERVESCOPE_ADDRESS: ADDRESS = '' } = process.env;

/** The documentation, as `cargo xtask build` has made it, and where it is served. */
const SITE = resolve(import.meta.dirname, '../target/site');
const DOCS = 'docs';

const hashOf = (content: string | Uint8Array, as: 'base64' | 'hex'): string => createHash('sha256').update(content).digest(as);

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((name) => !NOT_OF_THE_PAGE.includes(name))
    .sort();
}

/** What a built script brings along: Vite tells which styles and files its sources name. */
function broughtBy(name: string, bundle: Rolldown.OutputBundle): string[] {
  const file = bundle[name];
  if (file?.type !== 'chunk') return [];
  const { importedAssets = new Set<string>(), importedCss = new Set<string>() } = file.viteMetadata ?? {};
  return [...file.imports, ...importedAssets, ...importedCss];
}

/** What an English reader's page fetches until it is ready: its scripts, and all that these name themselves. */
function fetchedAtStart(bundle: Rolldown.OutputBundle, entry: string): Set<string> {
  const found = new Set<string>();
  const waiting = [entry];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    waiting.push(...broughtBy(name, bundle));
  }
  return found;
}

/** The address of the page and its picture for those who show a preview of a link. */
const tellsAddress: Plugin = {
  name: 'tells-address',
  transformIndexHtml: () => {
    if (ADDRESS === '') return [];
    const tags = { 'og:url': new URL('.', ADDRESS).href, 'og:image': new URL(PICTURE, ADDRESS).href };
    const meta = Object.entries(tags).map(([property, content]) => ({ tag: 'meta', attrs: { property, content } }));
    return [...meta, { tag: 'meta', attrs: { name: 'twitter:card', content: 'summary_large_image' } }];
  },
};

/** The module is most of what the page waits for: it is fetched first of all, since what stands behind a script waits for that. */
const preloadsModule: Plugin = {
  name: 'preloads-module',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { bundle = {} }) => Object.keys(bundle).filter((name) => /^assets\/servescope_bg-.*\.wasm$/.test(name)).map((name) => ({
      tag: 'link', attrs: { rel: 'preload', as: 'fetch', type: 'application/wasm', crossorigin: true, href: `./${name}` }, injectTo: 'head-prepend',
    })),
  },
};

/** What the first run waits for. */
const FIRST_TABLE = `profiles/${TABLE_OF_DEFAULT}.txt`;

/**
 * Writes the build's name into the index, and `files.json`: the same name and the hash of every file that the page may
 * need, so that a copy of it is of one build only; and which of them the page fetches until it is ready, to be weighed.
 */
function manifest(): Plugin {
  let config: ResolvedConfig;
  const within = (folder: string, prefix: string): [string, Uint8Array][] => filesUnder(folder).map((name) => [prefix + name, readFileSync(join(folder, name))]);
  const served = (): [string, Uint8Array][] => [...within(config.publicDir, ''), ...within(SITE, `${DOCS}/`)];
  const integrity = (content: string | Uint8Array): string => `sha256-${hashOf(content, 'base64')}`;
  let build = '';
  return {
    name: 'manifest',
    apply: 'build',
    configResolved: (resolved) => { config = resolved; },
    transformIndexHtml: {
      order: 'post',
      handler: (html, { bundle = {} }) => {
        const output = Object.values(bundle).map((file) => (file.type === 'chunk' && file.fileName === SERVICE_WORKER ? file.code : file.fileName));
        const all = [html, ...output.sort(), ...served().map(([name, content]) => `${name} ${integrity(content)}`)];
        build = hashOf(all.join('\n'), 'hex').slice(0, 16);
        return html.replace('name="servescope-build" content=""', `name="servescope-build" content="${build}"`);
      },
    },
    writeBundle: (_options, bundle) => {
      const folder = resolve(config.root, config.build.outDir);
      cpSync(SITE, join(folder, DOCS), { recursive: true });
      const built = Object.keys(bundle).filter((name) => name !== SERVICE_WORKER && !name.endsWith('.html'));
      const files: Record<string, string> = { '': integrity(readFileSync(join(folder, 'index.html'))) };
      for (const name of built.sort()) files[name] = integrity(readFileSync(join(folder, name)));
      for (const [name, content] of served()) files[name] = integrity(content);
      const index = readFileSync(join(folder, 'index.html'), 'utf8');
      const entry = Object.values(bundle).find((file) => file.type === 'chunk' && file.isEntry && file.name === 'index');
      const atStart = fetchedAtStart(bundle, entry?.fileName ?? '');
      const start = Object.keys(files).filter((name) => name === '' || name === FIRST_TABLE || atStart.has(name) || index.includes(`/${name}"`));
      writeFileSync(join(folder, 'files.json'), JSON.stringify({ build, files, start } satisfies Manifest));
    },
  };
}

export default defineConfig({
  // Relative addresses: the page works from any sub-path of any static host.
  base: './',
  // A missing file is a 404, not a second copy of the page.
  appType: 'mpa',
  publicDir: '../static',
  plugins: [withoutPolicyInDevelopment, rebuildsPackage(), tellsAddress, preloadsModule, manifest()],
  worker: { format: 'es' },
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: 'es2022',
    // `data:` addresses would need a wider content security policy.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      input: { index: 'index.html', sw: 'src/offline/sw.ts' },
      output: { entryFileNames: ({ name }) => (name === 'sw' ? SERVICE_WORKER : 'assets/[name]-[hash].js') },
    },
  },
  server: { host: '127.0.0.1', port: 8080 },
  preview: { host: '127.0.0.1', port: 8080 },
  test: {
    include: ['src/**/*.test.ts', 'tests/**/*.test.ts'],
    environment: 'node',
  },
});
