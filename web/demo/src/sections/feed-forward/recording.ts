// A token's way as it was recorded: of each row not the numbers, but how many there are in each narrow bin.

import type { Stage } from './compute.ts'

const WIDTH = 0.02 // of a bin
const DIGITS = 3

type Recorded = { name: string; mean: number; variance: number; first: number; counts: number[] }

/** @returns first: the number of the first bin; bin 0 begins at 0 */
export function fold({ name, values, mean, variance }: Stage): Recorded {
  const bins = Array.from(values, (value) => Math.floor(value / WIDTH))
  const first = Math.min(...bins)
  const counts = new Array(Math.max(...bins) - first + 1).fill(0)
  for (const bin of bins) counts[bin - first]++
  const round = (value: number) => Number(value.toPrecision(DIGITS))
  return { name, mean: round(mean), variance: round(variance), first, counts }
}

/** @returns values with the same count in each bin, spread evenly over the bin */
export function unfold({ name, mean, variance, first, counts }: Recorded): Stage {
  const values = counts.flatMap((count, i) =>
    Array.from({ length: count }, (_, k) => (first + i + (k + 0.5) / count) * WIDTH),
  )
  return { name, mean, variance, values: Float32Array.from(values) }
}
