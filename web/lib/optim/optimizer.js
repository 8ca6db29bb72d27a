/** @import { Runtime } from '../runtime/runtime.js' */

import { checkNumber, checkObject, describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { checkTensor, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'

/**
 * What an optimizer remembers of one parameter, under PyTorch's names: tensors that no scope frees.
 *
 * @typedef {Record<string, Tensor>} State
 */

/** What every optimizer has, under torch.optim's names. */
export class Optimizer {
  /** @type {Runtime} */ #runtime
  /** @type {string} */ #name
  /** @type {Map<Tensor, State>} */ #states = new Map()

  /**
   * @internal
   * @param {Runtime} runtime
   * @param {string} name of the class
   * @param {readonly Tensor[]} parameters
   * @param {number} lr
   */
  constructor(runtime, name, parameters, lr) {
    this.#runtime = runtime
    this.#name = name
    /** What is optimized. @readonly @type {readonly Tensor[]} */
    this.parameters = checkParameters(runtime, name, parameters)
    checkRate(name, lr)
    /** The learning rate, which may be set between steps. @type {number} */
    this.lr = lr
  }

  /**
   * One step down the gradients. A parameter without one is left alone, as in PyTorch.
   *
   * @throws {GptLayersError} TYPE, VALUE, SHAPE, DISPOSED, MEMORY; nothing is changed then
   */
  step() {
    const where = `${this.#name}.step`
    checkRate(where, this.lr)
    const due = this.parameters.flatMap((parameter, i) => {
      checkTensor(this.#runtime, where, `parameters[${i}]`, parameter)
      const { grad } = parameter
      if (grad === null || grad.disposed) return []
      checkTensorOf(this.#runtime, where, `parameters[${i}].grad`, grad, parameter.shape)
      return [{ parameter, grad }]
    })
    const added = this.#addStates(
      where,
      due.map(({ parameter }) => parameter).filter((p) => !this.#states.has(p)),
    )
    for (const { parameter, grad } of due) {
      this.update(parameter, grad, /** @type {State} */ (this.#states.get(parameter)), added.has(parameter))
    }
  }

  /** Forgets the parameters' gradients: `.grad` is null again. */
  zeroGrad() {
    for (const parameter of this.parameters) {
      parameter.grad?.dispose()
      parameter.grad = null
    }
  }

  /**
   * What it remembers, by names such as `state.0.exp_avg`, where PyTorch's `state_dict()` nests: 0 is the place among the
   * parameters. The tensors are the live ones; lr and the like are not among them.
   *
   * @returns {Record<string, Tensor>} for `gpt.saveSafetensors`, say
   */
  stateDict() {
    return Object.fromEntries(
      this.parameters.flatMap((parameter, i) =>
        Object.entries(this.#states.get(parameter) ?? {}).map(([name, tensor]) => [
          `state.${i}.${name}`,
          tensor,
        ]),
      ),
    )
  }

  /**
   * Goes on from where another one of its kind, with parameters of the same shapes, stood.
   *
   * @param {Record<string, Tensor>} dict as `stateDict` gave it; tensors of any instance
   * @throws {GptLayersError} TYPE, VALUE, SHAPE, DISPOSED, MEMORY; nothing is changed then
   */
  loadStateDict(dict) {
    const where = `${this.#name}.loadStateDict`
    const given = checkObject(where, 'dict', dict)
    const known = new Set()
    const loaded = this.parameters.flatMap((parameter, i) => {
      const slots = Object.entries(this.slots(parameter)).map(([slot, shape]) => ({
        slot,
        name: `state.${i}.${slot}`,
        shape,
      }))
      for (const { name } of slots) known.add(name)
      if (slots.every(({ name }) => !Object.hasOwn(given, name))) return []
      const values = slots.map(({ slot, name, shape }) => {
        const source = given[name]
        if (!(source instanceof Tensor)) {
          throw new GptLayersError('TYPE', `${where}: ${name} should be a Tensor, got ${describe(source)}`)
        }
        checkTensorOf(source.runtime, where, name, source, shape)
        return { slot, data: source.data.slice() }
      })
      return [{ parameter, values }]
    })
    for (const name of Object.keys(given)) {
      if (known.has(name)) continue
      throw new GptLayersError(
        'VALUE',
        `${where}: dict should have ${[...known].join(', ') || 'nothing'}, got ${describe(name)}`,
      )
    }
    const before = this.#states
    this.#states = new Map()
    try {
      this.#addStates(
        where,
        loaded.map(({ parameter }) => parameter),
      )
    } catch (error) {
      this.#states = before
      throw error
    }
    for (const { parameter, values } of loaded) {
      for (const { slot, data } of values) this.#states.get(parameter)?.[slot].data.set(data)
    }
    disposeAll(before)
  }

  /** Frees what it remembers, not the parameters. */
  dispose() {
    disposeAll(this.#states)
    this.#states = new Map()
  }

  // See Tensor's.
  [Symbol.dispose]() {
    this.dispose()
  }

  /**
   * What is remembered of a parameter: shapes by PyTorch's names.
   *
   * @internal
   * @param {Tensor} parameter
   * @returns {Record<string, readonly number[]>}
   */
  slots(parameter) {
    throw new GptLayersError('UNSUPPORTED', `${this.#name}: no state for ${describe(parameter)}`)
  }

  /**
   * @internal
   * @param {Tensor} parameter
   * @param {Tensor} grad
   * @param {State} state
   * @param {boolean} isFirst whether the state is new, and zeros
   */
  update(parameter, grad, state, isFirst) {
    throw new GptLayersError(
      'UNSUPPORTED',
      `${this.#name}: no step for ${describe([parameter, grad, state, isFirst])}`,
    )
  }

  /**
   * Calls a kernel, on one thread.
   *
   * @internal
   * @param {`gpt_${string}_step`} kernel
   * @param {Parameters<Runtime['run']>[1]} args
   */
  run(kernel, args) {
    this.#runtime.run(kernel, args)
  }

  /**
   * Gives some parameters a state of zeros, or where one does not fit, none of them.
   *
   * @param {string} where
   * @param {Tensor[]} parameters
   */
  #addStates(where, parameters) {
    this.#runtime.scope(() => {
      const made = parameters.map((parameter) =>
        Object.entries(this.slots(parameter)).map(([name, shape]) => ({
          name,
          tensor: Tensor.empty(this.#runtime, where, shape),
        })),
      )
      made.forEach((slots, i) => {
        for (const { tensor } of slots) tensor.data.fill(0)
        this.#states.set(
          parameters[i],
          Object.fromEntries(slots.map(({ name, tensor }) => [name, tensor.hold()])),
        )
      })
    })
    return new Set(parameters)
  }
}

/** @param {Map<Tensor, State>} states */
function disposeAll(states) {
  for (const state of states.values()) {
    for (const tensor of Object.values(state)) tensor.dispose()
  }
}

/**
 * @param {Runtime} runtime
 * @param {string} where
 * @param {unknown} parameters
 * @returns {readonly Tensor[]}
 */
export function checkParameters(runtime, where, parameters) {
  if (!Array.isArray(parameters)) {
    throw new GptLayersError(
      'TYPE',
      `${where}: parameters should be an array of Tensors, got ${describe(parameters)}`,
    )
  }
  parameters.forEach((parameter, i) => checkTensor(runtime, where, `parameters[${i}]`, parameter))
  const twice = parameters.findIndex((parameter, i) => parameters.indexOf(parameter) < i)
  if (twice >= 0) {
    const first = parameters.indexOf(parameters[twice])
    throw new GptLayersError(
      'VALUE',
      `${where}: parameters[${twice}] should be there once, got it at ${first}, too`,
    )
  }
  return Object.freeze([...parameters])
}

/** @param {string} where @param {unknown} lr */
function checkRate(where, lr) {
  checkNumber(where, 'lr', lr, 'a number from 0 on', isFromZero)
}

/** @param {number} n */
export const isFromZero = (n) => n >= 0 && n < Infinity
