// The functions that the browser's bench calls in its page.

import { load } from '../../../dist/index.js'
import { contest } from '../contest.js'
import { compileLimits } from '../limits.js'
import { onnxruntime } from '../onnxruntime.js'
import { timeLoad } from '../time-load.js'

/** @import { Row, Settings } from '../contest.js' */
/** @import { LoadOptions } from '../ours.js' */

/** Defined by browser.js: sends a message to the bench. */
const { report } = /** @type {{ report: (message: { row?: Row, note?: string }) => void }} */ (
  /** @type {unknown} */ (globalThis)
)

Object.assign(globalThis, {
  timeLoad: (/** @type {LoadOptions} */ options) => timeLoad(load, options),

  contest: async (/** @type {Settings} */ settings) => {
    // Imported here, so that the pages that time load() do not download onnxruntime-web.
    const ort = await import('onnxruntime-web/wasm')
    const modules = await compileLimits(async (name) => {
      const response = await fetch(`/build/${name}`)
      return response.ok ? response.arrayBuffer() : undefined
    })
    await contest(settings, [onnxruntime(ort, settings.threads)], modules, report)
  },
})
