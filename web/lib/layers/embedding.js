/** @import { Indices } from '../tensor/indices.js' */
/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { Int8Weight, Matrix } from '../tensor/int8weight.js' */

import { checkSize } from '../check.js'
import { SCRATCH } from '../runtime/runtime.js'
import { checkTensorOf } from '../tensor/check.js'
import { addGradients } from '../tensor/gradients.js'
import { checkIndices, storeIndices } from '../tensor/indices.js'
import { asMatrix, checkTrainable, MATRIX } from '../tensor/int8weight.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/** y[i] = weight[indices[i]]: a vector for each index, such as a token, as PyTorch's nn.Embedding. */
export class Embedding extends Module {
  /**
   * The indices of the last `forward`; not in `saved`, so that nobody changes them.
   *
   * @type {ReturnType<typeof checkIndices>}
   */
  #checked = { indices: new Int32Array(0), shape: [0] }

  /**
   * @param {Runtime} runtime
   * @param {number} numEmbeddings the number of rows, such as the size of the vocabulary
   * @param {number} embeddingDim the size of a row
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new Embedding(65, 768).forward([[15, 11, 64]]).shape // [1, 3, 768]
   */
  constructor(runtime, numEmbeddings, embeddingDim) {
    super(runtime)
    checkSize('Embedding', 'numEmbeddings', numEmbeddings)
    checkSize('Embedding', 'embeddingDim', embeddingDim)
    /** @readonly */
    this.numEmbeddings = numEmbeddings
    /** @readonly */
    this.embeddingDim = embeddingDim
    this.fix('numEmbeddings', 'embeddingDim')
    const weight = Tensor.parameter(runtime, 'Embedding', [numEmbeddings, embeddingDim])
    if (!runtime.meta) runtime.generator.normal(weight)
    /** [numEmbeddings, embeddingDim], drawn from N(0, 1) as PyTorch does @type {Tensor} */
    this.weight = weight
  }

  /**
   * @override
   * @param {Indices} indices [...] integers from 0 to numEmbeddings - 1
   * @returns {Tensor} [..., embeddingDim]
   * @throws {GptLayersError} VALUE for an index out of range; TYPE, SHAPE, DISPOSED, MEMORY
   */
  forward(indices) {
    const where = 'Embedding.forward'
    const { runtime, numEmbeddings: count, embeddingDim: dim } = this
    const checked = checkIndices(runtime, where, 'indices', indices, count)
    const int8Weight = this.#int8Weight(where)
    const weight = int8Weight ? null : checkTensorOf(runtime, where, 'weight', this.weight, [count, dim])
    return runtime.scope(() => {
      const y = Tensor.empty(runtime, where, [...checked.shape, dim])
      const stored = storeIndices(runtime, where, checked)
      if (int8Weight) {
        const args = [y, stored, ...int8Weight.pointers, stored.size, count, dim, int8Weight.groupSize]
        runtime.run('gpt_int8_embedding_forward', args)
      } else runtime.run('gpt_embedding_forward', [y, stored, weight, stored.size, count, dim])
      if (this.training) this.#checked = checked
      return y
    })
  }

  /**
   * Adds each row of dy to the gradient of the weight's row that it came from.
   *
   * @override
   * @param {Tensor} dy [..., embeddingDim], of the shape that `forward` returned, not modified
   * @returns {null}: integers have no gradient
   * @throws {GptLayersError} UNSUPPORTED where the weight is int8; as Module's
   */
  backward(dy) {
    const where = 'Embedding.backward'
    const { runtime, numEmbeddings: count, embeddingDim: dim } = this
    checkTrainable(where, this.int8Weight)
    checkTensorOf(runtime, where, 'dy', dy, [...this.#checked.shape, dim])
    const weight = checkTensorOf(runtime, where, 'weight', this.weight, [count, dim])
    runtime.scope(() => {
      const indices = storeIndices(runtime, where, this.#checked)
      addGradients(runtime, where, [weight], (dweight) =>
        runtime.run('gpt_embedding_backward', [dweight, SCRATCH, dy, indices, indices.size, count, dim]),
      )
    })
    return null
  }

  /**
   * The weight that a tied layer's `quantize` has made; null where `weight` is float32.
   *
   * @returns {Int8Weight | null}
   */
  get int8Weight() {
    const { weight } = this
    return Tensor.isTensor(weight) ? weight.int8Weight : null
  }

  /** @param {string} where @returns {Int8Weight | null} checked */
  #int8Weight(where) {
    const { int8Weight, runtime, numEmbeddings: count, embeddingDim: dim } = this
    return int8Weight && int8Weight.checkUsable(runtime, where, [count, dim])
  }

  /** @override @internal @returns {Matrix | null} */
  [MATRIX]() {
    const shape = [this.numEmbeddings, this.embeddingDim]
    return asMatrix(this.weight, shape, { transposed: false, isProduct: false })
  }
}
