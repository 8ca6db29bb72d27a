/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { Tensor } from '../tensor/tensor.js' */

import { GptLayersError } from '../errors.js'

/**
 * What a batch cost: a number, and the gradient that a model's `backward` takes. A scope frees what it keeps for that, but
 * for a loss that it returns.
 */
export class Loss {
  /** @type {Runtime} */ #runtime
  /** @type {number} */ #value
  /** @type {Tensor[]} */ #kept
  /** @type {((kept: Tensor[]) => Tensor) | null} */ #gradient

  /**
   * @internal
   * @param {Runtime} runtime
   * @param {number} value
   * @param {Tensor[]} kept what `gradient` needs; held here
   * @param {(kept: Tensor[]) => Tensor} gradient
   */
  constructor(runtime, value, kept, gradient) {
    this.#runtime = runtime
    this.#value = value
    this.#kept = kept.map((tensor) => tensor.hold())
    this.#gradient = gradient
    runtime.memory.track(this)
  }

  /** @returns {number} the loss; float64, of float32 terms */
  item() {
    return this.#value
  }

  /**
   * The gradient of the loss with respect to the logits or the prediction, for the model's `backward`. Once, as in PyTorch:
   * what was kept for it is freed.
   *
   * @returns {Tensor} of the shape of the logits or the prediction
   * @throws {GptLayersError} VALUE the second time, DISPOSED, MEMORY
   * @example model.backward(gpt.crossEntropy(model.forward(tokens), targets).backward())
   */
  backward() {
    this.#runtime.memory.checkLive('Loss.backward')
    if (this.#gradient === null) {
      throw new GptLayersError(
        'VALUE',
        'Loss.backward: should be called once, in the scope of its loss; got a loss that was disposed or called before',
      )
    }
    const gradient = this.#gradient(this.#kept)
    this.dispose()
    return gradient
  }

  /** Frees what `backward` needs at once; disposing again is no error. */
  dispose() {
    this.#gradient = null
    for (const tensor of this.#kept.splice(0)) tensor.dispose()
  }

  // See Tensor's.
  [Symbol.dispose]() {
    this.dispose()
  }
}

/** @param {Tensor} tensor */
export const sumOf = ({ data }) => data.reduce((sum, value) => sum + value, 0)
