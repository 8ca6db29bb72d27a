import { GptLayersError } from '../errors.js'

/** The method under which an object that holds tensors, such as a layer, lists them for `reachable`. */
export const TENSORS = Symbol('tensors')

/**
 * Everything that can be reached from a value: through arrays, plain objects, maps, sets and layers.
 *
 * @param {unknown} root what the function of a scope returned
 * @returns {Set<unknown>} among it the tensors that the scope must not free
 * @throws {GptLayersError} TYPE for a Promise
 */
export function reachable(root) {
  const found = new Set()
  const visit = (/** @type {unknown} */ value) => {
    if (typeof value !== 'object' || value === null || found.has(value)) return
    found.add(value)
    if (holdsTensors(value)) value[TENSORS]().forEach(visit)
    else if (value instanceof Map || value instanceof Set) [...value.values()].forEach(visit)
    else if (isPlain(value)) Object.values(value).forEach(visit)
    else if (isThenable(value)) {
      throw new GptLayersError(
        'TYPE',
        'scope: fn should return its result at once, got a Promise; ' +
          'a scope cannot free the tensors of an async function',
      )
    }
  }
  visit(root)
  return found
}

/** @param {object} value @returns {value is { [TENSORS](): unknown[] }} */
const holdsTensors = (value) => TENSORS in value

/** @param {object} value @returns {boolean} */
const isThenable = (value) => 'then' in value && typeof value.then === 'function'

/** @param {object} value @returns {boolean} */
function isPlain(value) {
  if (Array.isArray(value)) return true
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
