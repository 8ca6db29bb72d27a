import type { Tensor } from '../tensor/tensor.ts'
import type { All, GivenGroup } from './groups.ts'
import { checkBoolean, checkFinite, checkNonNegative } from '../check.ts'
import { fail } from '../errors.ts'
import { run } from '../runtime/runtime.ts'
import { type Schema, type OptimizerState, Optimizer, optionsOf } from './optimizer.ts'

export interface SGDOptions {
  /** learning rate */
  lr: number
  /** factor of the previous m, 0 by default */
  momentum?: number
  /** reduces the gradient's share of m, 0 by default */
  dampening?: number
  /** factor of the weight that is added to its gradient, 0 by default */
  weightDecay?: number
  /** Nesterov's momentum; needs momentum > 0; false by default */
  nesterov?: boolean
}

/**
 * Stochastic gradient descent with optional momentum, as torch.optim.SGD.
 * Source: Sutskever et al. 2013, "On the importance of initialization and momentum in deep learning". As in
 * PyTorch, lr multiplies m as a whole, not each gradient in m.
 *
 * One step of a parameter w, all elementwise:
 *
 *     g = grad + weightDecay · w
 *     m = g                                        first step
 *     m = momentum · m + (1 - dampening) · g       later steps
 *     w = w - lr · g                               momentum = 0
 *     w = w - lr · m                               momentum > 0
 *     w = w - lr · (g + momentum · m)              nesterov
 *
 * The state is `momentum_buffer` (m), PyTorch's name; without momentum there is none.
 */
export class SGD extends Optimizer<All<SGDOptions>> {
  /** @internal */
  static override readonly ownName: string = 'SGD'

  /**
   * @param parameters such as `layer.parameters()`, or an array of groups; each parameter may occur once
   * @param options lr may be left out where every group has its own
   * @example new SGD(layer.parameters(), { lr: 0.1, momentum: 0.9 })
   */
  constructor(parameters: readonly Tensor[], options: SGDOptions)
  constructor(parameters: readonly GivenGroup<SGDOptions>[], options?: Omit<GivenGroup<SGDOptions>, 'params'>)
  constructor(
    parameters: readonly Tensor[] | readonly GivenGroup<SGDOptions>[],
    options?: Omit<GivenGroup<SGDOptions>, 'params'>,
  ) {
    super(parameters, optionsOf(new.target, arguments, options))
  }

  /** @internal */
  static override optionSchema(): Schema<SGDOptions> {
    return {
      lr: [undefined, checkNonNegative], // without lr it is refused
      momentum: [0, checkNonNegative],
      dampening: [0, checkFinite],
      weightDecay: [0, checkNonNegative],
      nesterov: [
        false,
        (name, value, { momentum, dampening }) => {
          checkBoolean(name, value)
          if (!value || (momentum !== 0 && dampening === 0)) return
          const given = `momentum ${momentum} and dampening ${dampening}`
          throw fail('VALUE', name, 'be used with momentum > 0 and dampening = 0', given)
        },
      ],
    }
  }

  /** @internal */
  protected override stateShapes(
    { shape }: Tensor,
    { momentum }: SGDOptions,
  ): Record<string, readonly number[]> {
    return momentum === 0 ? {} : { momentum_buffer: shape }
  }

  /** @internal */
  protected override update(
    parameter: Tensor,
    grad: Tensor,
    { momentum_buffer: buffer }: OptimizerState,
    { lr, momentum, dampening, weightDecay, nesterov, isFirst }: All<SGDOptions> & { isFirst?: boolean },
  ): void {
    run('gpt_sgd_step', [
      parameter,
      momentum === 0 ? null : buffer,
      grad,
      parameter.size,
      lr,
      momentum,
      isFirst ? 0 : dampening, // momentum · 0 + (1 - 0) · g: the first m is g
      weightDecay,
      nesterov,
    ])
  }
}
