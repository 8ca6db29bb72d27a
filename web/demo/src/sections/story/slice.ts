// The section's state: the story that is written, and which of the model's norms are left out of it.

import { choice, integer, numbers, seed, slice, type Field } from '../../fields.ts'
import type { Replacement } from '../../writer/engine.ts'

/** The number of norms in the GPT of the stories: two in each block, and the final one. */
export const NORMS = 9
export const ALL = Array.from({ length: NORMS }, (_, i) => i + 1)

export const TEMPERATURE = 0.8

const list = numbers([], { lengths: [0, ...ALL], each: { min: 1, max: NORMS } })

/** The norms that are off, counted from 1. In the address all of them are “all”. */
const off: Field<number[]> = {
  ...list,
  read: (line) => (line === 'all' ? ALL : list.read(line)),
  write: (numbers) => (String(numbers) === String(ALL) ? 'all' : list.write(numbers)),
}

export default slice({
  seed: seed(5),
  off,
  /** What stands in the place of a norm that is off. */
  replacement: choice<Replacement>('nothing', ['nothing', 'mean', 'rms', 'plain', 'half']),
  /** How many words after the prompt both texts share. */
  from: integer(10, { min: 0, max: 1000 }),
})
