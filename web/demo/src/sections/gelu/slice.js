// The settings of section 4: the position of its cursor.

import { number, slice } from '../../fields.js'

/** As far as the curves go. */
export const X = { min: -4, max: 4 }

export default slice({ x: number(1, X) })
