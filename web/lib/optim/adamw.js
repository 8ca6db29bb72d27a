/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { Tensor } from '../tensor/tensor.js' */
/** @import { State } from './optimizer.js' */

import { checkNumber, checkOptions, describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { isFromZero, Optimizer } from './optimizer.js'

/** Adam with decoupled weight decay (Loshchilov, Hutter 2019, arXiv:1711.05101), as PyTorch's optim.AdamW. */
export class AdamW extends Optimizer {
  /** @type {{ betas: readonly [number, number], eps: number, weightDecay: number }} */ #options

  /**
   * @param {Runtime} runtime
   * @param {readonly Tensor[]} parameters such as `model.parameters()`
   * @param {{ lr?: number, betas?: readonly [number, number], eps?: number, weightDecay?: number }} [options] lr: the
   *   learning rate, 1e-3 by default. betas: how much of the gradients' running mean, and of their squares', stays in a
   *   step; [0.9, 0.999] by default. eps: added to the squares' root; 1e-8. weightDecay: times lr, how much of a weight goes
   *   in a step; 0.01.
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED
   * @example new AdamW(model.parameters(), { lr: 3e-4 })
   */
  constructor(runtime, parameters, options = {}) {
    const defaults = {
      lr: 1e-3,
      betas: /** @type {readonly [number, number]} */ ([0.9, 0.999]),
      eps: 1e-8,
      weightDecay: 0.01,
    }
    const { lr, ...rest } = checkOptions('AdamW', options, defaults)
    super(runtime, 'AdamW', parameters, lr)
    const { betas, eps, weightDecay } = rest
    if (!Array.isArray(betas) || betas.length !== 2) {
      throw new GptLayersError('TYPE', `AdamW: betas should be two numbers, got ${describe(betas)}`)
    }
    betas.forEach((beta, i) =>
      checkNumber('AdamW', `betas[${i}]`, beta, 'a number from 0 to below 1', (n) => n >= 0 && n < 1),
    )
    checkNumber('AdamW', 'eps', eps, 'a number from 0 on', isFromZero)
    checkNumber('AdamW', 'weightDecay', weightDecay, 'a number from 0 on', isFromZero)
    this.#options = { ...rest, betas: [betas[0], betas[1]] }
  }

  /** @override @internal @param {Tensor} parameter */
  slots({ shape }) {
    return { step: [], exp_avg: shape, exp_avg_sq: shape }
  }

  /**
   * @override @internal
   * @param {Tensor} parameter
   * @param {Tensor} grad
   * @param {State} state
   */
  update(parameter, grad, { step, exp_avg: mean, exp_avg_sq: square }) {
    const { betas, eps, weightDecay } = this.#options
    const t = step.item() + 1
    step.data[0] = t
    this.run('gpt_adamw_step', [
      parameter,
      mean,
      square,
      grad,
      parameter.size,
      this.lr,
      ...betas,
      eps,
      weightDecay,
      1 - betas[0] ** t,
      1 - betas[1] ** t,
    ])
  }
}
