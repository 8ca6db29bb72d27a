// Computes GELU's two forms and ReLU, and their slopes. Uses only the package.

import type { Gpt, Tensor } from 'gpt-layers'
import { X } from './slice.ts'

const STEPS = 4000 // of the grid on which extremes are searched

/** The values of an activation, and its slopes. */
type Values = { y: number[]; dy: number[] }

/** GELU's form: exact, or by tanh. */
type Form = 'none' | 'tanh'

export function activate(gpt: Gpt, xs: readonly number[]): Record<Form | 'relu', Values> {
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
      none: run(new gpt.GELU({ approximate: 'none' })),
      tanh: run(new gpt.GELU()),
      relu: run(new gpt.ReLU()),
    }
  })
}

/** The mean of a row, and its variance divided by n. */
export function statistics(gpt: Gpt, row: readonly number[]): { mean: number; variance: number } {
  return gpt.scope(() => {
    const x = gpt.tensor([...row], [row.length])
    return { mean: x.mean().item(), variance: x.var({ unbiased: false }).item() }
  })
}

/** @returns steps + 1 points of the axis */
export function grid(steps: number): number[] {
  return Array.from({ length: steps + 1 }, (_, i) => X.min + ((X.max - X.min) * i) / steps)
}

/** GELU's minimum, and how far its two forms are apart at most. */
export function extremes(gpt: Gpt, form: Form) {
  const xs = grid(STEPS)
  const found = activate(gpt, xs)
  const { y } = found[form]
  const lowest = y.indexOf(Math.min(...y))
  const apart = found.tanh.y.map((value, i) => Math.abs(value - found.none.y[i]))
  return { lowest: { x: xs[lowest], y: y[lowest] }, apart: Math.max(...apart) }
}
