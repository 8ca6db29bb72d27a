/** @import { Board, Kernel } from './parts.js' */
/** @import { Runtime } from '../runtime/runtime.js' */

import { finished, open, SLOTS, statusOf, takeOver, takeParts, WORDS } from './parts.js'

const STACK = 65536 // bytes, as the first instance has
const START = 20_000 // ms that the workers may take to be ready; long, since a busy machine starts them slowly
const PATIENCE = 5000 // ms that a part may take beyond 20 times the caller's own

/**
 * What a worker is told.
 *
 * @typedef {object} Orders
 * @property {WebAssembly.Module} module
 * @property {WebAssembly.Memory} memory
 * @property {number} stack where its stack begins, at the top
 * @property {string[]} names of the kernels, in the order in which calls count them
 * @property {Board} board
 */

/**
 * A browser's worker, or Node's.
 *
 * @typedef {object} AnyWorker
 * @property {(message: Orders) => void} postMessage
 * @property {() => unknown} terminate
 * @property {(type: string, listener: (event: any) => void) => void} [addEventListener]
 * @property {(type: string, listener: (event: any) => void) => void} [on]
 * @property {() => void} [unref]
 */

/**
 * The threads of one instance: the caller's own and its workers, which are started once and sleep between calls.
 *
 * What it guarantees: a call ends, and its result is right, whatever becomes of the workers. A worker that is gone,
 * or slow to wake, takes no part, and the others have done them all. Only one that dies within a kernel leaves a
 * part it has taken. Then the caller waits, 5 s and 20 times what its own parts took, and does that part itself:
 * the kernels write the same values again, for which their outputs must not be their inputs. From then on, and as
 * soon as a worker's end is known, there is one thread.
 */
export class Crew {
  /** How many threads there are, the caller's included. */
  threads = 1
  /** @type {Board} */ #board
  /** @type {string[]} */ #names
  /** @type {Kernel[]} */ #kernels
  /** @type {number} */ #patience
  /** @type {AnyWorker[]} */ #workers = []
  /** @type {boolean} */ #maySleep

  /**
   * @param {Board} board
   * @param {Record<string, Kernel>} kernels those that do a part
   * @param {number} [patience]
   */
  constructor(board, kernels, patience = PATIENCE) {
    this.#board = board
    this.#names = Object.keys(kernels)
    this.#kernels = Object.values(kernels)
    this.#patience = patience
    this.#maySleep = maySleep(board.words)
  }

  /**
   * @param {Runtime} runtime whose memory is shared
   * @param {WebAssembly.Module} module that the runtime's instance is of
   * @param {number} threads more than 1
   * @returns {Promise<Crew>} of so many threads; of 1 where workers cannot be started
   * @throws {GptLayersError} MEMORY
   */
  static async start({ exports, memory }, module, threads) {
    const words = memory.words(memory.allocate('load', 4 * WORDS), WORDS).fill(0)
    const slots = memory.doubles(memory.allocate('load', 8 * SLOTS), SLOTS)
    const stacks = memory.allocate('load', STACK * (threads - 1))
    const kernels = Object.entries(exports).filter(([name]) => name.startsWith('gpt_'))
    const crew = new Crew(
      { words, slots },
      /** @type {Record<string, Kernel>} */ (Object.fromEntries(kernels)),
    )
    let timer
    try {
      const late = new Promise((_, reject) => (timer = setTimeout(reject, START)))
      const tops = Array.from({ length: threads - 1 }, (_, i) => stacks + STACK * (i + 1))
      await Promise.race([Promise.all(tops.map((top) => crew.#enlist(module, exports.memory, top))), late])
      for (const worker of crew.#workers) worker.unref?.() // Node need not wait for them at its end
      crew.threads = threads
    } catch {
      crew.dispose() // their stacks stay where they are: one may be in use yet
    } finally {
      clearTimeout(timer)
    }
    return crew
  }

  /**
   * Runs a kernel in parts.
   *
   * @param {string} kernel that does a part
   * @param {readonly number[]} args but part and parts
   * @param {number} parts
   * @returns {number} its status
   */
  run(kernel, args, parts) {
    const board = this.#board
    const begun = performance.now()
    open(board, this.#names.indexOf(kernel), args, parts)
    takeParts(board, this.#kernels)
    const worked = performance.now() - begun
    if (!finished(board, this.#maySleep, worked, this.#patience + 20 * worked)) {
      this.dispose()
      takeOver(board, this.#kernels)
    }
    return statusOf(board)
  }

  /** Ends the workers: there is one thread from here on. */
  dispose() {
    this.threads = 1
    for (const worker of this.#workers.splice(0)) worker.terminate()
  }

  /**
   * @param {WebAssembly.Module} module
   * @param {WebAssembly.Memory} memory
   * @param {number} stack where it begins, at the top
   * @returns {Promise<void>} fulfilled when the worker is ready
   */
  #enlist(module, memory, stack) {
    return new Promise((resolve, reject) => {
      const worker = createWorker()
      this.#workers.push(worker)
      const listen = (worker.on ?? worker.addEventListener)?.bind(worker)
      const lost = () => {
        this.dispose()
        reject()
      }
      for (const type of ['error', 'messageerror', 'exit']) listen?.(type, lost)
      listen?.('message', () => resolve())
      worker.postMessage({ module, memory, stack, names: this.#names, board: this.#board })
    })
  }
}

/** @returns {AnyWorker} */
function createWorker() {
  const node = /** @type {any} */ (globalThis).process?.getBuiltinModule?.('node:worker_threads')
  if (node) {
    const here = import.meta.url // apart, so that no bundler takes the worker for an asset
    return new node.Worker(new URL('./worker.js', here), { execArgv: [] })
  }
  // In these very words, by which Vite, webpack, rspack and Parcel know a worker. Another bundler does not ship it.
  return new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })
}

/** @param {Int32Array} words whether this thread may; a browser's main thread may not */
function maySleep(words) {
  try {
    Atomics.wait(words, 0, -1, 0) // the word is not -1, so this returns at once
    return true
  } catch {
    return false
  }
}
