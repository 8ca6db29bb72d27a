import type { Disposes } from '../typed.ts'
import { checkNonNegative, checkObject, checkSameShape, describe, nameMethods } from '../check.ts'
import { fail, withClass } from '../errors.ts'
import { checkTensor } from '../tensor/check.ts'
import { temporary } from '../tensor/scope.ts'
import { Tensor } from '../tensor/tensor.ts'
import { checkParameters, withGradients } from './parameters.ts'

/**
 * The tensors that an optimizer keeps for one parameter, by PyTorch's names: `exp_avg`, `momentum_buffer`. No
 * scope frees them.
 */
export type State = Record<string, Tensor>

export interface Optimizer extends Disposes {}

/** What SGD and AdamW share, with the method names of torch.optim. */
export class Optimizer {
  /** @internal */
  static readonly ownName: string = 'Optimizer'

  /** Private, so that printing an optimizer does not print them. */
  #parameters: readonly Tensor[]
  /** A parameter has a state from its first step on. */
  #states: Map<Tensor, State> = new Map()

  /** The learning rate. A schedule may set it between steps. */
  lr = 0

  /** @internal */
  constructor(parameters: readonly Tensor[]) {
    nameMethods(new.target)
    try {
      this.#parameters = checkParameters(parameters)
    } catch (error) {
      throw withClass(error, new.target)
    }
  }

  /** The tensors that `step` updates. */
  get parameters(): readonly Tensor[] {
    return this.#parameters
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
    const { parameters, lr } = this
    checkNonNegative('lr', lr)
    const due = withGradients(parameters)
    if (due.length === 0) {
      const expected = 'have a gradient: call loss.backward() first'
      throw fail('VALUE', `at least one of ${parameters.length} parameters`, expected)
    }
    const missing = due.map(({ parameter }) => parameter).filter((parameter) => !this.#states.has(parameter))
    // The user may have disposed or changed what stateDict returned. The update itself cannot fail.
    parameters.forEach((parameter, i) => {
      const state = this.#states.get(parameter)
      for (const key in state) {
        const tensor = state[key]
        if (!tensor.disposed && tensor.shape.length > 0) continue
        const name = `state.${i}.${key}`
        this.#Class.checkState(name, checkTensor(name, tensor).data)
      }
    })
    const added = this.#newStates(missing)
    for (const [parameter, state] of added) this.#states.set(parameter, state)
    for (const { parameter, grad } of due) {
      const state = this.#states.get(parameter) ?? {}
      this.update(parameter, grad, state, { lr, isFirst: added.has(parameter) })
      parameter.changed()
    }
  }

  /** Frees the gradients of the parameters: `.grad` is null again. */
  zeroGrad(): void {
    for (const parameter of this.parameters) parameter.freeGradient()
  }

  /**
   * The state by names such as `state.0.exp_avg`: the index of the parameter, then PyTorch's name. (PyTorch's
   * own `state_dict()` nests them.) A parameter that had no step has no state. Options such as lr are not
   * included.
   *
   * @returns the optimizer's own tensors, not copies
   * @example const bytes = gpt.saveSafetensors(new gpt.AdamW(model.parameters()).stateDict())
   */
  stateDict(): Record<string, Tensor> {
    return Object.fromEntries(
      this.parameters.flatMap((parameter, i) => {
        const state = this.#states.get(parameter) ?? {}
        return Object.entries(state).map(([key, tensor]) => [`state.${i}.${key}`, tensor])
      }),
    )
  }

  /**
   * Replaces the state by copies of the given tensors, so that training goes on where another optimizer
   * stopped. That one must have the same class, and parameters of the same shapes in the same order.
   *
   * @param dict as `stateDict` returns
   * @throws {GptLayersError} VALUE, SHAPE where dict does not fit; then nothing is changed
   * @example
   * const first = new gpt.AdamW(model.parameters())
   * first.step()
   * const second = new gpt.AdamW(model.parameters())
   * second.loadStateDict(first.stateDict())
   */
  loadStateDict(dict: Record<string, Tensor>): void {
    const given = checkObject('dict', dict)
    const slots = this.parameters.flatMap((parameter, i) =>
      Object.entries(this.stateShapes(parameter)).map(([key, shape]) => ({
        parameter,
        key,
        name: `state.${i}.${key}`,
        shape,
      })),
    )
    checkNames(
      Object.keys(given),
      slots.map(({ name }) => name),
    )
    // All of a parameter's tensors, or none: a parameter that had no step has no state.
    const present = new Set(
      slots.filter(({ name }) => Object.hasOwn(given, name)).map(({ parameter }) => parameter),
    )
    const values = slots
      .filter(({ parameter }) => present.has(parameter))
      .map(({ parameter, key, name, shape }) => {
        const source = checkTensor(name, given[name])
        checkSameShape(name, source.shape, shape)
        const data = source.data.slice() // a copy: source may be our own state
        this.#Class.checkState(name, data)
        return { parameter, key, data }
      })
    const states = this.#newStates([...present])
    for (const { parameter, key, data } of values) states.get(parameter)?.[key].data.set(data)
    this.dispose()
    this.#states = states
  }

  /** @returns such as `AdamW(148 parameters, lr=0.0003)` */
  toString(): string {
    return `${this.constructor.name}(${this.parameters.length} parameters, lr=${this.lr})`
  }

  /** The text that Node's `console.log` shows. @internal */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return String(this)
  }

  /** Frees the state, not the parameters. The next step begins with a new state. */
  dispose(): void {
    for (const state of this.#states.values()) {
      for (const tensor of Object.values(state)) tensor.dispose()
    }
    this.#states = new Map()
  }

  // See Tensor's.
  /** @internal */
  [Symbol.dispose](): void {
    this.dispose()
  }

  /** The shapes of a parameter's state tensors, by PyTorch's names. A subclass defines this. @internal */
  stateShapes(_parameter: Tensor): Record<string, readonly number[]> {
    return {}
  }

  /**
   * Checks values that somebody else may have written. A subclass overrides this.
   *
   * @internal
   * @param _name the name of the state tensor, such as `state.0.step`
   */
  static checkState(_name: string, _values: Float32Array): void {}

  get #Class(): typeof Optimizer {
    return this.constructor as typeof Optimizer
  }

  /**
   * Updates one parameter and its state. A subclass defines this. It cannot fail: everything was checked.
   *
   * Its kernel runs on one thread: an update is in place, and threads may run a part of a call twice.
   *
   * @internal
   * @param _grad same shape
   * @param _options isFirst: whether this is the parameter's first step, so that its state is all zeros
   */
  update(
    _parameter: Tensor,
    _grad: Tensor,
    _state: State,
    _options: { lr: number; isFirst: boolean },
  ): void {}

  /** A state of zeros for each parameter, or for none of them where memory does not suffice. */
  #newStates(parameters: Tensor[]): Map<Tensor, State> {
    return temporary(() => {
      const states: Map<Tensor, State> = new Map()
      for (const parameter of parameters) {
        const shapes = Object.entries(this.stateShapes(parameter))
        const zeros = shapes.map(([key, shape]) => [key, Tensor.zeros(shape)])
        states.set(parameter, Object.fromEntries(zeros))
      }
      // Only now that all of them fit: from here on no scope frees them.
      for (const state of states.values()) for (const key in state) Tensor.take(state[key])
      return states
    })
  }
}

function checkNames(given: string[], known: string[]): void {
  const unknown = given.find((name) => !known.includes(name))
  if (unknown === undefined) return
  const shown = known.length > 9 ? [...known.slice(0, 6), '...', known.at(-1)] : known
  const expected = known.length === 0 ? 'empty' : `among ${shown.join(', ')}`
  throw fail('VALUE', 'names in dict', `be ${expected}`, describe(unknown))
}
