// The section’s settings.

import { integer, slice } from '../../fields.js'

/** Numbers in a row: at least 2, so that n - 1 is not 0. */
export const N = { min: 2, max: 4096 }
export const NOTEBOOK_N = 6
export const GPT2_N = 768

export default slice({
  n: integer(NOTEBOOK_N, N),
  seed: integer(123, { min: 0, max: 2 ** 32 - 1 }),
})
