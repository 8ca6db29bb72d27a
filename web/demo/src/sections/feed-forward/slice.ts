// The state of the feed-forward network: the seed of its weights and tokens, and how wide the token's row is.

import { integer, number, slice } from '../../fields.ts'

export const TOKENS = 6
export const DIM = 768
export const HIDDEN = 4 * DIM
/** How often each build is timed. */
export const SAMPLES = 15

/** The deviation of the token's row. */
export const DEVIATION = Object.freeze({ min: 0.1, max: 1.5, step: 0.05 })

export default slice({
  deviation: number(1, DEVIATION),
  seed: integer(123, { min: 0, max: 2 ** 32 - 1 }),
})
