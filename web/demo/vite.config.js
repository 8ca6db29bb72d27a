import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import temml from 'temml'
import { defineConfig } from 'vite'

/** @param {string} path from the repository's root */
const fromRoot = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** Imports a .tex file as the MathML of its formula, so that no formula is typeset in the browser. */
const formulas = {
  name: 'formulas',
  /** @param {string} source @param {string} id */
  transform(source, id) {
    if (!id.endsWith('.tex')) return
    return { code: `export default ${JSON.stringify(temml.renderToString(source.trim(), { throwOnError: true }))}`, map: null }
  },
}

// What the page promises: nothing from anywhere else, no inline script or style; and isolated, as threads will want.
const headers = {
  'Content-Security-Policy': "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
}

/** The size of each build there is, for the page to say. */
const sizes = ['simd', 'relaxed']
  .map((build) => ({ build, path: fromRoot(`dist/wasm/${build}.wasm`) }))
  .filter(({ path }) => existsSync(path))
  .map(({ build, path }) => [build, statSync(path).size])

export default defineConfig({
  base: './', // served from any sub-path
  plugins: [svelte(), formulas],
  resolve: {
    // The demo imports the package by its public name; the package lies right here.
    alias: { 'gpt-layers': fromRoot('dist/index.js') },
  },
  define: { WASM_BYTES: JSON.stringify(Object.fromEntries(sizes)) },
  build: { target: 'es2022', assetsInlineLimit: 0 },
  preview: { port: 4173, headers },
})
