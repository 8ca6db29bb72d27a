import type { Runtime } from '../runtime/runtime.ts'
import { checkNumber, checkOptions } from '../check.ts'
import { recordKernel } from '../runtime/tape.ts'
import { checkTensor } from '../tensor/check.ts'
import { checkAxis, sizeOf } from '../tensor/shape.ts'
import { Tensor } from '../tensor/tensor.ts'
import { Module } from './module.ts'

export interface SoftmaxOptions {
  /** the axis over which y sums to 1, negative from the end; -1 by default */
  dim?: number
}

/** y = e^x / Σ e^x over an axis, as PyTorch's nn.Softmax. */
export class Softmax extends Module {
  readonly dim: number

  /**
   * @throws {GptLayersError} TYPE, VALUE
   * @example new Softmax({ dim: 0 }).forward(gpt.zeros([2, 3])).at(0).toArray() // [0.5, 0.5, 0.5]
   */
  constructor(runtime: Runtime, options?: SoftmaxOptions) {
    super(runtime)
    const { dim } = checkOptions(options, { dim: -1 })
    checkNumber('dim', dim, 'an integer', Number.isSafeInteger)
    this.dim = dim
  }

  override extraRepr(): string {
    return `dim=${this.dim}`
  }

  /**
   * @param x [..., n], not modified
   * @returns a tensor of x's shape; within 1e-6 of float64. Its gradient, dx = y · (dy - Σ dy·y), reads it:
   *   do not write into it before `backward`
   * @throws {GptLayersError} VALUE where x has no axis `dim`; TYPE, DISPOSED, MEMORY
   * @example new Softmax().forward(gpt.tensor([0, 0, -Infinity])).toArray() // [0.5, 0.5, 0]
   */
  override forward(x: Tensor): Tensor {
    const { runtime, dim } = this
    const { shape } = checkTensor(runtime, 'x', x)
    const axis = checkAxis('dim', dim, shape.length)
    const inner = shape.slice(axis + 1)
    if (inner.length === 0) return overLastAxis(runtime, x)
    // The kernel knows the last axis only: move the axis there, and back.
    const blocks = [sizeOf(shape.slice(0, axis)), shape[axis], sizeOf(inner)]
    return runtime.temporary(() =>
      overLastAxis(runtime, x.reshape(blocks).transpose(1, 2)).transpose(1, 2).reshape(shape),
    )
  }
}

function overLastAxis(runtime: Runtime, x: Tensor): Tensor {
  const y = Tensor.empty(runtime, x.shape)
  const sizes = matrixOf(x)
  runtime.run('gpt_softmax_forward', [y, x, ...sizes])
  return recordKernel(y, {
    inputs: [x],
    saved: [y],
    backward: (dy, dx) => runtime.run('gpt_softmax_backward', [dx, dy, y, ...sizes]),
  })
}

/** Rows and columns of a shape; shape [] is one row of one. */
function matrixOf({ shape, size }: Tensor): [number, number] {
  const cols = shape.at(-1) ?? 1
  return [cols === 0 ? 0 : size / cols, cols]
}
