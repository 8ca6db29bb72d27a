/** @import { Call, Kernel } from './call.js' */
/** @import { Runtime } from '../runtime/runtime.js' */

import { describe } from '../check.js'
import {
  CALL_WORDS,
  MAX_ARGUMENTS,
  openCall,
  rerunMissingParts,
  runOpenParts,
  statusOf,
  waitForCall,
} from './call.js'
import { warnOfOneThread } from './warn.js'

const STACK_BYTES = 65536 // per worker, as the first instance has
const START_TIMEOUT = 20_000 // ms until a worker must be ready; a busy machine starts it slowly
const FOREIGN_TIMEOUT = 5000 // the same for a worker that the user starts, which may be another program's
const PART_TIMEOUT = 5000 // ms that a worker's part may take, beyond 20 times the caller's own parts

/**
 * The message that a worker gets once it has said that it is ours.
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
 * @property {(message: object) => void} postMessage
 * @property {() => unknown} terminate
 */

/**
 * A way to start a worker.
 *
 * @typedef {object} Way
 * @property {string} name for messages
 * @property {() => AnyWorker} create
 * @property {number} timeout milliseconds until the worker must be ready
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
  /** Why there is one thread; null where there are more. @type {string | null} */
  reason = null
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
   * @param {() => AnyWorker} [createWorker] the user's; by default the package starts its workers itself
   * @returns {Promise<Pool>} of that many threads; of 1, with a reason, where workers cannot be started
   * @throws {GptLayersError} MEMORY
   */
  static async start({ exports, memory }, module, threads, createWorker) {
    const words = memory.words(memory.allocate('load', 4 * CALL_WORDS), CALL_WORDS).fill(0)
    const args = memory.doubles(memory.allocate('load', 8 * MAX_ARGUMENTS), MAX_ARGUMENTS)
    const stacks = memory.allocate('load', STACK_BYTES * (threads - 1))
    const kernels = Object.fromEntries(Object.entries(exports).filter(([name]) => name.startsWith('gpt_')))
    const pool = new Pool({ words, args }, /** @type {Record<string, Kernel>} */ (kernels))
    const setups = Array.from({ length: threads - 1 }, (_, i) => ({
      module,
      memory: exports.memory,
      stackTop: stacks + STACK_BYTES * (i + 1),
      names: pool.#names,
      call: pool.#call,
    }))
    await pool.#startWorkers(createWorker ? [fromUser(createWorker)] : findWays(), setups)
    return pool
  }

  /**
   * Starts all workers in the first way that works. The stacks of workers that fail are never freed, because
   * such a worker may still run.
   *
   * @param {Way[]} ways
   * @param {WorkerSetup[]} setups one for each worker
   */
  async #startWorkers(ways, setups) {
    const violations = watchPolicy()
    const failures = []
    for (const way of ways) {
      try {
        await this.#startInOneWay(way, setups, way === ways.at(-1))
        this.threads = setups.length + 1
        if (browserWays?.includes(way)) browserWays = [way]
        break
      } catch (error) {
        this.#endWorkers()
        failures.push(`${way.name}: ${/** @type {Error} */ (error).message}`)
      }
    }
    const forbidden = violations.stop()
    if (this.threads > 1) return
    this.reason = forbidden
      ? "the Content-Security-Policy forbids workers: add worker-src blob:, or worker-src 'self' and load's worker option"
      : `no worker could start (${failures.join('; ')})`
  }

  /**
   * @param {Way} way
   * @param {WorkerSetup[]} setups one for each worker
   * @param {boolean} together starts all at once; otherwise one goes first, so that a way that is forbidden
   *   fails only once
   * @returns {Promise<void>} fulfilled when all workers are ready
   */
  async #startInOneWay({ create, timeout }, setups, together) {
    let timer
    const message = `it was not ready after ${timeout / 1000} s`
    const tooLate = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(message)), timeout)
    })
    try {
      const first = together ? setups.length : 1
      for (const group of [setups.slice(0, first), setups.slice(first)]) {
        await Promise.race([Promise.all(group.map((setup) => this.#startWorker(create, setup))), tooLate])
      }
    } finally {
      clearTimeout(timer)
    }
    for (const worker of this.#workers) {
      if ('unref' in worker) /** @type {any} */ (worker).unref() // so that Node exits without waiting for it
    }
  }

  /**
   * @param {Way['create']} create
   * @param {WorkerSetup} setup
   * @returns {Promise<void>} fulfilled when the worker is ready
   */
  #startWorker(create, setup) {
    return new Promise((resolve, reject) => {
      const worker = create()
      if (typeof worker?.postMessage !== 'function') throw new Error(`got ${describe(worker)}, not a Worker`)
      this.#workers.push(worker)
      const fail = (/** @type {string} */ why) => {
        if (!this.#workers.includes(worker)) return // it has been ended
        reject(new Error(why))
        if (this.threads > 1) this.#lose(`a worker has ended: ${why}`)
      }
      let isOurs = false
      const hear = (/** @type {unknown} */ message) => {
        if (!isOurs && message === `gpt-layers ${VERSION}`) {
          isOurs = true
          try {
            worker.postMessage(setup)
          } catch (error) {
            fail(String(error)) // this page must not share memory
          }
        } else if (isOurs && message === 'ready') resolve()
        else fail(`it is not gpt-layers/worker.js of version ${VERSION}: it said ${describe(message)}`)
      }
      listen(worker, {
        message: hear,
        error: (event) => fail(event?.message || 'it could not be loaded'),
        messageerror: () => fail('it cannot share memory with its creator'),
        exit: (code) => fail(`it exited with code ${code}`),
      })
    })
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
      this.#lose(`a worker did not finish its part of a call in ${Math.round(timeout)} ms`)
      rerunMissingParts(call, this.#kernels)
    }
    return statusOf(call)
  }

  /** Ends the workers: from here on there is one thread. */
  dispose() {
    this.threads = 1
    this.reason ??= 'the instance was disposed'
    this.#endWorkers()
  }

  /** @param {string} reason why the workers are ended although the instance lives */
  #lose(reason) {
    this.reason = reason
    this.dispose()
    warnOfOneThread(reason)
  }

  #endWorkers() {
    for (const worker of this.#workers.splice(0)) worker.terminate()
  }
}

/**
 * @param {AnyWorker} worker
 * @param {Record<string, (event: any) => void>} listeners by type of event; that of messages gets the message
 */
function listen(worker, { message, ...others }) {
  const { on, addEventListener } = /** @type {any} */ (worker)
  const add = (on ?? addEventListener).bind(worker)
  add('message', on ? message : (/** @type {MessageEvent} */ { data }) => message(data))
  for (const [type, listener] of Object.entries(others)) add(type, listener)
}

/**
 * The ways that a browser has, the best one first; once one has worked, that one.
 *
 * @type {Way[] | undefined}
 */
let browserWays

/** @returns {Way[]} the ways to start a worker here, the best one first */
function findWays() {
  const node = /** @type {any} */ (globalThis).process?.getBuiltinModule?.('node:worker_threads')
  if (node) return [fromNode(node)]
  browserWays ??= hasFile() ? [fromFile, fromBlob] : [fromBlob, fromFile]
  return browserWays
}

const workerCode = () => WORKER_CODE

/** Node, Deno and Bun. @param {any} node its worker_threads @returns {Way} */
const fromNode = (node) => ({
  name: 'node:worker_threads',
  create: () => new node.Worker(workerCode(), { eval: true, execArgv: [] }),
  timeout: START_TIMEOUT,
})

/** @type {string | undefined} */
let blobUrl
/** Needs no file, and so no bundler's help; a Content-Security-Policy may forbid it. @type {Way} */
const fromBlob = {
  name: 'from a Blob',
  create() {
    blobUrl ??= URL.createObjectURL(new Blob([workerCode()], { type: 'text/javascript' }))
    return new Worker(blobUrl)
  },
  timeout: START_TIMEOUT,
}

/**
 * Vite, webpack, rspack, Parcel and Turbopack recognize a worker by exactly this expression, and deliver the
 * file. Without a bundler it lies beside this one.
 *
 * @type {Way}
 */
const fromFile = {
  name: 'from the file gpt-layers-worker.js',
  create: () => new Worker(new URL('./gpt-layers-worker.js', import.meta.url), { type: 'module' }),
  timeout: START_TIMEOUT,
}

/** @param {() => AnyWorker} create @returns {Way} */
const fromUser = (create) => ({ name: 'from the worker option', create, timeout: FOREIGN_TIMEOUT })

/**
 * A browser complains on the console about a file that does not exist, and about a Blob that the policy
 * forbids. So the file is tried first just where a bundler has surely delivered it.
 *
 * @returns {boolean}
 */
function hasFile() {
  // webpack, rspack, Parcel and Turbopack write the source's path here. Vite sets PROD in what it builds.
  return Boolean(import.meta.url?.startsWith('file:') || import.meta.env?.PROD)
}

/**
 * Watches for workers that the Content-Security-Policy forbids.
 *
 * @returns {{ stop: () => boolean }} stop: ends it and returns whether the policy has forbidden one
 */
function watchPolicy() {
  let forbidden = false
  const hear = (/** @type {SecurityPolicyViolationEvent} */ { effectiveDirective }) => {
    forbidden ||= effectiveDirective === 'worker-src'
  }
  globalThis.addEventListener?.('securitypolicyviolation', hear)
  return {
    stop() {
      globalThis.removeEventListener?.('securitypolicyviolation', hear)
      return forbidden
    },
  }
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
