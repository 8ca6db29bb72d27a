// What the browser's bench calls in its page.

import { contest } from '../contest.js'
import { timeLoad } from '../costs.js'
import { compileLimits } from '../limits.js'
import { onnxruntime } from '../onnxruntime.js'

globalThis.timeLoad = timeLoad
globalThis.contest = async (settings) => {
  // imported only here, so that the pages that time load() do not download it
  const ort = await import('onnxruntime-web/wasm')
  const modules = await compileLimits(async (name) => {
    const response = await fetch(`/build/${name}`)
    return response.ok ? response.arrayBuffer() : undefined
  })
  await contest(settings, [onnxruntime(ort, settings.threads)], modules, globalThis.report)
}
