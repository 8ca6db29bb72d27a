// The section's settings.

/** @import { Field } from '../../fields.js' */

import { choice, integer, slice } from '../../fields.js'
import { parseNumber, shortest } from '../../numbers.js'

export const FEATURES = 5
export const BATCH = { min: 1, max: 8 }
export const SEED = { min: 0, max: 2 ** 32 - 1 }

/** @typedef {'layer' | 'batch' | 'rms'} NormName */

const NORMS = /** @type {const} */ (['layer', 'batch', 'rms'])
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
      if (!cell.test(name) || value === null || rest.length) return undefined
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
  seed: integer(123, SEED),
  left: choice('layer', NORMS),
  right: choice('batch', NORMS),
  mode: choice('training', /** @type {const} */ (['training', 'evaluation'])),
  edits,
})
