// The section's state: the story that is written, and which of the model's norms are left out of it.

import { choice, flag, integer, numbers, seed, slice, text, type Field } from '../../fields.ts'
import type { Replacement } from '../../writer/engine.ts'
import { REPLACEMENTS } from '../../writer/norms.ts'

/** Beginnings of many stories that the model was trained on, so it can continue them. */
export const BEGINNINGS = ['Once upon a time', 'A dragon', 'Two little pigs', 'One day'] as const

/** Of the stories' model. */
export const NORMS = 9
export const ALL = Array.from({ length: NORMS }, (_, i) => i + 1)
export const ONE = 2

export const TEMPERATURE = 0.8

const list = numbers([ONE], { min: 0, max: 99, each: { min: 1, max: 99 } })

/** The norms that are off, counted from 1. In the address those of the stories are “none” or “all”. */
const off: Field<number[]> = {
  ...list,
  read: (line) => (line === 'all' ? ALL : line === 'none' ? [] : list.read(line)),
  write: (numbers) =>
    numbers.length === 0 ? 'none' : String(numbers) === String(ALL) ? 'all' : list.write(numbers),
}

export default slice(
  {
    prompt: text(BEGINNINGS[0], { max: 400 }),
    seed: seed(5),
    off,
    /** What stands in the place of a norm that is off. */
    replacement: choice('nothing', Object.keys(REPLACEMENTS) as Replacement[]),
    /** How many words after the prompt both texts share. */
    from: integer(10, { min: 0, max: 1000 }),
    /** Whether every norm is shown. */
    all: flag(false),
    /** The norm whose numbers are shown large. */
    norm: integer(7, { min: 1, max: 99 }),
  },
  { views: ['all', 'norm'] },
)
