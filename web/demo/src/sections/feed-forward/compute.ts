// Computes the notebook's FeedForward on the notebook's input, and GELU beside ReLU. Uses only the package.

import {
  FeedForward,
  GELU,
  GPT_CONFIG_124M,
  LayerNorm,
  Linear,
  manualSeed,
  noGrad,
  parameter,
  rand,
  randn,
  ReLU,
  scope,
  type Tensor,
  tensor,
} from 'gpt-layers'
import { DIM, X } from './slice.ts'

const TOKENS = 2 * 3 // of two texts

const STEPS = 4000 // of the grid on which extremes are searched

/** A token's row somewhere on its way, and the row's mean and variance. */
type Stage = { name: string; values: Float32Array; mean: number; variance: number }

/**
 * Draws the network and its input as the notebook does. before, after: the first token on its way, without a
 * layer norm and after one. parameters: how many numbers the network learns; all: how many GPT-2 does.
 */
export function compute() {
  return noGrad(() =>
    scope(() => {
      manualSeed(123)
      randn([2, 5]) // what the notebook draws before: its batch and
      new Linear(5, 6) // its first layer
      const network = new FeedForward(GPT_CONFIG_124M)
      const x = rand([2, 3, DIM])
      const [widen, gelu] = network.layers
      const stages = (x: Tensor): Stage[] => {
        const linear = widen.forward(x)
        const rows = { Token: x, Widened: linear, GELU: gelu.forward(linear), Narrowed: network.forward(x) }
        return Object.entries(rows).map(([name, row]) => ({
          name,
          values: row.data.slice(0, row.size / TOKENS),
          mean: row.mean({ dim: -1 }).data[0],
          variance: row.var({ dim: -1, unbiased: false }).data[0],
        }))
      }
      const parameters = network.parameters().reduce((sum, { size }) => sum + size, 0)
      const { vocabSize, contextLength, nLayers } = GPT_CONFIG_124M
      return {
        before: stages(x),
        after: stages(new LayerNorm(DIM).forward(x)),
        parameters,
        all: (vocabSize + contextLength) * DIM + nLayers * (4 * DIM * (DIM + 2) + parameters) + 2 * DIM,
      }
    }),
  )
}

/** The values of each activation, and its slopes. gelu: as GPT-2 and the notebook compute it, by tanh. */
export function activate(xs: readonly number[]) {
  return scope(() => {
    const run = (layer: { forward: (x: Tensor) => Tensor }) => {
      const x = parameter(tensor([...xs], [xs.length]))
      const y = layer.forward(x)
      y.sum().backward() // each slope is the gradient of the sum
      const dy = Array.from((x.grad as Tensor).data)
      x.grad?.dispose()
      return { y: Array.from(y.data), dy }
    }
    return {
      gelu: run(new GELU()),
      exact: run(new GELU({ approximate: 'none' })),
      relu: run(new ReLU()),
    }
  })
}

/** The curves, GELU's minimum, and how far it is from the exact form at most. */
export function curves() {
  const xs = Array.from({ length: STEPS + 1 }, (_, i) => X.min + ((X.max - X.min) * i) / STEPS)
  const { gelu, relu, exact } = activate(xs)
  const lowest = gelu.y.indexOf(Math.min(...gelu.y))
  const points = (y: number[]) => xs.map((x, i): [number, number] => [x, y[i]]).filter((_, i) => i % 10 === 0)
  return {
    gelu: points(gelu.y),
    relu: points(relu.y),
    lowest: { x: xs[lowest], y: gelu.y[lowest] },
    apart: Math.max(...exact.y.map((value, i) => Math.abs(value - gelu.y[i]))),
  }
}
