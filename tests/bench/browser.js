// `./build.sh bench-browser`: gpt-layers beside onnxruntime-web in headless Chromium.

/** @import { Browser } from 'puppeteer-core' */
/** @import { LoadOptions } from './ours.js' */

import { fileURLToPath } from 'node:url'
import { createServer } from 'vite'
import { launch } from '../demo/browser.js'
import { firstLoads } from './costs.js'
import { program, THREADS } from './program.js'

/** Serves the repository with cross-origin isolation, which threads need. */
async function serve() {
  const server = await createServer({
    configFile: false,
    root: fileURLToPath(new URL('../../', import.meta.url)),
    cacheDir: 'build/vite',
    appType: 'mpa',
    logLevel: 'warn',
    optimizeDeps: { noDiscovery: true },
    server: {
      host: '127.0.0.1',
      port: 0,
      hmr: false,
      watch: null,
      headers: {
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cross-Origin-Embedder-Policy': 'require-corp',
      },
    },
  })
  await server.listen()
  const [url] = server.resolvedUrls?.local ?? []
  return { url: `${url}tests/bench/page/`, close: () => server.close() }
}

/**
 * Calls a function of page/main.js in a new browser context, which has its own process and empty caches.
 *
 * @param {Browser} browser
 * @param {string} url
 * @param {'timeLoad' | 'contest'} name
 * @param {object} argument
 * @param {(message: object) => void} [report]
 * @returns {Promise<unknown>} the result of the function
 */
async function inNewPage(browser, url, name, argument, report = () => {}) {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  await page.exposeFunction('report', report)
  // The page sends its answer. Waiting for evaluate() would run into the protocol's timeout after some
  // minutes.
  const answer = new Promise((resolve, reject) => {
    page.exposeFunction('resolve', resolve)
    page.exposeFunction('reject', (/** @type {string} */ reason) => reject(new Error(reason)))
    page.on('pageerror', reject)
    page.on('error', reject) // The page has crashed.
  })
  await page.goto(url)
  await page.waitForFunction((name) => name in globalThis, {}, name)
  await page.evaluate(
    (name, argument) => {
      const page = /** @type {Record<string, (argument: unknown) => Promise<unknown>>} */ (
        /** @type {unknown} */ (globalThis)
      )
      page[name](argument).then(page.resolve, (error) => page.reject(error.stack))
    },
    name,
    argument,
  )
  const result = await answer
  await context.close()
  return result
}

await program('bench-browser', { onnxruntime: 'onnxruntime-web' }, async (settings, report) => {
  const server = await serve()
  const browser = await launch()
  try {
    report({ runtime: await browser.version() })
    const timeInNewProcess = async (/** @type {LoadOptions} */ options) =>
      /** @type {number | null} */ (await inNewPage(browser, server.url, 'timeLoad', options))
    for (const threads of THREADS) {
      await inNewPage(browser, server.url, 'contest', { ...settings, threads }, report)
      for (const row of await firstLoads({ ...settings, threads }, timeInNewProcess)) report({ row })
    }
  } finally {
    await browser.close()
    await server.close()
  }
})
