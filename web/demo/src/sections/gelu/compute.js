// Computes the three activations and their derivatives. Uses only the package.

/** @import { Gpt, Tensor } from 'gpt-layers' */

import { X } from './slice.js'

const STEPS = 4000 // of the grid on which extremes are searched

/**
 * @typedef {{ y: Float32Array, dy: Float32Array }} Values of an activation and its derivative
 * @typedef {{ tanh: Values, none: Values, relu: Values, difference: Values }} Activations difference: tanh's
 *   less the exact one's
 */

/**
 * @param {Gpt} gpt
 * @param {number[]} xs
 * @returns {Activations}
 */
export function activate(gpt, xs) {
  return gpt.scope(() => {
    const x = gpt.tensor(xs, [xs.length])
    const layers = { tanh: new gpt.GELU(), none: new gpt.GELU({ approximate: 'none' }), relu: new gpt.ReLU() }
    const run = (/** @type {keyof typeof layers} */ name) => {
      const y = layers[name].forward(x)
      // The backward pass of a gradient of 1 gives the derivative.
      return { y, dy: layers[name].backward(gpt.ones(x.shape)) }
    }
    const [tanh, none, relu] = [run('tanh'), run('none'), run('relu')]
    const difference = { y: tanh.y.sub(none.y), dy: tanh.dy.sub(none.dy) }
    const copy = (/** @type {{ y: Tensor, dy: Tensor }} */ { y, dy }) => ({
      y: y.data.slice(),
      dy: dy.data.slice(),
    })
    return { tanh: copy(tanh), none: copy(none), relu: copy(relu), difference: copy(difference) }
  })
}

/** @param {number} steps @returns {number[]} steps + 1 points of the axis */
export function grid(steps) {
  return Array.from({ length: steps + 1 }, (_, i) => X.min + ((X.max - X.min) * i) / steps)
}

/**
 * GELU's minimum, its derivative's maximum, and the largest difference of its two forms, each with its x.
 *
 * @param {Gpt} gpt
 */
export function extremes(gpt) {
  const xs = grid(STEPS)
  const { tanh, difference } = activate(gpt, xs)
  const most = (/** @type {Float32Array} */ values, /** @type {(value: number) => number} */ size) => {
    const at = values.reduce((best, value, i) => (size(value) > size(values[best]) ? i : best), 0)
    return { x: xs[at], value: values[at] }
  }
  return {
    lowest: most(tanh.y, (value) => -value),
    steepest: most(tanh.dy, (value) => value),
    difference: most(difference.y, Math.abs),
  }
}
