// What PyTorch prints for the numbers of "How it is computed".

import { scope, tensor, type Tensor } from 'gpt-layers'
import { tableOf } from '../../example.ts'
import type { NormSettings } from '../../norm.ts'
import { isPlain } from '../../example.svelte.ts'
import type { Settings } from './slice.ts'

/**
 * The norm of the last axis, step by step, as a tensor each: what the steps are in PyTorch, in float32.
 *
 * @returns mean and variance [..., 1]; y - mean; (y - mean) / √(variance + ε)
 */
function normSteps(y: Tensor, { divisor, eps }: NormSettings) {
  const mean = y.mean({ dim: -1, keepdim: true })
  const variance = y.var({ dim: -1, keepdim: true, unbiased: divisor === 'n-1' })
  const centered = y.sub(mean)
  return { mean, variance, centered, divided: centered.div(variance.add(eps).sqrt()) }
}

/**
 * What the code of code.ts prints: each operation in float32, as PyTorch computes it.
 *
 * @returns tensors as PyTorch prints them, by name and in order; and their numbers, of the last norm and its means
 */
export function print(settings: Settings, rows: number[][], cells: Record<string, number>) {
  return scope(() => {
    const out = tensor(rows)
    const { mean, variance, divided } = normSteps(out, settings)
    // As in code.ts: adding a shift of 0 would make 0 of −0.
    const norm = isPlain(settings.edits)
      ? divided
      : divided.mul(tableOf('gamma', cells)).add(tableOf('beta', cells))
    const means = norm.mean({ dim: -1, keepdim: true })
    const tensors = {
      out,
      mean,
      var: variance,
      norm,
      'norm’s mean': means,
      'norm’s var': norm.var({ dim: -1, keepdim: true, unbiased: settings.divisor === 'n-1' }),
    }
    return {
      texts: Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, String(tensor)])),
      norm: norm.toArray() as number[][],
      means: Array.from(means.data),
    }
  })
}
