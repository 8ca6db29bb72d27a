// Few rules: those that find mistakes. Formatting is Prettier's job, types are TypeScript's.

import js from '@eslint/js'
import svelte from 'eslint-plugin-svelte'
import globals from 'globals'
import typescript from 'typescript-eslint'

export default [
  { ignores: ['**/dist/', '**/build/', '**/node_modules/', '**/.svelte-check/'] },
  js.configs.recommended,
  ...svelte.configs.recommended,
  {
    languageOptions: {
      globals: { ...globals.browser, ...globals.node, WASM_BYTES: 'readonly' },
      parserOptions: { ecmaFeatures: { jsx: true } },
    },
    rules: {
      'no-unused-vars': [
        'error',
        { ignoreRestSiblings: true, argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
      'no-regex-spaces': 'off', // PyTorch's printed output is aligned by spaces
      'svelte/no-at-html-tags': 'off', // used only with formulas, which the build makes from .tex files
      'svelte/no-useless-mustaches': 'off', // {' '} keeps a space at the end of a line
      'svelte/prefer-svelte-reactivity': 'off', // state is replaced as a whole, never changed in place
    },
  },
  { files: ['**/*.ts'], languageOptions: { parser: typescript.parser } },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: typescript.parser } },
  },
  {
    // The compiler checks these, and knows types and overloads.
    files: ['**/*.ts', '**/*.svelte'],
    rules: {
      'no-dupe-class-members': 'off',
      'no-redeclare': 'off',
      'no-undef': 'off',
      'no-unused-vars': 'off',
    },
  },
  {
    files: ['web/lib/**'],
    languageOptions: {
      globals: { VERSION: 'readonly', WORKER_CODE: 'readonly' },
    }, // see web/bundle.js
  },
  {
    files: ['tests/consumers/apps/layer.spec.js'],
    languageOptions: { globals: { test: 'readonly', expect: 'readonly' } },
  },
]
