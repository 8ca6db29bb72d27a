// The settings of section 5.

import { choice, integer, slice } from '../../fields.js'

export const BATCH = Object.freeze([2, 3])
export const DIM = 768
export const HIDDEN = 4 * DIM
/** How often each build is timed. */
export const SAMPLES = 15

/** What the data is on its way, in order, and how many numbers a token has there. */
export const STAGES = Object.freeze([
  { name: 'x', size: DIM },
  { name: 'Linear', size: HIDDEN },
  { name: 'GELU', size: HIDDEN },
  { name: 'y', size: DIM },
])

export default slice(
  {
    seed: integer(123, { min: 0, max: 2 ** 32 - 1 }),
    stage: choice(
      'Linear',
      STAGES.map(({ name }) => name),
    ),
    token: integer(0, { min: 0, max: BATCH[0] * BATCH[1] - 1 }),
    number: integer(1234, { min: 0, max: HIDDEN - 1 }),
  },
  { views: ['stage', 'token', 'number'] },
)
