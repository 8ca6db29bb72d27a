// Times several functions in turns, so that a disturbance of the machine meets all of them alike.

/**
 * @typedef {object} Effort how long to measure
 * @property {number} seconds the least time per entry, on average over the entries
 * @property {number} rounds the least number of samples per entry
 * @property {number} sample the duration of one sample in seconds; a sample has at least one call
 * @property {number} patience seconds in total after which FEW_ROUNDS samples per entry are enough
 * @property {number} [lead] seconds of untimed calls before each sample; default 0
 * @property {number} [warm] seconds of untimed calls of each entry before the first round; default 0
 */

/**
 * @typedef {object} Entry
 * @property {string} name
 * @property {() => unknown} call the function to time; a promise that it returns is awaited
 * @property {() => unknown} [before] runs before each call, untimed; a promise that it returns is awaited
 * @property {number} [rest] seconds to wait after each sample, until this entry's threads have stopped
 *   spinning
 */

/** @type {Effort} */
export const THOROUGH = { seconds: 0.3, rounds: 20, sample: 0.004, patience: 15 }
/** @type {Effort} */
export const QUICK = { seconds: 0.03, rounds: 3, sample: 0.002, patience: 2 }

const FEW_ROUNDS = 5

/** @param {number[]} values @returns {number} */
export const median = (values) => quantile(values, 0.5)

/**
 * @param {number[]} values
 * @param {number} q from 0 (the minimum) to 1 (the maximum)
 * @returns {number} interpolated linearly between neighbors
 */
export function quantile(values, q) {
  const sorted = values.toSorted((a, b) => a - b)
  const position = q * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(position)], sorted[Math.ceil(position)]]
  return low + (position % 1) * (high - low)
}

/** @param {Entry} entry @param {number} calls @returns {Promise<number>} seconds of all calls together */
async function time({ call, before }, calls) {
  if (before) return timeEach(call, before, calls)
  const start = performance.now()
  for (let i = 0; i < calls; i++) {
    const pending = call()
    if (pending) await pending // A synchronous call must not pay for a microtask.
  }
  return (performance.now() - start) / 1000
}

/** @param {() => unknown} call @param {() => unknown} before @param {number} calls */
async function timeEach(call, before, calls) {
  let milliseconds = 0
  for (let i = 0; i < calls; i++) {
    const ready = before()
    if (ready) await ready
    const start = performance.now()
    const pending = call()
    if (pending) await pending
    milliseconds += performance.now() - start
  }
  return milliseconds / 1000
}

/** @param {number} seconds */
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds))

/**
 * Calls the entry until its code is compiled and its buffers exist.
 *
 * @param {Entry} entry
 * @param {Effort} effort
 * @returns {Promise<number>} how many calls fill a sample
 */
async function warmUp(entry, { sample, warm = 0 }) {
  for (let warmed = 0; warmed <= warm;) warmed += await time(entry, 1)
  let calls = 1
  while ((await time(entry, calls)) < sample) calls *= 2
  return calls
}

/**
 * Times the entries in turns: one sample of each per round. Odd rounds run in reverse order (A B, B A, A B,
 * ...), so that no entry is always the one that follows a certain other.
 *
 * @param {Entry[]} entries
 * @param {Effort} effort
 * @returns {Promise<number[][]>} seconds per call: one array per entry, one number per round
 */
export async function takeTurns(entries, effort) {
  const { seconds, rounds, patience, lead = 0 } = effort
  /** @type {(Entry & { calls: number, times: number[] })[]} */
  const runners = []
  for (const entry of entries) runners.push({ ...entry, calls: await warmUp(entry, effort), times: [] })
  const order = [...runners]
  let spent = 0
  const enough = (/** @type {number} */ done) =>
    (done >= rounds && spent >= seconds * entries.length) || (done >= FEW_ROUNDS && spent >= patience)
  for (let round = 0; !enough(round); round++) {
    for (const runner of order) {
      for (let led = 0; led < lead;) led += await time(runner, runner.calls)
      const taken = await time(runner, runner.calls)
      runner.times.push(taken / runner.calls)
      spent += taken
      if (runner.rest) await sleep(runner.rest)
    }
    order.reverse()
  }
  return runners.map(({ times }) => times)
}

/**
 * @param {Entry[]} entries
 * @param {Effort} effort
 * @returns {Promise<Record<string, number>>} the median seconds of a call, by name
 */
export async function race(entries, effort) {
  const times = await takeTurns(entries, effort)
  return Object.fromEntries(entries.map(({ name }, i) => [name, median(times[i])]))
}
