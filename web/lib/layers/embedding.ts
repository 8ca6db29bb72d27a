import { checkSize } from '../check.ts'
import { type Runtime, SCRATCH } from '../runtime/runtime.ts'
import { recordKernel, records } from '../runtime/tape.ts'
import { checkTensorOf } from '../tensor/check.ts'
import { type Indices, checkIndices, storeIndices } from '../tensor/indices.ts'
import { type Int8Weight, type Matrix, asMatrix, int8Of, MATRIX } from '../tensor/int8weight.ts'
import { Tensor } from '../tensor/tensor.ts'
import { Module } from './module.ts'

/** y[i] = weight[indices[i]]: a vector for each index, such as a token, as PyTorch's nn.Embedding. */
export class Embedding extends Module {
  readonly numEmbeddings: number
  readonly embeddingDim: number
  /** [numEmbeddings, embeddingDim], drawn from N(0, 1) as PyTorch does */
  weight: Tensor

  /**
   * @param numEmbeddings the number of rows, such as the size of the vocabulary
   * @param embeddingDim the size of a row
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new Embedding(65, 768).forward([[15, 11, 64]]).shape // [1, 3, 768]
   */
  constructor(runtime: Runtime, numEmbeddings: number, embeddingDim: number) {
    super(runtime)
    checkSize('numEmbeddings', numEmbeddings)
    checkSize('embeddingDim', embeddingDim)
    this.numEmbeddings = numEmbeddings
    this.embeddingDim = embeddingDim
    const shape = [numEmbeddings, embeddingDim]
    this.weight = Tensor.parameter(runtime, shape, (weight) => runtime.generator.normal(weight))
  }

  override extraRepr(): string {
    return `${this.numEmbeddings}, ${this.embeddingDim}`
  }

  /**
   * @param indices [...] integers from 0 to numEmbeddings - 1
   * @returns [..., embeddingDim]
   * @throws {GptLayersError} VALUE for an index out of range; TYPE, SHAPE, DISPOSED, MEMORY
   */
  override forward(indices: Indices): Tensor {
    const { runtime, numEmbeddings: count, embeddingDim: dim } = this
    const checked = checkIndices(runtime, 'indices', indices, count)
    const int8Weight = this.int8Weight?.checkUsable(runtime, [count, dim])
    const weight = int8Weight ? null : checkTensorOf(runtime, 'weight', this.weight, [count, dim])
    const y = Tensor.empty(runtime, [...checked.shape, dim])
    const stored = storeIndices(runtime, checked)
    const sizes = [stored.size, count, dim]
    if (int8Weight) {
      runtime.run('gpt_int8_embedding_forward', [y, stored, int8Weight, ...sizes, int8Weight.groupSize])
      stored.dispose()
      return y
    }
    runtime.run('gpt_embedding_forward', [y, stored, weight, ...sizes])
    if (!records(weight)) stored.dispose()
    return recordKernel(y, {
      inputs: [weight],
      saved: [stored],
      backward: (dy, dweight) =>
        runtime.run('gpt_embedding_backward', [dweight, SCRATCH, dy, stored, ...sizes]),
    })
  }

  /** The weight that a tied layer's `quantize` has made; null where `weight` is float32. */
  get int8Weight(): Int8Weight | null {
    return int8Of(this.weight)
  }

  /** @internal */
  override [MATRIX](): Matrix | null {
    const shape = [this.numEmbeddings, this.embeddingDim]
    return asMatrix(this.weight, shape, { transposed: false, isProduct: false })
  }
}
