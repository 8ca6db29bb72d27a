// The section's settings.

import { choice, edits, integer, slice } from '../../fields.ts'

export const FEATURES = 5
export const BATCH = { min: 1, max: 6 }
/** How far the reader can move a number of the batch. */
export const LIMITS = [-3, 3] as const

export type NormName = 'layer' | 'batch' | 'rms'

/** @returns x12 for sample 1's feature 2 */
export const cellName = (r: number, c: number): string => `x${r + 1}${c + 1}`

const cell = new RegExp(`^x[1-${BATCH.max}][1-${FEATURES}]$`)

export default slice({
  batch: integer(4, BATCH),
  /** What batch norm is in. */
  mode: choice('training', ['training', 'evaluation']),
  /** The changed numbers, by cell: x12 is sample 1's feature 2. */
  edits: edits((name) => cell.test(name), { min: LIMITS[0], max: LIMITS[1] }),
})
