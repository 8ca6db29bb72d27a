// Scale and shift: those that the stories model learned, and those of the reader for the worked example.

import type { Gpt } from 'gpt-layers'
import { exampleOutputs } from '../../example.ts'
import { loadStories } from '../../stories.ts'

/** The γ and the β of all norms of the stories model. */
export async function learned(gpt: Gpt, signal: AbortSignal) {
  const model = await loadStories(gpt, { signal })
  const all = [...model.trfBlocks.flatMap(({ norm1, norm2 }) => [norm1, norm2]), model.finalNorm]
  const norms = all as InstanceType<Gpt['LayerNorm']>[]
  const found = {
    scale: norms.flatMap(({ scale }) => Array.from(scale.data)),
    shift: norms.flatMap(({ shift }) => Array.from(shift?.data ?? [])),
  }
  model.dispose()
  return found
}

/**
 * Layer normalization with scale and shift, of the worked example's outputs.
 *
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
    norm.shift?.data.set(shift)
    const after = forward()
    return {
      normalized: normalized.toArray() as number[][],
      after: after.toArray() as number[][],
      mean: Array.from(after.mean({ dim: -1 }).data),
      variance: Array.from(after.var({ dim: -1, unbiased: false }).data),
    }
  })
}
