// `npm run bench:browser`: gpt-layers beside onnxruntime-web in headless Chromium.

import { fileURLToPath } from 'node:url'
import { createServer } from 'vite'
import { launch } from '../demo/browser.js'
import { firstLoads } from './costs.js'
import { program, THREADS } from './program.js'

/** Serves the repository, isolated as threads want it. */
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
  const { port } = server.httpServer.address()
  return { url: `http://127.0.0.1:${port}/tests/bench/page/`, close: () => server.close() }
}

/**
 * Calls a function of page/main.js in a new context: a process of its own, with empty caches.
 *
 * @param {import('puppeteer-core').Browser} browser
 * @param {string} url
 * @param {string} name
 * @param {object} argument
 * @param {(message: object) => void} [report]
 * @returns {Promise<any>} what the function resolved to
 */
async function inNewPage(browser, url, name, argument, report = () => {}) {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  await page.exposeFunction('report', report)
  // The answer is sent rather than waited for: the protocol gives up on what takes minutes.
  const answer = new Promise((resolve, reject) => {
    page.exposeFunction('resolve', resolve)
    page.exposeFunction('reject', (reason) => reject(new Error(reason)))
    page.on('pageerror', reject)
    page.on('error', reject) // the page crashed
  })
  await page.goto(url)
  await page.waitForFunction((name) => name in globalThis, {}, name)
  await page.evaluate(
    (name, argument) => {
      globalThis[name](argument).then(globalThis.resolve, (error) => globalThis.reject(error.stack))
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
    const timeInNewProcess = (options) => inNewPage(browser, server.url, 'timeLoad', options)
    for (const threads of THREADS) {
      await inNewPage(browser, server.url, 'contest', { ...settings, threads }, report)
      for (const row of await firstLoads({ ...settings, threads }, timeInNewProcess)) report({ row })
    }
  } finally {
    await browser.close()
    await server.close()
  }
})
