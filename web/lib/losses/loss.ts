import { Tensor } from '../tensor/tensor.ts'

/** What becomes of the losses of the elements, as in PyTorch. */
export type LossReduction = 'none' | 'mean' | 'sum'

export const REDUCTIONS: readonly LossReduction[] = ['none', 'mean', 'sum']

export const sumOf = ({ data }: Tensor): number => data.reduce((sum, value) => sum + value, 0)
