// What "How it is computed" shows. Its numbers follow from the state of the example: example-slice.ts.

import { choice, flag, integer, slice } from '../../fields.ts'

const fields = {
  /** The step that is shown. */
  step: choice('mean', ['mean', 'subtract', 'variance', 'divide', 'scale']),
  /** Whether the layer that the rows come from is open. */
  layer: flag(false),
  /** What of PyTorch is open: its code, or what it prints. */
  panel: choice('figure', ['figure', 'code', 'print']),
  /** Scientific notation in what it prints. */
  sci: choice('auto', ['auto', 'on', 'off']),
  /** `dim` of the mean that it prints. */
  dim: integer(-1, { min: -2, max: 1 }),
  /** `keepdim` of that mean. */
  keepdim: flag(true),
}

export default slice(fields, { views: Object.keys(fields) })
