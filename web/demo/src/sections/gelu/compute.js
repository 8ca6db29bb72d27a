// Computes GELU's two forms and ReLU, and their slopes. Uses only the package.

/** @import { Gpt, Tensor } from 'gpt-layers' */

import { X } from './slice.js'

const STEPS = 4000 // of the grid on which extremes are searched

/**
 * @typedef {{ y: number[], dy: number[] }} Values of an activation, and its slopes
 * @typedef {'none' | 'tanh'} Form of GELU: exact, or by tanh
 */

/**
 * @param {Gpt} gpt
 * @param {readonly number[]} xs
 * @returns {Record<Form | 'relu', Values>}
 */
export function activate(gpt, xs) {
  return gpt.scope(() => {
    /** @param {{ forward: (x: Tensor) => Tensor }} layer */
    const run = (layer) => {
      const x = gpt.parameter(gpt.tensor([...xs], [xs.length]))
      const y = layer.forward(x)
      y.sum().backward() // each slope is the gradient of the sum
      const dy = Array.from(/** @type {Tensor} */ (x.grad).data)
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

/**
 * @param {Gpt} gpt
 * @param {readonly number[]} row
 * @returns {{ mean: number, variance: number }} the variance is divided by n
 */
export function statistics(gpt, row) {
  return gpt.scope(() => {
    const x = gpt.tensor([...row], [row.length])
    return { mean: x.mean().item(), variance: x.var({ unbiased: false }).item() }
  })
}

/** @param {number} steps @returns {number[]} steps + 1 points of the axis */
export function grid(steps) {
  return Array.from({ length: steps + 1 }, (_, i) => X.min + ((X.max - X.min) * i) / steps)
}

/**
 * GELU's minimum, and how far its two forms are apart at most.
 *
 * @param {Gpt} gpt
 * @param {Form} form
 */
export function extremes(gpt, form) {
  const xs = grid(STEPS)
  const found = activate(gpt, xs)
  const { y } = found[form]
  const lowest = y.indexOf(Math.min(...y))
  const apart = found.tanh.y.map((value, i) => Math.abs(value - found.none.y[i]))
  return { lowest: { x: xs[lowest], y: y[lowest] }, apart: Math.max(...apart) }
}
