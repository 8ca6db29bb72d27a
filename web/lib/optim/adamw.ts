import type { Tensor } from '../tensor/tensor.ts'
import type { GivenGroup } from './groups.ts'
import { checkConstructor } from '../check.ts'
import { type AdamOptions, Adam } from './adam.ts'

export interface AdamWOptions extends AdamOptions {
  /** each step multiplies w by 1 - lr · weightDecay; 0.01 by default */
  weightDecay?: number
}

/**
 * Adam with decoupled weight decay, as torch.optim.AdamW.
 * Source: Loshchilov, Hutter 2019, arXiv:1711.05101, algorithm 2.
 *
 * As Adam, but weightDecay is no part of the gradient g and its means m and v:
 *
 *     w = (1 - lr · weightDecay) · w - lr · (m / (1 - beta1^t)) / (√(v / (1 - beta2^t)) + eps)
 */
export class AdamW extends Adam {
  /** @internal */
  static override readonly ownName: string = 'AdamW'

  /** @internal */
  static override readonly decay = { weightDecay: 0.01, isDecoupled: true }

  /**
   * @param parameters such as `model.parameters()`, or an array of groups; each parameter may occur once
   * @example new AdamW(model.parameters(), { lr: 3e-4 })
   * @example
   * const parameters = model.parameters()
   * const matrices = parameters.filter(({ shape }) => shape.length >= 2)
   * const others = parameters.filter(({ shape }) => shape.length < 2)
   * new AdamW([{ params: matrices, weightDecay: 0.1 }, { params: others, weightDecay: 0 }], { lr: 6e-4 })
   */
  constructor(parameters: readonly Tensor[] | readonly GivenGroup<AdamWOptions>[], options?: AdamWOptions) {
    checkConstructor(new.target, arguments, 2)
    super(parameters, options)
  }
}
