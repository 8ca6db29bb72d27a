// The opening's state: the reader's row, which stands in the place of the example's first.

import { numbers, slice } from '../../fields.ts'

/** How many numbers a row may have. */
export const LENGTH = { min: 2, max: 12 }

const field = numbers([], { min: 0, max: LENGTH.max })

export default slice({
  row: {
    ...field,
    read: (text: string) => {
      const values = field.read(text)
      return values?.every(Number.isFinite) && values.length !== 1 ? values : undefined
    },
  },
})
