// The section’s settings.

import { integer, numbers, seed, slice } from '../../fields.ts'

/** Numbers in a row: at least 2, so that n - 1 is not 0. */
export const N = { min: 2, max: 4096 }
export const EXAMPLE_N = 6
export const GPT2_N = 768
/** A row with at most this many numbers is shown as dots, which can be moved. */
export const MOST_DOTS = 12
/** How far a dot can be moved. */
export const LIMITS = [-0.5, 1] as const

export default slice({
  n: integer(EXAMPLE_N, N),
  seed: seed(123),
  /** The row, once a dot was moved; empty: as the seed draws it. */
  x: numbers([], { min: 0, max: MOST_DOTS, each: { min: LIMITS[0], max: LIMITS[1] } }),
})
