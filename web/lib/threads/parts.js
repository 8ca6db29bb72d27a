// One kernel call in parts, as the threads of a crew share it: a few words of shared memory, and the rules for
// them.
//
// The caller writes down the call and opens its parts. Every thread, the caller too, takes a part while there is
// one, does it, and says so. A part is taken once, by compare and exchange, so a thread that comes late, or never,
// holds nobody up: the others have taken its parts.

/** Words, by index. Those that threads contend for are 64 bytes apart, a cache line. */
const OPEN = 0 // parts that nobody has taken yet; threads without work sleep on it while it is 0
const PENDING = 16 // parts that are not done yet; the caller waits for 0
const KERNEL = 32 // which kernel, by its place in the list all threads have
const COUNT = 33 // how many arguments
const PARTS = 34
const STATUS = 35 // the first status that was not 0
const DONE = 48 // for each part, 1 once it is done

export const MAX_PARTS = 64
const MAX_ARGUMENTS = 16
/** What `words` and `slots` need. */
export const WORDS = DONE + MAX_PARTS
export const SLOTS = MAX_ARGUMENTS

/** The status of a part whose kernel threw. */
const THREW = -100

/**
 * A thread looks for as long as it has just worked before it sleeps, 20 µs (this many looks) at least and 1 ms at most.
 * Awaking takes 10 µs, and what it waits for, the others' parts or the next layer's call, mostly comes sooner: 65,536
 * elements of ReLU take 5 µs on two threads that look, 11 on two that sleep. And Linux may wake a thread on the very
 * core that woke it, in a virtual machine at least, and parts the two only after both have been at work for a while.
 * FeedForward of 6 tokens, the first five calls after 30 ms and the next five: 1.0 ms and 0.52; 1.0 and 1.0 where
 * threads look for 20 µs; 0.63 and 0.52 where for 1 ms, but then a call of 15 µs may take 960, on one core with them.
 */
const LOOKS = 4000
const LONGEST = 1 // ms

/**
 * @typedef {object} Board
 * @property {Int32Array} words WORDS of them, in shared memory, zeros at first
 * @property {Float64Array} slots SLOTS of them: the arguments, integers and floats alike, exact
 */

/**
 * Opens a call's parts, and wakes the others.
 *
 * @param {Board} board
 * @param {number} kernel
 * @param {readonly number[]} args at most 16
 * @param {number} parts at most MAX_PARTS
 */
export function open({ words, slots }, kernel, args, parts) {
  slots.set(args)
  words[KERNEL] = kernel
  words[COUNT] = args.length
  words[PARTS] = parts
  words[STATUS] = 0
  words.fill(0, DONE, DONE + parts)
  words[PENDING] = parts
  Atomics.store(words, OPEN, parts) // and with it, all of the above
  Atomics.notify(words, OPEN, parts - 1)
}

/**
 * Does parts until there is none to take.
 *
 * @param {Board} board
 * @param {readonly Kernel[]} kernels
 */
export function takeParts(board, kernels) {
  const { words } = board
  for (let left = Atomics.load(words, OPEN); left > 0; left = Atomics.load(words, OPEN)) {
    if (Atomics.compareExchange(words, OPEN, left, left - 1) === left) doPart(board, kernels, left - 1)
  }
}

/**
 * @param {Board} board
 * @param {readonly Kernel[]} kernels
 * @param {number} part that was taken: until it is done, the board keeps the call
 */
function doPart({ words, slots }, kernels, part) {
  let status = THREW
  try {
    status = kernels[words[KERNEL]](...slots.subarray(0, words[COUNT]), part, words[PARTS])
  } catch {
    // only a bug of ours makes a kernel throw; the caller is told by the status
  }
  if (status !== 0) Atomics.compareExchange(words, STATUS, 0, status)
  Atomics.store(words, DONE + part, 1)
  if (Atomics.sub(words, PENDING, 1) === 1) Atomics.notify(words, PENDING)
}

/**
 * @param {() => boolean} ready
 * @param {number} worked milliseconds
 * @returns {boolean} whether it was ready before this thread should rather sleep
 */
function look(ready, worked) {
  const end = performance.now() + Math.min(worked, LONGEST)
  do for (let i = 0; i < LOOKS; i++) if (ready()) return true
  while (performance.now() < end)
  return false
}

/**
 * Waits until every part is done.
 *
 * @param {Board} board
 * @param {boolean} maySleep false on a browser's main thread, which may only spin
 * @param {number} worked milliseconds that the caller's own parts took
 * @param {number} patience milliseconds
 * @returns {boolean} false where some part is still not done
 */
export function finished({ words }, maySleep, worked, patience) {
  if (look(() => Atomics.load(words, PENDING) === 0, worked)) return true
  const end = performance.now() + patience
  for (let left = Atomics.load(words, PENDING); left > 0; left = Atomics.load(words, PENDING)) {
    if (performance.now() > end) return false
    if (maySleep) Atomics.wait(words, PENDING, left, 100)
  }
  return true
}

/**
 * Does what others took and did not do.
 *
 * @param {Board} board
 * @param {readonly Kernel[]} kernels
 */
export function takeOver(board, kernels) {
  for (let part = 0; part < board.words[PARTS]; part++) {
    if (Atomics.load(board.words, DONE + part) === 0) doPart(board, kernels, part)
  }
}

/** @param {Board} board @returns {number} 0, or the first status that was not */
export function statusOf({ words }) {
  return Atomics.load(words, STATUS)
}

/**
 * Waits until there are parts to take.
 *
 * @param {Board} board
 * @param {number} worked milliseconds that the last ones took
 */
export function awaitParts({ words }, worked) {
  if (!look(() => Atomics.load(words, OPEN) > 0, worked)) Atomics.wait(words, OPEN, 0)
}

/** @typedef {(...args: number[]) => number} Kernel */
