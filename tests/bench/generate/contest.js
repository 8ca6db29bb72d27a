// Who writes how fast: all contestants of one number of threads, in turns. generate.js runs this file in a
// process of its own.

/** @import { Gpt } from '../../lib/support.js' */
/** @import { Effort } from '../measure.js' */
/** @import { Config } from './model.js' */
/** @import { Label, Writer } from './steps.js' */

import { median, takeTurns } from '../measure.js'
import { restAfter as restOfPeer } from '../onnxruntime.js'
import { BUILDS, open, restAfter } from '../ours.js'
import { asProcess } from '../program.js'
import { selects } from '../select.js'
import { isInstalled, openLlama } from './llama.js'
import { idsOf } from './model.js'
import { openOnnxruntime } from './onnxruntime.js'
import { openOurs } from './ours.js'
import { nameOf, WEIGHTS } from './steps.js'

/**
 * @typedef {Label & { rest: number, open: () => Promise<Writer> }} Entrant rest: see Entry of measure.js
 * @typedef {'prompt' | 'at32' | 'at512'} Figure
 * @typedef {Label & { seconds: Partial<Record<Figure, number>> }} Row seconds: the median time of a token
 * @typedef {{ threads: number, effort: Effort, only: string, config: Config, memoryOf?: string }} Task
 *   memoryOf: measure nothing but the memory of this contestant
 * @typedef {{ row?: Row, memory?: number, note?: string }} Message memory: in bytes
 */

/** How many tokens a sample writes, half of them before the length that it stands for, half after. */
const WRITTEN = 24

/** What is measured: the tokens in the cache before, the tokens that are then read, and those written. */
const FIGURES = /** @type {const} */ ([
  { figure: 'prompt', held: 0, read: 128, written: 1 },
  { figure: 'at32', held: 32 - WRITTEN / 2 - 1, read: 1, written: WRITTEN },
  { figure: 'at512', held: 512 - WRITTEN / 2 - 1, read: 1, written: WRITTEN },
])

/** A text after which the contestants' probabilities are compared. */
const JUDGED = idsOf(40)

/**
 * The largest difference of the logarithm of a token's probability. llama.cpp keeps keys and values as
 * float16.
 *
 * @param {string} weights
 */
const tolerance = (weights) => (weights === 'float32' ? 2e-3 : 0.1)

/**
 * @param {Label} label
 * @param {Map<number, number>} found
 * @param {Map<number, number>} expected of all tokens
 * @throws {Error} where they differ
 */
function checkAgreement(label, found, expected) {
  const allowed = tolerance(label.weights)
  if (found.size === 0) throw new Error(`${nameOf(label)} should give probabilities`)
  for (const [token, value] of found) {
    const difference = Math.abs(value - (expected.get(token) ?? NaN))
    if (!(difference <= allowed)) {
      const numbers = `${value} for ${expected.get(token)}, at token ${token}`
      throw new Error(`${nameOf(label)} should agree within ${allowed}, got a log-probability of ${numbers}`)
    }
  }
}

/**
 * @param {Config} config
 * @param {number} threads
 * @param {(message: Message) => void} report is told why a build does not take part
 * @returns {Promise<Entrant[]>} the first one is the reference
 */
async function entrantsOf(config, threads, report) {
  /** @type {Entrant[]} */
  const entrants = []
  for (const build of BUILDS) {
    const opened = await open({ build, threads })
    if ('note' in opened) report({ note: `Not run: ${opened.note}` })
    else entrants.push(...WEIGHTS.ours.map((weights) => ourEntrant(opened.gpt, config, weights)))
  }
  const peer = { build: '', threads, rest: restOfPeer(threads) }
  for (const weights of WEIGHTS.onnxruntime) {
    const start = () => openOnnxruntime(config, weights, threads)
    entrants.push({ ...peer, engine: 'onnxruntime-web', weights, open: start })
  }
  for (const weights of isInstalled() ? WEIGHTS.llama : []) {
    const start = () => openLlama(config, weights, threads)
    entrants.push({ ...peer, engine: 'llama.cpp, native', weights, open: start })
  }
  return entrants
}

/** @param {Gpt} gpt @param {Config} config @param {typeof WEIGHTS.ours[number]} weights @returns {Entrant} */
const ourEntrant = (gpt, config, weights) => ({
  engine: 'gpt-layers',
  weights,
  build: gpt.build,
  threads: gpt.threads,
  rest: restAfter(gpt.threads),
  open: () => openOurs(gpt, config, weights),
})

/** The bytes of this process that are in memory. */
function bytesInUse() {
  globalThis.gc?.()
  return process.memoryUsage().rss
}

/** Writes a few tokens, so that all buffers exist. @param {Entrant} entrant @returns {Promise<number>} bytes */
async function memoryOf({ open }) {
  const before = bytesInUse()
  const writer = await open()
  await writer.hold(idsOf(64))
  await writer.write([0], 8)
  return bytesInUse() - before
}

/** @param {Task} task @param {(message: Message) => void} report */
async function contest(task, report) {
  const { threads, effort, only, config } = task
  const entrants = await entrantsOf(config, threads, report)
  if (task.memoryOf !== undefined) {
    const entrant = entrants.find((one) => nameOf(one) === task.memoryOf)
    if (entrant) report({ memory: await memoryOf(entrant) })
    return
  }
  const selected = entrants.filter((one, i) => i === 0 || selects(only, { operation: nameOf(one), threads }))
  /** @type {{ writer: Writer, rest: number, row: Row }[]} */
  const opened = []
  /** @type {Map<number, number> | undefined} */
  let expected
  for (const { open, rest, ...label } of selected) {
    let writer
    try {
      writer = await open()
    } catch (error) {
      if (opened.length === 0) throw error // the reference
      report({ note: `Not run: ${nameOf(label)}: ${error}` })
      continue
    }
    const probabilities = await writer.judge(JUDGED)
    expected ??= probabilities
    checkAgreement(label, probabilities, expected)
    opened.push({ writer, rest, row: { ...label, seconds: {} } })
  }
  for (const { figure, held, read, written } of FIGURES) {
    const entries = opened.map(({ writer, rest }, i) => ({
      name: String(i),
      rest,
      before: () => writer.hold(idsOf(held)),
      call: () => writer.write(idsOf(held + read).slice(held), written),
    }))
    const times = await takeTurns(entries, effort)
    const tokens = figure === 'prompt' ? read : written
    opened.forEach(({ row }, i) => (row.seconds[figure] = median(times[i]) / tokens))
  }
  for (const { row } of opened) report({ row })
}

await asProcess(contest)
