// What section 2 can be set to.

import { integer, slice } from '../../fields.js'

/** As many numbers a row has at least, so that n - 1 divides, and at most. */
export const N = { min: 2, max: 4096 }
export const NOTEBOOK_N = 6
export const GPT2_N = 768

export default slice({
  n: integer(NOTEBOOK_N, N),
  seed: integer(123, { min: 0, max: 2 ** 32 - 1 }),
})
