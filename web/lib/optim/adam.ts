import type { Tensor } from '../tensor/tensor.ts'
import type { All, GivenGroup } from './groups.ts'
import { checkArray, checkInteger, checkNonNegative, checkNumber, describe } from '../check.ts'
import { fail } from '../errors.ts'
import { run } from '../runtime/runtime.ts'
import { MAX_INTEGER } from '../tensor/shape.ts'
import { type OptimizerState, type Schema, Optimizer, optionsOf } from './optimizer.ts'

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

export interface AdamWOptions extends AdamOptions {
  /** each step multiplies w by 1 - lr · weightDecay; 0.01 by default */
  weightDecay?: number
}

function checkBetas(name: string, betas: unknown): void {
  checkArray(name, betas, 'an array of two numbers')
  if (betas.length !== 2) throw fail('TYPE', name, 'be an array of two numbers', describe(betas))
  const isBeta = (n: number) => n >= 0 && n < 1
  betas.forEach((beta, i) => checkNumber(`${name}[${i}]`, beta, 'a number >= 0 and < 1', isBeta))
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

  /** Whether weightDecay is no part of the gradient, as in AdamW. @internal */
  static readonly isDecoupled: boolean = false

  /**
   * @param parameters such as `model.parameters()`, or an array of groups; each parameter may occur once
   * @example new Adam(model.parameters(), { lr: 3e-4 })
   */
  constructor(parameters: readonly Tensor[] | readonly GivenGroup<AdamOptions>[], options?: AdamOptions) {
    super(parameters, optionsOf(new.target, arguments, options))
  }

  /** @internal */
  static override optionSchema(): Schema<AdamOptions> {
    return {
      lr: [1e-3, checkNonNegative],
      betas: [[0.9, 0.999], checkBetas],
      eps: [1e-8, checkNonNegative],
      weightDecay: [this.isDecoupled ? 0.01 : 0, checkNonNegative],
    }
  }

  /** @internal */
  static override checkState(name: string, values: Float32Array): void {
    if (name.endsWith('.step')) checkInteger(name, values[0], 0, MAX_INTEGER) // a float32, as in PyTorch
    const negative = name.endsWith('.exp_avg_sq') ? values.find((v) => v < 0) : undefined
    if (negative !== undefined) throw fail('VALUE', name, 'have no negative element', negative)
  }

  /** @internal */
  protected override stateShapes({ shape }: Tensor, _options: AdamOptions) {
    return { step: [], exp_avg: shape, exp_avg_sq: shape }
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
    const corrections = betas.map((beta) => 1 - power(beta, t))
    const { isDecoupled } = this.constructor as typeof Adam
    const options = [lr, ...betas, eps, weightDecay, ...corrections, isDecoupled]
    run('gpt_adam_step', [parameter, mean, square, grad, parameter.size, ...options])
  }
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
  static override readonly isDecoupled = true

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
    super(parameters, optionsOf(new.target, arguments, options))
  }
}

/** base^exponent, an integer >= 0, by squaring. The last bit of JavaScript's own power differs between engines. */
export function power(base: number, exponent: number): number {
  let result = 1
  let square = base
  for (let rest = exponent; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result *= square
    square *= square
  }
  return result
}
