// The state of the feed-forward network: the seed of its weights and of its tokens.

import { integer, slice } from '../../fields.js'

export const TOKENS = 6
export const DIM = 768
export const HIDDEN = 4 * DIM
/** How often each build is timed. */
export const SAMPLES = 15

export default slice({ seed: integer(123, { min: 0, max: 2 ** 32 - 1 }) })
