// GELU's state: the x at which the curves are read.

import { number, slice } from '../../fields.ts'

/** How far the curves go. */
export const X = { min: -4, max: 3 }

export default slice({ x: number(-0.3, X) })
