import type { Disposes } from '../typed.ts'
import { checkNonNegative, checkObject, construct, describe, knownOptions, nameMethods } from '../check.ts'
import { fail } from '../errors.ts'
import { addKeeper, registerKeeper, temporary, withoutScope } from '../runtime/scope.ts'
import { withoutTape } from '../tensor/tape.ts'
import { checkTensor, checkTensorOf, Tensor } from '../tensor/tensor.ts'
import { type All, type GivenGroup, type ParamGroup, gradientOf, makeGroups } from './groups.ts'

/**
 * The tensors that an optimizer keeps for one parameter, by PyTorch's names: `exp_avg`, `momentum_buffer`. No
 * scope frees them.
 */
export type OptimizerState = Record<string, Tensor>

/** The check of an option, which gets the other options of the group, too. */
type OptionCheck = (name: string, value: unknown, group: Record<string, unknown>) => void

/** Of each option its default and its check. */
export type Schema<Options> = {
  readonly [Name in keyof Options]-?: readonly [usual: unknown, check: OptionCheck]
}

/** @returns the options that the constructor of an optimizer of ours was given, and the defaults of the others */
export function optionsOf<Options>(
  Class: Function & Pick<typeof Optimizer, 'optionSchema'>,
  args: ArrayLike<unknown>,
  options: Options | undefined,
): All<Options> {
  const schema = Class.optionSchema()
  const defaults = Object.fromEntries(Object.entries(schema).map(([name, [usual]]) => [name, usual]))
  const body = () => knownOptions(options, defaults) as All<Options>
  return construct(Class, args, 2, body, Object.keys(schema).join(' '))
}

interface Place<Options> {
  parameter: Tensor
  group: ParamGroup<Options>
  /** null before its first step */
  state: OptimizerState | null
}

export interface Optimizer<Options extends { lr: number } = { lr: number }> extends Disposes {}

/**
 * The base of the optimizers, as torch.optim.Optimizer, and of your own. Yours defines `update`, one step of
 * one parameter, and `stateShapes` where it keeps tensors from step to step.
 *
 * @example
 * class SignSGD extends gpt.Optimizer {
 *   constructor(parameters, { lr }) {
 *     super(parameters, { lr })
 *   }
 *   update(parameter, grad, _state, { lr }) {
 *     const [weights, slopes] = [parameter.data, grad.data]
 *     for (let i = 0; i < weights.length; i++) weights[i] -= lr * Math.sign(slopes[i])
 *   }
 * }
 */
export class Optimizer<Options extends { lr: number } = { lr: number }> {
  /** @internal */
  static readonly ownName: string = 'Optimizer'

  /** See `Compared`. A symbol of its own: an optimizer equals only itself. @internal */
  readonly structuredClone = Symbol('an optimizer: send gpt.saveSafetensors(optimizer.stateDict())')

  // Private, so that printing an optimizer does not print the parameters.
  #groups: readonly ParamGroup<Options>[] = []
  #places: readonly Place<Options>[] = []
  #checks: readonly { name: string; check: OptionCheck }[]

  /**
   * @param parameters an array of parameters, or of groups such as `{ params: [...], lr: 1e-4 }`; at least
   *   one parameter in all
   * @param defaults all options of a group: lr and those that `update` reads
   */
  constructor(parameters: readonly Tensor[] | readonly GivenGroup<Options>[], defaults: Options) {
    nameMethods(new.target)
    if (this.#isOfUser) registerKeeper(this)
    this.#checks = Object.entries(new.target.optionSchema()).map(([name, [, check]]) => ({ name, check }))
    construct(new.target, [], 0, () => {
      this.#groups = Object.freeze(makeGroups(parameters, defaults))
      this.#places = this.#groups.flatMap((group) =>
        group.params.map((parameter) => ({ parameter, group, state: null })),
      )
      if (this.#places.length === 0) throw fail('VALUE', 'parameters', 'have at least one Tensor', 'none')
      this.#checkOptions()
    })
  }

  /**
   * The groups, as PyTorch's param_groups: the parameters of each, and its options, which can be set between
   * steps. An optimizer of an array of parameters has one group.
   */
  get paramGroups(): readonly ParamGroup<Options>[] {
    return this.#groups
  }

  /** The tensors that `step` updates, of all groups. */
  get parameters(): readonly Tensor[] {
    return this.#places.map(({ parameter }) => parameter)
  }

  /**
   * The learning rate of all groups: setting it sets each. So a schedule is a function of the step. It can be
   * read while all are the same.
   *
   * @throws {GptLayersError} VALUE where they differ: read `paramGroups`
   * @example
   * const optimizer = new gpt.AdamW(model.parameters())
   * const factor = gpt.cosineWithWarmup({ warmup: 2, steps: 5000 })
   * optimizer.lr = 6e-4 * factor(0) // before step 0
   * optimizer.lr.toFixed(5) // '0.00020'
   */
  get lr(): number {
    const [rate, other] = this.#rates
    if (other === undefined) return rate
    throw fail('VALUE', 'lr', 'be read from paramGroups where groups differ', `${rate} and ${other}`)
  }

  set lr(lr) {
    const groups: readonly { lr: number }[] = this.#groups
    for (const group of groups) group.lr = lr
  }

  /**
   * Updates the parameters by their gradients, in place. A parameter without a gradient is skipped.
   *
   * @throws {GptLayersError} VALUE where no parameter has a gradient; MEMORY. Then nothing is changed
   * @example
   * const optimizer = new gpt.AdamW(model.parameters(), { lr: 3e-4 })
   * const loss = gpt.crossEntropy(model.forward(tokens), targets)
   * optimizer.zeroGrad()
   * loss.backward()
   * optimizer.step()
   */
  step(): void {
    this.#checkOptions()
    const due = this.#places.flatMap((place, i) => {
      const grad = gradientOf(place.parameter, i)
      return grad === null ? [] : [{ place, grad }]
    })
    if (due.length === 0) {
      const expected = 'have a gradient: call loss.backward() first'
      throw fail('VALUE', `at least one of ${this.#places.length} parameters`, expected)
    }
    // The user may have disposed or changed what stateDict returned.
    this.#places.forEach(({ state }, i) => {
      for (const [key, tensor] of Object.entries(state ?? {})) {
        if (!tensor.disposed && tensor.shape.length > 0) continue
        const name = `state.${i}.${key}`
        this.#Class.checkState(name, checkTensor(name, tensor).data)
      }
    })
    const added = due.map(({ place }) => place).filter((place) => this.#lacksState(place))
    this.#newStates(added).forEach((state, i) => (added[i].state = state))
    withoutTape(() => {
      for (const { place, grad } of due) {
        const { parameter, group, state } = place
        const options = { ...group, isFirst: added.includes(place) }
        temporary(() => {
          if (this.#isOfUser) addKeeper(this)
          const result: unknown = this.update(parameter, grad, state ?? {}, options)
          if (result instanceof Promise) throw fail('TYPE', 'update', 'return at once', describe(result))
        })
        parameter.changed()
      }
    })
  }

  /** Whether a parameter had no step yet, or none that needed a state: SGD's momentum may have been 0. */
  #lacksState({ parameter, group, state }: Place<Options>): boolean {
    if (state === null) return true
    return Object.keys(this.stateShapes(parameter, group)).some((key) => !Object.hasOwn(state, key))
  }

  /** Frees the gradients of the parameters: `.grad` is null again. */
  zeroGrad(): void {
    for (const { parameter } of this.#places) parameter.freeGradient()
  }

  /**
   * The state by the names of PyTorch's `state_dict()`, which nests them: `state.0.exp_avg`, where 0 is the
   * place among all parameters. A parameter that had no step has no state. The options are not in it: who
   * continues a training gives them to the constructor again.
   *
   * @returns the optimizer's own tensors, not copies
   * @example const bytes = gpt.saveSafetensors(new gpt.AdamW(model.parameters()).stateDict())
   */
  stateDict(): Record<string, Tensor> {
    const own = this.#places.flatMap((place, i) =>
      this.#tensorsOf(place, i).flatMap(({ key, name }): [string, Tensor][] =>
        place.state && Object.hasOwn(place.state, key) ? [[name, place.state[key]]] : [],
      ),
    )
    return Object.fromEntries(own)
  }

  /**
   * Replaces the state by copies of the given tensors, so that training goes on where another optimizer
   * stopped. That one must have the same class, and parameters of the same shapes in the same order. The
   * options stay.
   *
   * @param dict as `stateDict` returns, or as `gpt.loadTorch` reads from PyTorch's files
   * @throws {GptLayersError} VALUE, SHAPE where dict does not fit; then nothing is changed
   * @example
   * const first = new gpt.AdamW(model.parameters())
   * first.step()
   * const second = new gpt.AdamW(model.parameters())
   * second.loadStateDict(first.stateDict())
   */
  loadStateDict(dict: Record<string, Tensor>): void {
    const given = checkObject('dict', dict)
    const tensors = this.#places.map((place, i) => this.#tensorsOf(place, i))
    checkNames(
      Object.keys(given),
      tensors.flat().map(({ name }) => name),
    )
    const read = tensors.flatMap((ofOne, i) => {
      // All of a parameter's tensors, or none: a parameter that had no step has no state.
      if (!ofOne.some(({ name }) => Object.hasOwn(given, name))) return []
      const values = ofOne.map(({ key, name, shape }) => {
        const data = checkTensorOf(name, given[name], shape).data.slice() // it may be our own state
        this.#Class.checkState(name, data)
        return { key, data }
      })
      return [{ place: this.#places[i], values }]
    })
    const states = this.#newStates(read.map(({ place }) => place))
    this.dispose()
    read.forEach(({ place, values }, i) => {
      place.state = states[i]
      for (const { key, data } of values) states[i][key].data.set(data)
    })
  }

  /** @returns such as `AdamW(148 parameters, lr=0.0003)`; with two groups of other rates, `lr=0.0003, 0.0001` */
  toString(): string {
    return `${this.constructor.name}(${this.#places.length} parameters, lr=${this.#rates.join(', ')})`
  }

  /** The text that Node's `console.log` shows. @internal */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return String(this)
  }

  /** Frees the state, not the parameters. The next step begins with a new state. */
  dispose(): void {
    for (const place of this.#places) {
      for (const tensor of Object.values(place.state ?? {})) tensor.dispose()
      place.state = null
    }
  }

  /**
   * The shapes of the tensors that the optimizer keeps for a parameter, by PyTorch's names: `{ exp_avg:
   * parameter.shape }`. They begin as zeros, and `stateDict` has them. By default there are none.
   *
   * @param _options of the parameter's group
   */
  protected stateShapes(_parameter: Tensor, _options: Options): Record<string, readonly number[]> {
    return {}
  }

  /**
   * Updates one parameter and its state in place. A subclass defines this: it writes into `.data`, which it
   * takes after it has made its last tensor. It runs in `noGrad` and in a scope of its own.
   *
   * @param _grad the parameter's gradient, of its shape
   * @param _state the tensors that `stateShapes` names
   * @param _options of the parameter's group. isFirst: whether the state is all zeros, since the parameter had
   *   no step yet
   */
  protected update(
    _parameter: Tensor,
    _grad: Tensor,
    _state: OptimizerState,
    _options: Options & { isFirst?: boolean },
  ): void {
    throw fail('VALUE', this.constructor.name, 'define update, one step of one parameter')
  }

  /** The options that are checked; a subclass overrides this. @internal */
  static optionSchema(): Schema<{ lr: number }> {
    return { lr: [undefined, checkNonNegative] }
  }

  /** Checks a tensor such as `state.0.step` of a state that somebody else may have written. @internal */
  static checkState(_name: string, _values: Float32Array): void {}

  get #Class(): typeof Optimizer {
    return this.constructor as typeof Optimizer
  }

  get #isOfUser(): boolean {
    return !Object.hasOwn(this.#Class, 'ownName')
  }

  /** The user may have set the options of a group. */
  #checkOptions(): void {
    this.#groups.forEach((group: Record<string, unknown>, i) => {
      const before = this.#groups.length > 1 ? `paramGroups[${i}].` : ''
      for (const { name, check } of this.#checks) check(before + name, group[name], group)
    })
  }

  get #rates(): number[] {
    return [...new Set(this.#groups.map(({ lr }) => lr))]
  }

  /** The tensors that the state of parameter i has, by their keys and by their names in a state dict. */
  #tensorsOf({ parameter, group }: Place<Options>, i: number) {
    return Object.entries(this.stateShapes(parameter, group)).map(([key, shape]) => ({
      key,
      name: `state.${i}.${key}`,
      shape,
    }))
  }

  /** @returns zeros for each parameter. No scope owns them; where memory does not suffice for all, none is made */
  #newStates(places: readonly Place<Options>[]): OptimizerState[] {
    const make = ({ parameter, group }: Place<Options>): OptimizerState =>
      Object.fromEntries(
        Object.entries(this.stateShapes(parameter, group)).map(([key, shape]) => [
          key,
          Tensor.full(shape, 0),
        ]),
      )
    return withoutScope(() => temporary(() => places.map(make)))
  }
}

function checkNames(given: string[], known: string[]): void {
  const unknown = given.find((name) => !known.includes(name))
  if (unknown === undefined) return
  const shown = known.length > 9 ? [...known.slice(0, 6), '...', known.at(-1)] : known
  const expected = known.length === 0 ? 'empty' : `among ${shown.join(', ')}`
  throw fail('VALUE', 'names in dict', `be ${expected}`, describe(unknown))
}
