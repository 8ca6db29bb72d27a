// The section's settings: the network that is trained, and the size of its steps.

import { integer, number, slice } from '../../fields.ts'

export const BLOCKS = [1, 2, 3, 4, 6]
export const RATES = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.05]
export const LARGE = 0.02
/** The learning rate of the section's guess: small steps. */
export const SMALL = 0.001

export default slice({
  blocks: integer(3, { min: 1, max: 6 }),
  /** The learning rate. */
  rate: number(LARGE, { min: RATES[0], max: 0.05 }),
})
