import { readdirSync, readFileSync } from 'node:fs';
import eslint from '@eslint/js';
import globals from 'globals';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** The folders of `src` from the ground up: each imports from itself and from those before it, in whatever way. */
const ORDER = [
  'generated', 'style', 'lib', 'simulation', 'i18n', 'state', 'studio', 'app', 'offline', 'files', 'pool', 'ui', 'draw', 'headline', 'controls', 'replicas',
  'help', 'hero', 'why', 'search', 'debugger', 'monitor', 'own-request', 'profile', 'workload', 'compare', 'measured-run',
  'deployment', 'sweep', 'lessons', 'essay', 'capacity', 'validation', 'gateway', 'explore', 'page',
];
/** Fetched when they are first needed. What is there from the start imports them with `import()`; it would bring them along otherwise. */
const LATER = [
  'studio', 'pool', 'help', 'hero', 'why', 'search', 'debugger', 'monitor', 'own-request', 'profile', 'workload', 'compare', 'measured-run',
  'deployment', 'sweep', 'lessons', 'essay', 'capacity', 'validation', 'gateway',
];
/** Modules of those folders that the first picture needs. */
const FROM_THE_START = ['studio/trace-file'];

const unknown = readdirSync(new URL('src', import.meta.url)).filter((name) => !ORDER.includes(name));
if (unknown.length > 0) throw new Error(`www/src: the order of folders does not name ${unknown.join(', ')}`);
/** The table of folders in the README: names, and whether they are fetched later. */
const rows = [...readFileSync(new URL('README.md', import.meta.url), 'utf8').matchAll(/^\| (`[a-z0-9-]+`(?:, `[a-z0-9-]+`)*)( !)? \|/gm)];
const told = rows.flatMap(([, names, mark = '']) => names.split(', ').map((name) => name.replaceAll('`', '') + mark)).join();
if (told !== ORDER.map((folder) => (LATER.includes(folder) ? `${folder} !` : folder)).join()) throw new Error('www/README.md: the table of folders is not the order of eslint.config.js');

/** What a folder may not import. */
function imports(folder) {
  const above = ORDER.slice(ORDER.indexOf(folder) + 1).join('|');
  const order = `A folder imports from those before it in the order of eslint.config.js; ${folder} stands before this one.`;
  const later = {
    regex: `^\\.\\./(?!(?:${FROM_THE_START.join('|')})\\.js)(?:${LATER.join('|')})/`,
    allowTypeImports: true,
    message: 'The page fetches this folder when it is first needed: import() it.',
  };
  const upwards = above === '' ? [] : [{ regex: `^\\.\\./(?:${above})/`, message: order }];
  // `import()` and the addresses of workers.
  const address = `value=/^\\.\\.\\u002F(?:${above})\\u002F/`;
  return {
    files: [`src/${folder}/**/*.ts`],
    rules: {
      '@typescript-eslint/no-restricted-imports': ['error', { patterns: LATER.includes(folder) ? upwards : [...upwards, later] }],
      ...(above === '' ? {} : { 'no-restricted-syntax': ['error', ...['ImportExpression', 'NewExpression[callee.name="URL"]'].map((use) => ({ selector: `${use} > Literal[${address}]`, message: order }))] }),
    },
  };
}

export default defineConfig(
  globalIgnores(['pkg/', 'src/generated/', 'node_modules/']),
  eslint.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
    },
  },
  ...ORDER.filter((folder) => !['generated', 'style'].includes(folder)).map(imports),
  // A test may bring along what its subject fetches.
  { files: ['src/**/*.test.ts'], rules: { '@typescript-eslint/no-restricted-imports': 'off' } },
  {
    files: ['**/*.{js,mjs}'],
    languageOptions: { globals: globals.node },
  },
  {
    rules: {
      eqeqeq: 'error',
      'no-console': ['error', { allow: ['warn', 'error'] }],
    },
  },
  { files: ['tests/bench/**', 'tests/lighthouse/**'], languageOptions: { globals: globals.browser }, rules: { 'no-console': 'off' } },
);
