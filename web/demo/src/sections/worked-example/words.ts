// The presets, what to look at in each, and why a row has no normalized numbers.

import { OUTPUTS } from '../../example.ts'
import { cellText } from '../../numbers.ts'
import type { Normalized, NormSettings } from '../../norm.ts'
import { differ, torchLayerNorm } from './torch.ts'

const OUTLIER = { at: 2, value: 30 }
const OFFSET = 10_000

/** Changes to the example's first row. */
export const PRESETS = {
  outlier: (value: number, c: number) => (c === OUTLIER.at ? OUTLIER.value : value),
  'constant row': () => 0.5,
  'large offset': (value: number) => value + OFFSET,
}

/** What to look at in each preset, from the row's normalized numbers and those of PyTorch's row. */
export const LOOKS: Record<
  keyof typeof PRESETS,
  (normalized: readonly number[], unchanged: readonly number[]) => string
> = {
  outlier: (normalized) => {
    const others = normalized.filter((_, c) => c !== OUTLIER.at)
    const [least, most] = [Math.min(...others), Math.max(...others)].map((value) => cellText(value, 2))
    return (
      `One number is ${OUTLIER.value}, and it alone makes the row wide. Divided, it is ` +
      `${cellText(normalized[OUTLIER.at], 2)}, and the other ${OUTPUTS - 1} are pressed together ` +
      (least === most ? `at ${least}.` : `between ${least} and ${most}.`)
    )
  },
  'constant row': () =>
    'Six equal numbers have the variance 0. Divided, all are 0: only ε keeps the division from being 0/0.',
  'large offset': (normalized, unchanged) => {
    const off = Math.max(...normalized.map((value, c) => Math.abs(value - unchanged[c])))
    return (
      'Each number is 10,000 larger, and the mean takes it away again. But near 10,000, float32 values are ' +
      `0.001 apart: the divided numbers are off by up to ${cellText(off)}.`
    )
  },
}

/** Why a row has no normalized numbers; '' if it has. */
export function why(row: number, rows: readonly Normalized[], eps: number): string {
  const name = `row ${row + 1}`
  const { before, scaled } = rows[row]
  if (scaled.values.every(Number.isFinite)) return ''
  if (before.variance !== 0 || eps !== 0)
    return `A number on the way of ${name} is too large: float32 ends at 3.4·10³⁸.`
  return (
    `All numbers of ${name} are equal, so its variance is 0. With ε = 0 the row would be divided by 0. That is ` +
    'what ε is for.'
  )
}

/** What PyTorch's layer gives for the rows where that is something else; '' where it is the same. */
export function torchSays(rows: readonly Normalized[], { divisor, eps }: NormSettings): string {
  if (divisor !== 'n') return ''
  return rows
    .flatMap(({ before: { values }, divided }, r) => {
      const numbers = torchLayerNorm(values, eps)
      if (!values.every(Number.isFinite) || !differ(numbers, divided.values)) return []
      const given = numbers.every(Number.isNaN)
        ? 'only nan'
        : numbers.map((value) => cellText(value)).join(', ')
      return [`PyTorch’s nn.LayerNorm, which computes in float32, gives ${given} for row ${r + 1}.`]
    })
    .join(' ')
}
