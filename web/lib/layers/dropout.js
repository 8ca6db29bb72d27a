/** @import { Runtime } from '../runtime/runtime.js' */

import { checkProbability } from '../check.js'
import { checkTensor, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/**
 * Dropout (Srivastava et al. 2014, JMLR 15), as PyTorch's nn.Dropout: in training mode each element is 0 with
 * probability p, otherwise divided by 1 - p.
 *
 * `manualSeed` makes the masks reproducible, on any number of threads. They differ from PyTorch's: PyTorch
 * draws one random word per element, this layer one per call.
 */
export class Dropout extends Module {
  /** Determines the mask of the last `forward`. */ #seed = 0
  /** The shape of the last `forward`. @type {readonly number[]} */ #shape = []

  /**
   * @param {Runtime} runtime
   * @param {number} [p] the probability, from 0 to 1; 0.5 by default
   * @throws {GptLayersError} TYPE, VALUE
   * @example new Dropout(0.1).forward(gpt.ones([2, 5])).shape // [2, 5]
   */
  constructor(runtime, p = 0.5) {
    super(runtime)
    checkProbability('Dropout', 'p', p)
    /** @readonly */
    this.p = p
    this.fix('p')
  }

  /**
   * @override
   * @param {Tensor} x of any shape, not modified
   * @returns {Tensor} of x's shape. In evaluation mode, and where p is 0, it shares x's memory, as
   *   `x.reshape(x.shape)`
   * @throws {GptLayersError} TYPE, DISPOSED, MEMORY
   */
  forward(x) {
    const where = 'Dropout.forward'
    const { runtime, p } = this
    checkTensor(runtime, where, 'x', x)
    this.#shape = x.shape
    if (!this.training || p === 0) return x.reshape(x.shape)
    const y = Tensor.empty(runtime, where, x.shape)
    this.#seed = runtime.generator.word()
    runtime.run('gpt_dropout_forward', [y, x, x.size, this.#seed, p])
    return y
  }

  /**
   * @override
   * @param {Tensor} dy of x's shape, not modified
   * @returns {Tensor} dx: 0 where x was dropped, otherwise dy / (1 - p). Where p is 0 it shares dy's memory
   */
  backward(dy) {
    const where = 'Dropout.backward'
    const { runtime, p } = this
    checkTensorOf(runtime, where, 'dy', dy, this.#shape)
    const dx = p === 0 ? dy.reshape(dy.shape) : Tensor.empty(runtime, where, dy.shape)
    // The same seed gives the same mask.
    if (p > 0) runtime.run('gpt_dropout_forward', [dx, dy, dy.size, this.#seed, p])
    return dx
  }
}
