// A thread of the crew in threads.js: an instance of the same WebAssembly on the same memory, which does parts of
// calls until it is terminated. Between calls it sleeps; it never returns to its event loop.

/** @import { Kernel } from './parts.js' */
/** @import { Orders } from './threads.js' */

import { awaitParts, takeParts } from './parts.js'

const node = /** @type {any} */ (globalThis).process?.getBuiltinModule?.('node:worker_threads')
const port = node?.parentPort ?? globalThis

port.onmessage = (/** @type {{ data: Orders }} */ { data: { module, memory, stack, names, board } }) => {
  // At once, not asynchronously, so that a failure is an error event for the one who started us.
  const instance = new WebAssembly.Instance(module, { env: { memory } })
  const exports = /** @type {Record<string, Kernel>} */ (instance.exports)
  exports.gpt_stack_set(stack)
  const kernels = names.map((name) => exports[name])
  port.postMessage('ready')
  for (let worked = 0; ;) {
    awaitParts(board, worked)
    const begun = performance.now()
    takeParts(board, kernels)
    worked = performance.now() - begun
  }
}
