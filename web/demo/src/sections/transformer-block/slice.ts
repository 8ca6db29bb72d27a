// The section's settings: which token is followed, and where the norms are.

import { choice, integer, slice } from '../../fields.ts'

/** Whether a norm stands before the part it belongs to, or after it. */
export type Order = 'pre' | 'post'

/** The beginning of a story that the model knows how to tell, and its tokens. */
export const SENTENCE = 'Once upon a time, a quiet girl named Zuri lived in a crooked tower.'
export const TOKENS = 16
/** The axis of all tokens and both orders goes from minus this to this. */
export const MOST = 56

export default slice({
  order: choice('pre', ['pre', 'post']),
  token: integer(11, { min: 1, max: TOKENS }),
})
