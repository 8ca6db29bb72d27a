import type { ParamGroup } from './groups.ts'
import { checkConstructor, checkFunction, checkInteger, checkNonNegative, describe } from '../check.ts'
import { fail, withClass } from '../errors.ts'
import { Optimizer } from './optimizer.ts'

/** A factor of the learning rate in an epoch: 0, 1, ... */
export type LrFactor = (epoch: number) => number

/**
 * Sets the learning rate of each group to its initial one times a factor, as torch.optim.lr_scheduler.LambdaLR.
 * An epoch is what you call `step` after: a step of training, or a pass over the data.
 *
 * @example
 * const optimizer = new gpt.AdamW(model.parameters(), { lr: 6e-4 })
 * const schedule = new gpt.LambdaLR(optimizer, gpt.cosineWithWarmup({ warmup: 100, steps: 5000 }))
 * gpt.crossEntropy(model.forward(tokens), targets).backward()
 * optimizer.step()
 * schedule.step()
 */
export class LambdaLR {
  /** @internal */
  static readonly ownName: string = 'LambdaLR'

  /** See Optimizer's. @internal */
  readonly structuredClone = Symbol('a schedule: send schedule.getLastLr()')

  #groups: readonly ParamGroup<{ lr: number }>[]
  #factors: readonly LrFactor[]
  #lastEpoch = 0
  #lastLr: readonly number[] = []

  /**
   * Sets the rates of epoch 0. The initial rate of a group is the one that it has now; after
   * `optimizer.loadStateDict`, the one that a schedule had then.
   *
   * @param factor a function of the epoch, or an array with one for each group
   */
  constructor(optimizer: Optimizer, factor: LrFactor | readonly LrFactor[]) {
    checkConstructor(new.target, arguments, 2)
    try {
      if (!(optimizer instanceof Optimizer)) {
        throw fail('TYPE', 'optimizer', 'be an Optimizer', describe(optimizer))
      }
      this.#groups = optimizer.paramGroups
      const { length } = this.#groups
      this.#factors = Array.isArray(factor) ? [...factor] : Array.from({ length }, () => factor)
      if (this.#factors.length !== length) {
        throw fail('VALUE', 'factor', `be a function, or an array of ${length}`, describe(factor))
      }
      for (const one of this.#factors) checkFunction('factor', one)
      this.#set(0)
    } catch (error) {
      throw withClass(error, new.target)
    }
  }

  /** The epoch whose rates are set: how often `step` was called. */
  get lastEpoch(): number {
    return this.#lastEpoch
  }

  /**
   * Sets the rates of the next epoch. Call it after `optimizer.step`.
   *
   * @param epoch instead of the next one, such as where a training goes on
   */
  step(epoch?: number): void {
    const next = epoch === undefined ? this.#lastEpoch + 1 : epoch
    checkInteger('epoch', next, 0, Number.MAX_SAFE_INTEGER)
    this.#set(next)
  }

  /** @returns the rate of each group, as this schedule has set it */
  getLastLr(): number[] {
    return [...this.#lastLr]
  }

  #set(epoch: number): void {
    const factors = this.#factors.map((factor) => factor(epoch))
    for (const factor of factors) checkNonNegative(`the factor of epoch ${epoch}`, factor)
    this.#groups.forEach((group, i) => {
      group.initialLr ??= group.lr
      group.lr = group.initialLr * factors[i]
    })
    this.#lastEpoch = epoch
    this.#lastLr = this.#groups.map(({ lr }) => lr)
  }
}
