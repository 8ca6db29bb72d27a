// The steps from a row to the normalized row. All that is particular to a step is in its object.

import { OUTPUTS } from '../../example.ts'
import { cellText } from '../../numbers.ts'
import type { Normalized } from '../../norm.ts'
import { isPlain } from '../../example.svelte.ts'
import type { Settings } from './slice.ts'

export interface Step {
  name: Settings['step']
  title: string
  /** HTML. */
  text: (settings: Settings, rows: readonly Normalized[]) => string
  /** The same in PyTorch. */
  code: (settings: Settings) => string
  /** Its rows; 'before': it computes no new ones. */
  rows: keyof Normalized
  /** Beside its dots. */
  note: string
  /** Above its numbers. */
  caption: string
}

const variances = (rows: readonly Normalized[]) =>
  rows.map(({ divided }) => cellText(divided.variance)).join(' and ')

export const STEPS: readonly Step[] = [
  {
    name: 'mean',
    title: 'The mean',
    text: () =>
      `The <em>mean</em> μ is where the row would balance: its sum divided by n = ${OUTPUTS}. Each row has its ` +
      'own mean, along <code>dim=-1</code>. <code>keepdim=True</code> keeps the means as a column.',
    code: () => 'mean = y.mean(dim=-1, keepdim=True)',
    rows: 'before',
    note: '',
    caption: 'outputs y',
  },
  {
    name: 'subtract',
    title: 'Subtract it: slide',
    text: () =>
      'Subtract the mean from every number: the row slides until its mean is 0. Its spread stays the same.',
    code: () => 'y - mean',
    rows: 'centered',
    note: 'minus mean',
    caption: 'y − μ',
  },
  {
    name: 'variance',
    title: 'The variance',
    text: ({ divisor }) =>
      'The <em>variance</em> σ² says how spread out the row is: each number’s distance from the mean, ' +
      `squared, added up and divided by ${divisor === 'n' ? `n = ${OUTPUTS}` : `n − 1 = ${OUTPUTS - 1}`}. ` +
      'The bar is one <em>standard deviation</em>, √σ², to either side.',
    code: ({ divisor }) => `var = y.var(dim=-1, keepdim=True${divisor === 'n-1' ? '' : ', correction=0'})`,
    rows: 'centered',
    note: 'minus mean',
    caption: 'y − μ',
  },
  {
    name: 'divide',
    title: 'Divide: stretch',
    text: ({ eps }, rows) =>
      'Divide by √(σ² + ε): a narrow row stretches, a wide one is squeezed. Its variance becomes ' +
      `σ²/(σ² + ε), here ${variances(rows)}: close to 1 where σ² is much larger than ε. ` +
      (eps ? 'ε keeps a row of equal numbers from becoming 0/0.' : 'With ε = 0 equal numbers become 0/0.'),
    code: () => 'norm = (y - mean) / torch.sqrt(var + eps)',
    rows: 'divided',
    note: 'over deviation',
    caption: '(y − μ) / √(σ² + ε)',
  },
  {
    name: 'scale',
    title: 'Scale and shift',
    text: ({ edits }) =>
      'Layer norm ends with a scale γ and a shift β for each column, both learned. They start at 1 and 0' +
      (isPlain(edits) ? ' and change nothing yet. ' : '; here you changed them. ') +
      '<a href="#scale-and-shift">Why they are there</a>',
    code: () => 'norm * scale + shift',
    rows: 'scaled',
    note: 'scaled, shifted',
    caption: 'γ · (y − μ) / √(σ² + ε) + β',
  },
]
