// The threads of one instance, and the call that they share. The call lies in shared memory:
//
// 1. The caller writes the call down, opens its parts and wakes the workers.
// 2. Every thread, the caller too, takes a part while one is open, runs it, and counts it as done.
// 3. The caller waits until all parts are done.
//
// A compare-and-exchange takes a part, so one thread gets it. A worker that wakes up late, or never, delays
// nobody: the other threads have taken its parts.

import type { Functions } from '../wasm/exports.ts'
import { GptLayersError } from '../errors.ts'
import { isWorthSharing } from './costs.ts'
import { warnOneThread } from './warn.ts'

/** A kernel of the WebAssembly, which returns a status. */
export type Kernel = (...args: number[]) => number

/** The shared memory of a call. */
export interface Call {
  /** CALL_WORDS of them; zeros before the first call */
  words: Int32Array
  /** MAX_ARGUMENTS of them: integers and floats alike fit exactly */
  args: Float64Array
}

/** A worker, as the pool sees it. */
export interface PoolWorker {
  /** Hears why the worker has ended, unless `end` has ended it. */
  onEnd: (why: string) => void
  end: () => void
}

// Indices into `words`. Words that several threads write are 64 bytes apart, a cache line.
const OPEN = 0 // parts that no thread has taken; workers sleep on it while it is 0
const PENDING = 16 // parts that are not done; the caller waits for 0
const KERNEL = 32 // the kernel's index in the list that all threads have
const ARGUMENTS = 33 // how many arguments
const PARTS = 34 // how many parts
const STATUS = 35 // the first status that was not 0

/** The most arguments, without part and parts. */
export const MAX_ARGUMENTS = 16
export const CALL_WORDS = 48

const THREW = -100

const PART_TIMEOUT = 5000 // ms that a worker's part may take, beyond 20 times the caller's own parts

/**
 * A waiting thread spins for as long as it has just worked, at least 20 µs (SPINS checks) and at most 1 ms; then it
 * sleeps. The next event mostly comes soon, and waking up takes 10 µs. Linux may keep both threads on one core until
 * both have worked for a while: with 20 µs alone it does, and FeedForward of 6 tokens takes 1 ms instead of 0.5.
 * With 1 ms always, a call of 15 µs on one core may take 960 µs.
 */
const SPINS = 4000
const MAX_SPIN_TIME = 1 // ms

/**
 * The threads: the caller's own, and workers that start once and sleep between calls.
 *
 * A call ends with the right result, or with an error:
 *
 * - A worker that has ended, or wakes up late, takes no part. The other threads take all of them.
 * - A worker that stops within a kernel leaves a part that it has taken. The caller waits for it, 5 s and 20
 *   times as long as its own parts took. Then the call fails.
 *
 * After that, and as soon as a worker's end is known, the pool has one thread. A browser may let a worker run
 * on for seconds after `terminate`, so memory that the worker knows is never used again: its stack, the
 * words of the calls, and what the failed call reads and writes (`run` of the runtime sees to that).
 */
export class Pool {
  /** The number of threads, the caller's included. */
  threads: number
  /** Why there is one thread; null where there are more. */
  reason: string | null = null
  /** Hears why there is one thread from here on, although nobody has called `dispose`. */
  onFail: (reason: string) => void = () => {}
  #call: Call
  #names: string[]
  #kernels: Kernel[]
  #partTimeout: number
  #workers: readonly PoolWorker[]
  #maySleep: boolean

  /**
   * @param kernels the functions of the build by name; `run` takes those with `part` and `parts`
   * @param workers that wait for parts of the call
   * @param partTimeout milliseconds
   */
  constructor(
    call: Call,
    kernels: Record<string, Kernel>,
    workers: readonly PoolWorker[],
    partTimeout: number = PART_TIMEOUT,
  ) {
    this.#call = call
    this.#names = Object.keys(kernels)
    this.#kernels = Object.values(kernels)
    this.#workers = workers
    this.#partTimeout = partTimeout
    this.#maySleep = maySleep(call.words)
    this.threads = workers.length + 1
    for (const worker of workers) worker.onEnd = (why) => this.#fail(`a worker has ended: ${why}`)
  }

  /** How many parts a call should have; see `isWorthSharing`. */
  partsOf(kernel: keyof Functions, sizes: readonly number[], nanoseconds?: number): number {
    return isWorthSharing(kernel, sizes, nanoseconds) ? this.threads : 1
  }

  /**
   * Runs a kernel in parts.
   *
   * @param args at most MAX_ARGUMENTS, without part and parts
   * @returns 0, or the first status that was not 0
   * @throws {GptLayersError} INTERNAL where a worker does not finish its part in time. It may still write
   */
  run(kernel: string, args: readonly number[], parts: number): number {
    const { words } = this.#call
    this.#call.args.set(args)
    words[KERNEL] = this.#names.indexOf(kernel)
    words[ARGUMENTS] = args.length
    words[PARTS] = parts
    words[STATUS] = 0
    words[PENDING] = parts
    Atomics.store(words, OPEN, parts) // publishes all of the above
    Atomics.notify(words, OPEN, parts - 1)
    const worked = runOpenParts(this.#call, this.#kernels)
    const timeout = this.#partTimeout + 20 * worked
    if (this.#isDone(worked, timeout)) return Atomics.load(words, STATUS)
    const reason = `a worker did not finish its part of a call in ${Math.round(timeout)} ms`
    this.#fail(reason)
    throw new GptLayersError(
      'INTERNAL',
      `${reason}; this call has no result, and from here on one thread runs`,
    )
  }

  /**
   * Waits until all parts are done.
   *
   * @param worked milliseconds that the caller's own parts took
   * @returns false where a part is not done in `timeout` milliseconds
   */
  #isDone(worked: number, timeout: number): boolean {
    const { words } = this.#call
    if (spinUntil(() => Atomics.load(words, PENDING) === 0, worked)) return true
    const end = performance.now() + timeout
    for (let left = Atomics.load(words, PENDING); left > 0; left = Atomics.load(words, PENDING)) {
      if (performance.now() > end) return false
      if (this.#maySleep) Atomics.wait(words, PENDING, left, 100)
    }
    return true
  }

  /** Ends the workers: from here on there is one thread. */
  dispose(): void {
    this.threads = 1
    for (const worker of this.#workers) worker.end()
  }

  /** @param reason why the workers are ended although nobody has called `dispose` */
  #fail(reason: string): void {
    this.reason = reason
    this.dispose()
    this.onFail(reason)
    warnOneThread(reason)
  }
}

/** What a worker does from its start to its end: runs parts, and sleeps while none is open. */
export function serve(call: Call, kernels: readonly Kernel[]): never {
  const { words } = call
  for (let worked = 0; ; worked = runOpenParts(call, kernels)) {
    if (!spinUntil(() => Atomics.load(words, OPEN) > 0, worked)) Atomics.wait(words, OPEN, 0)
  }
}

/**
 * Takes and runs parts until none is open.
 *
 * @returns how long this took, in milliseconds
 */
function runOpenParts(call: Call, kernels: readonly Kernel[]): number {
  const { words } = call
  const begin = performance.now()
  for (let left = Atomics.load(words, OPEN); left > 0; left = Atomics.load(words, OPEN)) {
    if (Atomics.compareExchange(words, OPEN, left, left - 1) === left) runPart(call, kernels, left - 1)
  }
  return performance.now() - begin
}

/** @param call stays as it is until this part is done */
function runPart({ words, args }: Call, kernels: readonly Kernel[], part: number): void {
  let status = THREW
  try {
    status = kernels[words[KERNEL]](...args.subarray(0, words[ARGUMENTS]), part, words[PARTS])
  } catch {
    // Only a bug of ours makes a kernel throw. The status tells the caller.
  }
  if (status !== 0) Atomics.compareExchange(words, STATUS, 0, status)
  if (Atomics.sub(words, PENDING, 1) === 1) Atomics.notify(words, PENDING)
}

/**
 * @param worked milliseconds that this thread's last parts took
 * @returns false where it is time to sleep instead
 */
function spinUntil(isReady: () => boolean, worked: number): boolean {
  const end = performance.now() + Math.min(worked, MAX_SPIN_TIME)
  do for (let i = 0; i < SPINS; i++) if (isReady()) return true
  while (performance.now() < end)
  return false
}

/** Whether this thread may sleep; a browser's main thread may not. */
function maySleep(words: Int32Array): boolean {
  try {
    Atomics.wait(words, 0, -1, 0) // returns at once: the word is not -1
    return true
  } catch {
    return false
  }
}
