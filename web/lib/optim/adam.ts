import type { Tensor } from '../tensor/tensor.ts'
import {
  checkArray,
  checkInteger,
  checkNonNegative,
  checkNumber,
  checkOptions,
  describe,
  named,
  nameMethods,
} from '../check.ts'
import { fail } from '../errors.ts'
import { run } from '../runtime/runtime.ts'
import { type All, type GivenGroup } from './groups.ts'
import { type OptimizerState, Optimizer } from './optimizer.ts'

/** The tensor `step` is float32, as in PyTorch: it counts up to here. */
const MAX_STEP = 2 ** 24

export interface AdamOptions {
  /** learning rate, 1e-3 by default */
  lr?: number
  /**
   * decay rates beta1 and beta2 of the running means of the gradients and of their squares, from 0 to below
   * 1; [0.9, 0.999] by default
   */
  betas?: readonly [number, number]
  /** added to the denominator, 1e-8 by default */
  eps?: number
  /** factor of the weight that is added to its gradient; 0 by default */
  weightDecay?: number
}

/**
 * Adam, as torch.optim.Adam.
 * Source: Kingma, Ba 2014, arXiv:1412.6980, algorithm 1.
 *
 * Step t = 1, 2, ... of a parameter w, all elementwise; m and v start as zeros:
 *
 *     g = grad + weightDecay · w
 *     m = beta1 · m + (1 - beta1) · g
 *     v = beta2 · v + (1 - beta2) · g²
 *     w = w - lr · (m / (1 - beta1^t)) / (√(v / (1 - beta2^t)) + eps)
 *
 * The state has PyTorch's names: `step` (t), `exp_avg` (m) and `exp_avg_sq` (v).
 */
export class Adam extends Optimizer<All<AdamOptions>> {
  /** @internal */
  static override readonly ownName: string = 'Adam'

  /** The default of weightDecay, and whether the decay is decoupled from the gradient, as in AdamW. @internal */
  static readonly decay = { weightDecay: 0, isDecoupled: false }

  /**
   * @param parameters such as `model.parameters()`, or an array of groups; each parameter may occur once
   * @example new Adam(model.parameters(), { lr: 3e-4 })
   */
  constructor(parameters: readonly Tensor[] | readonly GivenGroup<AdamOptions>[], options?: AdamOptions) {
    nameMethods(new.target)
    const defaults: All<AdamOptions> = {
      lr: 1e-3,
      betas: [0.9, 0.999],
      eps: 1e-8,
      weightDecay: new.target.decay.weightDecay,
    }
    super(
      parameters,
      named(new.target.name, arguments, 2, () => checkOptions(options, defaults)),
    )
  }

  /** @internal */
  static override checkOptions(name: string, options: All<AdamOptions>): void {
    super.checkOptions(name, options)
    const { betas, eps, weightDecay } = options
    checkArray(`${name}betas`, betas, 'an array of two numbers')
    if (betas.length !== 2) {
      throw fail('TYPE', `${name}betas`, 'be an array of two numbers', describe(betas))
    }
    const isBeta = (n: number) => n >= 0 && n < 1
    betas.forEach((beta, i) => checkNumber(`${name}betas[${i}]`, beta, 'a number >= 0 and < 1', isBeta))
    checkNonNegative(`${name}eps`, eps)
    checkNonNegative(`${name}weightDecay`, weightDecay)
  }

  /** @internal */
  protected override stateShapes({ shape }: Tensor, _options: AdamOptions) {
    return { step: [], exp_avg: shape, exp_avg_sq: shape }
  }

  /** @internal */
  static override checkState(name: string, values: Float32Array): void {
    if (name.endsWith('.step')) checkInteger(name, values[0], 0, MAX_STEP)
    if (name.endsWith('.exp_avg_sq') && values.some((v) => v < 0)) {
      const given = values.find((v) => v < 0)
      throw fail('VALUE', name, 'have no negative element', given)
    }
  }

  /** @internal */
  protected override update(
    parameter: Tensor,
    grad: Tensor,
    { step, exp_avg: mean, exp_avg_sq: square }: OptimizerState,
    { lr, betas, eps, weightDecay }: All<AdamOptions>,
  ): void {
    const t = step.item() + 1
    step.data[0] = t
    run('gpt_adam_step', [
      parameter,
      mean,
      square,
      grad,
      parameter.size,
      lr,
      ...betas,
      eps,
      weightDecay,
      1 - power(betas[0], t),
      1 - power(betas[1], t),
      (this.constructor as typeof Adam).decay.isDecoupled,
    ])
  }
}

/**
 * base^exponent by squaring. The last bit of JavaScript's own power differs between engines.
 *
 * @param exponent an integer >= 0
 */
export function power(base: number, exponent: number): number {
  let result = 1
  let square = base
  for (let rest = exponent; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result *= square
    square *= square
  }
  return result
}
