// GELU's state: a row of numbers, which of them the curve's cursor shows, and GELU's form.

import { choice, integer, numbers, slice } from '../../fields.ts'

/** How far the curves go. */
export const X = { min: -4, max: 3 }
/** Its mean is 0. GELU makes nearly the same number of −1.5 and −0.25. */
export const ROW = Object.freeze([-3, -1.5, -0.75, -0.25, 0.25, 0.75, 1.5, 3])

export default slice(
  {
    row: numbers([...ROW], { each: X }),
    chosen: integer(6, { min: 0, max: ROW.length - 1 }),
    form: choice('none', ['none', 'tanh']),
  },
  { views: ['chosen'] },
)
