// Computes the notebook's FeedForward on the notebook's input. Uses only the package.

import { GPT_CONFIG_124M, type Gpt, type Tensor } from 'gpt-layers'
import { DIM } from './slice.ts'

const TEXTS = 2
const TOKENS = 3

/** A token's row somewhere on its way, and the row's mean and variance. */
export type Stage = { name: string; values: Float32Array; mean: number; variance: number }

/**
 * Draws the network and its input as the notebook does, and runs the input through it, also with a layer norm
 * before it.
 *
 * @returns the first token on its way: [without the norm, with it]; and how many numbers the network learns
 */
export function compute(gpt: Gpt) {
  return gpt.noGrad(() =>
    gpt.scope(() => {
      gpt.manualSeed(123)
      gpt.randn([2, 5]) // what the notebook draws before: its batch and
      new gpt.Linear(5, 6) // its first layer
      const network = new gpt.FeedForward(GPT_CONFIG_124M)
      const x = gpt.rand([TEXTS, TOKENS, DIM])
      const [widen, gelu] = network.layers
      const stages = (x: Tensor): Stage[] => {
        const linear = widen.forward(x)
        const rows = { x, Linear: linear, GELU: gelu.forward(linear), y: network.forward(x) }
        return Object.entries(rows).map(([name, row]) => ({
          name,
          values: row.data.slice(0, row.size / (TEXTS * TOKENS)),
          mean: row.mean({ dim: -1 }).data[0],
          variance: row.var({ dim: -1, unbiased: false }).data[0],
        }))
      }
      const parameters = network.parameters().reduce((sum, { size }) => sum + size, 0)
      return { ways: [stages(x), stages(new gpt.LayerNorm(DIM).forward(x))], parameters }
    }),
  )
}
