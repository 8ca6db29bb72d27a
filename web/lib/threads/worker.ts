// A worker of a pool: an instance of the same WebAssembly on the same memory. It runs parts of calls until it
// is terminated, sleeps between calls, and never returns to its event loop.

import type { WorkerSetup } from './threads.ts'
import { type Kernel, serve } from './pool.ts'

const node = globalThis.process?.getBuiltinModule?.('node:worker_threads')
const port: MessagePortLike = node?.parentPort ?? globalThis

port.onmessage = ({ data: { module, memory, stackTop, names, call } }: { data: WorkerSetup }) => {
  // Synchronously, so that a failure is an error event in the thread that started this worker.
  const instance = new WebAssembly.Instance(module, { env: { memory } })
  const functions = instance.exports as Record<string, Kernel>
  functions.gpt_stack_set(stackTop)
  const kernels = names.map((name) => functions[name])
  port.postMessage('ready')
  serve(call, kernels)
}

// The pool sends its memory only to a worker that says this.
port.postMessage(`gpt-layers ${VERSION}`)
