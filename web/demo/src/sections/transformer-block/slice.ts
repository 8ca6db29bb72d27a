// The section's settings: which token is followed, which norm is open, and where the norms are.

import { choice, integer, slice } from '../../fields.ts'

/** Whether a norm stands before the part it belongs to, or after it. */
export type Order = 'pre' | 'post'

/** The beginning of a story that the model knows how to tell, and its tokens. */
export const SENTENCE = 'Once upon a time, a quiet girl named Zuri lived in a crooked tower.'
export const TOKENS = 16
const BLOCKS = 4

export default slice(
  {
    order: choice('pre', ['pre', 'post']),
    token: integer(11, { min: 1, max: TOKENS }),
    norm: integer(2 * BLOCKS + 1, { min: 1, max: 2 * BLOCKS + 1 }),
  },
  { views: ['norm'] },
)
