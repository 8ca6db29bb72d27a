// The opening's numbers: a row before layer normalization, on its way, and after it; and what to say of it.

import type { Gpt, Tensor } from 'gpt-layers'
import type { ExampleState } from '../../example-slice.ts'
import { cellText, shortest } from '../../numbers.ts'

type Settings = Pick<ExampleState, 'divisor' | 'eps'>

export interface Row {
  values: number[]
  mean: number
  /** Divided by n, or by n - 1. */
  variance: number
}

const varianceOf = (x: Tensor, { divisor }: Settings) => x.var({ unbiased: divisor === 'n-1' }).item()

/** A row's variance with each divisor. */
export const variancesOf = (gpt: Gpt, values: readonly number[]) =>
  gpt.scope(() => {
    const x = gpt.tensor([...values])
    return { n: x.var({ unbiased: false }).item(), 'n-1': x.var().item() }
  })

/** @param x [1, n] */
const rowOf = (x: Tensor, settings: Settings): Row => ({
  values: Array.from(x.data),
  mean: x.mean().item(),
  variance: varianceOf(x, settings),
})

/** A row before layer normalization and after it. The package's layer divides by n, as GPT's does. */
export function normalize(gpt: Gpt, values: readonly number[], settings: Settings) {
  const { divisor, eps } = settings
  return gpt.scope(() => {
    const x = gpt.tensor([...values], [1, values.length])
    const normalized =
      divisor === 'n'
        ? gpt.noGrad(() => new gpt.LayerNorm(values.length, { eps }).forward(x))
        : x.sub(x.mean()).div(x.var({ unbiased: true }).add(eps).sqrt())
    return { before: rowOf(x, settings), after: rowOf(normalized, settings) }
  })
}

/**
 * A row on its way through layer normalization.
 *
 * @param progress from 0, the row as it is, by 1, minus its mean, to 2, divided by its deviation
 */
export function between(gpt: Gpt, values: readonly number[], progress: number, settings: Settings): Row {
  return gpt.scope(() => {
    const x = gpt.tensor([...values], [1, values.length])
    const centered = x.sub(x.mean().item() * Math.min(1, progress))
    const deviation = Math.sqrt(varianceOf(x, settings) + settings.eps)
    return rowOf(centered.div(1 + (deviation - 1) * Math.max(0, progress - 1)), settings)
  })
}

const FAR = 1e3 // deviations between 0 and the mean, from which on rounding is seen in four decimals
const MOST = 0.99 // of the largest number that a normalized row can have

/** What to say of a row: why its variance is not exactly 1, or what is special about it. */
export function remark({ before, after }: ReturnType<typeof normalize>, { divisor, eps }: Settings): string {
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
