/** @import { Runtime } from '../runtime/runtime.js' */

import { checkNumber } from '../check.js'
import { checkTensor, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/** Nanoseconds an element, about. */
const DROPOUT_TIME = 0.5

/**
 * Dropout (Srivastava et al. 2014, JMLR 15), as PyTorch's nn.Dropout: while training each element is 0 with probability p,
 * and otherwise divided by 1 - p. `manualSeed` makes the masks reproducible, on any number of threads, but they are not
 * PyTorch's, which takes a random word an element from its generator; this takes one a call.
 */
export class Dropout extends Module {
  /** What the last `forward` dropped follows from this. */ #seed = 0
  /** @type {readonly number[]} */ #shape = []

  /**
   * @param {Runtime} runtime
   * @param {number} [p] the probability, from 0 to 1; 0.5 by default
   * @throws {GptLayersError} TYPE, VALUE
   * @example new Dropout(0.1).forward(gpt.ones([2, 5]))
   */
  constructor(runtime, p = 0.5) {
    super(runtime)
    checkNumber('Dropout', 'p', p, 'a number from 0 to 1', (n) => n >= 0 && n <= 1)
    /** @readonly */
    this.p = p
  }

  /**
   * @override
   * @param {Tensor} x of any shape, not modified
   * @returns {Tensor} same shape. In evaluation mode, and where p is 0, the same elements: like `x.reshape(x.shape)` it
   *   shares x's memory
   * @throws {GptLayersError} TYPE, DISPOSED, MEMORY
   */
  forward(x) {
    const { runtime } = this
    const input = checkTensor(runtime, 'Dropout.forward', 'x', x)
    if (!this.training || this.p === 0) {
      const y = input.reshape(input.shape)
      this.#remember(0, input.shape)
      return y
    }
    const y = Tensor.empty(runtime, 'Dropout.forward', input.shape)
    const seed = runtime.generator.word()
    this.#run(y, input, seed)
    this.#remember(seed, input.shape)
    return y
  }

  /**
   * @override
   * @param {Tensor} dy of x's shape, not modified
   * @returns {Tensor} dx: 0 where x was dropped, otherwise dy / (1 - p); where p is 0 it shares dy's memory
   */
  backward(dy) {
    const where = 'Dropout.backward'
    const { runtime } = this
    this.saved(where)
    const gradient = checkTensorOf(runtime, where, 'dy', dy, this.#shape)
    let dx
    if (this.p === 0) {
      dx = gradient.reshape(gradient.shape)
    } else {
      dx = Tensor.empty(runtime, where, this.#shape)
      this.#run(dx, gradient, this.#seed)
    }
    this.release()
    return dx
  }

  /** @param {Tensor} y @param {Tensor} x @param {number} seed */
  #run(y, x, seed) {
    this.runtime.parallel(
      x.size * DROPOUT_TIME,
      'gpt_dropout_forward',
      y.byteOffset,
      x.byteOffset,
      x.size,
      seed,
      this.p,
    )
  }

  /** @param {number} seed @param {readonly number[]} shape */
  #remember(seed, shape) {
    this.save({})
    this.#seed = seed
    this.#shape = shape
  }
}
