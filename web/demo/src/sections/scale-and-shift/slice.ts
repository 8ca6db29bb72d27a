// The state of “Why scale and shift?”: the story that is written, and the γ of one feature.

import { flag, number, slice } from '../../fields.ts'

export const SCALES = { min: 0, max: 3 }
/** The γ of the feature as it was learned, with two decimals. */
export const LEARNED = 1.84

export default slice({
  learned: flag(true), // whether the model that writes the story has its own γ and β
  scale: number(LEARNED, SCALES), // γ of the feature
})
