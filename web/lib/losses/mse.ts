import { checkOptions, named, oneOf } from '../check.ts'
import { run } from '../runtime/runtime.ts'
import { checkTensor, checkTensorOf } from '../tensor/check.ts'
import { temporary } from '../runtime/scope.ts'
import { type Gradients, record } from '../tensor/tape.ts'
import { Tensor } from '../tensor/tensor.ts'
import { type LossReduction, REDUCTIONS, sumOf } from './loss.ts'

const DEFAULTS = { reduction: 'mean' as LossReduction }

export interface MSEOptions {
  /** 'mean' of the squares, by default; their 'sum'; 'none': the squares, in the tensors' shape */
  reduction?: LossReduction
}

/**
 * The mean squared error, as PyTorch's nn.functional.mse_loss: the mean of (prediction - target)² over all
 * elements.
 *
 *     loss = Σ (prediction - target)² / n
 *     dprediction = 2 (prediction - target) / n,  dtarget = -dprediction
 *
 * The kernel computes the mean of each row of the last axis, so that threads can share the rows. The loss is
 * the mean of the means, or their sum times the size of the axis.
 *
 * @param prediction any shape; do not write into it before `loss.backward()`
 * @param target the same shape; do not write into it before `loss.backward()`
 * @returns a tensor of shape []; NaN when there are no elements. With `reduction: 'none'` one of the
 *   tensors' shape
 * @example gpt.mse(gpt.tensor([1, 2]), gpt.tensor([0, 0])).item() // 2.5
 */
export const mse = /* @__PURE__ */ named(
  'mse',
  (prediction: Tensor, target: Tensor, options?: MSEOptions): Tensor => {
    const { reduction } = checkOptions(options, DEFAULTS, { reduction: oneOf(...REDUCTIONS) })
    const x = checkTensor('prediction', prediction)
    const t = checkTensorOf('target', target, x.shape)
    if (reduction === 'none') return temporary(() => x.sub(t).pow(2))
    const cols = x.shape.at(-1) ?? 1
    const rows = cols === 0 ? 0 : x.size / cols

    return temporary(() => {
      const losses = Tensor.empty([rows])
      const cost = 0.2 * x.size
      run('gpt_mse_forward', [losses, x, t, rows, cols], cost)
      const isMean = reduction === 'mean'
      const backward: Gradients = (dy, [, toTarget]) => {
        const dx = Tensor.empty(x.shape)
        run('gpt_mse_backward', [dx, x, t, x.size, (2 * dy.item()) / (isMean ? x.size : 1)], cost)
        return [dx, toTarget ? dx.neg() : null]
      }
      const loss = isMean ? sumOf(losses) / rows : sumOf(losses) * cols
      return record(Tensor.full([], loss), [x, t], backward, [x, t])
    })
  },
)
