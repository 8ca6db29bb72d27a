// The state of the section on half precision: the precision of the final norm, and the factor of its rows.

import { choice, number, slice } from '../../fields.ts'

export const FACTORS = { min: 1, max: 24, step: 0.5 }
/** At this one every row of the stories' GPT is lost. */
export const LOST = 20

/** The text: always the most probable word. */
export const STORY = { seed: 0, temperature: 0, from: 0 }
export const WORDS = 50

export default slice({
  precision: choice('float32', ['float32', 'float16']),
  factor: number(LOST, FACTORS),
})
