// The functions that the browser's bench calls in its page.

import { load } from '../../../dist/index.js'
import { contest } from '../contest.js'
import { compileLimits } from '../limits.js'
import { onnxruntime } from '../onnxruntime.js'
import { timeLoad } from '../time-load.js'

/** @import { Settings } from '../contest.js' */
/** @import { Task } from '../generate/browser.js' */
/** @import { LoadOptions } from '../ours.js' */

/** Defined by the bench: sends a message to it. */
const report = (/** @type {object} */ message) =>
  /** @type {{ report: (message: object) => Promise<void> }} */ (/** @type {unknown} */ (globalThis)).report(
    message,
  )

Object.assign(globalThis, {
  timeLoad: (/** @type {LoadOptions} */ options) => timeLoad(load, options),

  generate: async (/** @type {Task} */ task) => {
    const { generate } = await import('../generate/page.js')
    await generate(task, report)
  },

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
