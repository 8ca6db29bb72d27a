/** @import { Runtime } from '../runtime/runtime.js' */

import { checkTensor, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Loss, sumOf } from './loss.js'

/**
 * @param {Runtime} runtime
 * @param {unknown} prediction
 * @param {unknown} target
 * @returns {Loss}
 */
export function mse(runtime, prediction, target) {
  const where = 'mse'
  const x = checkTensor(runtime, where, 'prediction', prediction)
  const t = checkTensorOf(runtime, where, 'target', target, x.shape)
  const cols = x.shape.at(-1) ?? 1
  const rows = cols === 0 ? 0 : x.size / cols
  return runtime.scope(() => {
    const losses = Tensor.empty(runtime, where, [rows])
    runtime.run('gpt_mse_forward', [losses, x, t, rows, cols])
    return new Loss(runtime, sumOf(losses) / rows, [x, t], ([x, t]) => {
      const dx = Tensor.empty(runtime, 'Loss.backward', x.shape)
      runtime.run('gpt_mse_backward', [dx, x, t, x.size, 2 / x.size])
      return dx
    })
  })
}
