// Examples to choose, each with a hint what to look at. All go through the same layer, so that every number
// keeps its place.

import { cellNames } from './compute.ts'

const OUTLIER = 30
const CONSTANT = 0.5
const OFFSET = 10000

const each = (names: string[], change: (value: number) => number) =>
  Object.fromEntries(names.map((name) => [name, change]))

const biases = cellNames('b')
const firstSample = cellNames('x').filter((name) => name.startsWith('x1'))

export const PRESETS: { name: string; look: string; change: Record<string, (value: number) => number> }[] = [
  { name: 'PyTorch’s example', look: '', change: {} },
  {
    name: 'an outlier',
    change: { b3: () => OUTLIER },
    look:
      `The third bias is ${OUTLIER}. That one number takes nearly all of the variance: it ends near 2.2, and ` +
      'the other five are pressed together near −0.45.',
  },
  {
    name: 'a constant row',
    change: { ...each(firstSample, () => 0), ...each(biases, () => CONSTANT) },
    look:
      `Sample 1 is all zeros and every bias is ${CONSTANT}, so its six outputs are equal. Their variance is 0, ` +
      'and only ε keeps the division from being 0/0.',
  },
  {
    name: 'a large offset',
    change: each(biases, (value) => value + OFFSET),
    look:
      `Every bias is ${OFFSET.toLocaleString('en')} larger, and the mean takes it away again. But near 10,000, ` +
      'float32 values are 0.001 apart, so the normalized numbers are off in their third decimal.',
  },
]
