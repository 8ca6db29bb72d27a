// Few rules: those that find mistakes, and those that keep the imports going one way. Formatting is Prettier's
// job, types are TypeScript's.

import js from '@eslint/js'
import imports from 'eslint-plugin-import-x'
import svelte from 'eslint-plugin-svelte'
import globals from 'globals'
import typescript from 'typescript-eslint'

/**
 * The folders of web/lib, and the other folders that a file in each imports, types included.
 *
 * @type {Record<string, string[]>}
 */
const FOLDERS = {
  threads: ['wasm'],
  runtime: ['threads', 'wasm'],
  tensor: ['runtime'],
  files: ['runtime', 'tensor'],
  layers: ['runtime', 'tensor', 'files'],
  optim: ['runtime', 'tensor'],
  models: ['runtime', 'tensor', 'files', 'layers'],
}

/** The files beside the folders that every folder may import. */
const COMMON = 'check|config|errors|typed'

const restrictImports = (patterns) => ({ 'no-restricted-imports': ['error', { patterns }] })

const oneWay = Object.entries(FOLDERS).map(([folder, others]) => ({
  files: [`web/lib/${folder}/**`],
  rules: restrictImports([
    {
      regex: `^(?!\\./|\\.\\./(?:${COMMON})\\.ts$|\\.\\./(?:${others.join('|')})/)`,
      message: `FOLDERS in eslint.config.js says what web/lib/${folder} imports.`,
    },
  ]),
}))

/** What only a few files of web/lib may do: a check of the syntax, and these files. */
const ONLY = [
  {
    selector:
      'MemberExpression[object.name="WebAssembly"][property.name=/^(compile|instantiate|validate)/], ' +
      'NewExpression[callee.object.name="WebAssembly"]',
    message: 'WebAssembly is instantiated by load.ts and by the threads only.',
    files: ['web/lib/load.ts', 'web/lib/threads/worker.ts'],
  },
  {
    selector: 'MemberExpression[property.name=/^(buffer|grow)$/]',
    message: 'Views of the heap are made by memory.ts only: others would be detached when the heap grows.',
    files: ['web/lib/runtime/memory.ts'],
  },
  {
    selector: 'CallExpression[callee.property.name=/^gpt_(?!.*_size$|is_relaxed$|dot_is_fast$|stack_set$)/]',
    message: 'Kernels are called by run of runtime.ts only.',
    files: [],
  },
]

const restrictSyntax = (restricted) => ({
  'no-restricted-syntax': ['error', ...restricted.map(({ selector, message }) => ({ selector, message }))],
})

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
  {
    files: ['web/notebook/*.mjs'],
    languageOptions: {
      globals: Object.fromEntries(['plot', 'heatmap', 'dots', 'openFile'].map((name) => [name, 'readonly'])),
    },
  },
  {
    files: ['web/lib/**/*.ts'],
    plugins: { 'import-x': imports },
    settings: { 'import-x/extensions': ['.ts'] },
    rules: {
      'import-x/no-cycle': 'error',
      ...restrictImports([{ regex: '^(?!\\./)', message: 'web/lib imports nothing but itself.' }]),
      ...restrictSyntax(ONLY),
    },
  },
  ...oneWay,
  // A tensor knows the step that made it, and the steps make tensors.
  {
    files: ['web/lib/tensor/{int8weight,tape,tensor}.ts'],
    rules: { 'import-x/no-cycle': 'off' },
  },
  ...ONLY.map(({ files }) => ({
    files,
    rules: restrictSyntax(ONLY.filter((other) => other.files !== files)),
  })).filter(({ files }) => files.length > 0),
  {
    files: ['web/demo/**'],
    rules: restrictImports([
      {
        regex: '(^|/)(lib|dist)/|^gpt-layers/(?!stories/|\\w+\\.wasm)',
        message: 'The page imports gpt-layers as any user would.',
      },
    ]),
  },
  {
    files: ['web/demo/src/**'],
    rules: { 'no-restricted-globals': ['error', 'WebAssembly'] },
  },
  {
    files: ['web/demo/src/sections/*/**'],
    rules: restrictImports([
      {
        regex: '^\\.\\./[\\w-]+/',
        message: 'No section imports another: what two sections need stands in src/.',
      },
    ]),
  },
  {
    files: ['web/demo/src/load.ts'],
    rules: { 'no-restricted-globals': 'off' },
  },
]
