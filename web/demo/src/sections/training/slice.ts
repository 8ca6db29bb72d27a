// The section's settings: the network that is trained, and the size of its steps.

import { choice, integer, number, seed, slice } from '../../fields.ts'

export const BLOCKS = [1, 3, 6, 12]
export const RATES = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.05]
export const WEIGHTS = { pytorch: 'PyTorch’s', gpt2: 'GPT-2’s' }

export default slice({
  blocks: integer(3, { min: 1, max: 12 }),
  /** The learning rate. */
  rate: number(0.001, { min: 1e-5, max: 1 }),
  /** How the first weights are drawn. */
  weights: choice('pytorch', ['pytorch', 'gpt2']),
  seed: seed(2),
})
