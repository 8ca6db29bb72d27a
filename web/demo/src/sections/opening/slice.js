// The opening's state: the numbers of both rows once they were changed.

import { numbers, slice } from '../../fields.js'
import { COLUMNS, LIMITS } from './compute.js'

/** Six numbers, or none: then the row is the example's. */
function row() {
  const field = numbers([], { min: 0, max: COLUMNS })
  const valid = (/** @type {number[]} */ values) =>
    (values.length === 0 || values.length === COLUMNS) &&
    values.every((value) => value >= LIMITS[0] && value <= LIMITS[1])
  return {
    ...field,
    read: (/** @type {string} */ text) => {
      const values = field.read(text)
      return values && valid(values) ? values : undefined
    },
  }
}

export default slice({ first: row(), second: row() })
