// The section's state: the story that is written, and which of the model's norms are left out of it.

import { choice, integer, seed, slice } from '../../fields.ts'

/** Beginnings of many stories that the model was trained on, so it can continue them. */
export const BEGINNINGS = ['Once upon a time', 'A dragon', 'Two little pigs', 'One day'] as const

export const NORMS = 9

interface State {
  key: 'none' | '2' | 'all'
  /** On the switch. */
  name: string
  /** Of the text that is written so. */
  says: string
  /** The norms that are off, counted from 1. */
  off: readonly number[]
}

export const STATES: readonly State[] = [
  { key: 'none', name: `all ${NORMS} norms on`, says: 'and all norms on', off: [] },
  { key: '2', name: 'one off', says: 'but norm 2 is off', off: [2] },
  {
    key: 'all',
    name: 'all off',
    says: 'but all norms are off',
    off: Array.from({ length: NORMS }, (_, i) => i + 1),
  },
]

export const SPEED = 8 // words per second

export const TEMPERATURE = 0.8

export default slice({
  prompt: choice(BEGINNINGS[0], BEGINNINGS),
  seed: seed(5),
  off: choice('2', ['none', '2', 'all']),
  /** How many words after the prompt both texts share. */
  from: integer(10, { min: 0, max: 1000 }),
})
