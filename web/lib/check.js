// The checks of arguments at the edge of the public API.
//
// Each check takes `where`, the function as its caller knows it, such as `LayerNorm.forward`, and the
// argument's `name`. It throws a GptLayersError whose message reads `where: name should be ..., got ...`:
//
// | code | the argument has |
// | --- | --- |
// | TYPE | the wrong type |
// | VALUE | the right type, but a value that is not allowed |

import { GptLayersError } from './errors.js'

/** Longer strings are cut in error messages. */
const MAX_STRING = 40

/** Longer arrays are named by their length in error messages. */
const MAX_ARRAY = 8

/**
 * A short text for any value, for an error message: `3`, `"tanh"`, `[2, 5]`, `an array of 100`, `a Tensor`.
 *
 * @param {unknown} value
 * @returns {string}
 */
export function describe(value) {
  if (value === null || value === undefined) return String(value)
  switch (typeof value) {
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value)
    case 'bigint':
      return `${value}n`
    case 'string':
      return JSON.stringify(value.length > MAX_STRING ? `${value.slice(0, MAX_STRING)}…` : value)
    case 'function':
      return `function ${value.name || '(anonymous)'}`
    case 'object':
      return describeObject(value)
    default:
      return String(value) // a boolean or a symbol
  }
}

/** @param {object} value @returns {string} */
function describeObject(value) {
  if (Array.isArray(value)) {
    const isShort = value.length <= MAX_ARRAY && value.every((item) => typeof item === 'number')
    return isShort ? `[${value.join(', ')}]` : `an array of ${value.length}`
  }
  const name = Object.getPrototypeOf(value)?.constructor?.name
  if (!name || name === 'Object') return 'an object'
  return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`
}

/**
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @param {string} expected the allowed values in words
 * @param {(value: number) => boolean} isAllowed
 * @returns {asserts value is number}
 */
export function checkNumber(where, name, value, expected, isAllowed) {
  if (typeof value !== 'number') {
    throw new GptLayersError('TYPE', `${where}: ${name} should be ${expected}, got ${describe(value)}`)
  }
  if (!isAllowed(value)) {
    throw new GptLayersError('VALUE', `${where}: ${name} should be ${expected}, got ${describe(value)}`)
  }
}

/**
 * A number of things of which there is at least one: features, tokens, layers.
 *
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @returns {asserts value is number}
 */
export function checkSize(where, name, value) {
  checkNumber(where, name, value, 'a positive integer', (size) => Number.isSafeInteger(size) && size > 0)
}

/**
 * A rate or a factor, such as a learning rate.
 *
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @returns {asserts value is number}
 */
export function checkNonNegative(where, name, value) {
  checkNumber(where, name, value, 'a finite number >= 0', (n) => n >= 0 && n < Infinity)
}

/**
 * A probability, or a share such as BatchNorm's momentum.
 *
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @returns {asserts value is number}
 */
export function checkProbability(where, name, value) {
  checkNumber(where, name, value, 'a number from 0 to 1', (n) => n >= 0 && n <= 1)
}

/**
 * A number such as eps that must stay above 0 when it is rounded to float32.
 *
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @returns {asserts value is number}
 */
export function checkPositiveFloat32(where, name, value) {
  const isPositive = (/** @type {number} */ n) => Math.fround(n) > 0 && Math.fround(n) < Infinity
  checkNumber(where, name, value, 'a positive float32', isPositive)
}

/**
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @returns {asserts value is boolean}
 */
export function checkBoolean(where, name, value) {
  if (typeof value !== 'boolean') {
    throw new GptLayersError('TYPE', `${where}: ${name} should be true or false, got ${describe(value)}`)
  }
}

/**
 * @template {string} T
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @param {readonly T[]} choices
 * @returns {asserts value is T}
 */
export function checkChoice(where, name, value, choices) {
  const expected = choices.map((choice) => `'${choice}'`).join(' or ')
  if (typeof value !== 'string') {
    throw new GptLayersError('TYPE', `${where}: ${name} should be ${expected}, got ${describe(value)}`)
  }
  if (!choices.includes(/** @type {T} */ (value))) {
    throw new GptLayersError('VALUE', `${where}: ${name} should be ${expected}, got ${describe(value)}`)
  }
}

/**
 * A shape: an array of sizes, each an integer >= 0. The shape of a single value is `[]`.
 *
 * @param {string} where
 * @param {unknown} shape
 * @returns {asserts shape is readonly number[]}
 */
export function checkShape(where, shape) {
  if (!Array.isArray(shape)) {
    throw new GptLayersError('TYPE', `${where}: shape should be an array of sizes, got ${describe(shape)}`)
  }
  const isSize = (/** @type {number} */ n) => Number.isSafeInteger(n) && n >= 0
  shape.forEach((size, i) => checkNumber(where, `shape[${i}]`, size, 'a non-negative integer', isSize))
}

/**
 * @param {string} where
 * @param {string} name of a tensor
 * @param {readonly number[]} shape the tensor's shape
 * @param {readonly number[]} expected
 * @throws {GptLayersError} SHAPE
 */
export function checkSameShape(where, name, shape, expected) {
  if (shape.length === expected.length && expected.every((size, i) => size === shape[i])) return
  throw new GptLayersError(
    'SHAPE',
    `${where}: ${name} should have shape [${expected.join(', ')}], got [${shape.join(', ')}]`,
  )
}

/**
 * An options object. Unknown names are refused, because they are nearly always misspelled.
 *
 * @template {Record<string, unknown>} T
 * @param {string} where
 * @param {unknown} options
 * @param {T} defaults the name and the default value of every option
 * @returns {T} the given values, or the defaults where none or undefined was given; types are not checked
 */
export function checkOptions(where, options, defaults) {
  const given = checkObject(where, 'options', options)
  const result = { ...defaults }
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(defaults, name)) {
      const known = Object.keys(defaults).join(', ')
      throw new GptLayersError('VALUE', `${where}: options should be among ${known}, got ${describe(name)}`)
    }
    if (value !== undefined) result[/** @type {keyof T} */ (name)] = /** @type {T[keyof T]} */ (value)
  }
  return result
}

/**
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @returns {Record<string, unknown>}
 */
export function checkObject(where, name, value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new GptLayersError('TYPE', `${where}: ${name} should be an object, got ${describe(value)}`)
  }
  return /** @type {Record<string, unknown>} */ (value)
}
