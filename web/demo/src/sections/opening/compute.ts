// The opening's numbers: a row before layer normalization, on its way, and after it; and what to say of it.

import { LayerNorm, noGrad, scope, type Tensor, tensor } from 'gpt-layers'
import { normSteps, type NormSettings } from '../../example.ts'
import { cellText, shortest } from '../../numbers.ts'

export interface Row {
  values: number[]
  mean: number
  /** Divided by n, or by n - 1. */
  variance: number
}

/** A row's variance with each divisor. */
const variancesOf = (x: Tensor) => ({ n: x.var({ unbiased: false }).item(), 'n-1': x.var().item() })

/** @param x [1, n] */
const rowOf = (x: Tensor, variance: number): Row => ({
  values: Array.from(x.data),
  mean: x.mean().item(),
  variance,
})

/** A row before layer normalization and after it. The package's layer divides by n, as GPT's does. */
export function normalize(values: readonly number[], settings: NormSettings) {
  const { divisor, eps } = settings
  return scope(() => {
    const x = tensor([...values], [1, values.length])
    const y =
      divisor === 'n'
        ? noGrad(() => new LayerNorm(values.length, { eps }).forward(x))
        : normSteps(x, settings).divided
    const variances = variancesOf(x)
    return {
      variances,
      before: rowOf(x, variances[divisor]),
      after: rowOf(y, variancesOf(y)[divisor]),
    }
  })
}

/**
 * A row on its way through layer normalization.
 *
 * @param progress 0: the row; 1: the row minus its mean; 2: also divided by its deviation
 */
export function between(values: readonly number[], progress: number, settings: NormSettings): Row {
  const { divisor, eps } = settings
  return scope(() => {
    const x = tensor([...values], [1, values.length])
    const centered = x.sub(x.mean().item() * Math.min(1, progress))
    const deviation = Math.sqrt(variancesOf(x)[divisor] + eps)
    const y = centered.div(1 + (deviation - 1) * Math.max(0, progress - 1))
    return rowOf(y, variancesOf(y)[divisor])
  })
}

const FAR = 1e3 // deviations between 0 and the mean, from which on rounding is seen in four decimals
const MOST = 0.99 // of the largest number that a normalized row can have

/** A sentence about a row: why its variance is not exactly 1, or what is special about the row. */
export function remark(
  { before, after }: ReturnType<typeof normalize>,
  { divisor, eps }: NormSettings,
): string {
  const { length: n } = before.values
  const largest = Math.max(...after.values.map(Math.abs))
  const [limit, formula] =
    divisor === 'n' ? [Math.sqrt(n - 1), '√(n − 1)'] : [(n - 1) / Math.sqrt(n), '(n − 1) / √n']
  if (before.values.every((value) => value === before.values[0]))
    return eps
      ? `Equal numbers have the variance 0. Only ε = ${shortest(eps)} keeps the division from being 0/0: the row becomes zeros.`
      : 'Equal numbers have the variance 0. Without ε the division is 0/0, which is no number.'
  if (!Number.isFinite(before.variance))
    return 'The variance is larger than float32 can hold, 3.4·10³⁸. The layer here computes such a row in float64; PyTorch’s does not.'
  if (Math.abs(before.mean) > FAR * Math.sqrt(before.variance)) {
    const step = 2 ** (Math.floor(Math.log2(Math.abs(before.mean))) - 23)
    return `The mean takes the offset away again. But around ${cellText(Math.round(before.mean), 0)} float32 numbers are ${cellText(step)} apart: what was rounded there is missing here.`
  }
  if (n > 2 && largest > MOST * limit)
    return `One number makes nearly all of the variance and ends at ${cellText(largest)}. None can pass ${formula} = ${cellText(limit)}, however large it was; the others stand close together.`
  if (eps)
    return `After the norm the variance is σ² / (σ² + ε) = ${cellText(after.variance)}: ε = ${shortest(eps)} is added so that equal numbers are not 0/0.`
  return 'Without ε the variance becomes 1, but a row of equal numbers would be 0/0.'
}
