/** @import { Runtime } from '../runtime/runtime.js' */

import { checkNumber } from '../check.js'
import { checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { checkParameters } from './optimizer.js'

/**
 * @param {Runtime} runtime
 * @param {unknown} parameters
 * @param {unknown} maxNorm
 * @returns {number}
 */
export function clipGradNorm(runtime, parameters, maxNorm) {
  const where = 'clipGradNorm'
  const all = checkParameters(runtime, where, parameters)
  checkNumber(where, 'maxNorm', maxNorm, 'a number from 0 on', (n) => n >= 0)
  const grads = all.flatMap(({ grad, shape }, i) => {
    if (grad === null || grad.disposed) return []
    checkTensorOf(runtime, where, `parameters[${i}].grad`, grad, shape)
    return [grad]
  })
  return runtime.scope(() => {
    const result = Tensor.empty(runtime, where, [2]) // room for a float64
    const squares = grads.map((grad) => {
      runtime.run('gpt_square_sum', [result, grad, grad.size])
      return runtime.memory.doubles(result.byteOffset, 1)[0]
    })
    const norm = Math.sqrt(squares.reduce((sum, square) => sum + square, 0))
    const factor = maxNorm / (norm + 1e-6) // PyTorch's, and so is the NaN where the norm is one
    if (factor >= 1) return norm
    result.data[0] = factor
    for (const grad of grads) runtime.run('gpt_mul', [grad, grad, result, 1, grad.size, 0, 1, 0, 0])
    return norm
  })
}
