/** @import { Indices } from '../tensor/indices.js' */
/** @import { Runtime } from '../runtime/runtime.js' */

import { checkSize } from '../check.js'
import { checkTensorOf } from '../tensor/check.js'
import { checkIndices, storeIndices } from '../tensor/indices.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/** Nanoseconds an element of what is read and written, about. */
const EMBEDDING_TIME = 0.1

/** A row of the weight for each index, such as a token's vector, as PyTorch's nn.Embedding. */
export class Embedding extends Module {
  /**
   * @param {Runtime} runtime
   * @param {number} numEmbeddings how many rows, such as the size of the vocabulary
   * @param {number} embeddingDim
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
    /** [numEmbeddings, embeddingDim], drawn from N(0, 1) as PyTorch does @type {Tensor} */
    this.weight = Tensor.empty(runtime, 'Embedding', [numEmbeddings, embeddingDim])
    runtime.generator.normal(this.weight)
  }

  /**
   * @override
   * @param {Indices} indices [...] integers from 0 to numEmbeddings - 1
   * @returns {Tensor} [..., embeddingDim]
   * @throws {GptLayersError} VALUE for an index out of range; TYPE, SHAPE, DISPOSED, MEMORY
   */
  forward(indices) {
    const where = 'Embedding.forward'
    const { runtime, numEmbeddings, embeddingDim } = this
    const checked = checkIndices(runtime, where, 'indices', indices, numEmbeddings)
    const weight = checkTensorOf(runtime, where, 'weight', this.weight, [
      numEmbeddings,
      embeddingDim,
    ]).byteOffset
    return runtime.scope(() => {
      const y = Tensor.empty(runtime, where, [...checked.shape, embeddingDim])
      const stored = storeIndices(runtime, where, checked)
      runtime.parallel(
        y.size * EMBEDDING_TIME,
        'gpt_embedding_forward',
        y.byteOffset,
        stored.byteOffset,
        weight,
        stored.size,
        numEmbeddings,
        embeddingDim,
      )
      this.save({ indices: stored })
      return y
    })
  }

  /**
   * Adds the rows of dy to the gradients of the rows of the weight that they came from.
   *
   * @override
   * @param {Tensor} dy [..., embeddingDim], of the shape that `forward` returned, not modified
   * @returns {any} null: there is no gradient with respect to integers
   */
  backward(dy) {
    const where = 'Embedding.backward'
    const { runtime, numEmbeddings, embeddingDim } = this
    const { indices } = this.saved(where)
    const { byteOffset } = checkTensorOf(runtime, where, 'dy', dy, [...indices.shape, embeddingDim])
    checkTensorOf(runtime, where, 'weight', this.weight, [numEmbeddings, embeddingDim]).byteOffset
    this.addGradients(where, [this.weight], (dweight) =>
      runtime.parallel(
        (this.weight.size + dy.size) * EMBEDDING_TIME,
        'gpt_embedding_backward',
        dweight,
        byteOffset,
        indices.byteOffset,
        indices.size,
        numEmbeddings,
        embeddingDim,
      ),
    )
    this.release()
    return null
  }
}
