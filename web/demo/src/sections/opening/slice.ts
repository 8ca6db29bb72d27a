// The opening's state: the numbers of both rows once they were changed.

import { numbers, slice } from '../../fields.ts'
import { COLUMNS, LIMITS } from './compute.ts'

/** Six numbers, or none: then the row is the example's. */
function row() {
  const field = numbers([], { min: 0, max: COLUMNS })
  const valid = (values: number[]) =>
    (values.length === 0 || values.length === COLUMNS) &&
    values.every((value) => value >= LIMITS[0] && value <= LIMITS[1])
  return {
    ...field,
    read: (text: string) => {
      const values = field.read(text)
      return values && valid(values) ? values : undefined
    },
  }
}

export default slice({ first: row(), second: row() })
