// An adapter for `./build.sh compare` with version 0.1.0 and earlier. There each layer had a method
// `backward`, a layer in evaluation mode kept nothing, and a loss's `backward` returned a gradient.

/** @import { Gpt, Module, Tensor } from '../../dist/index.js' */

/**
 * @typedef {object} OldLayer
 * @property {(dy: Tensor) => Tensor} backward
 */

/** @param {Module} layer @returns {(Module & OldLayer) | null} the layer where it has a `backward` */
const oldLayer = (layer) => ('backward' in layer ? /** @type {Module & OldLayer} */ (layer) : null)

/**
 * @template T
 * @param {Gpt} gpt
 * @param {() => T} fn
 * @returns {T} what fn returns, computed without keeping anything for gradients
 */
export const inference = (gpt, fn) => ('noGrad' in gpt ? gpt.noGrad(fn) : fn())

/** So that `backward` reaches x; older versions always compute dx. @param {Gpt} gpt @param {Tensor} x */
export const requireGradient = (gpt, x) => void ('parameter' in gpt && gpt.parameter(x))

/**
 * Adds to the gradients of the layer's parameters.
 *
 * @param {Module} layer
 * @param {{ x: Tensor, y: Tensor, dy: Tensor }} pass y: layer.forward(x), where x requires a gradient
 * @returns {Tensor} dx; the caller disposes it
 */
export function backward(layer, { x, y, dy }) {
  const old = oldLayer(layer)
  if (old) return old.backward(dy)
  y.backward(dy)
  const dx = /** @type {Tensor} */ (x.grad)
  x.grad = null
  return dx
}

/**
 * Adds the gradients of a loss to those of the model's parameters.
 *
 * @param {Module} model
 * @param {Tensor} loss
 */
export function backwardOfLoss(model, loss) {
  const gradient = /** @type {Tensor | void} */ (loss.backward())
  if (gradient) oldLayer(model)?.backward(gradient)
}
