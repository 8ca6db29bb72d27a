// Layer normalization with scale and shift, of the worked example's outputs.

/** @import { Gpt } from 'gpt-layers' */

import { exampleOutputs } from '../../example.js'

/**
 * @param {Gpt} gpt
 * @param {readonly number[]} scale of each feature
 * @param {readonly number[]} shift of each feature
 */
export function compute(gpt, scale, shift) {
  return gpt.scope(() => {
    const x = gpt.tensor(exampleOutputs(gpt))
    const norm = new gpt.LayerNorm(scale.length)
    const forward = () => gpt.noGrad(() => norm.forward(x))
    const normalized = forward()
    norm.scale.data.set(scale)
    norm.shift.data.set(shift)
    const rows = (/** @type {import('gpt-layers').Tensor} */ tensor) => ({
      values: /** @type {number[][]} */ (tensor.toArray()),
      mean: Array.from(tensor.mean({ dim: -1 }).data),
      variance: Array.from(tensor.var({ dim: -1, unbiased: false }).data),
    })
    const deviation = x.var({ dim: -1, unbiased: false }).add(norm.eps).sqrt()
    return {
      before: rows(x),
      normalized: rows(normalized),
      after: rows(forward()),
      /** √(σ² + ε) of each row: as a scale, with the mean as a shift, it undoes the norm of that row. */
      deviation: Array.from(deviation.data),
    }
  })
}
