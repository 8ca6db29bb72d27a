import type { Tensor } from '../tensor/tensor.ts'
import { checkBoolean, checkConstructor, checkNonNegative, checkNumber, checkOptions } from '../check.ts'
import { fail, withClass } from '../errors.ts'
import { run } from '../runtime/runtime.ts'
import { Optimizer } from './optimizer.ts'

const DEFAULTS: Partial<SGDOptions> & Required<Omit<SGDOptions, 'lr'>> = {
  lr: undefined,
  momentum: 0,
  dampening: 0,
  weightDecay: 0,
  nesterov: false,
}

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
export class SGD extends Optimizer {
  /** @internal */
  static override readonly ownName: string = 'SGD'

  #options: { momentum: number; dampening: number; weightDecay: number; nesterov: boolean }

  /**
   * @param parameters such as `layer.parameters()`; each may occur once
   * @example new SGD(layer.parameters(), { lr: 0.1, momentum: 0.9 })
   */
  constructor(parameters: readonly Tensor[], options: SGDOptions) {
    checkConstructor(new.target, arguments, 2)
    super(parameters)
    try {
      const { lr, momentum, dampening, weightDecay, nesterov } = checkOptions(options, DEFAULTS)
      checkNonNegative('lr', lr)
      this.lr = lr
      checkNonNegative('momentum', momentum)
      checkNumber('dampening', dampening, 'a finite number', Number.isFinite)
      checkNonNegative('weightDecay', weightDecay)
      checkBoolean('nesterov', nesterov)
      if (nesterov && (momentum === 0 || dampening !== 0)) {
        const given = `momentum ${momentum} and dampening ${dampening}`
        throw fail('VALUE', 'nesterov', 'be used with momentum > 0 and dampening = 0', given)
      }
      this.#options = { momentum, dampening, weightDecay, nesterov }
    } catch (error) {
      throw withClass(error, new.target)
    }
  }

  /** @internal */
  override stateShapes({ shape }: Tensor): Record<string, readonly number[]> {
    return this.#options.momentum === 0 ? {} : { momentum_buffer: shape }
  }

  /** @internal */
  override update(
    parameter: Tensor,
    grad: Tensor,
    { momentum_buffer: buffer }: Partial<Record<string, Tensor>>,
    { lr, isFirst }: { lr: number; isFirst: boolean },
  ): void {
    const { momentum, dampening, weightDecay, nesterov } = this.#options
    run('gpt_sgd_step', [
      parameter,
      buffer ?? null,
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
