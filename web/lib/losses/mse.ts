import type { Runtime } from '../runtime/runtime.ts'
import { type Gradients, record } from '../runtime/tape.ts'
import { checkTensor, checkTensorOf } from '../tensor/check.ts'
import { Tensor } from '../tensor/tensor.ts'
import { single, sumOf } from './loss.ts'

/**
 * The mean squared error of n elements and its gradient:
 *
 *     loss = Σ (prediction - target)² / n
 *     dprediction = 2 (prediction - target) / n,  dtarget = -dprediction
 *
 * The kernel computes the mean of each row of the last axis, so that threads can share the rows. The loss is
 * the mean of the means.
 *
 * `gpt.mse` documents the arguments.
 */
export function mse(runtime: Runtime, prediction: unknown, target: unknown): Tensor {
  const x = checkTensor(runtime, 'prediction', prediction)
  const t = checkTensorOf(runtime, 'target', target, x.shape)
  const cols = x.shape.at(-1) ?? 1
  const rows = cols === 0 ? 0 : x.size / cols

  return runtime.temporary(() => {
    const losses = Tensor.empty(runtime, [rows])
    runtime.run('gpt_mse_forward', [losses, x, t, rows, cols])
    const backward: Gradients = (dy, [, toTarget]) => {
      const dx = Tensor.empty(runtime, x.shape)
      runtime.run('gpt_mse_backward', [dx, x, t, x.size, (2 * dy.item()) / x.size])
      return [dx, toTarget ? dx.neg() : null]
    }
    return record(single(losses, sumOf(losses) / rows), [x, t], backward, [x, t])
  })
}
