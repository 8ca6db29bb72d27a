// What the fuzzers' programs share: their options, and the loop.

import { parseArgs } from 'node:util'

/**
 * What one batch did.
 *
 * @typedef {object} Batch
 * @property {number} count what was tried
 * @property {string | null} finding what broke and how to replay it; null for none
 */

/**
 * Runs batch after batch, each with a seed of its own, until the time is up, `--runs` batches are done or one
 * has a finding. Prints the seed first and the count last.
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
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      minutes: { type: 'string' },
      runs: { type: 'string' },
      replay: { type: 'string' },
    },
  })
  if (values.replay !== undefined) {
    const finding = await replay(values.replay)
    console.log(finding ?? `${name}: no finding`)
    process.exitCode = finding === null ? 0 : 1
    return
  }
  const seed = Number(values.seed)
  if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 32 || !(values.minutes ?? values.runs)) {
    throw new Error(`usage: node tests/fuzz/${name}.fuzz.js --seed N (--minutes M | --runs R) | --replay X`)
  }
  console.log(`${name}: seed ${seed}`)
  const end = performance.now() + 60_000 * Number(values.minutes ?? Infinity)
  const most = Number(values.runs ?? Infinity)
  let count = 0
  for (let i = 0; i < most && (i === 0 || performance.now() < end); i++) {
    const result = await batch((seed + i) % 2 ** 32)
    count += result.count
    if (result.finding !== null) {
      console.log(`${name}: seed ${seed + i}: ${result.finding}`)
      process.exitCode = 1
      break
    }
    await new Promise((resolve) => setImmediate(resolve)) // lets finalizers run
  }
  console.log(`${name}: ${count.toLocaleString('en')} ${unit}, ${process.exitCode ? 'one' : 'no'} finding`)
}
