// The opening's state: the numbers of both rows once they were moved. "How it is computed" shows them, too.

import { numbers, slice } from '../../fields.ts'
import { OUTPUTS } from '../../example.ts'

/** Six numbers that float32 has, or none: then the row follows from the example's batch. */
function row() {
  const field = numbers([], { min: 0, max: OUTPUTS })
  const valid = (values: number[]) =>
    (values.length === 0 || values.length === OUTPUTS) && values.every(Number.isFinite)
  return {
    ...field,
    read: (text: string) => {
      const values = field.read(text)
      return values && valid(values) ? values : undefined
    },
  }
}

export default slice({ first: row(), second: row() })
