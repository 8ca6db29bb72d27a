/** @import { WorkerSetup } from './threads.js' */

import { describe } from '../check.js'

const START_TIMEOUT = 20_000 // ms until a worker must be ready; a busy machine starts it slowly
const FOREIGN_TIMEOUT = 5000 // the same for a worker that the user starts, which may be another program's

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

/** A worker that runs `worker.js`. */
export class OwnWorker {
  /** @type {AnyWorker} */ #worker
  #ended = false
  /** @type {(message: unknown) => void} */ #hear = () => {}
  /** Hears why the worker has ended, unless `end` has ended it. @type {(why: string) => void} */ onEnd =
    () => {}

  /** @param {AnyWorker} worker */
  constructor(worker) {
    if (typeof worker?.postMessage !== 'function') throw new Error(`got ${describe(worker)}, not a Worker`)
    this.#worker = worker
    const fail = (/** @type {string} */ why) => this.#fail(why)
    listen(worker, {
      message: (message) => this.#hear(message),
      error: (event) => fail(event?.message || 'it could not be loaded'),
      messageerror: () => fail('it cannot share memory with its creator'),
      exit: (code) => fail(`it exited with code ${code}`),
    })
  }

  /** @param {string} why */
  #fail(why) {
    if (this.#ended) return
    this.end()
    this.onEnd(why)
  }

  /** Node exits without waiting for this worker. */
  unref() {
    if ('unref' in this.#worker) /** @type {any} */ (this.#worker).unref()
  }

  /** Ends the worker. */
  end() {
    this.#ended = true
    this.#worker.terminate()
  }

  /**
   * @param {WorkerSetup} setup sent once the worker has said that it is ours
   * @returns {Promise<void>} fulfilled when the worker is ready
   */
  setUp(setup) {
    return new Promise((resolve, reject) => {
      let isOurs = false
      this.onEnd = (why) => reject(new Error(why))
      this.#hear = (message) => {
        if (!isOurs && message === `gpt-layers ${VERSION}`) {
          isOurs = true
          try {
            this.#worker.postMessage(setup)
          } catch (error) {
            this.#fail(String(error)) // this page must not share memory
          }
        } else if (isOurs && message === 'ready') resolve()
        else this.#fail(`it is not gpt-layers/worker.js of version ${VERSION}: it said ${describe(message)}`)
      }
    })
  }
}

/**
 * @param {WorkerSetup[]} setups one for each worker
 * @param {() => AnyWorker} [createWorker] the user's; by default the package starts its workers itself
 * @returns {Promise<{ workers: OwnWorker[], reason: string | null }>} all of them, ready; none, with a
 *   reason, where they cannot be started
 */
export async function startWorkers(setups, createWorker) {
  const ways = createWorker ? [fromUser(createWorker)] : findWays()
  const violations = watchPolicy()
  const failures = []
  for (const way of ways) {
    try {
      const workers = await startInOneWay(way, setups, way === ways.at(-1))
      violations.stop()
      if (browserWays?.includes(way)) browserWays = [way]
      return { workers, reason: null }
    } catch (error) {
      failures.push(`${way.name}: ${/** @type {Error} */ (error).message}`)
    }
  }
  const reason = violations.stop()
    ? "the Content-Security-Policy forbids workers: add worker-src blob:, or worker-src 'self' and load's worker option"
    : `no worker could start (${failures.join('; ')})`
  return { workers: [], reason }
}

/**
 * @param {Way} way
 * @param {WorkerSetup[]} setups one for each worker
 * @param {boolean} together starts all at once; otherwise one goes first, so that a way that is forbidden
 *   fails only once
 * @returns {Promise<OwnWorker[]>} ready
 */
async function startInOneWay({ create, timeout }, setups, together) {
  /** @type {OwnWorker[]} */
  const workers = []
  let timer
  const message = `it was not ready after ${timeout / 1000} s`
  const tooLate = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), timeout)
  })
  const start = async (/** @type {WorkerSetup} */ setup) => {
    const worker = new OwnWorker(create())
    workers.push(worker)
    await worker.setUp(setup)
  }
  try {
    const first = together ? setups.length : 1
    for (const group of [setups.slice(0, first), setups.slice(first)]) {
      await Promise.race([Promise.all(group.map(start)), tooLate])
    }
    for (const worker of workers) worker.unref()
    return workers
  } catch (error) {
    for (const worker of workers) worker.end()
    throw error
  } finally {
    clearTimeout(timer)
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
 * file. Without a bundler the file lies beside this one.
 *
 * @type {Way}
 */
const fromFile = {
  name: 'from its file',
  create: () => new Worker(new URL('./gpt-layers-worker.js', import.meta.url), { type: 'module' }),
  timeout: START_TIMEOUT,
}

/** @param {() => AnyWorker} create @returns {Way} */
const fromUser = (create) => ({ name: 'from the worker option', create, timeout: FOREIGN_TIMEOUT })

/**
 * Whether to try the worker's file before a Blob. A browser shows an error on the console for a file that
 * does not exist, and for a Blob that the Content-Security-Policy forbids. So the file comes first only where
 * a bundler has delivered it.
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
