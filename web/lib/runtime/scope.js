import { readGiven } from '../check.js'
import { GptLayersError } from '../errors.js'

/** The method under which an object that holds tensors, such as a layer, lists them for `reachable`. */
export const TENSORS = Symbol('tensors')

/** The method under which a layer says what the header of its files has beside the tensors. */
export const METADATA = Symbol('metadata')

/**
 * Everything that can be reached from a value: through arrays, plain objects, maps, sets and layers, also
 * those of another realm, such as a frame or a vm context.
 *
 * @param {unknown} root what the function of a scope returned
 * @returns {Set<unknown>} among it the tensors that the scope must not free
 * @throws {GptLayersError} TYPE for a Promise, and for an object that throws when it is read
 */
export function reachable(root) {
  const found = new Set()
  const open = [root] // not a recursion: a list of 20,000 links is deeper than the stack
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null || found.has(value)) continue
    found.add(value)
    for (const inner of readGiven('scope', 'the result of fn', () => directlyInside(value))) open.push(inner)
  }
  return found
}

/** @param {object} value @returns {Iterable<unknown>} */
function directlyInside(value) {
  if (holdsTensors(value)) return value[TENSORS]()
  if (isA('Map', value)) return [...Map.prototype.entries.call(value)].flat()
  if (isA('Set', value)) return Set.prototype.values.call(value)
  if (isPlain(value)) return Object.values(value)
  if (isThenable(value)) {
    throw new GptLayersError(
      'TYPE',
      'scope: fn should return its result at once, got a Promise; ' +
        'a scope cannot free the tensors of an async function',
    )
  }
  return []
}

/** @param {object} value @returns {value is { [TENSORS](): unknown[] }} */
const holdsTensors = (value) => TENSORS in value

/** @param {object} value @returns {boolean} */
const isThenable = (value) => 'then' in value && typeof value.then === 'function'

/**
 * @param {'Map' | 'Set'} name of a built-in class
 * @param {object} value
 * @returns {value is any} whether the value is one of it, of any realm
 */
const isA = (name, value) => Object.prototype.toString.call(value) === `[object ${name}]`

/**
 * @param {object} value
 * @returns {boolean} whether its prototype is null or an Object.prototype: one of any realm inherits nothing
 */
function isPlain(value) {
  if (Array.isArray(value)) return true
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
