/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { Tensor } from '../tensor/tensor.js' */

import { GptLayersError } from '../errors.js'

/**
 * What `gpt.crossEntropy` and `gpt.mse` return: the loss of a batch, and its gradient for `model.backward`.
 *
 * A loss keeps the tensors that its gradient needs. They are freed by `backward`, by `dispose`, or at the end
 * of the scope that made the loss; a scope does not free a loss that it returns.
 *
 * @example
 * const loss = gpt.mse(gpt.tensor([1, 2]), gpt.tensor([0, 0]))
 * loss.item() // 2.5
 */
export class Loss {
  /** @type {Runtime} */ #runtime
  /** @type {number} */ #value
  /** @type {Record<string, Tensor>} */ #kept = {}
  /** @type {((kept: Record<string, Tensor>) => Tensor) | null} null once the tensors are freed */ #gradient

  /**
   * @internal
   * @param {Runtime} runtime
   * @param {object} result
   * @param {number} result.value the loss
   * @param {Record<string, Tensor>} result.kept the tensors that `gradient` needs
   * @param {(kept: Record<string, Tensor>) => Tensor} result.gradient its argument: the kept tensors
   */
  constructor(runtime, { value, kept, gradient }) {
    this.#runtime = runtime
    this.#value = value
    for (const [name, tensor] of Object.entries(kept)) this.#kept[name] = tensor.hold()
    this.#gradient = gradient
    runtime.memory.track(this)
  }

  /** @returns {number} the loss: the float64 mean of one float32 loss per row */
  item() {
    return this.#value
  }

  /**
   * Computes the gradient of the loss with respect to its first argument (logits or prediction), for the
   * model's `backward`. As in PyTorch, it can be called once: it frees the tensors that it needs.
   *
   * @returns {Tensor} a gradient of the same shape as that argument
   * @throws {GptLayersError} VALUE the second time, and after the loss was freed; DISPOSED; MEMORY
   * @example model.backward(gpt.crossEntropy(model.forward(tokens), targets).backward())
   */
  backward() {
    this.#runtime.memory.checkLive('Loss.backward')
    if (this.#gradient === null) {
      throw new GptLayersError(
        'VALUE',
        'Loss.backward: the loss should be live, got one freed by backward, dispose or the end of its scope',
      )
    }
    const gradient = this.#gradient(this.#kept)
    this.dispose()
    return gradient
  }

  /** Frees the tensors that `backward` needs. Disposing twice is allowed; `item` still works. */
  dispose() {
    this.#gradient = null
    for (const tensor of Object.values(this.#kept)) tensor.dispose()
    this.#kept = {}
  }

  // See Tensor's.
  [Symbol.dispose]() {
    this.dispose()
  }
}

/** @param {Tensor} tensor @returns {number} the sum of its elements, in float64 */
export const sumOf = ({ data }) => data.reduce((sum, value) => sum + value, 0)
