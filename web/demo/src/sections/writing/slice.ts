// The section's state: what determines a text, and which norm is chosen to look at.

import { choice, integer, number, numbers, seed, slice, text } from '../../fields.ts'

export const FULL_SPEED = 64
export const TEMPERATURES = { min: 0, max: 2 }

export default slice(
  {
    prompt: text('Once upon a time', { max: 400 }),
    seed: seed(5),
    temperature: number(0.8, TEMPERATURES),
    /** The norms that are switched off, counted from 1. */
    off: numbers([], { min: 0, max: 99, each: { min: 1, max: 99 } }),
    /** What stands in the place of a norm that is off: see Engine. */
    replacement: choice('nothing', ['nothing', 'mean', 'plain']),
    /** How many words after the prompt the text with all norms and the one without some share. */
    from: integer(0, { min: 0, max: 1000 }),
    /** Words per second; at the most, as many as it can. */
    speed: integer(8, { min: 1, max: FULL_SPEED }),
    norm: integer(7, { min: 1, max: 99 }),
  },
  { views: ['norm'] },
)
