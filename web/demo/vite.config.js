import { fileURLToPath } from 'node:url'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'
import { fonts } from './fonts.js'
import { formulas } from './formulas.js'
import { offline } from './offline.js'
import { policy, POLICY } from './policy.js'
import { recordings } from './recordings.js'
import { still } from './still.js'

const fromRoot = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** Built files that are not kept at once: models, kernels as text, the page without JavaScript. */
const LATER = /\.safetensors$|\/(simd|relaxed)[^/]*\.js$|^text\.html$/

const built = new Date().toLocaleDateString('en-US', { dateStyle: 'long', timeZone: 'UTC' })

const quiet = { checks: { pluginTimings: false } } // the subsets of the fonts take seconds

export default defineConfig({
  base: './', // served from any sub-path
  plugins: [svelte(), formulas, fonts, recordings, still, policy(POLICY), offline(LATER, ['icon.svg'])],
  resolve: {
    // The demo imports the package by its public names.
    alias: [
      { find: /^gpt-layers\/simd\.wasm/, replacement: fromRoot('dist/wasm/simd.wasm') },
      { find: 'gpt-layers/stories', replacement: fromRoot('dist/stories') },
      { find: 'gpt-layers', replacement: fromRoot('dist/index.js') },
    ],
  },
  define: { BUILT: JSON.stringify(built) },
  worker: {
    format: 'es', // the builds are imported one by one there, as in the page
    rolldownOptions: {
      ...quiet,
      // WebKit runs a worker's own module a second time, with a state of its own, when a part that is imported
      // later imports it. So that module holds nothing that such a part needs, above all not the package.
      output: {
        codeSplitting: { groups: [{ name: 'work', tags: ['$initial'], test: /^(?!.*\.worker\.ts)/ }] },
      },
    },
  },
  build: {
    target: 'es2022',
    modulePreload: false, // a part's own imports come a moment after it
    assetsInlineLimit: 0,
    rolldownOptions: {
      ...quiet,
      // What the first load needs is one file, and what several sections share is another. As twenty files the first
      // load was 5 kB larger, gzipped.
      output: {
        codeSplitting: {
          groups: [
            // Svelte's part for <select>, which one later section has
            { name: 'select', test: /bindings.select/, includeDependenciesRecursively: false, priority: 2 },
            { name: 'first', tags: ['$initial'], priority: 1 },
            { name: 'shared', minShareCount: 2 },
          ],
        },
      },
      // Svelte's module imports all of its parts. What no chunk uses of it need not run there.
      treeshake: { moduleSideEffects: [{ test: /node_modules.svelte\//, sideEffects: false }] },
    },
  },
  // The server of the development writes styles into the page, which the policy forbids, and reads dist/.
  server: { fs: { allow: [fromRoot('')] } },
})
