import type { Runtime } from '../runtime/runtime.ts'
import { checkBoolean, checkNumber, checkOptions } from '../check.ts'
import { fail } from '../errors.ts'
import { Tensor } from '../tensor/tensor.ts'
import { checkParameters, withGradients } from './parameters.ts'

/** Added to the norm, as in PyTorch, so that the factor is finite for gradients of zeros. */
const EPS = 1e-6

export interface ClipOptions {
  /** whether a norm that is NaN or infinite is an error, and no gradient is changed; false by default */
  errorIfNonfinite?: boolean
}

/**
 * Limits the norm of all gradients together, as `gpt.clipGradNorm` documents. A NaN in any gradient makes the
 * norm NaN and so every gradient, as in PyTorch.
 */
export function clipGradNorm(
  runtime: Runtime,
  parameters: unknown,
  maxNorm: unknown,
  options?: ClipOptions,
): number {
  const { errorIfNonfinite } = checkOptions(options, { errorIfNonfinite: false })
  checkBoolean('errorIfNonfinite', errorIfNonfinite)
  const checked = checkParameters(runtime, parameters)
  checkNumber('maxNorm', maxNorm, 'a number >= 0', (n) => n >= 0)
  const grads = withGradients(runtime, checked).map(({ grad }) => grad)
  return runtime.temporary(() => {
    const result = Tensor.empty(runtime, [2]) // 8 bytes: one float64, then one float32
    const squares = grads.map((grad) => {
      runtime.run('gpt_square_sum', [result, grad, grad.size])
      return runtime.memory.doubles(result.byteOffset, 1)[0]
    })
    const norm = Math.sqrt(squares.reduce((sum, square) => sum + square, 0))
    if (errorIfNonfinite && !Number.isFinite(norm)) {
      throw fail('VALUE', "the gradients' norm", 'be finite', norm)
    }
    const factor = maxNorm / (norm + EPS)
    if (factor >= 1) return norm // false for NaN
    result.data[0] = factor
    for (const grad of grads) {
      runtime.run('gpt_mul', [grad, grad, result, 1, grad.size, 0, 1, 0, 0])
      grad.changed()
    }
    return norm
  })
}
