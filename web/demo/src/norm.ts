// Layer normalization of a row, as the opening and "How it is computed" show it. Its numbers are right for all
// finite rows: they come from the package's layer, and from its mean and variance of the row divided by a power
// of two.

import { layerNorm, noGrad, scope, tensor } from 'gpt-layers'

/** What the variance is divided by, and what is added to it. */
export type NormSettings = { divisor: 'n' | 'n-1'; eps: number }

/** A row of numbers, with its mean and variance. */
export interface Row {
  values: readonly number[]
  mean: number
  /** Divided as the settings say. */
  variance: number
}

/**
 * A row's mean and variance, and the row minus its mean. The division keeps squares of 1e30 within float32. The
 * mean is taken in two steps, as in the layer: float32 holds a mean near 10,000 only to 0.0005.
 */
function centered(values: readonly number[], divisor: NormSettings['divisor']) {
  const unit = 2 ** Math.ceil(Math.log2(Math.max(...values.map(Math.abs)) || 1))
  return scope(() => {
    const x = tensor(values.map((value) => value / unit))
    const mean = x.mean()
    const near = x.sub(mean)
    const rest = near.mean()
    const variance = near.var({ unbiased: divisor === 'n-1' }).item()
    return {
      mean: (mean.item() + rest.item()) * unit,
      variance: variance * unit ** 2,
      values: Array.from(near.sub(rest).data, (value) => value * unit),
    }
  })
}

/** A row with its mean and variance. */
export function describe(values: readonly number[], divisor: NormSettings['divisor']): Row {
  const { mean, variance } = centered(values, divisor)
  return { values: [...values], mean, variance }
}

/**
 * A row before the norm, minus its mean, divided by its deviation, and with scale and shift. The layer divides
 * the variance by n. Divided by n - 1 it is n / (n - 1) times as large: the layer gets a smaller ε, and its result
 * a factor.
 *
 * @param scale gamma @param shift beta
 */
export function normalize(
  values: readonly number[],
  { divisor, eps }: NormSettings,
  scale?: readonly number[],
  shift?: readonly number[],
) {
  const n = values.length
  const share = divisor === 'n' ? 1 : (n - 1) / n
  const through = (scale: readonly number[], shift: readonly number[] | null) =>
    scope(() => {
      const weight = tensor(scale.map((one) => one * Math.sqrt(share)))
      const bias = shift && tensor([...shift])
      return Array.from(
        noGrad(() => layerNorm(tensor([...values]), n, weight, bias, { eps: eps * share })).data,
      )
    })
  const before = describe(values, divisor)
  const divided = describe(through(Array(n).fill(1), null), divisor)
  return {
    before,
    centered: describe(centered(values, divisor).values, divisor),
    divided,
    scaled: scale && shift ? describe(through(scale, shift), divisor) : divided,
  }
}

export type Normalized = ReturnType<typeof normalize>

/**
 * A row on its way from one step to the next.
 *
 * @param part of the way, from 0 to 1
 */
export function between(from: Row, to: Row, part: number, { divisor }: NormSettings): Row {
  if (part === 0) return from
  if (part === 1) return to
  return describe(
    from.values.map((value, i) => (1 - part) * value + part * to.values[i]),
    divisor,
  )
}

const REACH = 0.9999 // of the largest number that a normalized row can have

/**
 * The number that the norm turns into `target`, while the row's other numbers stay: the norm solved for it.
 *
 * @param i of the number
 */
export function solve(values: readonly number[], i: number, target: number, { divisor, eps }: NormSettings) {
  const n = values.length
  const others = describe(values.toSpliced(i, 1), 'n')
  // With the distance d to the others' mean: normalized² = part² d² / (spread + growth d²).
  const part = (n - 1) / n
  const [spread, growth] =
    divisor === 'n' ? [part * others.variance + eps, part / n] : [others.variance + eps, 1 / n]
  const limit = (REACH * part) / Math.sqrt(growth)
  const reached = Math.min(limit, Math.max(-limit, target))
  return others.mean + reached * Math.sqrt(spread / (part ** 2 - reached ** 2 * growth))
}
