// Starts the workers of a pool, wherever JavaScript runs.

import { describe } from '../check.ts'
import { messageOf } from '../errors.ts'
import { type Call, type Kernel, type PoolWorker, CALL_WORDS, MAX_ARGUMENTS, Pool } from './pool.ts'
import { warnOneThread } from './warn.ts'

const MAX_THREADS = 64
const START_TIMEOUT = 20_000 // ms until all workers must be ready; a busy machine starts them slowly
const FOREIGN_TIMEOUT = 5000 // the same for workers that the user starts, which may be another program's
const STACK_BYTES = 65536 // per worker, as the first instance has

/** A browser's worker, or Node's. */
export interface AnyWorker {
  postMessage: (message: object) => void
  terminate: () => unknown
}

/** The message that a worker gets once it has said that it is ours. */
export interface WorkerSetup {
  module: WebAssembly.Module
  memory: WebAssembly.Memory
  /** where the worker's stack begins; it grows down */
  stackTop: number
  /** the names of the kernels; a call has the index of one */
  names: string[]
  call: Call
}

/** The memory of a WebAssembly instance, and functions, of which those named gpt_... are ours. */
interface Exports {
  memory: WebAssembly.Memory
}

/** What workers share, and how they start. */
interface Instance {
  exports: Exports
  /** the heap. The views are valid for as long as a shared memory is */
  memory: {
    allocate: (bytes: number) => number
    doubles: (offset: number, length: number) => Float64Array
    words: (offset: number, length: number) => Int32Array
  }
  code: WebAssembly.Module
  /** the number of threads, 2 or more */
  threads: number
  /** the user's; by default the package starts its workers itself */
  worker?: () => AnyWorker
}

interface Starter {
  name: string
  create: () => AnyWorker
}

/** Why only one thread can run here; null where more may be possible. */
export function whyOneThread(createWorker: (() => AnyWorker) | undefined): string | null {
  const { process, crossOriginIsolated } = globalThis
  if (!createWorker && !process?.getBuiltinModule && typeof Worker !== 'function') {
    return process?.versions?.node
      ? `Node ${process.versions.node} is too old: 20.16, 22.3 or later can start workers`
      : 'workers cannot be started here, as in a service worker'
  }
  if (crossOriginIsolated === false) {
    return (
      'the page is not cross-origin isolated: serve it with the headers ' +
      'Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp'
    )
  }
  return typeof SharedArrayBuffer === 'function' ? null : 'SharedArrayBuffer is missing here'
}

/**
 * @param limits of the memory that were tried, in MiB; none where the user gave the module
 * @returns a pool, or the reason why only one thread can run, which the console shows, too
 */
export async function startThreads(
  instance: Instance,
  isShared: boolean,
  limits: readonly number[],
): Promise<Pool | string> {
  const unshared =
    limits.length > 0
      ? `the system does not reserve ${limits.at(-1)} MiB of addresses for a shared memory: lower maxMemory`
      : 'the given module is a build without threads: pass gpt-layers/simd-threads.wasm or gpt-layers/relaxed-threads.wasm'
  const reason = whyOneThread(instance.worker) ?? (isShared ? null : unshared)
  const pool = reason ?? (await startPool(instance))
  if (typeof pool === 'string') warnOneThread(pool)
  return pool
}

async function startPool({
  exports,
  memory,
  code,
  threads: wanted,
  worker,
}: Instance): Promise<Pool | string> {
  const threads = Math.min(wanted, MAX_THREADS)
  const kernels: Record<string, Kernel> = Object.fromEntries(
    Object.entries(exports).filter(([name]) => name.startsWith('gpt_')),
  )
  const names = Object.keys(kernels)
  const newSetups = (): WorkerSetup[] => {
    const args = memory.allocate(8 * MAX_ARGUMENTS + 4 * CALL_WORDS + STACK_BYTES * (threads - 1))
    const words = args + 8 * MAX_ARGUMENTS
    const stacks = words + 4 * CALL_WORDS
    const call = {
      args: memory.doubles(args, MAX_ARGUMENTS),
      words: memory.words(words, CALL_WORDS).fill(0),
    }
    return Array.from({ length: threads - 1 }, (_, i) => {
      return { module: code, memory: exports.memory, stackTop: stacks + STACK_BYTES * (i + 1), names, call }
    })
  }
  const starters = worker ? [{ name: 'from the worker option', create: worker }] : findStarters()
  const timeout = worker ? FOREIGN_TIMEOUT : START_TIMEOUT
  const policy = watchPolicy()
  const failures = []
  for (const starter of starters) {
    try {
      // Memory of its own for each attempt, never freed: a worker of one that failed may still run.
      const setups = newSetups()
      const workers = await startAll(starter.create, setups, timeout, starter === starters.at(-1))
      policy.stop()
      return new Pool(setups[0].call, kernels, workers)
    } catch (error) {
      failures.push(`${starter.name}: ${messageOf(error)}`)
    }
  }
  await new Promise((resolve) => setTimeout(resolve)) // a violation is told in a later task
  return policy.stop() ?? `no worker could start (${failures.join('; ')})`
}

/**
 * @param setups one for each worker
 * @param timeout milliseconds
 * @param together starts all at once; otherwise one goes first, so that what is forbidden fails only once
 * @returns workers that are ready
 */
async function startAll(
  create: () => AnyWorker,
  setups: WorkerSetup[],
  timeout: number,
  together: boolean,
): Promise<PoolWorker[]> {
  const workers: AnyWorker[] = []
  const started: PoolWorker[] = []
  let fail: (why: string) => void = () => {}
  /** Rejected where a worker ends, also one that was ready, or all take too long. */
  const failed = new Promise((_, reject) => (fail = (why) => reject(new Error(why))))
  const timer = setTimeout(() => fail(`it was not ready after ${timeout / 1000} s`), timeout)
  const start = async (setup: WorkerSetup) => {
    const worker = create()
    const { own, ready } = setUp(worker, setup, fail)
    workers.push(worker)
    started.push(own)
    await ready
  }
  try {
    const first = together ? setups.length : 1
    for (const group of [setups.slice(0, first), setups.slice(first)]) {
      await Promise.race([Promise.all(group.map(start)), failed])
    }
    for (const worker of workers) if (isNode(worker)) worker.unref() // Node exits without waiting for it
    return started
  } catch (error) {
    for (const worker of started) worker.end()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Tells a worker what to run.
 *
 * @param setup sent once the worker has said that it runs `worker.ts`
 * @param onEnd hears why the worker has ended, unless `end` has ended it
 * @returns ready: fulfilled when the worker is; never, where `onEnd` hears why not
 */
function setUp(
  worker: AnyWorker,
  setup: WorkerSetup,
  onEnd: PoolWorker['onEnd'],
): { own: PoolWorker; ready: Promise<void> } {
  if (typeof worker?.postMessage !== 'function') throw new Error(`got ${describe(worker)}, not a Worker`)
  let hasEnded = false
  const own: PoolWorker = {
    onEnd,
    end() {
      hasEnded = true
      worker.terminate()
    },
  }
  const fail = (why: string) => {
    if (hasEnded) return
    own.end()
    own.onEnd(why)
  }
  const ready = new Promise<void>((resolve) => {
    let isOurs = false
    listen(worker, {
      message(message) {
        if (!isOurs && message === `gpt-layers ${VERSION}`) {
          isOurs = true
          try {
            worker.postMessage(setup)
          } catch (error) {
            fail(String(error)) // this page must not share memory
          }
        } else if (isOurs && message === 'ready') resolve()
        else fail(`it is not gpt-layers/worker.js of version ${VERSION}: it said ${describe(message)}`)
      },
      error: (event) => fail(messageOf(event) || 'it could not be loaded'),
      messageerror: () => fail('it cannot share memory with its creator'),
      exit: (code) => fail(`it exited with code ${code}`),
    })
  })
  return { own, ready }
}

/** @param listeners by type of event; that of messages gets the message */
function listen(worker: AnyWorker, listeners: Record<string, (event: unknown) => void>): void {
  for (const [type, listener] of Object.entries(listeners)) {
    if (isNode(worker)) worker.on(type, listener)
    else {
      const target = worker as Worker
      target.addEventListener(type, (event) => listener(type === 'message' ? messageIn(event) : event))
    }
  }
}

const messageIn = (event: Event): unknown => (event as MessageEvent).data

const isNode = (worker: AnyWorker): worker is NodeWorker => !('addEventListener' in worker)

/** What can start a worker here, the best first. */
function findStarters(): Starter[] {
  const node = globalThis.process?.getBuiltinModule?.('node:worker_threads')
  const fromNode = node && {
    name: 'node:worker_threads',
    create: () => new node.Worker(workerCode(), { eval: true, execArgv: [] }),
  }
  if (fromNode && typeof Worker !== 'function') return [fromNode]
  const inBrowser = hasFile() ? [fromFile, fromBlob] : [fromBlob, fromFile]
  return fromNode ? [fromNode, ...inBrowser] : inBrowser // an Electron page has both, and Node's fails
}

const workerCode = () => WORKER_CODE

let blobUrl: string | undefined
/** Needs no file, and so no bundler's help; a Content-Security-Policy may forbid it. */
const fromBlob: Starter = {
  name: 'from a Blob',
  create(): Worker {
    blobUrl ??= URL.createObjectURL(new Blob([workerCode()], { type: 'text/javascript' }))
    return new Worker(blobUrl)
  },
}

/**
 * Vite, webpack, rspack, Parcel and Turbopack recognize a worker by exactly this expression, and deliver the
 * file. Without a bundler the file lies beside this one.
 */
const fromFile: Starter = {
  name: 'from its file',
  create: () => new Worker(new URL('./gpt-layers-worker.js', import.meta.url), { type: 'module' }),
}

/**
 * Whether to try the worker's file before a Blob. A browser shows an error on the console for a file that
 * does not exist, and for a Blob that the Content-Security-Policy forbids. So the file comes first only where
 * a bundler has delivered it.
 */
function hasFile(): boolean {
  // webpack, rspack, Parcel and Turbopack write the source's path here. Vite sets PROD in what it builds.
  return Boolean(import.meta.url?.startsWith('file:') || import.meta.env?.PROD)
}

/** By the directive of the Content-Security-Policy that forbids workers: the reason for one thread. */
const CURES: Record<string, string> = {
  'worker-src':
    "the Content-Security-Policy forbids workers: add worker-src blob:, or worker-src 'self' and load's worker option",
  'require-trusted-types-for':
    "the page requires Trusted Types: pass load's option worker: () => new Worker(policy.createScriptURL(...)), " +
    'with a URL of gpt-layers/worker.js and a policy of your own from trustedTypes.createPolicy',
}

/**
 * Watches for workers that the Content-Security-Policy forbids.
 *
 * @returns stop: ends it, and returns why there is one thread; null where the policy forbids none
 */
function watchPolicy(): { stop: () => string | null } {
  let reason: string | null = null
  const hear = ({ effectiveDirective }: SecurityPolicyViolationEvent) => {
    if (Object.hasOwn(CURES, effectiveDirective)) reason = CURES[effectiveDirective]
  }
  globalThis.addEventListener?.('securitypolicyviolation', hear)
  return {
    stop() {
      globalThis.removeEventListener?.('securitypolicyviolation', hear)
      return reason
    },
  }
}
