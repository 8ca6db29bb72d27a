// The steps from a row to the normalized row. All that is particular to a step is in its object.

import { OUTPUTS } from '../../example.ts'
import type { ExampleState } from '../../example-slice.ts'
import type { StateOf } from '../../fields.ts'
import { cellText } from '../../numbers.ts'
import type { Result } from './compute.ts'
import mean from './formulas/mean.tex'
import normalized from './formulas/normalized.tex'
import biased from './formulas/variance-biased.tex'
import unbiased from './formulas/variance-unbiased.tex'
import type worked from './slice.ts'

/** The example's state, and what is shown of it. */
export type Settings = ExampleState & StateOf<typeof worked>

/** A number of a step, and what it is made from. */
export interface Made {
  /** Its row, and its column, as subscripts counted from 1. */
  row: string
  col: string
  /** The output, and the mean and the variance of its row. */
  y: number
  mean: number
  variance: number
  eps: number
  scale: number
  shift: number
  value: number
}

export interface Step {
  name: Settings['step']
  title: string
  /** HTML. */
  text: (settings: Settings) => string
  /** As MathML. The term that the step adds has the step's name as its class. */
  formula: (settings: Settings) => string
  /** The same in PyTorch. */
  code: (settings: Settings) => string
  /** What it shows under the outputs; only the outputs: nothing. */
  rows: keyof Result
  /** Whether it moves the dots. */
  moves: boolean
  /** Beside its dots. */
  note: string
  /** Above its numbers. */
  caption: string
  /** The statistics of the outputs that are known. */
  known: readonly ('mean' | 'variance')[]
  /** How one of its numbers was computed. */
  tell: (made: Made) => string
}

/** A number as a term after an operator. */
export const term = (value: number, digits = 4) =>
  value < 0 ? `(${cellText(value, digits)})` : cellText(value, digits)

const divisorText = ({ divisor }: Settings) =>
  divisor === 'n-1' ? `n − 1 = ${OUTPUTS - 1}` : `n = ${OUTPUTS}`

function difference({ row, col, y, mean, value }: Made) {
  const rounded = (number: number) => Number(number.toFixed(4))
  // More digits if the rounded numbers do not add up.
  const adds = Math.abs(rounded(y) - rounded(mean) - rounded(value)) < 5e-5
  const digits = adds ? 4 : 6
  const numbers = `${cellText(y, digits)} − ${term(mean, digits)} = ${cellText(value, digits)}`
  return `y${row}${col} − μ${row} = ${numbers}`
}

function quotient({ row, col, y, mean, variance, eps, scale, shift, value }: Made) {
  const plain = scale === 1 && shift === 0
  const [symbols, numbers] = [
    `(y${row}${col} − μ${row}) / √${eps ? `(σ²${row} + ε)` : `σ²${row}`}`,
    `(${cellText(y)} − ${term(mean)}) / √${eps ? `(${cellText(variance)} + ${eps})` : cellText(variance)}`,
  ].map((text, i) => {
    if (plain) return text
    return i ? `${term(scale)}·${text} + ${term(shift)}` : `γ${col}·${text} + β${col}`
  })
  return `ŷ${row}${col} = ${symbols} = ${numbers} = ${cellText(value)}`
}

export const STEPS: readonly Step[] = [
  {
    name: 'mean',
    title: 'The mean',
    text: () =>
      `The <em>mean</em> μ is where the row would balance: its sum divided by n = ${OUTPUTS}. One mean per ` +
      'row; no other row is involved. PyTorch calls that <code>dim=-1</code>.',
    formula: () => mean,
    code: () => 'mean = y.mean(dim=-1, keepdim=True)',
    rows: 'outputs',
    moves: false,
    note: '',
    caption: '',
    known: ['mean'],
    tell: () => '',
  },
  {
    name: 'subtract',
    title: 'Subtract it: slide',
    text: () =>
      'Subtract the mean from every number: the row slides until its mean is 0. Its spread stays the same.',
    formula: () => normalized,
    code: () => 'y - mean',
    rows: 'centered',
    moves: true,
    note: 'minus mean',
    caption: 'y − μ',
    known: ['mean'],
    tell: difference,
  },
  {
    name: 'variance',
    title: 'The variance',
    text: (settings) =>
      'The <em>variance</em> σ² says how spread out the row is: each number’s distance from the mean, ' +
      `squared, added up and divided by ${divisorText(settings)}. The bar is one <em>standard deviation</em>, ` +
      '√σ², to either side.',
    formula: ({ divisor }) => (divisor === 'n-1' ? unbiased : biased),
    code: ({ divisor }) => `var = y.var(dim=-1, keepdim=True${divisor === 'n-1' ? '' : ', correction=0'})`,
    rows: 'centered',
    moves: false,
    note: 'minus mean',
    caption: 'y − μ',
    known: ['mean', 'variance'],
    tell: difference,
  },
  {
    name: 'divide',
    title: 'Divide by the deviation: stretch',
    text: ({ eps }) =>
      'Divide by the deviation: the row stretches, or a wide one is squeezed, until its variance is 1. ' +
      (eps
        ? `ε = ${eps} keeps a row of equal numbers from becoming 0/0.`
        : 'Without ε a row of equal numbers becomes 0/0.'),
    formula: () => normalized,
    code: () => '(y - mean) / torch.sqrt(var + eps)',
    rows: 'divided',
    moves: true,
    note: 'over deviation',
    caption: '(y − μ) / √(σ² + ε)',
    known: ['mean', 'variance'],
    tell: (made) => quotient({ ...made, scale: 1, shift: 0 }),
  },
  {
    name: 'scale',
    title: 'Scale and shift',
    text: () =>
      'LayerNorm ends with a scale γ and a shift β for each column, both learned. They start at 1 and 0 and ' +
      'change nothing yet. <a href="#scale-and-shift">Why they are there</a>',
    formula: () => normalized,
    code: () => `nn.LayerNorm(${OUTPUTS})(y)`,
    rows: 'scaled',
    moves: false,
    note: 'LayerNorm',
    caption: 'LayerNorm(y)',
    known: ['mean', 'variance'],
    tell: quotient,
  },
]
