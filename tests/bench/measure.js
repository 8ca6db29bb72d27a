// Measuring in turns, so that what else the machine does meets all alike.

/**
 * @typedef {{ seconds: number, rounds: number, sample: number, patience: number, lead?: number }} Effort
 *   seconds: of each entry's calls, on average, and rounds: how many samples of each, both at least;
 *   sample: seconds that one should take; patience: seconds after which a few rounds must do;
 *   lead: seconds of calls before each sample that are not timed, 0 by default
 * @typedef {{ name: string, call: () => unknown, rest?: number }} Entry
 *   rest: seconds after which its threads are quiet, and do not slow down who comes next
 */

/** @type {Effort} */
export const THOROUGH = { seconds: 0.3, rounds: 20, sample: 0.004, patience: 15 }
/** @type {Effort} */
export const QUICK = { seconds: 0.03, rounds: 3, sample: 0.002, patience: 2 }

const FEW_ROUNDS = 5

/** @param {number[]} values @returns {number} */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Seconds that so many calls take, one after the other. @param {() => unknown} call @param {number} calls */
async function time(call, calls) {
  const start = performance.now()
  for (let i = 0; i < calls; i++) {
    const pending = call()
    if (pending) await pending // and no microtask where there is nothing to wait for
  }
  return (performance.now() - start) / 1000
}

/** @param {number} seconds */
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds))

/** Warms up, and finds how many calls make a sample. @param {Entry} entry @param {number} seconds */
async function warmUp({ call }, seconds) {
  await time(call, 1)
  let calls = 1
  while ((await time(call, calls)) < seconds) calls *= 2
  return calls
}

/**
 * Lets the entries run in turns, a sample each, round after round.
 *
 * @param {Entry[]} entries
 * @param {Effort} effort
 * @returns {Promise<Record<string, number>>} the median seconds of a call, by name
 */
export async function race(entries, { seconds, rounds, sample, patience, lead = 0 }) {
  const calls = []
  for (const entry of entries) calls.push(await warmUp(entry, sample))
  const times = entries.map(() => /** @type {number[]} */ ([]))
  let spent = 0
  const enough = (/** @type {number} */ done) =>
    (done >= rounds && spent >= seconds * entries.length) || (done >= FEW_ROUNDS && spent >= patience)
  for (let round = 0; !enough(round); round++) {
    for (const [i, { call, rest }] of entries.entries()) {
      for (let led = 0; led < lead;) led += await time(call, calls[i])
      const taken = await time(call, calls[i])
      times[i].push(taken / calls[i])
      spent += taken
      if (rest) await sleep(rest)
    }
  }
  return Object.fromEntries(entries.map(({ name }, i) => [name, median(times[i])]))
}
