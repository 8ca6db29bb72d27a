// Who writes how fast, in Node or in a page: all contestants of one number of threads, in turns.

/** @import { Effort } from '../measure.js' */
/** @import { Label } from './labels.js' */
/** @import { Writer } from './steps.js' */

import { median, takeTurns } from '../measure.js'
import { selects } from '../select.js'
import { nameOf } from './labels.js'
import { textOf } from './model.js'

/**
 * @typedef {Label & { rest: number, memory?: () => Promise<number>, open: () => Promise<Writer> }} Entrant
 *   rest: see Entry of measure.js; memory: the bytes in use, for a contestant whose memory is measured. It is
 *   called before the contestant is opened, and after
 * @typedef {'prompt' | 'at32' | 'at512'} Figure
 * @typedef {Label & { seconds: Partial<Record<Figure, number>>, memory?: number }} Row seconds: the median
 *   time of a token; memory: in bytes
 * @typedef {{ threads: number, effort: Effort, only: string }} Settings
 * @typedef {{ entrant: Entrant, writer: Writer }} Opened
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
const JUDGED = textOf(40)

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
export function checkAgreement(label, found, expected) {
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
 * @param {Settings} settings
 * @param {Entrant[]} entrants the first one is the reference, and always takes part
 * @param {(row: Row) => unknown} report
 * @param {(note: string) => unknown} tell is told of a contestant that could not start
 * @returns {Promise<Opened[]>} those that took part, still open
 */
export async function contest({ effort, only, threads }, entrants, report, tell) {
  const selected = entrants.filter(
    (entrant, i) => i === 0 || selects(only, { operation: nameOf(entrant), threads }),
  )
  /** @type {(Opened & { row: Row })[]} */
  const opened = []
  /** @type {Map<number, number> | undefined} */
  let expected
  for (const entrant of selected) {
    const { open, memory, engine, weights, build, threads } = entrant
    const before = await memory?.()
    let writer
    try {
      writer = await open()
    } catch (error) {
      if (opened.length === 0) throw error // the reference
      tell(`Not run: ${nameOf(entrant)}: ${error}`)
      continue
    }
    const probabilities = await writer.judge(JUDGED)
    expected ??= probabilities
    checkAgreement(entrant, probabilities, expected)
    /** @type {Row} */
    const row = { engine, weights, build, threads, seconds: {} }
    if (memory && before !== undefined) row.memory = (await memory()) - before
    opened.push({ entrant, writer, row })
  }
  for (const { figure, held, read, written } of FIGURES) {
    const entries = opened.map(({ writer, entrant: { rest } }, i) => ({
      name: String(i),
      rest,
      before: () => writer.hold(textOf(held)),
      call: () => writer.write(textOf(held + read).slice(held), written),
    }))
    const times = await takeTurns(entries, effort)
    const tokens = figure === 'prompt' ? read : written
    opened.forEach(({ row }, i) => (row.seconds[figure] = median(times[i]) / tokens))
  }
  for (const { row } of opened) await report(row)
  return opened
}
