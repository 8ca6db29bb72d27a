// Layer normalization with scale and shift, of the worked example's outputs.

import type { Gpt, Tensor } from 'gpt-layers'
import { exampleOutputs } from '../../example.ts'

/**
 * @param scale of each feature
 * @param shift of each feature
 */
export function compute(gpt: Gpt, scale: readonly number[], shift: readonly number[]) {
  return gpt.scope(() => {
    const x = gpt.tensor(exampleOutputs(gpt))
    const norm = new gpt.LayerNorm(scale.length)
    const forward = () => gpt.noGrad(() => norm.forward(x))
    const normalized = forward()
    norm.scale.data.set(scale)
    norm.shift.data.set(shift)
    const rows = (tensor: Tensor) => ({
      values: tensor.toArray() as number[][],
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
