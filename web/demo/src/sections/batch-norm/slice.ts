// The section's settings.

import { choice, integer, seed, slice, type Field } from '../../fields.ts'
import { parseNumber, shortest } from '../../numbers.ts'

export const FEATURES = 5
export const BATCH = { min: 1, max: 6 }
/** How far the reader can move a number of the batch. */
export const LIMITS = [-3, 3] as const

export type NormName = 'layer' | 'batch' | 'rms'

/** @returns x12 for sample 1's feature 2 */
export const cellName = (r: number, c: number): string => `x${r + 1}${c + 1}`

const cell = new RegExp(`^x[1-${BATCH.max}][1-${FEATURES}]$`)

/** What was changed, by cell, as x12 for sample 1's feature 2. */
const edits: Field<Record<string, number>> = {
  initial: {},
  read(text) {
    const found: Record<string, number> = {}
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
  seed: seed(17),
  row: choice('layer', ['layer', 'rms']),
  mode: choice('training', ['training', 'evaluation']),
  edits,
})
