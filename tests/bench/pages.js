// What both benches in the browser share: a server, and pages that call a function of page/main.js.

/** @import { Browser, Page } from 'puppeteer-core' */

import { fileURLToPath } from 'node:url'
import { createServer } from 'vite'

/** Serves the repository with cross-origin isolation, which threads need. */
export async function serve() {
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
 * @param {'timeLoad' | 'contest' | 'generate'} name
 * @param {object} argument
 * @param {(page: Page) => Record<string, Function>} [functions] those that the page can call
 * @returns {Promise<unknown>} the result of the function
 */
export async function inNewPage(browser, url, name, argument, functions = () => ({})) {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  for (const [name, call] of Object.entries(functions(page))) await page.exposeFunction(name, call)
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
