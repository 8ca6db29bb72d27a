/** @import { Tensor } from './tensor.js' */

import { sameShape } from '../check.js'
import { GptLayersError } from '../errors.js'
import { SCRATCH } from '../runtime/runtime.js'
import { sizeOf } from './shape.js'

/**
 * The matrix product.
 *
 * @param {Tensor} a [..., rows, inner]
 * @param {Tensor} b [..., inner, cols], with the same leading axes as a or none
 * @returns {Tensor} [..., rows, cols]
 */
export function matmul(a, b) {
  const { runtime } = a
  const [rows, inner] = a.shape.slice(-2)
  const leading = a.shape.slice(0, -2)
  const expected = b.shape.length === 2 ? [inner] : [...leading, inner]
  if (a.shape.length < 2 || b.shape.length < 2 || !sameShape(b.shape.slice(0, -1), expected)) {
    throw new GptLayersError(
      'SHAPE',
      `matmul: other should have shape [${expected.join(', ')}, cols] ` +
        `for a tensor of shape [${a.shape.join(', ')}], ` +
        `got shape [${b.shape.join(', ')}]`,
    )
  }
  const cols = /** @type {number} */ (b.shape.at(-1))
  // One product for each matrix of b.
  const count = sizeOf(b.shape.slice(0, -2))
  const each = (sizeOf(leading) / Math.max(count, 1)) * rows
  return runtime.scope(() => {
    const y = a.empty('matmul', [...a.shape.slice(0, -1), cols])
    if (y.size === 0) return y
    for (let i = 0; i < count; i++) {
      const [yi, ai, bi] = [
        y.pointerTo(i * each * cols),
        a.pointerTo(i * each * inner),
        b.pointerTo(i * inner * cols),
      ]
      // Conv1D without a bias is a matrix product.
      runtime.run('gpt_conv1d_forward', [yi, SCRATCH, ai, bi, null, each, inner, cols])
    }
    return y
  })
}
