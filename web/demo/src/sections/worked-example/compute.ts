// What PyTorch prints for the numbers of "How it is computed".

import { scope, tensor, type Tensor } from 'gpt-layers'
import { tableOf } from '../../example.ts'
import { isPlain } from '../../example.svelte.ts'
import type { Settings } from './slice.ts'

/**
 * What the code of code.ts prints: each operation in float32, as PyTorch computes it.
 *
 * @returns tensors as PyTorch prints them, by name and in order; and their numbers, of the last norm and its means
 */
export function print(settings: Settings, rows: number[][], cells: Record<string, number>) {
  return scope(() => {
    const out = tensor(rows)
    const meanOf = (x: Tensor) => x.mean({ dim: -1, keepdim: true })
    const varianceOf = (x: Tensor) => x.var({ dim: -1, keepdim: true, unbiased: settings.divisor === 'n-1' })
    const [mean, variance] = [meanOf(out), varianceOf(out)]
    const divided = out.sub(mean).div(variance.add(settings.eps).sqrt())
    // As in code.ts: adding a shift of 0 would make 0 of −0.
    const norm = isPlain(settings.edits)
      ? divided
      : divided.mul(tableOf('gamma', cells)).add(tableOf('beta', cells))
    const means = meanOf(norm)
    const tensors = {
      out,
      mean,
      var: variance,
      norm,
      'norm’s mean': means,
      'norm’s var': varianceOf(norm),
    }
    return {
      texts: Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, String(tensor)])),
      norm: norm.toArray() as number[][],
      means: Array.from(means.data),
    }
  })
}
