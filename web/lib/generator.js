// The worker of generateAsync: a runtime of its own, which writes one text at a time. In shared memory its
// heap is an arena of the instance that started it, and the model's weights are that instance's.

/** @import { GeneratedToken } from './generate/sample.js' */
/** @import { Beginning, WeightPlace } from './generate/session.js' */
/** @import { GPTModelConfig } from './layers/gptmodel.js' */
/** @import { Exports } from './runtime/runtime.js' */

import { GptLayersError } from './errors.js'
import { generateTokens } from './generate/generate.js'
import { GPTModel } from './layers/gptmodel.js'
import { namedModules } from './layers/module.js'
import { Arena } from './runtime/arena.js'
import { Memory } from './runtime/memory.js'
import { Runtime } from './runtime/runtime.js'
import { Int8Weight } from './tensor/int8weight.js'
import { Tensor } from './tensor/tensor.js'
import { Pool } from './threads/pool.js'

const node = /** @type {any} */ (globalThis).process?.getBuiltinModule?.('node:worker_threads')
const port = node?.parentPort ?? globalThis

/** @type {Exports} */
let exports
/** The most bytes of the memory. */
let maxBytes = 0
/** @type {Memory} */
let heap
/** The session's weights. @type {(Tensor | Int8Weight)[]} */
let weights = []
/** The session's text. @type {Generator<GeneratedToken, void, undefined>} */
let tokens
/** The number in [0, 1) that draws the next token. */
let random = 0

/** @param {Beginning} beginning */
function begin({ config, weights: descriptions, places, ids, generation, lease, pool }) {
  const { memory, __heap_base } = exports
  const ask = (/** @type {number} */ bytes) => port.postMessage({ bytes })
  if (lease) exports.gpt_stack_set(lease.stackTop)
  heap = lease
    ? new Arena(memory, lease.block, lease.words, maxBytes, ask)
    : new Memory(memory, __heap_base.value, maxBytes)
  const runtime = new Runtime(exports, heap)
  if (pool) {
    const kernels = pool.names.map((name) => [name, exports[/** @type {`gpt_${string}`} */ (name)]])
    const caller = new Pool(pool.call, Object.fromEntries(kernels))
    caller.threads = pool.threads
    runtime.usePool(caller)
  }
  const model = runtime.withMeta(() => new GPTModel(runtime, /** @type {GPTModelConfig} */ (config))).eval()
  weights = descriptions.map((description) => weightOf(runtime, description))
  const modules = new Map(namedModules(model))
  for (const [path, property, index] of places) {
    const weight = weights[index]
    const module = /** @type {any} */ (modules.get(path))
    if (Tensor.isTensor(weight)) module[property] = weight
    else module[property].becomeInt8(weight)
  }
  tokens = generateTokens(model, ids, generation, () => random)
}

/**
 * @param {Runtime} runtime
 * @param {WeightPlace} place
 * @returns {Tensor | Int8Weight} in that place; in this worker's memory where there is none
 */
function weightOf(runtime, { shape, groupSize, byteOffset }) {
  const where = 'GPTModel.generateAsync'
  if (byteOffset === null) {
    return groupSize
      ? Int8Weight.empty(runtime, where, shape, groupSize)
      : Tensor.empty(runtime, where, shape)
  }
  return groupSize
    ? Int8Weight.at(runtime, shape, groupSize, byteOffset)
    : Tensor.at(runtime, shape, byteOffset)
}

/**
 * @param {any} message
 * @returns {unknown} the answer
 */
function answer(message) {
  if (message.config !== undefined) begin(message)
  else if (message.piece !== undefined) {
    const { weight, begin, piece } = message
    heap.bytes(weights[weight].byteOffset + begin, piece.byteLength).set(new Uint8Array(piece))
  } else {
    random = message.random
    return tokens.next().value
  }
}

const hear = (/** @type {{ data: unknown }} */ { data }) => {
  try {
    port.postMessage({ value: answer(data) })
  } catch (error) {
    const isOurs = error instanceof GptLayersError
    const [code, message] = isOurs ? [error.code, error.message] : ['INTERNAL', String(error)]
    port.postMessage({ error: { code, message } })
  }
}

port.onmessage = (/** @type {{ data: any }} */ { data: { module, memory, maxBytes: most } }) => {
  // Synchronously, so that a failure is an error event in the thread that started this worker.
  const instance = new WebAssembly.Instance(module, memory ? { env: { memory } } : undefined)
  exports = /** @type {any} */ (memory ? { ...instance.exports, memory } : instance.exports)
  maxBytes = most
  port.onmessage = hear
  port.postMessage('ready')
}

// The instance sends its memory only to a worker that says this.
port.postMessage(`gpt-layers ${VERSION} generator`)
