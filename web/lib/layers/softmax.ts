import { recordKernel } from '../runtime/tape.ts'
import { checkTensor } from '../tensor/check.ts'
import { Tensor } from '../tensor/tensor.ts'
import { Module } from './module.ts'

/** y = e^x / Σ e^x over the last axis, as PyTorch's nn.Softmax(dim=-1). */
export class Softmax extends Module {
  override extraRepr(): string {
    return 'dim=-1'
  }

  /**
   * @param x [..., n], not modified
   * @returns a tensor of x's shape; within 1e-6 of float64. Its gradient, dx = y · (dy - Σ dy·y), reads it:
   *   do not write into it before `backward`
   * @throws {GptLayersError} TYPE, DISPOSED, MEMORY
   * @example new Softmax().forward(gpt.tensor([0, 0, -Infinity])).toArray() // [0.5, 0.5, 0]
   */
  override forward(x: Tensor): Tensor {
    const { runtime } = this
    checkTensor(runtime, 'x', x)
    const y = Tensor.empty(runtime, x.shape)
    const sizes = matrixOf(x)
    runtime.run('gpt_softmax_forward', [y, x, ...sizes])
    return recordKernel(y, {
      inputs: [x],
      saved: [y],
      backward: (dy, dx) => runtime.run('gpt_softmax_backward', [dx, dy, y, ...sizes]),
    })
  }
}

/** Rows and columns of a shape; shape [] is one row of one. */
function matrixOf({ shape, size }: Tensor): [number, number] {
  const cols = shape.at(-1) ?? 1
  return [cols === 0 ? 0 : size / cols, cols]
}
