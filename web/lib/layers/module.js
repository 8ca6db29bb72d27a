/** @import { Runtime } from '../runtime.js' */

import { checkObject, describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { Tensor } from '../tensor.js'

/** What every layer has, under nn.Module's names. */
export class Module {
  /**
   * @internal
   * @param {Runtime} runtime
   */
  constructor(runtime) {
    /** @internal @readonly @type {Runtime} */
    this.runtime = runtime
    /** Whether the layer is in training mode, as it is when new. No layer computes anything else then, so far. */
    this.training = true
    // Not enumerable, so that only parameters and layers inside are found among the properties.
    Object.defineProperty(this, 'runtime', { enumerable: false })
  }

  /**
   * @param {Tensor} x
   * @returns {Tensor}
   */
  forward(x) {
    throw new GptLayersError('UNSUPPORTED', `${this.constructor.name}.forward: not defined for ${describe(x)}`)
  }

  /**
   * The parameters and layers directly inside, by name: those properties that are tensors, layers or lists of layers.
   *
   * @internal
   * @returns {[string, Tensor | Module][]}
   */
  children() {
    return Object.entries(this).flatMap(([name, value]) => {
      if (value instanceof Tensor || value instanceof Module) return [[name, value]]
      if (!Array.isArray(value)) return []
      return value.map((layer, i) => /** @type {[string, Module]} */ ([`${name}.${i}`, layer]))
    })
  }

  /**
   * The parameters with their names as PyTorch has them, such as `layers.0.weight`.
   *
   * @returns {[string, Tensor][]}
   */
  namedParameters() {
    return this.children().flatMap(([name, child]) => {
      if (child instanceof Tensor) return [/** @type {[string, Tensor]} */ ([name, child])]
      return child.namedParameters().map(([rest, tensor]) => /** @type {[string, Tensor]} */ ([`${name}.${rest}`, tensor]))
    })
  }

  /** @returns {Tensor[]} the parameters, in the order of `namedParameters` */
  parameters() {
    return this.namedParameters().map(([, tensor]) => tensor)
  }

  /**
   * The parameters by name. They are the live ones, as in PyTorch: `clone` what should stay as it is.
   *
   * @returns {Record<string, Tensor>}
   */
  stateDict() {
    return Object.fromEntries(this.namedParameters())
  }

  /**
   * Copies values into the parameters. Names and shapes must be just those of `stateDict`; where one is not, nothing
   * is changed.
   *
   * @param {Record<string, Tensor>} dict tensors of any instance
   * @throws {GptLayersError} VALUE for a name that is missing or unknown, SHAPE, TYPE, DISPOSED
   */
  loadStateDict(dict) {
    const where = `${this.constructor.name}.loadStateDict`
    const given = checkObject(where, 'dict', dict)
    const own = this.stateDict()
    for (const name of Object.keys(given)) {
      if (!Object.hasOwn(own, name)) {
        const known = Object.keys(own).join(', ') || 'no parameters'
        throw new GptLayersError('VALUE', `${where}: dict should have ${known}, got ${describe(name)}`)
      }
    }
    const copies = Object.entries(own).map(([name, target]) => {
      if (!Object.hasOwn(given, name)) {
        throw new GptLayersError('VALUE', `${where}: dict should have ${name}, got ${Object.keys(given).join(', ') || 'none'}`)
      }
      const source = given[name]
      if (!(source instanceof Tensor)) {
        throw new GptLayersError('TYPE', `${where}: ${name} should be a Tensor, got ${describe(source)}`)
      }
      source.runtime.checkParameter(where, name, source, target.shape)
      target.runtime.checkParameter(where, `own ${name}`, target, target.shape)
      return { target, values: source.data.slice() }
    })
    for (const { target, values } of copies) target.data.set(values)
  }

  /** Training mode, for the layers inside as well. @returns {this} */
  train() {
    return this.#setTraining(true)
  }

  /** Evaluation mode, for the layers inside as well. @returns {this} */
  eval() {
    return this.#setTraining(false)
  }

  /** Frees the parameters at once. Any use afterwards is an error; disposing again is not. */
  dispose() {
    for (const parameter of this.parameters()) parameter.dispose()
  }

  // See Tensor's.
  [Symbol.dispose]() {
    this.dispose()
  }

  /** @param {boolean} training @returns {this} */
  #setTraining(training) {
    this.training = training
    for (const [, child] of this.children()) if (child instanceof Module) child.#setTraining(training)
    return this
  }
}
