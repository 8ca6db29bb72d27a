// `./build.sh bench-browser`: gpt-layers beside onnxruntime-web in headless Chromium.

/** @import { LoadOptions } from './ours.js' */

import { launch } from '../demo/browser.js'
import { firstLoads } from './costs.js'
import { main as generate } from './generate/browser.js'
import { inNewPage, serve } from './pages.js'
import { program, THREADS } from './program.js'

if (process.argv[2] === 'generate') {
  await generate(process.argv.slice(3))
  process.exit()
}
await program('bench-browser', { onnxruntime: 'onnxruntime-web' }, async (settings, report) => {
  const server = await serve()
  const browser = await launch()
  try {
    report({ runtime: await browser.version() })
    const timeInNewProcess = async (/** @type {LoadOptions} */ options) =>
      /** @type {number | null} */ (await inNewPage(browser, server.url, 'timeLoad', options))
    for (const threads of THREADS) {
      await inNewPage(browser, server.url, 'contest', { ...settings, threads }, () => ({ report }))
      for (const row of await firstLoads({ ...settings, threads }, timeInNewProcess)) report({ row })
    }
  } finally {
    await browser.close()
    await server.close()
  }
})
