// The state of “Why scale and shift?”: the γ of one feature.

import { number, slice } from '../../fields.ts'

export const SCALES = { min: 0, max: 3, step: 0.01 }
/** The γ of the feature as it was learned, with two decimals. */
export const LEARNED = 1.84

export default slice({ scale: number(LEARNED, SCALES) })
