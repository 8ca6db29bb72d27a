// What "How it is computed" shows. Its numbers follow from the state of the example: example-slice.ts.

import { choice, slice } from '../../fields.ts'

export default slice(
  { step: choice('mean', ['mean', 'subtract', 'variance', 'divide', 'scale']) },
  { views: ['step'] },
)
