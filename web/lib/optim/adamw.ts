import type { Tensor } from '../tensor/tensor.ts'
import {
  checkArray,
  checkConstructor,
  checkInteger,
  checkNonNegative,
  checkNumber,
  checkOptions,
  describe,
} from '../check.ts'
import { fail, withClass } from '../errors.ts'
import { run } from '../runtime/runtime.ts'
import { type State, Optimizer } from './optimizer.ts'

const DEFAULT_BETAS: readonly [number, number] = [0.9, 0.999]

/** The tensor `step` is float32, as in PyTorch: it counts up to here. */
const MAX_STEP = 2 ** 24

export interface AdamWOptions {
  /** learning rate, 1e-3 by default */
  lr?: number
  /**
   * decay rates beta1 and beta2 of the running means of the gradients and of their squares, from 0 to below
   * 1; [0.9, 0.999] by default
   */
  betas?: readonly [number, number]
  /** added to the denominator, 1e-8 by default */
  eps?: number
  /** each step multiplies w by 1 - lr · weightDecay; 0.01 by default */
  weightDecay?: number
}

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
  /** @internal */
  static override readonly ownName: string = 'AdamW'

  #options: { betas: readonly [number, number]; eps: number; weightDecay: number }

  /**
   * @param parameters such as `model.parameters()`; each may occur once
   * @example new AdamW(model.parameters(), { lr: 3e-4 })
   */
  constructor(parameters: readonly Tensor[], options?: AdamWOptions) {
    checkConstructor(new.target, arguments, 2)
    super(parameters)
    try {
      const defaults = { lr: 1e-3, betas: DEFAULT_BETAS, eps: 1e-8, weightDecay: 0.01 }
      const { lr, betas, eps, weightDecay } = checkOptions(options, defaults)
      checkNonNegative('lr', lr)
      this.lr = lr
      checkArray('betas', betas, 'an array of two numbers')
      if (betas.length !== 2) {
        throw fail('TYPE', 'betas', 'be an array of two numbers', describe(betas))
      }
      const isBeta = (n: number) => n >= 0 && n < 1
      betas.forEach((beta, i) => checkNumber(`betas[${i}]`, beta, 'a number >= 0 and < 1', isBeta))
      checkNonNegative('eps', eps)
      checkNonNegative('weightDecay', weightDecay)
      this.#options = { betas: [betas[0], betas[1]], eps, weightDecay }
    } catch (error) {
      throw withClass(error, new.target)
    }
  }

  /** @internal */
  override stateShapes({ shape }: Tensor) {
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
  override update(
    parameter: Tensor,
    grad: Tensor,
    { step, exp_avg: mean, exp_avg_sq: square }: State,
    { lr }: { lr: number },
  ): void {
    const { betas, eps, weightDecay } = this.#options
    const t = step.item() + 1
    step.data[0] = t
    run('gpt_adamw_step', [
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
