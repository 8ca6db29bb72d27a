import { checkSize, named } from '../check.ts'
import { fail } from '../errors.ts'
import * as random from '../runtime/random.ts'
import { run, SCRATCH } from '../runtime/runtime.ts'
import { type Indices, checkIndices, storeIndices } from '../tensor/indices.ts'
import { int8Of, Int8Weight, isByDot } from '../tensor/int8weight.ts'
import { recordKernel } from '../tensor/tape.ts'
import { checkTensor, checkTensorOf, Tensor } from '../tensor/tensor.ts'
import { type Matrix, asMatrix } from '../files/matrix.ts'
import { constructLayer, Module } from './module.ts'

/**
 * y[i] = weight[indices[i]], as torch's F.embedding: the layer Embedding with a weight of your own. A row's
 * gradient is the sum over all places that have its index.
 *
 * @param indices [...] integers from 0 to rows - 1
 * @param weight [rows, size]
 * @returns [..., size]
 * @throws {GptLayersError} VALUE for an index out of range
 * @example gpt.embedding([1, 0], gpt.tensor([[1, 2], [3, 4]])).toArray() // [[3, 4], [1, 2]]
 */
export const embedding = /* @__PURE__ */ named('embedding', (indices: Indices, weight: Tensor): Tensor => {
  const { shape } = checkTensor('weight', weight)
  const isTable = shape.length === 2 && shape[0] > 0
  if (!isTable) throw fail('SHAPE', 'weight', 'have shape [rows, size] with 1 row or more', shape)
  return rowsOf(weight, checkIndices('indices', indices, shape[0]))
})

function rowsOf(weight: Tensor, checked: ReturnType<typeof checkIndices>): Tensor {
  const [count, dim] = weight.shape
  const y = Tensor.empty([...checked.shape, dim])
  const stored = storeIndices(checked)
  const sizes = [stored.size, count, dim]
  run('gpt_embedding_forward', [y, stored, weight, ...sizes])
  return recordKernel(y, {
    inputs: [weight],
    saved: [],
    owned: [stored],
    backward: (dy, dweight) => run('gpt_embedding_backward', [dweight, SCRATCH, dy, stored, ...sizes]),
  })
}

/** y[i] = weight[indices[i]]: a vector for each index, such as a token, as PyTorch's nn.Embedding. */
export class Embedding extends Module {
  /** @internal */
  static override readonly ownName: string = 'Embedding'

  readonly numEmbeddings!: number
  readonly embeddingDim!: number
  /** [numEmbeddings, embeddingDim], drawn from N(0, 1) as PyTorch does */
  weight!: Tensor

  /**
   * @param numEmbeddings the number of rows, such as the size of the vocabulary
   * @param embeddingDim the size of a row
   * @example new Embedding(65, 768).forward([[15, 11, 64]]).shape // [1, 3, 768]
   */
  constructor(numEmbeddings: number, embeddingDim: number) {
    super()
    constructLayer<Embedding>(this, arguments, 2, () => {
      checkSize('numEmbeddings', numEmbeddings)
      checkSize('embeddingDim', embeddingDim)
      const weight = Tensor.parameter([numEmbeddings, embeddingDim], (weight) => random.normal(weight))
      return { numEmbeddings, embeddingDim, weight }
    })
  }

  override extraRepr(): string {
    return `${this.numEmbeddings}, ${this.embeddingDim}`
  }

  /**
   * @param indices [...] integers from 0 to numEmbeddings - 1
   * @returns [..., embeddingDim]
   * @throws {GptLayersError} VALUE for an index out of range
   */
  override forward(indices: Indices): Tensor {
    const { numEmbeddings: count, embeddingDim: dim } = this
    const checked = checkIndices('indices', indices, count)
    const int8Weight = this.int8Weight && Int8Weight.checkUsable(this.int8Weight, [count, dim])
    if (!int8Weight) return rowsOf(checkTensorOf('weight', this.weight, [count, dim]), checked)
    const y = Tensor.empty([...checked.shape, dim])
    const stored = storeIndices(checked)
    const sizes = [stored.size, count, dim, int8Weight.groupSize]
    run('gpt_int8_embedding_forward', [y, stored, int8Weight, ...sizes, isByDot()])
    stored.dispose()
    return y
  }

  /** The weight that a tied layer's `quantize` has made; null where `weight` is float32. */
  get int8Weight(): Int8Weight | null {
    return int8Of(this.weight)
  }

  /** @internal */
  override get int8Matrix(): Matrix | null {
    const shape = [this.numEmbeddings, this.embeddingDim]
    return asMatrix(this.weight, shape, { transposed: false, isProduct: false })
  }
}
