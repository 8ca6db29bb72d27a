/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { Tensor } from '../tensor/tensor.js' */

import { checkBoolean, checkNumber, checkOptions } from '../check.js'
import { GptLayersError } from '../errors.js'
import { isFromZero, Optimizer } from './optimizer.js'

/** Stochastic gradient descent, with momentum if wanted, as PyTorch's optim.SGD. */
export class SGD extends Optimizer {
  /** @type {{ momentum: number, dampening: number, weightDecay: number, nesterov: boolean }} */ #options

  /**
   * @param {Runtime} runtime
   * @param {readonly Tensor[]} parameters such as `layer.parameters()`
   * @param {{ lr: number, momentum?: number, dampening?: number, weightDecay?: number, nesterov?: boolean }} options
   *   lr: the learning rate. momentum: how much of the last step stays, 0 by default. dampening: how much of a gradient is
   *   kept from momentum. weightDecay: how much of a weight is added to its gradient. nesterov: momentum as Nesterov's.
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED
   * @example new SGD(layer.parameters(), { lr: 0.1, momentum: 0.9 })
   */
  constructor(runtime, parameters, options) {
    const defaults = { lr: undefined, momentum: 0, dampening: 0, weightDecay: 0, nesterov: false }
    const { lr, ...rest } = checkOptions(
      'SGD',
      options,
      /** @type {typeof defaults & { lr: any }} */ (defaults),
    )
    super(runtime, 'SGD', parameters, lr)
    checkNumber('SGD', 'momentum', rest.momentum, 'a number from 0 on', isFromZero)
    checkNumber('SGD', 'dampening', rest.dampening, 'a number', Number.isFinite)
    checkNumber('SGD', 'weightDecay', rest.weightDecay, 'a number from 0 on', isFromZero)
    checkBoolean('SGD', 'nesterov', rest.nesterov)
    if (rest.nesterov && (rest.momentum === 0 || rest.dampening !== 0)) {
      const { momentum, dampening } = rest
      throw new GptLayersError(
        'VALUE',
        `SGD: nesterov should have momentum and no dampening, got momentum ${momentum} and dampening ${dampening}`,
      )
    }
    this.#options = rest
  }

  /** @override @internal @param {Tensor} parameter */
  slots({ shape }) {
    return /** @type {Record<string, readonly number[]>} */ (
      this.#options.momentum === 0 ? {} : { momentum_buffer: shape }
    )
  }

  /**
   * @override @internal
   * @param {Tensor} parameter
   * @param {Tensor} grad
   * @param {Partial<Record<string, Tensor>>} state
   * @param {boolean} isFirst
   */
  update(parameter, grad, { momentum_buffer: buffer }, isFirst) {
    const { momentum, dampening, weightDecay, nesterov } = this.#options
    this.run('gpt_sgd_step', [
      parameter,
      buffer ?? null,
      grad,
      parameter.size,
      this.lr,
      momentum,
      isFirst ? 0 : dampening, // the first gradient is the momentum
      weightDecay,
      nesterov,
    ])
  }
}
