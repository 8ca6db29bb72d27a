import { checkCount, checkNumber, checkOptions } from '../check.ts'
import { withClass } from '../errors.ts'
import { run } from '../runtime/runtime.ts'
import { checkTensor } from '../tensor/check.ts'
import { temporary } from '../tensor/scope.ts'
import { checkAxis, sizeOf } from '../tensor/shape.ts'
import { recordKernel } from '../tensor/tape.ts'
import { Tensor } from '../tensor/tensor.ts'
import { Module } from './module.ts'

export interface SoftmaxOptions {
  /** the axis over which y sums to 1, negative from the end; -1 by default */
  dim?: number
}

/** y = e^x / Σ e^x over an axis, as PyTorch's nn.Softmax. */
export class Softmax extends Module {
  /** @internal */
  static override readonly ownName: string = 'Softmax'

  readonly dim: number

  /**
   * @example new Softmax({ dim: 0 }).forward(gpt.zeros([2, 3])).at(0).toArray() // [0.5, 0.5, 0.5]
   */
  constructor(options?: SoftmaxOptions) {
    super()
    try {
      checkCount(arguments, 1)
      const { dim } = checkOptions(options, { dim: -1 })
      checkNumber('dim', dim, 'an integer', Number.isSafeInteger)
      this.dim = dim
    } catch (error) {
      throw withClass(error, new.target)
    }
  }

  override extraRepr(): string {
    return `dim=${this.dim}`
  }

  /**
   * @param x [..., n], not modified
   * @returns a tensor of x's shape; within 1e-6 of float64. Its gradient, dx = y · (dy - Σ dy·y), reads it:
   *   do not write into it before `backward`
   * @throws {GptLayersError} VALUE where x has no axis `dim`
   * @example new Softmax().forward(gpt.tensor([0, 0, -Infinity])).toArray() // [0.5, 0.5, 0]
   */
  override forward(x: Tensor): Tensor {
    const { dim } = this
    const { shape } = checkTensor('x', x)
    const axis = checkAxis('dim', dim, shape.length)
    const inner = shape.slice(axis + 1)
    if (inner.length === 0) return overLastAxis(x)
    // The kernel knows the last axis only: move the axis there, and back.
    const blocks = [sizeOf(shape.slice(0, axis)), shape[axis], sizeOf(inner)]
    return temporary(() => overLastAxis(x.reshape(blocks).transpose(1, 2)).transpose(1, 2).reshape(shape))
  }
}

function overLastAxis(x: Tensor): Tensor {
  const y = Tensor.empty(x.shape)
  const sizes = matrixOf(x)
  run('gpt_softmax_forward', [y, x, ...sizes])
  return recordKernel(y, {
    inputs: [x],
    saved: [y],
    backward: (dy, dx) => run('gpt_softmax_backward', [dx, dy, y, ...sizes]),
  })
}

/** Rows and columns of a shape; shape [] is one row of one. */
function matrixOf({ shape, size }: Tensor): [number, number] {
  const cols = shape.at(-1) ?? 1
  return [cols === 0 ? 0 : size / cols, cols]
}
