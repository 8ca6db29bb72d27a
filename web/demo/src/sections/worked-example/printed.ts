// What PyTorch prints for the example, to four decimals. The page compares its numbers with these; it computes
// nothing from them.

import type { Normalized, Row } from '../../norm.ts'

const PRINTED = [
  {
    before: { values: [0.226, 0.347, 0, 0.2216, 0, 0], mean: 0.1324, variance: 0.0192 },
    scaled: { values: [0.6745, 1.547, -0.9549, 0.6431, -0.9549, -0.9549], mean: 0, variance: 0.9995 },
  },
  {
    before: { values: [0.2133, 0.2394, 0, 0.5198, 0.3297, 0], mean: 0.217, variance: 0.0332 },
    scaled: { values: [-0.0207, 0.1228, -1.1913, 1.6619, 0.6186, -1.1913], mean: 0, variance: 0.9997 },
  },
]

const numbersOf = ({ before, scaled }: { before: Row; scaled: Row }) =>
  [before, scaled].flatMap(({ values, mean, variance }) => [...values, mean, variance])

/** @returns how many of the printed numbers are here, to four decimals */
export function agreeing(rows: readonly Normalized[]): number {
  const printed = PRINTED.flatMap(numbersOf)
  return rows.flatMap(numbersOf).filter((value, i) => Number(value.toFixed(4)) === printed[i]).length
}
