import type { OwnWorker } from './workers.ts'
import { GptLayersError } from '../errors.ts'
import { type Call, type Kernel, openCall, runOpenParts, statusOf, waitForCall } from './call.ts'
import { warnOnce } from './warn.ts'

const PART_TIMEOUT = 5000 // ms that a worker's part may take, beyond 20 times the caller's own parts

/**
 * The threads of one instance: the caller's own, and workers that start once and sleep between calls.
 *
 * A call ends with the right result, or with an error:
 *
 * - A worker that has ended, or wakes up late, takes no part. The other threads take all of them.
 * - A worker that stops within a kernel leaves a part that it has taken. The caller waits for it, 5 s and 20
 *   times as long as its own parts took. Then the call fails.
 *
 * After that, and as soon as a worker's end is known, the pool has one thread. A browser may let a worker run
 * on for seconds after `terminate`, so memory that the worker knows is never used again: its stack, the
 * words of the calls, and what the failed call reads and writes (`Runtime.run` sees to that).
 */
export class Pool {
  /** The number of threads, the caller's included. */
  threads: number
  /** Why there is one thread; null where there are more. */
  reason: string | null = null
  #call: Call
  #names: string[]
  #kernels: Kernel[]
  #partTimeout: number
  #workers: readonly OwnWorker[]
  #maySleep: boolean

  /**
   * @param kernels the functions of the build by name; `run` takes those with `part` and `parts`
   * @param workers that wait for parts of the call
   * @param partTimeout milliseconds
   */
  constructor(
    call: Call,
    kernels: Record<string, Kernel>,
    workers: readonly OwnWorker[],
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

  /**
   * Runs a kernel in parts.
   *
   * @param args without part and parts
   * @returns its status
   * @throws {GptLayersError} INTERNAL where a worker does not finish its part in time. It may still write
   */
  run(kernel: string, args: readonly number[], parts: number): number {
    const call = this.#call
    const begin = performance.now()
    openCall(call, this.#names.indexOf(kernel), args, parts)
    runOpenParts(call, this.#kernels)
    const worked = performance.now() - begin
    const timeout = this.#partTimeout + 20 * worked
    if (!waitForCall(call, { maySleep: this.#maySleep, worked, timeout })) {
      const reason = `a worker did not finish its part of a call in ${Math.round(timeout)} ms`
      this.#fail(reason)
      throw new GptLayersError(
        'INTERNAL',
        `${reason}; this call has no result, and from here on one thread runs`,
      )
    }
    return statusOf(call)
  }

  /** Ends the workers: from here on there is one thread. */
  dispose(): void {
    this.threads = 1
    this.reason ??= 'the instance was disposed'
    for (const worker of this.#workers) worker.end()
    this.#workers = []
  }

  /** @param reason why the workers are ended although the instance lives */
  #fail(reason: string): void {
    this.reason = reason
    this.dispose()
    warnOnce(`one thread runs, because ${reason}`)
  }
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
