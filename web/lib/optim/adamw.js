/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { Tensor } from '../tensor/tensor.js' */
/** @import { State } from './optimizer.js' */

import { checkNonNegative, checkNumber, checkOptions, describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { Optimizer } from './optimizer.js'

/** @type {readonly [number, number]} */
const DEFAULT_BETAS = [0.9, 0.999]

/**
 * @typedef {object} AdamWOptions
 * @property {number} [lr] learning rate, 1e-3 by default
 * @property {readonly [number, number]} [betas] decay rates beta1 and beta2 of the running means of
 *   the gradients and of their squares, from 0 to below 1; [0.9, 0.999] by default
 * @property {number} [eps] added to the denominator, 1e-8 by default
 * @property {number} [weightDecay] each step multiplies w by 1 - lr · weightDecay; 0.01 by default
 */

/**
 * Adam with decoupled weight decay, as torch.optim.AdamW.
 * Source: Loshchilov, Hutter 2019, arXiv:1711.05101, algorithm 2.
 *
 * Step t = 1, 2, ... of a parameter w with gradient g, all elementwise; m and v start as zeros:
 *
 *     m = beta1 · m + (1 - beta1) · g
 *     v = beta2 · v + (1 - beta2) · g²
 *     w = (1 - lr · weightDecay) · w - lr · (m / (1 - beta1^t)) / (√(v / (1 - beta2^t)) + eps)
 *
 * The state has PyTorch's names: `step` (t), `exp_avg` (m) and `exp_avg_sq` (v).
 */
export class AdamW extends Optimizer {
  /** @type {{ betas: readonly [number, number], eps: number, weightDecay: number }} */ #options

  /**
   * @param {Runtime} runtime
   * @param {readonly Tensor[]} parameters such as `model.parameters()`; each may occur once
   * @param {AdamWOptions} [options]
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED
   * @example new AdamW(model.parameters(), { lr: 3e-4 })
   */
  constructor(runtime, parameters, options = {}) {
    const defaults = { lr: 1e-3, betas: DEFAULT_BETAS, eps: 1e-8, weightDecay: 0.01 }
    const { lr, betas, eps, weightDecay } = checkOptions('AdamW', options, defaults)
    super(runtime, 'AdamW', parameters, lr)
    if (!Array.isArray(betas) || betas.length !== 2) {
      const given = describe(betas)
      throw new GptLayersError('TYPE', `AdamW: betas should be an array of two numbers, got ${given}`)
    }
    betas.forEach((beta, i) =>
      checkNumber('AdamW', `betas[${i}]`, beta, 'a number >= 0 and < 1', (n) => n >= 0 && n < 1),
    )
    checkNonNegative('AdamW', 'eps', eps)
    checkNonNegative('AdamW', 'weightDecay', weightDecay)
    this.#options = { betas: [betas[0], betas[1]], eps, weightDecay }
  }

  /** @override @internal @param {Tensor} parameter */
  stateShapes({ shape }) {
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
    this.runtime.run('gpt_adamw_step', [
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
