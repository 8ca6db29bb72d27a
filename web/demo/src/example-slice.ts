// The state of the example that several sections show: two rows of six numbers, and how they are normalized.
// The rows follow from the batch and the layer, until they get numbers of their own.

import { choice, edits, number, numbers, seed, slice, type StateOf } from './fields.ts'
import { CELLS, OUTPUTS, SEED } from './example.ts'

export const MAX_EPS = 1e6
export const EPS = 1e-5

/** Six numbers, or none: then the row follows from the batch. */
const row = numbers([], { lengths: [0, OUTPUTS] })

const example = slice({
  first: row,
  second: row,
  /** Of the batch and the layer. */
  seed: seed(SEED),
  /** The changed numbers of the batch, the layer, scale and shift, by cell name. */
  edits: edits((name) => CELLS.has(name)),
  /** What the variance is divided by. */
  divisor: choice('n', ['n', 'n-1']),
  /** Added to the variance. */
  eps: number(EPS, { min: 0, max: MAX_EPS }),
})

export default example

export type ExampleState = StateOf<typeof example>
