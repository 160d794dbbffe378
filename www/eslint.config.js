import eslint from '@eslint/js';
import globals from 'globals';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** Fetched when they are first shown. What is there from the start imports them with `import()`; it would bring them along otherwise. */
const LATER = ['capacity', 'compare', 'debugger', 'deployment', 'gateway', 'hero', 'lessons', 'measured-run', 'monitor', 'own-request', 'pool', 'profile', 'search', 'sweep', 'validation', 'why', 'workload'];
/** Modules of those folders that the first picture needs. */
const FROM_THE_START = ['capacity/load-state', 'deployment/replicas-section', 'gateway/chain', 'profile/profile-own', 'workload/trace-file'];

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
  {
    files: ['src/*.ts', 'src/{controls,draw,i18n,offline,panels,simulation,state}/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': ['error', {
        patterns: [{
          group: [...LATER.map((folder) => `**/${folder}/*.js`), ...FROM_THE_START.map((module) => `!**/${module}.js`)],
          allowTypeImports: true,
          message: 'The page fetches this folder when it is first shown: import() it.',
        }],
      }],
    },
  },
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
