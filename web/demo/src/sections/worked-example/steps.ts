// The steps from the batch to the normalized rows.

import layer from './formulas/layer.tex'
import mean from './formulas/mean.tex'
import normalized from './formulas/normalized.tex'
import ratio from './formulas/ratio.tex'
import biased from './formulas/variance-biased.tex'
import unbiased from './formulas/variance-unbiased.tex'
import { OUTPUTS } from './compute.ts'
import type { Settings } from './slice.ts'

export type StepName =
  'input' | 'linear' | 'relu' | 'mean' | 'variance' | 'subtract' | 'divide' | 'compare' | 'scale'

export interface Step {
  name: StepName
  /** The step's name in the list of steps. */
  short: string
  title: string
  /** The formula as MathML. The term that the step adds has the step's name as its class. */
  formula: string
  /** The same in PyTorch. */
  code: string
}

/** The sentences of each step are in Steps.svelte. */
export const stepsOf = (settings: Pick<Settings, 'unbiased'>): Step[] => [
  {
    name: 'input',
    short: 'Batch',
    title: 'A batch of two samples',
    formula: '',
    code: 'x = torch.randn(2, 5)',
  },
  {
    name: 'linear',
    short: 'Linear',
    title: 'Linear: five numbers become six',
    formula: layer,
    code: 'z = nn.Linear(5, 6)(x)',
  },
  {
    name: 'relu',
    short: 'ReLU',
    title: 'ReLU: nothing stays below 0',
    formula: layer,
    code: 'y = nn.ReLU()(z)',
  },
  {
    name: 'mean',
    short: 'Mean',
    title: 'The mean of each row',
    formula: mean,
    code: 'y.mean(dim=-1, keepdim=True)',
  },
  {
    name: 'variance',
    short: 'Variance',
    title: 'The variance of each row',
    formula: settings.unbiased ? unbiased : biased,
    code: `y.var(dim=-1, keepdim=True${settings.unbiased ? '' : ', correction=0'})`,
  },
  {
    name: 'subtract',
    short: 'Slide',
    title: 'Slide: minus the mean',
    formula: normalized,
    code: 'y - mean',
  },
  {
    name: 'divide',
    short: 'Stretch',
    title: 'Stretch: over the deviation',
    formula: normalized,
    code: '(y - mean) / torch.sqrt(var + eps)',
  },
  {
    name: 'compare',
    short: 'By hand?',
    title: 'By hand and by LayerNorm',
    formula: ratio,
    code: '(y - mean) / torch.sqrt(y.var(dim=-1, keepdim=True))',
  },
  {
    name: 'scale',
    short: 'Scale and shift',
    title: 'Scale and shift',
    formula: normalized,
    code: `nn.LayerNorm(${OUTPUTS})(y)`,
  },
]
