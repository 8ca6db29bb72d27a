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
 * A program of this package that runs in a worker.
 *
 * @typedef {object} Program
 * @property {string} name for 'worker': users import `gpt-layers/worker.js`, which is
 *   `dist/gpt-layers-worker.js`
 * @property {string} greeting the message that it sends first. It then gets a setup, and answers 'ready'
 * @property {() => Promise<string>} code as a classic script
 * @property {() => AnyWorker} fromFile starts the file, in a browser
 */

/**
 * A way to start a worker.
 *
 * @typedef {object} Way
 * @property {string} name for messages
 * @property {number} timeout milliseconds until the worker must be ready
 * @property {() => Promise<() => AnyWorker>} prepare gives what starts one
 */

/** A worker that runs a program of this package. */
export class OwnWorker {
  /** @type {AnyWorker} */ #worker
  #ended = false
  /** Hears the messages. @type {(message: any) => void} */ onMessage = () => {}
  /** Hears why the worker has ended, unless `end` has ended it. @type {(why: string) => void} */ onEnd =
    () => {}

  /** @param {AnyWorker} worker */
  constructor(worker) {
    if (typeof worker?.postMessage !== 'function') throw new Error(`got ${describe(worker)}, not a Worker`)
    this.#worker = worker
    const fail = (/** @type {string} */ why) => this.#fail(why)
    listen(worker, {
      message: (message) => this.onMessage(message),
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

  /**
   * @param {object} message
   * @param {ArrayBuffer[]} [transfer]
   */
  post(message, transfer) {
    const worker = /** @type {any} */ (this.#worker)
    worker.postMessage(message, transfer)
  }

  /** @param {boolean} yes whether Node should wait for this worker before it exits */
  keepProcess(yes) {
    const worker = /** @type {any} */ (this.#worker)
    if (yes) worker.ref?.()
    else worker.unref?.()
  }

  /** Ends the worker. */
  end() {
    this.#ended = true
    this.#worker.terminate()
  }

  /**
   * @param {Program} program which the worker should run
   * @param {object} setup
   * @returns {Promise<void>} fulfilled when the worker is ready
   */
  setUp({ greeting, name }, setup) {
    return new Promise((resolve, reject) => {
      let isOurs = false
      this.onEnd = (why) => reject(new Error(why))
      this.onMessage = (message) => {
        if (!isOurs && message === greeting) {
          isOurs = true
          try {
            this.post(setup)
          } catch (error) {
            this.#fail(String(error)) // this page must not share memory
          }
        } else if (isOurs && message === 'ready') {
          this.onMessage = () => {}
          resolve()
        } else
          this.#fail(`it is not gpt-layers/${name}.js of version ${VERSION}: it said ${describe(message)}`)
      }
    })
  }
}

/**
 * Starts workers that all run one program.
 *
 * @param {Program} program
 * @param {object[]} setups the message that each worker gets once it has said that it is ours
 * @param {(file: string) => AnyWorker} [createWorker] the user's; by default the package starts its workers
 *   itself
 * @returns {Promise<{ workers: OwnWorker[], reason: string | null }>} all of them, ready; none, with a
 *   reason, where they cannot be started
 */
export async function startWorkers(program, setups, createWorker) {
  const ways = createWorker ? [fromUser(program, createWorker)] : findWays(program)
  const violations = watchPolicy()
  const failures = []
  for (const way of ways) {
    try {
      const workers = await startInOneWay(program, way, setups, way === ways.at(-1))
      violations.stop()
      if (!createWorker) known = way.name
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
 * @param {Program} program
 * @param {Way} way
 * @param {object[]} setups one for each worker
 * @param {boolean} together starts all at once; otherwise one goes first, so that a way that is forbidden
 *   fails only once
 * @returns {Promise<OwnWorker[]>} ready
 */
async function startInOneWay(program, { prepare, timeout }, setups, together) {
  const create = await prepare()
  /** @type {OwnWorker[]} */
  const workers = []
  let timer
  const message = `it was not ready after ${timeout / 1000} s`
  const tooLate = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), timeout)
  })
  const start = async (/** @type {object} */ setup) => {
    const worker = new OwnWorker(create())
    workers.push(worker)
    await worker.setUp(program, setup)
  }
  try {
    const first = together ? setups.length : 1
    for (const group of [setups.slice(0, first), setups.slice(first)]) {
      await Promise.race([Promise.all(group.map(start)), tooLate])
    }
    for (const worker of workers) worker.keepProcess(false)
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

/** The name of the way that has worked in this browser. @type {string | undefined} */
let known

/** @param {Program} program @returns {Way[]} the ways to start a worker here, the best one first */
function findWays(program) {
  const node = /** @type {any} */ (globalThis).process?.getBuiltinModule?.('node:worker_threads')
  if (node) return [fromNode(program, node)]
  const ways = [fromBlob(program), fromFile(program)]
  if (hasFile()) ways.reverse()
  return known === undefined ? ways : ways.filter(({ name }) => name === known)
}

/** Node, Deno and Bun. @param {Program} program @param {any} node its worker_threads @returns {Way} */
const fromNode = ({ code }, node) => ({
  name: 'node:worker_threads',
  timeout: START_TIMEOUT,
  async prepare() {
    const script = await code()
    return () => new node.Worker(script, { eval: true, execArgv: [] })
  },
})

/** The addresses of the programs' code. @type {Map<string, string>} */
const blobUrls = new Map()

/**
 * Needs no file, and so no bundler's help; a Content-Security-Policy may forbid it.
 *
 * @param {Program} program
 * @returns {Way}
 */
const fromBlob = ({ name, code }) => ({
  name: 'from a Blob',
  timeout: START_TIMEOUT,
  async prepare() {
    const url =
      blobUrls.get(name) ?? URL.createObjectURL(new Blob([await code()], { type: 'text/javascript' }))
    blobUrls.set(name, url)
    return () => new Worker(url)
  },
})

/** Without a bundler the file lies beside this one. @param {Program} program @returns {Way} */
const fromFile = ({ fromFile: create }) => ({
  name: 'from its file',
  timeout: START_TIMEOUT,
  prepare: async () => create,
})

/** @param {Program} program @param {(file: string) => AnyWorker} create @returns {Way} */
const fromUser = ({ name }, create) => ({
  name: 'from the worker option',
  timeout: FOREIGN_TIMEOUT,
  prepare: async () => () => create(`gpt-layers-${name}.js`),
})

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
