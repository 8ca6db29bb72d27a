/** @import { Runtime } from '../runtime/runtime.js' */

import { checkTensor, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Loss, sumOf } from './loss.js'

/**
 * The mean squared error of n elements and its gradient:
 *
 *     loss = Σ (prediction - target)² / n
 *     dprediction = 2 (prediction - target) / n
 *
 * The kernel computes the mean of each row of the last axis, so that threads can share the rows. The loss is
 * the mean of the means.
 *
 * @param {Runtime} runtime
 * @param {unknown} prediction Tensor of any shape
 * @param {unknown} target Tensor of the same shape
 * @returns {Loss} NaN when there are no elements
 * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED, MEMORY
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
    return new Loss(runtime, {
      value: sumOf(losses) / rows,
      kept: { x, t },
      gradient: ({ x, t }) => {
        const dx = Tensor.empty(runtime, 'Loss.backward', x.shape)
        runtime.run('gpt_mse_backward', [dx, x, t, x.size, 2 / x.size])
        return dx
      },
    })
  })
}
