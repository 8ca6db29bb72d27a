// One kernel call, cut into parts for the threads of a pool. The call lies in shared memory:
//
// 1. The caller writes the call down and opens its parts.
// 2. Every thread, the caller too, takes a part while one is open, runs it, and counts it as done.
// 3. The caller waits until all parts are done.
//
// A compare-and-exchange takes a part, so one thread gets it. A worker that wakes up late, or never, delays
// nobody: the other threads have taken its parts.

/** A kernel of the WebAssembly, which returns a status. */
export type Kernel = (...args: number[]) => number

/** The shared memory of a call. */
export interface Call {
  /** CALL_WORDS of them; zeros before the first call */
  words: Int32Array
  /** MAX_ARGUMENTS of them: integers and floats alike fit exactly */
  args: Float64Array
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
/** The number of words of a call. */
export const CALL_WORDS = 48

/** The status of a part whose kernel threw. */
const THREW = -100

/**
 * A waiting thread spins for as long as it has just worked, at least 20 µs (SPINS checks) and at most 1 ms;
 * then it sleeps. The next event mostly comes soon, and waking up takes 10 µs: ReLU of 65,536 elements takes
 * 5 µs on two threads that spin and 11 µs on two that sleep.
 *
 * Linux may wake a worker on the core that woke it, at least in a virtual machine, and separates the two only
 * after both have worked for a while. FeedForward of 6 tokens after 30 ms of rest:
 *
 * | spins at most | first five calls | next five |
 * | --- | --- | --- |
 * | as long as it worked | 1.0 ms | 0.52 ms |
 * | 20 µs | 1.0 ms | 1.0 ms |
 * | 1 ms | 0.63 ms | 0.52 ms |
 *
 * Always spinning 1 ms is no option: with both threads on one core, a call of 15 µs may then take 960 µs.
 */
const SPINS = 4000
const MAX_SPIN_TIME = 1 // ms

/**
 * Writes a call down, opens its parts and wakes the workers.
 *
 * @param kernel its index
 * @param args at most MAX_ARGUMENTS
 */
export function openCall(call: Call, kernel: number, args: readonly number[], parts: number): void {
  const { words } = call
  call.args.set(args)
  words[KERNEL] = kernel
  words[ARGUMENTS] = args.length
  words[PARTS] = parts
  words[STATUS] = 0
  words[PENDING] = parts
  Atomics.store(words, OPEN, parts) // publishes all of the above
  Atomics.notify(words, OPEN, parts - 1)
}

/** Takes and runs parts until none is open. */
export function runOpenParts(call: Call, kernels: readonly Kernel[]): void {
  const { words } = call
  for (let left = Atomics.load(words, OPEN); left > 0; left = Atomics.load(words, OPEN)) {
    if (Atomics.compareExchange(words, OPEN, left, left - 1) === left) runPart(call, kernels, left - 1)
  }
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
 * Waits, on a worker, until parts are open.
 *
 * @param worked milliseconds that this worker's last parts took
 */
export function waitForParts({ words }: Call, worked: number): void {
  if (!spinUntil(() => Atomics.load(words, OPEN) > 0, worked)) Atomics.wait(words, OPEN, 0)
}

/**
 * Waits, on the caller, until all parts are done.
 *
 * @returns false where a part is not done in that time
 */
export function waitForCall(
  { words }: Call,
  { maySleep, worked, timeout }: { maySleep: boolean; worked: number; timeout: number },
): boolean {
  if (spinUntil(() => Atomics.load(words, PENDING) === 0, worked)) return true
  const end = performance.now() + timeout
  for (let left = Atomics.load(words, PENDING); left > 0; left = Atomics.load(words, PENDING)) {
    if (performance.now() > end) return false
    if (maySleep) Atomics.wait(words, PENDING, left, 100)
  }
  return true
}

/** 0, or the first status that was not 0. */
export const statusOf = ({ words }: Call): number => Atomics.load(words, STATUS)

/**
 * @param worked milliseconds
 * @returns false where it is time to sleep instead
 */
function spinUntil(isReady: () => boolean, worked: number): boolean {
  const end = performance.now() + Math.min(worked, MAX_SPIN_TIME)
  do for (let i = 0; i < SPINS; i++) if (isReady()) return true
  while (performance.now() < end)
  return false
}
