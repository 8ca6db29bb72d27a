import { checkOptions } from '../check.ts'
import { run } from '../runtime/runtime.ts'
import { checkLive } from './check.ts'
import { temporary } from '../runtime/scope.ts'
import { checkAxis, sizeOf } from './shape.ts'
import { record, recordKernel, withoutTape } from './tape.ts'
import { Tensor } from './tensor.ts'

export interface SoftmaxOptions {
  /** the axis over which y, or e^y of logSoftmax, sums to 1, negative from the end; -1 by default */
  dim?: number
}

/** y = e^x / Σ e^x; dx = y · (dy - Σ dy·y) */
export const softmax = (x: Tensor, options?: SoftmaxOptions): Tensor => alongAxis(x, options, softmaxOfRows)

/** y = x - log Σ e^x; dx = dy - e^y · Σ dy */
export const logSoftmax = (x: Tensor, options?: SoftmaxOptions): Tensor =>
  alongAxis(x, options, logSoftmaxOfRows)

/** @param ofRows knows the last axis only: for another one, that is moved there, and back */
function alongAxis(
  x: Tensor,
  options: SoftmaxOptions | undefined,
  ofRows: (x: Tensor, rows: number, cols: number) => Tensor,
): Tensor {
  const { dim } = checkOptions<Required<SoftmaxOptions>>(options, { dim: -1 })
  checkLive(x)
  const { shape } = x
  const axis = checkAxis('dim', dim, shape.length)
  const size = shape[axis] ?? 1
  const rows = size === 0 ? 0 : x.size / size
  const after = shape.slice(axis + 1)
  if (after.length === 0) return ofRows(x, rows, size)
  const blocks = [sizeOf(shape.slice(0, axis)), size, sizeOf(after)]
  return temporary(() => ofRows(x.reshape(blocks).transpose(1, 2), rows, size).transpose(1, 2).reshape(shape))
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

/** The largest element of a row is subtracted first, so that no power of e is infinite. */
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
