/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { Module } from './module.js' */

import { checkSameShape, describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { namedModules } from './module.js'

/**
 * What another thread needs to build the same model: plain data, except for the tensors.
 *
 * @typedef {object} Blueprint
 * @property {object} config GPTModel's
 * @property {Tensor[]} weights each tensor once; live, or made int8
 * @property {[path: string, property: string, weight: number][]} places where the model has each weight
 */

/** The package's class of each prototype. @type {WeakMap<object, Function>} */
const published = new WeakMap()

/**
 * Declares a class of the package.
 *
 * @param {Function} Class
 * @param {object[]} prototypes of its objects
 */
export function publish(Class, ...prototypes) {
  for (const prototype of prototypes) published.set(prototype, Class)
}

/** Properties that have no effect in evaluation mode. */
const UNUSED = ['training', 'p', 'dropRate']

/**
 * @template {Module} M
 * @param {string} where
 * @param {M} model in evaluation mode
 * @param {object} config
 * @param {M} rebuilt what its class makes from the config
 * @returns {Blueprint}
 * @throws {GptLayersError} UNSUPPORTED where the model computes something else than the one that is rebuilt;
 *   TYPE, SHAPE, VALUE, DISPOSED for a weight that a program has replaced
 */
export function blueprint(where, model, config, rebuilt) {
  const modules = new Map(namedModules(model))
  /** @type {Map<Tensor, number>} */
  const weights = new Map()
  /** @type {Blueprint['places']} */
  const places = []
  for (const [path, like] of namedModules(rebuilt)) {
    const module = modules.get(path)
    const name = path || 'the model'
    /** @type {(what: string) => never} */
    const refuse = (what) => {
      const expected = `${name} should be what GPTModel makes, ${what}; use generate, which calls your own code`
      throw new GptLayersError('UNSUPPORTED', `${where}: ${expected}`)
    }
    if (module === undefined || kindOf(module) !== kindOf(like)) return refuse(`got ${describe(module)}`)
    if (Object.hasOwn(module, 'forward')) refuse('got one with a forward of its own')
    if (module.observed) refuse('got one with a listener')
    if (module.training) {
      const expected = 'in evaluation mode; call eval() first'
      throw new GptLayersError('VALUE', `${where}: ${name} should be ${expected}, got training mode`)
    }
    for (const [property, value] of Object.entries(like)) {
      const given = /** @type {any} */ (module)[property]
      if (Tensor.isTensor(value)) {
        const weight = checkWeight(model.runtime, where, `${name}.${property}`, given, value.shape)
        if (!weights.has(weight)) weights.set(weight, weights.size)
        places.push([path, property, /** @type {number} */ (weights.get(weight))])
      } else if (typeof value !== 'object' || value === null) {
        if (UNUSED.includes(property) || Object.is(given, value)) continue
        refuse(`with ${property} ${describe(value)}, got ${describe(given)}`)
      }
    }
  }
  return { config, weights: [...weights.keys()], places }
}

/**
 * @param {Runtime} runtime
 * @param {string} where
 * @param {string} name
 * @param {unknown} weight
 * @param {readonly number[]} shape
 * @returns {Tensor}
 */
function checkWeight(runtime, where, name, weight, shape) {
  const int8Weight = Tensor.isTensor(weight) ? weight.int8Weight : null
  if (int8Weight === null) return checkTensorOf(runtime, where, name, weight, shape)
  const tensor = /** @type {Tensor} */ (weight)
  checkSameShape(where, name, tensor.shape, shape)
  int8Weight.checkUsable(runtime, where, int8Weight.shape)
  return tensor
}

/** @param {object} module @returns {Function | undefined} the package's class of the module itself, if any */
const kindOf = (module) => published.get(Object.getPrototypeOf(module))
