// Runs one fuzzer, or every one for its share of the minutes: ./build.sh fuzz MINUTES [--seed N]
//
//     node tests/fuzz/fuzz.js MINUTES [--seed N] | NAME [--seed N] (--minutes M | --runs R) | NAME --replay X
//
// NAME is that of a file of this folder: api, allocations, kernels, safetensors, torchfile. A fuzzer runs batch
// after batch, each with a seed of its own, until the time is up, R batches are done or one has a finding. It
// prints the seed first, the count so far every minute, and the count last. `--replay` tries X alone, which a
// finding printed.

import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/**
 * @typedef {object} Fuzzer
 * @property {string} unit what is counted
 * @property {(seed: number) => Promise<{ count: number, finding: string | null, input?: string }>} batch what
 *   was tried, what broke, and what to replay
 * @property {(input: string) => Promise<string | null>} replay what it finds
 * @property {() => Promise<void>} [end]
 */

const NAMES = ['allocations', 'api', 'kernels', 'safetensors', 'torchfile']
const MINUTE = 60_000
const USAGE = `usage: ./build.sh fuzz MINUTES [--seed N]
       node tests/fuzz/fuzz.js NAME [--seed N] (--minutes M | --runs R) | NAME --replay X`

/** @returns the program's options; null for others than it has */
function options() {
  try {
    const text = /** @type {const} */ ({ type: 'string' })
    const fresh = /** @type {const} */ ({ type: 'string', default: String(randomBytes(4).readUInt32LE()) })
    const { values, positionals } = parseArgs({
      options: { seed: fresh, minutes: text, runs: text, replay: text },
      allowPositionals: true,
    })
    const [first, ...more] = positionals
    const name = NAMES.find((name) => name === first)
    const { seed, runs = 'Infinity', replay, minutes = name ? 'Infinity' : first } = values
    const isTime = [minutes, runs].every((text) => /^(\d+(\.\d+)?|Infinity)$/.test(text ?? ''))
    const isSeed = /^\d+$/.test(seed) && Number(seed) < 2 ** 32
    const isEnd = replay !== undefined || Math.min(Number(minutes), Number(runs)) < Infinity
    if (more.length > 0 || !isTime || !isSeed || !isEnd) return null
    return { name, seed: Number(seed), minutes: Number(minutes), runs: Number(runs), replay }
  } catch {
    return null
  }
}

/** @param {string} name @param {number} seed @param {number} minutes @param {number} runs */
async function run(name, seed, minutes, runs) {
  const fuzzer = await load(name)
  console.log(`${name}: seed ${seed}`)
  const end = performance.now() + MINUTE * minutes
  let next = performance.now() + MINUTE
  let [count, found] = [0, false]
  for (let i = 0; i < runs && !found && (i === 0 || performance.now() < end); i++) {
    const batch = await fuzzer.batch((seed + i) % 2 ** 32)
    count += batch.count
    if (performance.now() >= next) {
      next = performance.now() + MINUTE
      console.log(`${name}: ${count.toLocaleString('en')} ${fuzzer.unit} so far`)
    }
    if (batch.finding !== null) {
      console.log(`${name}: seed ${seed + i}: ${batch.finding}`)
      const input = batch.input?.replaceAll("'", "'\\''")
      if (input) console.log(`replay: node tests/fuzz/fuzz.js ${name} --replay '${input}'`)
      found = true
    }
    await new Promise((resolve) => setImmediate(resolve)) // lets finalizers run
  }
  await fuzzer.end?.()
  console.log(`${name}: ${count.toLocaleString('en')} ${fuzzer.unit}, ${found ? 'one' : 'no'} finding`)
  if (found) process.exitCode = 1
}

/** @param {string} name @returns {Promise<Fuzzer>} */
const load = async (name) => (await import(`./${name}.js`)).fuzzer

const given = options()
if (given === null || (!given.name && given.replay !== undefined)) {
  console.error(USAGE)
  process.exitCode = 2
} else if (!given.name) {
  const { seed, minutes } = given
  console.log(`seed ${seed}: ./build.sh fuzz ${minutes} --seed ${seed} repeats this run`)
  for (const name of NAMES) {
    const args = [name, '--seed', String(seed), '--minutes', String(minutes / NAMES.length)]
    const { status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), ...args], {
      stdio: 'inherit',
    })
    if (status !== 0) process.exitCode = 1
  }
} else if (given.replay !== undefined) {
  const fuzzer = await load(given.name)
  const finding = await fuzzer.replay(given.replay)
  await fuzzer.end?.()
  console.log(finding ?? `${given.name}: no finding`)
  process.exitCode = finding === null ? 0 : 1
} else {
  await run(given.name, given.seed, given.minutes, given.runs)
}
