/** @import { Runtime } from '../runtime/runtime.js' */

import { Tensor } from '../tensor/tensor.js'
import { Loss, sumOf } from './loss.js'

/** Nanoseconds an element, about. */
const DIFFERENCE_TIME = 0.2

/**
 * @param {Runtime} runtime
 * @param {unknown} prediction
 * @param {unknown} target
 * @returns {Loss}
 */
export function mse(runtime, prediction, target) {
  const where = 'mse'
  const x = runtime.checkTensor(where, 'prediction', prediction)
  const t = runtime.checkTensor(where, 'target', target)
  runtime.checkParameter(where, 'target', t, x.shape)
  const cols = x.shape.at(-1) ?? 1
  const rows = cols === 0 ? 0 : x.size / cols
  return runtime.scope(() => {
    const losses = Tensor.empty(runtime, where, [rows])
    const time = x.size * DIFFERENCE_TIME
    runtime.parallel(time, 'gpt_mse_forward', losses.byteOffset, x.byteOffset, t.byteOffset, rows, cols)
    return new Loss(runtime, sumOf(losses) / rows, [x, t], ([x, t]) => {
      const dx = Tensor.empty(runtime, 'Loss.backward', x.shape)
      runtime.parallel(
        time,
        'gpt_mse_backward',
        dx.byteOffset,
        x.byteOffset,
        t.byteOffset,
        x.size,
        2 / x.size,
      )
      return dx
    })
  })
}
