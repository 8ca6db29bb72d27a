/** @import { Module } from '../layers/module.js' */

import { describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { checkTensor } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'

/**
 * Checks the value that a checkpoint has under a name, and returns a function that reads it and cannot fail.
 *
 * @typedef {(name: string, shape: readonly number[]) => () => Float32Array} Prepare
 */

/** @param {string} name a property's @returns {string} the state dict's: running_mean for runningMean */
export const snakeCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/**
 * @template T
 * @param {[string, T][]} named
 * @returns {[string, T][]} each value once, under the first of its names
 */
export function firstNames(named) {
  const seen = new Set()
  return named.filter(([, value]) => !seen.has(value) && seen.add(value))
}

/**
 * Copies the values of a checkpoint into a layer. Where a name, a shape or a value does not fit, nothing is
 * changed.
 *
 * @param {Module} module
 * @param {string} where
 * @param {string} what the argument's name, for errors
 * @param {readonly string[]} names the checkpoint's, ours or foreign
 * @param {Prepare} prepare
 * @throws {GptLayersError} VALUE for a name that is missing, unknown or there twice, or for tied tensors that
 *   differ; DISPOSED; whatever `prepare` throws
 */
export function copyInto(module, where, what, names, prepare) {
  /** @type {Map<Tensor, () => Float32Array>} */
  const copies = new Map()
  for (const { name, target, given, transposed, tied } of assignments(module, where, what, names)) {
    checkTensor(target.runtime, where, `own ${name}`, target)
    const read = prepare(given, shapeInFile(target.shape, transposed))
    const values = transposed ? () => transpose(read(), target.shape) : read
    const others = copies.get(target)
    if (others && !sameValues(values(), others())) throw notTied(where, name, tied)
    copies.set(target, values)
  }
  for (const [target, values] of copies) target.data.set(values())
}

/**
 * A tensor of a layer, and where a checkpoint has its values.
 *
 * @typedef {object} Assignment
 * @property {string} name of the tensor in the layer's state dict
 * @property {Tensor} target
 * @property {string} given the name in the checkpoint
 * @property {boolean} transposed whether the checkpoint has the matrix transposed
 * @property {string | null} tied the first name of the same tensor, where this is another one
 */

/**
 * @param {Module} module
 * @param {string} where
 * @param {string} what the argument's name, for errors
 * @param {readonly string[]} names the checkpoint's, ours or foreign
 * @returns {Assignment[]} for each tensor of the layer at least one
 * @throws {GptLayersError} VALUE for a name that is missing, unknown or there twice
 */
export function assignments(module, where, what, names) {
  const { substitutes } = /** @type {typeof Module} */ (module.constructor)
  const own = module.stateDict()
  const found = match(module, where, what, names, own)
  /** @type {Map<Tensor, string>} */
  const first = new Map()
  return Object.entries(own).flatMap(([name, target]) => {
    const source = found.get(name) ?? found.get(substitutes[name])
    const tied = first.get(target) ?? null
    if (source) {
      if (tied === null) first.set(target, name)
      return [{ name, target, tied, ...source }]
    }
    if (tied !== null) return []
    throw new GptLayersError('VALUE', `${where}: ${what} should have ${name}, got ${listed(names, 'none')}`)
  })
}

/** @param {readonly number[]} shape @param {boolean} transposed */
export const shapeInFile = (shape, transposed) => (transposed ? [...shape].reverse() : shape)

/** @param {string} where @param {string} name @param {string | null} tied the other name of the tensor */
export const notTied = (where, name, tied) =>
  new GptLayersError('VALUE', `${where}: ${name} should be ${tied}, with which it is tied, got other values`)

/**
 * @param {Module} module
 * @param {string} where
 * @param {string} what
 * @param {readonly string[]} names
 * @param {Record<string, Tensor>} own the module's state dict
 * @returns {Map<string, { given: string, transposed: boolean }>} the checkpoint's name by our name
 */
function match(module, where, what, names, own) {
  const found = new Map()
  for (const given of names) {
    const place = resolve(module, given)
    if (place === null) continue
    const { name, transposed } = place
    if (!Object.hasOwn(own, name)) {
      const known = listed(Object.keys(own), 'no parameters')
      throw new GptLayersError('VALUE', `${where}: ${what} should have ${known}, got ${describe(given)}`)
    }
    const other = found.get(name)
    if (other) {
      const both = `${other.given} and ${given}`
      throw new GptLayersError('VALUE', `${where}: ${what} should have ${name} once, got ${both}`)
    }
    found.set(name, { given, transposed })
  }
  return found
}

/**
 * @param {Module} module
 * @param {string} given a name in a checkpoint: ours, PyTorch's or GPT-2's
 * @returns {{ name: string, transposed: boolean } | null} the name in `stateDict`; null for an entry to be
 *   ignored
 */
function resolve(module, given) {
  const { aliases, foreignPrefix } = /** @type {typeof Module} */ (module.constructor)
  const name = foreignPrefix && given.startsWith(foreignPrefix) ? given.slice(foreignPrefix.length) : given
  const alias = Object.keys(aliases).find((alias) => name === alias || name.startsWith(`${alias}.`))
  const own = alias === undefined ? '' : aliases[alias]
  if (own === null) return null
  if (typeof own === 'object') return { name: own.transposed, transposed: true }
  const full = alias === undefined ? name : own + name.slice(alias.length)
  for (const [property, child] of module.children()) {
    const prefix = `${snakeCase(property)}.`
    if (Tensor.isTensor(child) || !full.startsWith(prefix)) continue
    const inside = resolve(child, full.slice(prefix.length))
    return inside && { ...inside, name: prefix + inside.name }
  }
  return { name: full, transposed: false }
}

/**
 * @param {readonly string[]} names
 * @param {string} none the text for no names
 * @returns {string} at most 12 of them, for an error message
 */
export function listed(names, none) {
  const more = names.length > 12 ? ` and ${names.length - 12} more` : ''
  return names.slice(0, 12).join(', ') + more || none
}

/**
 * @param {Float32Array} values [cols, rows]
 * @param {readonly number[]} shape [rows, cols]
 * @returns {Float32Array} [rows, cols]
 */
function transpose(values, [rows, cols]) {
  const result = new Float32Array(values.length)
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < cols; c++) result[r * cols + c] = values[c * rows + r]
  }
  return result
}

/** @param {Float32Array} a @param {Float32Array} b @returns {boolean} */
const sameValues = (a, b) => a.every((value, i) => Object.is(value, b[i]))
