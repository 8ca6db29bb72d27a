// What the fuzzers' programs share: their options, and the loop.

import { parseArgs } from 'node:util'

/**
 * What one batch did.
 *
 * @typedef {object} Batch
 * @property {number} count what was tried
 * @property {string | null} finding what broke and how to replay it; null for none
 */

const MINUTE = 60_000

/** @returns the program's options; null for others than it has */
function options() {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string' },
        minutes: { type: 'string' },
        runs: { type: 'string' },
        replay: { type: 'string' },
      },
    }).values
  } catch {
    return null
  }
}

/**
 * Runs batch after batch, each with a seed of its own, until the time is up, `--runs` batches are done or one
 * has a finding. Prints the seed first, the count so far every minute and the count last. Other options than
 * these print a usage line, with exit code 2.
 *
 *     --seed N      a whole number below 2^32
 *     --minutes M   how long
 *     --runs R      how many batches, instead of minutes
 *     --replay X    tries X alone, which a finding printed
 *
 * @param {object} fuzzer
 * @param {string} fuzzer.name
 * @param {string} fuzzer.unit what is counted
 * @param {(seed: number) => Promise<Batch>} fuzzer.batch
 * @param {(finding: string) => Promise<string | null>} fuzzer.replay what a replay finds, or null
 */
export async function main({ name, unit, batch, replay }) {
  const values = options()
  const seed = Number(values?.seed)
  const minutes = Number(values?.minutes ?? Infinity)
  const most = Number(values?.runs ?? Infinity)
  const isSeed = /^\d+$/.test(values?.seed ?? '') && seed < 2 ** 32
  const isEnd = (minutes >= 0 && minutes < Infinity) || (most >= 0 && most < Infinity)
  if (values === null || (values.replay === undefined && !(isSeed && isEnd))) {
    console.error(`usage: node tests/fuzz/${name}.fuzz.js --seed N (--minutes M | --runs R) | --replay X`)
    process.exitCode = 2
    return
  }
  if (values.replay !== undefined) {
    const finding = await replay(values.replay)
    console.log(finding ?? `${name}: no finding`)
    process.exitCode = finding === null ? 0 : 1
    return
  }
  console.log(`${name}: seed ${seed}`)
  const end = performance.now() + MINUTE * minutes
  let next = performance.now() + MINUTE
  let count = 0
  for (let i = 0; i < most && (i === 0 || performance.now() < end); i++) {
    const result = await batch((seed + i) % 2 ** 32)
    count += result.count
    if (performance.now() >= next) {
      next = performance.now() + MINUTE
      console.log(`${name}: ${count.toLocaleString('en')} ${unit} so far`)
    }
    if (result.finding !== null) {
      console.log(`${name}: seed ${seed + i}: ${result.finding}`)
      process.exitCode = 1
      break
    }
    await new Promise((resolve) => setImmediate(resolve)) // lets finalizers run
  }
  console.log(`${name}: ${count.toLocaleString('en')} ${unit}, ${process.exitCode ? 'one' : 'no'} finding`)
}
