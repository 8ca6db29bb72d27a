/** @import { Call, Kernel } from './call.js' */
/** @import { Runtime } from '../runtime/runtime.js' */

import {
  CALL_WORDS,
  MAX_ARGUMENTS,
  openCall,
  rerunMissingParts,
  runOpenParts,
  statusOf,
  waitForCall,
} from './call.js'

const STACK_BYTES = 65536 // per worker, as the first instance has
const START_TIMEOUT = 20_000 // ms until all workers must be ready; a busy machine starts them slowly
const PART_TIMEOUT = 5000 // ms that a worker's part may take, beyond 20 times the caller's own parts

/**
 * The message that a worker gets at its start.
 *
 * @typedef {object} WorkerSetup
 * @property {WebAssembly.Module} module
 * @property {WebAssembly.Memory} memory
 * @property {number} stackTop where the worker's stack begins; it grows down
 * @property {string[]} names of the kernels; a call has the index of one
 * @property {Call} call
 */

/**
 * A browser's worker, or Node's.
 *
 * @typedef {object} AnyWorker
 * @property {(message: WorkerSetup) => void} postMessage
 * @property {() => unknown} terminate
 * @property {(type: string, listener: () => void) => void} [addEventListener]
 * @property {(type: string, listener: () => void) => void} [on]
 * @property {() => void} [unref]
 */

/**
 * The threads of one instance: the caller's own, and workers that start once and sleep between calls.
 *
 * A call always ends with the right result, whatever happens to the workers:
 *
 * - A worker that has ended, or wakes up late, takes no part. The other threads take all of them.
 * - A worker that dies within a kernel leaves a part that it has taken. The caller waits for it, 5 s and 20
 *   times as long as its own parts took, and then runs the part itself. The second run writes the same values
 *   again, because a kernel's outputs are not its inputs.
 *
 * After that, and as soon as a worker's end is known, the pool has one thread.
 */
export class Pool {
  /** The number of threads, the caller's included. */
  threads = 1
  /** @type {Call} */ #call
  /** @type {string[]} */ #names
  /** @type {Kernel[]} */ #kernels
  /** @type {number} */ #partTimeout
  /** @type {AnyWorker[]} */ #workers = []
  /** @type {boolean} */ #maySleep

  /**
   * @param {Call} call
   * @param {Record<string, Kernel>} kernels those that take part and parts, by name
   * @param {number} [partTimeout] milliseconds
   */
  constructor(call, kernels, partTimeout = PART_TIMEOUT) {
    this.#call = call
    this.#names = Object.keys(kernels)
    this.#kernels = Object.values(kernels)
    this.#partTimeout = partTimeout
    this.#maySleep = maySleep(call.words)
  }

  /**
   * @param {Runtime} runtime whose memory is shared
   * @param {WebAssembly.Module} module of the runtime's instance
   * @param {number} threads more than 1
   * @returns {Promise<Pool>} of that many threads; of 1 where workers cannot be started
   * @throws {GptLayersError} MEMORY
   */
  static async start({ exports, memory }, module, threads) {
    const words = memory.words(memory.allocate('load', 4 * CALL_WORDS), CALL_WORDS).fill(0)
    const args = memory.doubles(memory.allocate('load', 8 * MAX_ARGUMENTS), MAX_ARGUMENTS)
    const stacks = memory.allocate('load', STACK_BYTES * (threads - 1))
    const kernels = Object.fromEntries(Object.entries(exports).filter(([name]) => name.startsWith('gpt_')))
    const pool = new Pool({ words, args }, /** @type {Record<string, Kernel>} */ (kernels))
    let timer
    try {
      const tooLate = new Promise((_, reject) => (timer = setTimeout(reject, START_TIMEOUT)))
      const stackTops = Array.from({ length: threads - 1 }, (_, i) => stacks + STACK_BYTES * (i + 1))
      const ready = stackTops.map((stackTop) => pool.#startWorker(module, exports.memory, stackTop))
      await Promise.race([Promise.all(ready), tooLate])
      for (const worker of pool.#workers) worker.unref?.() // so that Node exits without waiting for them
      pool.threads = threads
    } catch {
      pool.dispose() // the stacks are not freed: a worker may still use one
    } finally {
      clearTimeout(timer)
    }
    return pool
  }

  /**
   * Runs a kernel in parts.
   *
   * @param {string} kernel
   * @param {readonly number[]} args without part and parts
   * @param {number} parts
   * @returns {number} its status
   */
  run(kernel, args, parts) {
    const call = this.#call
    const begin = performance.now()
    openCall(call, this.#names.indexOf(kernel), args, parts)
    runOpenParts(call, this.#kernels)
    const worked = performance.now() - begin
    const timeout = this.#partTimeout + 20 * worked
    if (!waitForCall(call, { maySleep: this.#maySleep, worked, timeout })) {
      this.dispose()
      rerunMissingParts(call, this.#kernels)
    }
    return statusOf(call)
  }

  /** Ends the workers: from here on there is one thread. */
  dispose() {
    this.threads = 1
    for (const worker of this.#workers.splice(0)) worker.terminate()
  }

  /**
   * @param {WebAssembly.Module} module
   * @param {WebAssembly.Memory} memory
   * @param {number} stackTop
   * @returns {Promise<void>} fulfilled when the worker is ready
   */
  #startWorker(module, memory, stackTop) {
    return new Promise((resolve, reject) => {
      const worker = createWorker()
      this.#workers.push(worker)
      const listen = (worker.on ?? worker.addEventListener)?.bind(worker)
      const fail = () => {
        this.dispose()
        reject()
      }
      for (const type of ['error', 'messageerror', 'exit']) listen?.(type, fail)
      listen?.('message', () => resolve())
      worker.postMessage({ module, memory, stackTop, names: this.#names, call: this.#call })
    })
  }
}

/** @returns {AnyWorker} */
function createWorker() {
  const node = /** @type {any} */ (globalThis).process?.getBuiltinModule?.('node:worker_threads')
  if (node) {
    const here = import.meta.url // in a variable, so that bundlers do not take the worker for an asset
    return new node.Worker(new URL('./gpt-layers-worker.js', here), { execArgv: [] })
  }
  // Vite, webpack, rspack and Parcel recognize a worker by exactly this expression. Other bundlers leave it
  // out.
  return new Worker(new URL('./gpt-layers-worker.js', import.meta.url), { type: 'module' })
}

/**
 * @param {Int32Array} words
 * @returns {boolean} whether this thread may sleep; a browser's main thread may not
 */
function maySleep(words) {
  try {
    Atomics.wait(words, 0, -1, 0) // returns at once: the word is not -1
    return true
  } catch {
    return false
  }
}
