// The section's settings.

/** @import { Field } from '../../fields.js' */

import { choice, integer, slice } from '../../fields.js'
import { parseNumber, shortest } from '../../numbers.js'

export const FEATURES = 5
export const BATCH = { min: 1, max: 6 }
/** Of a number of the batch that the reader moves. */
export const LIMITS = /** @type {const} */ ([-3, 3])

/** @typedef {'layer' | 'batch' | 'rms'} NormName */

const cell = new RegExp(`^x[1-${BATCH.max}][1-${FEATURES}]$`)

/** What was changed, by cell, as x12 for sample 1's feature 2. @type {Field<Record<string, number>>} */
const edits = {
  initial: {},
  read(text) {
    /** @type {Record<string, number>} */
    const found = {}
    for (const part of text === '' ? [] : text.split(',')) {
      const [name, number, ...rest] = part.split(':')
      const value = parseNumber(number ?? '')
      const fits = value !== null && value >= LIMITS[0] && value <= LIMITS[1]
      if (!cell.test(name) || !fits || rest.length) return undefined
      found[name] = value
    }
    return found
  },
  write: (found) =>
    Object.entries(found)
      .map(([name, value]) => `${name}:${shortest(value)}`)
      .join(','),
}

export default slice({
  batch: integer(4, BATCH),
  seed: integer(17, { min: 0, max: 2 ** 32 - 1 }),
  row: choice('layer', /** @type {const} */ (['layer', 'rms'])),
  mode: choice('training', /** @type {const} */ (['training', 'evaluation'])),
  edits,
})
