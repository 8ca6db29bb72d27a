import { checkNumber, checkOptions, named } from '../check.ts'
import { fail } from '../errors.ts'
import { heap, run } from '../runtime/runtime.ts'
import type { Tensor } from '../tensor/tensor.ts'
import { checkParameters, gradientOf } from './groups.ts'

/** Added to the norm, as in PyTorch, so that the factor is finite for gradients of zeros. */
const EPS = 1e-6

export interface ClipOptions {
  /** whether a norm that is NaN or infinite is an error, and no gradient is changed; false by default */
  errorIfNonfinite?: boolean
}

/**
 * Limits the norm of all gradients together to maxNorm, in place, as PyTorch's clip_grad_norm_:
 *
 *     norm = √(Σ grad²)                          over every element of every gradient
 *     grad = grad · maxNorm / (norm + 1e-6)      where that factor is below 1
 *
 * Call it between `backward` and the optimizer's `step`.
 *
 * @param parameters each may occur once; one without a gradient does not count
 * @param maxNorm a number >= 0
 * @returns the norm before clipping; NaN where a gradient has a NaN. It is summed in float64: PyTorch's is
 *   infinite for a gradient of 1e20, which then becomes 0
 * @example const norm = gpt.clipGradNorm(model.parameters(), 1)
 */
export const clipGradNorm = /* @__PURE__ */ named(
  'clipGradNorm',
  (parameters: readonly Tensor[], maxNorm: number, options?: ClipOptions): number => {
    const { errorIfNonfinite } = checkOptions(options, { errorIfNonfinite: false })
    const checked = checkParameters(parameters)
    checkNumber('maxNorm', maxNorm, 'a number >= 0', (n) => n >= 0)
    const grads = checked.flatMap((parameter, i) => gradientOf(parameter, i) ?? [])
    const memory = heap()
    const result = { byteOffset: memory.numbers } // one float64, then one float32
    const squares = grads.map((grad) => {
      run('gpt_square_sum', [result, grad, grad.size])
      return memory.doubles(result.byteOffset, 1)[0]
    })
    const norm = Math.sqrt(squares.reduce((sum, square) => sum + square, 0))
    if (errorIfNonfinite && !Number.isFinite(norm)) {
      throw fail('VALUE', "the gradients' norm", 'be finite', norm)
    }
    const factor = maxNorm / (norm + EPS)
    if (factor >= 1) return norm // false for NaN
    memory.floats(result.byteOffset, 1)[0] = factor
    for (const grad of grads) {
      run('gpt_mul', [grad, grad, result, 1, grad.size, 0, 1, 0, 0])
      grad.changed()
    }
    return norm
  },
)
