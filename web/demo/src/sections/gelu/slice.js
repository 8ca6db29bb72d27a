// What section 4 can be set to: where its cursor stands.

import { number, slice } from '../../fields.js'

/** As far as the curves go. */
export const X = { min: -4, max: 4 }

export default slice({ x: number(1, X) })
