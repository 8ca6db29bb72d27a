// The state of the feed-forward network: whether a layer norm comes before it, and the x at which GELU is read.

import { flag, number, slice } from '../../fields.ts'

export const DIM = 768
export const HIDDEN = 4 * DIM

/** How far the curves go. */
export const X = { min: -4, max: 3 }

export default slice({ norm: flag(false), x: number(-0.3, X) })
