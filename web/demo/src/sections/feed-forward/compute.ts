// Computes the notebook's FeedForward on the notebook's input, and GELU beside ReLU. Uses only the package.

import { GPT_CONFIG_124M, type Gpt, type Tensor } from 'gpt-layers'
import { DIM, X } from './slice.ts'

const TEXTS = 2
const TOKENS = 3
const STEPS = 4000 // of the grid on which extremes are searched

/** A token's row somewhere on its way, and the row's mean and variance. */
export type Stage = { name: string; values: Float32Array; mean: number; variance: number }

/**
 * Draws the network and its input as the notebook does, and runs the input through it, also with a layer norm
 * before it.
 *
 * @returns the first token on its way: [without the norm, with it]; how many numbers the network learns, and
 *   how many GPT-2 does
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
      const { vocabSize, contextLength, nLayers } = GPT_CONFIG_124M
      const attention = 4 * DIM * (DIM + 1)
      const norm = 2 * DIM
      return {
        before: stages(x),
        after: stages(new gpt.LayerNorm(DIM).forward(x)),
        parameters,
        all: (vocabSize + contextLength) * DIM + nLayers * (attention + parameters + 2 * norm) + norm,
      }
    }),
  )
}

/** The values of each activation, and its slopes. gelu: as GPT-2 and the notebook compute it, by tanh. */
export function activate(gpt: Gpt, xs: readonly number[]) {
  return gpt.scope(() => {
    const run = (layer: { forward: (x: Tensor) => Tensor }) => {
      const x = gpt.parameter(gpt.tensor([...xs], [xs.length]))
      const y = layer.forward(x)
      y.sum().backward() // each slope is the gradient of the sum
      const dy = Array.from((x.grad as Tensor).data)
      x.grad?.dispose()
      return { y: Array.from(y.data), dy }
    }
    return {
      gelu: run(new gpt.GELU()),
      exact: run(new gpt.GELU({ approximate: 'none' })),
      relu: run(new gpt.ReLU()),
    }
  })
}

/** The curves, GELU's minimum, and how far it is from the exact form at most. */
export function curves(gpt: Gpt) {
  const xs = Array.from({ length: STEPS + 1 }, (_, i) => X.min + ((X.max - X.min) * i) / STEPS)
  const { gelu, relu, exact } = activate(gpt, xs)
  const lowest = gelu.y.indexOf(Math.min(...gelu.y))
  const points = (y: number[]) => xs.map((x, i): [number, number] => [x, y[i]]).filter((_, i) => i % 10 === 0)
  return {
    gelu: points(gelu.y),
    relu: points(relu.y),
    lowest: { x: xs[lowest], y: gelu.y[lowest] },
    apart: Math.max(...exact.y.map((value, i) => Math.abs(value - gelu.y[i]))),
  }
}
