// The checks at the edge of the public API. Each takes `where`, the function as its caller knows it, and throws a
// GptLayersError that reads `where: argument should be ..., got ...`.

import { GptLayersError } from './errors.js'

/**
 * A value in an error message, short whatever it is.
 *
 * @param {unknown} value
 * @returns {string}
 */
export function describe(value) {
  if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean') {
    return Object.is(value, -0) ? '-0' : String(value)
  }
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return `function ${value.name || '(anonymous)'}`
  if (Array.isArray(value)) {
    const simple = value.length <= 8 && value.every((v) => typeof v === 'number')
    return simple ? `[${value.join(', ')}]` : `an array of ${value.length}`
  }
  if (typeof value === 'symbol') return String(value)
  const name = Object.getPrototypeOf(value)?.constructor?.name
  return name && name !== 'Object' ? `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}` : 'an object'
}

/**
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @param {string} expected in words, for the error
 * @param {(value: number) => boolean} accepts
 * @returns {asserts value is number}
 */
export function checkNumber(where, name, value, expected, accepts) {
  if (typeof value !== 'number') {
    throw new GptLayersError('TYPE', `${where}: ${name} should be ${expected}, got ${describe(value)}`)
  }
  if (!accepts(value)) {
    throw new GptLayersError('VALUE', `${where}: ${name} should be ${expected}, got ${describe(value)}`)
  }
}

/**
 * A number of features, tokens, threads ...
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
 * A shape: a list of sizes, each a non-negative integer. `[]` is a single value.
 *
 * @param {string} where
 * @param {unknown} shape
 * @returns {asserts shape is readonly number[]}
 */
export function checkShape(where, shape) {
  if (!Array.isArray(shape)) {
    throw new GptLayersError('TYPE', `${where}: shape should be an array of sizes, got ${describe(shape)}`)
  }
  shape.forEach((size, i) =>
    checkNumber(
      where,
      `shape[${i}]`,
      size,
      'a non-negative integer',
      (n) => Number.isSafeInteger(n) && n >= 0,
    ),
  )
}

/**
 * @param {string} where
 * @param {string} name of a tensor
 * @param {readonly number[]} shape that it has
 * @param {readonly number[]} expected
 */
export function checkSameShape(where, name, shape, expected) {
  if (shape.length === expected.length && expected.every((size, i) => size === shape[i])) return
  throw new GptLayersError(
    'SHAPE',
    `${where}: ${name} should have shape [${expected.join(', ')}], got [${shape.join(', ')}]`,
  )
}

/**
 * An options object. An unknown name is an error, since it is nearly always a misspelt one.
 *
 * @template {Record<string, unknown>} T
 * @param {string} where
 * @param {unknown} options
 * @param {T} defaults every option's name, with the value it has when left out
 * @returns {T}
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
