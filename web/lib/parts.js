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
 * How often a thread looks before it sleeps: 1 ms. Awaking takes 10 µs, and what it waits for, the others' parts or
 * the next layer's call, mostly comes sooner: 65,536 elements of ReLU take 5 µs on two threads that look, 11 on two
 * that sleep. But above all, Linux may wake a thread on the very core that woke it, in a virtual machine at least, and
 * moves it away only once two have been at work there for a while. Threads that sleep after 20 µs never are:
 * FeedForward of 6 tokens, five calls after a pause of 30 ms, took 1.15 ms then, as on one thread, and takes 0.65 now.
 * It costs where other programs keep the cores busy: 1.9 ms there instead of 1.3.
 */
const SPINS = 200_000

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
 * Waits until every part is done.
 *
 * @param {Board} board
 * @param {boolean} maySleep false on a browser's main thread, which may only spin
 * @param {number} patience milliseconds
 * @returns {boolean} false where some part is still not done
 */
export function finished({ words }, maySleep, patience) {
  for (let i = 0; i < SPINS; i++) if (Atomics.load(words, PENDING) === 0) return true
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
 * Sleeps until there are parts to take.
 *
 * @param {Board} board
 */
export function awaitParts({ words }) {
  for (let i = 0; i < SPINS; i++) if (Atomics.load(words, OPEN) > 0) return
  Atomics.wait(words, OPEN, 0)
}

/** @typedef {(...args: number[]) => number} Kernel */
