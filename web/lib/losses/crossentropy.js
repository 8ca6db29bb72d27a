/** @import { Indices } from '../tensor/indices.js' */
/** @import { Runtime } from '../runtime/runtime.js' */

import { GptLayersError } from '../errors.js'
import { checkTensor } from '../tensor/check.js'
import { checkIndices, storeIndices } from '../tensor/indices.js'
import { Tensor } from '../tensor/tensor.js'
import { Loss, sumOf } from './loss.js'

/** A target that counts for nothing, as PyTorch's ignore_index. */
const IGNORE = -100

/**
 * @param {Runtime} runtime
 * @param {unknown} logits
 * @param {Indices} targets
 * @returns {Loss}
 */
export function crossEntropy(runtime, logits, targets) {
  const where = 'crossEntropy'
  const x = checkTensor(runtime, where, 'logits', logits)
  const cols = x.shape.at(-1)
  if (cols === undefined)
    throw new GptLayersError('SHAPE', `${where}: logits should end in classes, got shape []`)
  const shape = x.shape.slice(0, -1)
  const { indices, shape: given } = checkIndices(runtime, where, 'targets', targets, cols, IGNORE)
  const rows = shape.reduce((product, size) => product * size, 1)
  const flat = given.length === 1 && given[0] === rows
  if (!flat && (given.length !== shape.length || given.some((size, i) => size !== shape[i]))) {
    throw new GptLayersError(
      'SHAPE',
      `${where}: targets should have shape [${shape.join(', ')}], logits without their last axis, got [${given.join(', ')}]`,
    )
  }
  return runtime.scope(() => {
    const stored = storeIndices(runtime, where, { indices, shape: [rows] })
    const [losses, max, sum] = [0, 1, 2].map(() => Tensor.empty(runtime, where, [rows]))
    runtime.run('gpt_crossentropy_forward', [losses, max, sum, x, stored, rows, cols])
    const counted = indices.reduce((count, index) => count + Number(index !== IGNORE), 0)
    return new Loss(runtime, sumOf(losses) / counted, [x, max, sum, stored], ([x, max, sum, targets]) => {
      const dx = Tensor.empty(runtime, 'Loss.backward', x.shape)
      runtime.run('gpt_crossentropy_backward', [dx, x, targets, max, sum, rows, cols, 1 / counted])
      return dx
    })
  })
}
