import type { Runtime } from '../runtime/runtime.ts'
import { checkChoice, checkOptions } from '../check.ts'
import { type Gradients, record } from '../runtime/tape.ts'
import { checkTensor, checkTensorOf } from '../tensor/check.ts'
import { Tensor } from '../tensor/tensor.ts'
import { type LossReduction, REDUCTIONS, single, sumOf } from './loss.ts'

const DEFAULTS = { reduction: 'mean' as LossReduction }

export interface MSEOptions {
  /** 'mean' of the squares, by default; their 'sum'; 'none': the squares, in the tensors' shape */
  reduction?: LossReduction
}

/**
 * The mean squared error of n elements and its gradient:
 *
 *     loss = Σ (prediction - target)² / n
 *     dprediction = 2 (prediction - target) / n,  dtarget = -dprediction
 *
 * The kernel computes the mean of each row of the last axis, so that threads can share the rows. The loss is
 * the mean of the means, or their sum times the size of the axis.
 *
 * `gpt.mse` documents the arguments.
 */
export function mse(runtime: Runtime, prediction: unknown, target: unknown, options?: MSEOptions): Tensor {
  const { reduction } = checkOptions(options, DEFAULTS)
  checkChoice('reduction', reduction, REDUCTIONS)
  const x = checkTensor(runtime, 'prediction', prediction)
  const t = checkTensorOf(runtime, 'target', target, x.shape)
  if (reduction === 'none') return runtime.temporary(() => x.sub(t).pow(2))
  const cols = x.shape.at(-1) ?? 1
  const rows = cols === 0 ? 0 : x.size / cols

  return runtime.temporary(() => {
    const losses = Tensor.empty(runtime, [rows])
    runtime.run('gpt_mse_forward', [losses, x, t, rows, cols])
    const isMean = reduction === 'mean'
    const backward: Gradients = (dy, [, toTarget]) => {
      const dx = Tensor.empty(runtime, x.shape)
      runtime.run('gpt_mse_backward', [dx, x, t, x.size, (2 * dy.item()) / (isMean ? x.size : 1)])
      return [dx, toTarget ? dx.neg() : null]
    }
    const loss = isMean ? sumOf(losses) / rows : sumOf(losses) * cols
    return record(single(losses, loss), [x, t], backward, [x, t])
  })
}
