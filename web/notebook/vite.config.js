// Builds the notebook beside the essay: web/demo/dist/notebook.

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { build } from 'rolldown'
import { defineConfig } from 'vite'
import { fonts } from '../demo/fonts.js'
import { offline } from '../demo/offline.js'
import { policy } from '../demo/policy.js'
import { FRAME_POLICY, SCRIPT } from './src/frame.js'

/** @param {string} path from the repository's root */
const fromRoot = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** The kernels. Some compilers do not make the relaxed build. */
const WASM = fromRoot(
  existsSync(fromRoot('dist/wasm/relaxed.wasm')) ? 'dist/wasm/$1.wasm' : 'dist/wasm/simd.wasm',
)

const digest = `sha256-${createHash('sha256').update(SCRIPT).digest('base64')}`
/**
 * The page runs its own files and nothing else. Its frame evaluates cells, and a frame has at most its page's
 * rights, so the policy allows what the frame needs: see src/frame.js. The nonce is for CodeMirror's styles.
 */
const POLICY = [
  "default-src 'self'",
  `script-src 'self' 'unsafe-eval' '${digest}'`,
  "worker-src 'self' data:",
  "style-src 'self' 'nonce-editor'",
].join('; ')

/** The worker is one file, which the page gives to the frame. The server of the development makes one, too. */
const worker = {
  name: 'worker',
  apply: 'serve',
  /** @param {import('vite').ViteDevServer} server */
  configureServer({ middlewares }) {
    middlewares.use(async (request, response, next) => {
      if (!request.url?.includes('/src/worker.ts?worker_file')) return next()
      const { output } = await build({
        input: fromRoot('web/notebook/src/worker.ts'),
        resolve: { alias: { 'gpt-layers/core': fromRoot('dist/core.js') } },
        output: { format: 'iife' },
        logLevel: 'silent',
        write: false,
      })
      response.setHeader('Content-Type', 'text/javascript').end(output[0].code)
    })
  },
}

const quiet = { checks: { pluginTimings: false } } // the worker takes seconds

export default defineConfig({
  base: './',
  plugins: [svelte(), fonts, policy(POLICY), worker, offline(/^$/, [])],
  resolve: {
    alias: [
      { find: /^gpt-layers\/(simd|relaxed)\.wasm/, replacement: WASM },
      { find: 'gpt-layers/core', replacement: fromRoot('dist/core.js') },
    ],
  },
  cacheDir: fromRoot('build/vite-notebook'), // not that of the essay
  server: { fs: { allow: [fromRoot('')] } },
  define: { FRAME_POLICY: JSON.stringify(FRAME_POLICY(digest)) },
  worker: { format: 'iife', rolldownOptions: quiet },
  build: {
    target: 'es2022',
    outDir: fromRoot('web/demo/dist/notebook'),
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600, // kB, of the editor
    rolldownOptions: quiet,
  },
})
