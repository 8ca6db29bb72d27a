// What "How it is computed" shows. Its numbers follow from the state of the example: example-slice.ts.

import type { ExampleState } from '../../example-slice.ts'
import { choice, slice, type StateOf } from '../../fields.ts'

const shown = slice(
  { step: choice('mean', ['mean', 'subtract', 'variance', 'divide', 'scale']) },
  { views: ['step'] },
)
export default shown

/** The example's state, and what is shown of it. */
export type Settings = ExampleState & StateOf<typeof shown>
