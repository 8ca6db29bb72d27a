// The three activations and their derivatives, by the package's layers forward and backward. Nothing here knows the page.

/** @import { Gpt, Tensor } from 'gpt-layers' */

import { X } from './slice.js'

const STEPS = 4000 // in which what is lowest and largest is looked for

/**
 * @typedef {{ y: Float32Array, dy: Float32Array }} Values of an activation and its derivative
 * @typedef {{ tanh: Values, none: Values, relu: Values, difference: Values }} Activations difference: tanh's less the
 *   exact one's
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
      // what comes back of a gradient of 1 is the derivative
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

/** @param {number} steps @returns {number[]} the axis in as many */
export function grid(steps) {
  return Array.from({ length: steps + 1 }, (_, i) => X.min + ((X.max - X.min) * i) / steps)
}

/**
 * GELU's lowest value, its derivative's largest, and where its two forms differ most, each with its place.
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
