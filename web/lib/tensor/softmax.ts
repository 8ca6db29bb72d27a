import { checkOptions } from '../check.ts'
import { run } from '../runtime/runtime.ts'
import { temporary } from '../runtime/scope.ts'
import { operation } from './operation.ts'
import { axisOf, checkAxis } from './shape.ts'
import { record, recordKernel, withoutTape } from './tape.ts'
import { Tensor } from './tensor.ts'

export interface SoftmaxOptions {
  /** the axis over which y, or e^y of logSoftmax, sums to 1, negative from the end; -1 by default */
  dim?: number
}

/**
 * e^x / Σ e^x over an axis, as torch.softmax.
 *
 * @returns a tensor of x's shape; within 1e-6 of float64. Its gradient, dx = y · (dy - Σ dy·y), reads it: do not
 *   write into it before `backward`
 * @example gpt.tensor([0, 0, -Infinity]).softmax({ dim: -1 }).toArray() // [0.5, 0.5, 0]
 */
export const softmax = /* @__PURE__ */ alongAxis(softmaxOfRows)

/**
 * x - log Σ e^x over an axis, as torch.log_softmax: the logarithm of `softmax`, also where that is too small for
 * a float32.
 *
 * @returns a tensor of x's shape. Its gradient, dx = dy - e^y · Σ dy, reads it, too
 * @example gpt.tensor([0, 200]).logSoftmax({ dim: -1 }).toArray() // [-200, 0]
 */
export const logSoftmax = /* @__PURE__ */ alongAxis(logSoftmaxOfRows)

/** @param ofRows knows the last axis only: for another one, that is moved there, and back */
function alongAxis(
  ofRows: (x: Tensor, rows: number, cols: number) => Tensor,
): (x: Tensor, options?: SoftmaxOptions) => Tensor {
  return operation((x: Tensor, options?: SoftmaxOptions) => {
    const { dim } = checkOptions<Required<SoftmaxOptions>>(options, { dim: -1 })
    const { shape } = x
    const { size, outer, inner } = axisOf(shape, checkAxis('dim', dim, shape.length))
    if (inner === 1) return ofRows(x, outer, size)
    return temporary(() => {
      const moved = x.reshape([outer, size, inner]).transpose(1, 2)
      return ofRows(moved, outer * inner, size)
        .transpose(1, 2)
        .reshape(shape)
    })
  })
}

function softmaxOfRows(x: Tensor, rows: number, cols: number): Tensor {
  const y = Tensor.empty(x.shape)
  run('gpt_softmax_forward', [y, x, rows, cols])
  return recordKernel(y, {
    inputs: [x],
    saved: [y],
    backward: (dy, dx) => run('gpt_softmax_backward', [dx, dy, y, rows, cols]),
  })
}

/** As softmax, it subtracts the largest element of a row first. */
function logSoftmaxOfRows(x: Tensor, rows: number, cols: number): Tensor {
  const { shape } = x
  const last = { dim: -1, keepdim: true }
  const y = temporary(() =>
    withoutTape(() => {
      if (x.size === 0) return Tensor.empty(shape)
      const largest = Tensor.empty([rows, 1])
      run('gpt_max', [largest, null, x, rows, cols])
      const shifted = x.reshape([rows, cols]).sub(largest)
      return shifted.sub(shifted.exp().sum(last).log()).reshape(shape)
    }),
  )
  const backward = (dy: Tensor) => {
    const given = dy.reshape([rows, cols])
    return [given.sub(y.exp().reshape([rows, cols]).mul(given.sum(last))).reshape(shape)]
  }
  return record(y, [x], backward, [y])
}
