// Computes GELU, ReLU and their slopes. Uses only the package.

import type { Gpt, Tensor } from 'gpt-layers'
import { X } from './slice.ts'

const STEPS = 4000 // of the grid on which extremes are searched

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

/** @returns steps + 1 points of the axis */
export function grid(steps: number): number[] {
  return Array.from({ length: steps + 1 }, (_, i) => X.min + ((X.max - X.min) * i) / steps)
}

/** GELU's minimum, and how far it is from the exact form at most. */
export function extremes(gpt: Gpt) {
  const xs = grid(STEPS)
  const { gelu, exact } = activate(gpt, xs)
  const lowest = gelu.y.indexOf(Math.min(...gelu.y))
  const apart = exact.y.map((value, i) => Math.abs(value - gelu.y[i]))
  return { lowest: { x: xs[lowest], y: gelu.y[lowest] }, apart: Math.max(...apart) }
}
