// The state of the section on half precision: a row, the precision that normalizes it, and the factor of the
// rows at the last norm of the GPT that writes.

import { choice, integer, numbers, slice } from '../../fields.ts'

export const LIMITS = { min: -400, max: 1000 } // of the row’s numbers

/** What the norm has learned: γ is 1. */
export const SHIFT = [0.4, -0.3, 0.2, -0.5, 0.1, 0.6, -0.2, 0.3]

export const FACTORS = [1, 2, 4, 8]

/** The text: always the most probable word. */
export const STORY = {
  prompt: 'Once upon a time',
  seed: 0,
  temperature: 0,
  from: 0,
  off: Array.from({ length: 9 }, (_, i) => i === 8),
  replacement: 'half' as const,
}
export const WORDS = 50

export default slice({
  row: numbers([-165, -150, -130, -115, -95, -80, -65, 800], { each: LIMITS }),
  precision: choice('float32', ['float32', 'float16']),
  factor: integer(8, { min: 1, max: 8 }),
})
