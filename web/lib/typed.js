// Typed arrays and buffers. `instanceof` would refuse those of another realm, which a test runner such as
// Jest hands to a program.

import { describe } from './check.js'
import { fail } from './errors.js'

/**
 * A typed array of numbers, not of bigints.
 *
 * @typedef {Float32Array | Float64Array | Int8Array | Uint8Array | Uint8ClampedArray | Int16Array
 *   | Uint16Array | Int32Array | Uint32Array} NumberArray
 */

/** @param {unknown} value @returns {string} such as 'Float32Array' */
const nameOf = (value) => Object.prototype.toString.call(value).slice('[object '.length, -1)

/** @param {unknown} value @returns {value is NumberArray} */
export const isTyped = (value) =>
  ArrayBuffer.isView(value) && !['DataView', 'BigInt64Array', 'BigUint64Array'].includes(nameOf(value))

/** @param {unknown} value @returns {value is Uint8Array | ArrayBuffer} */
export const isBytes = (value) => ['Uint8Array', 'ArrayBuffer', 'SharedArrayBuffer'].includes(nameOf(value))

/**
 * @param {string} name
 * @param {unknown} value
 * @returns {Uint8Array} a view of the same memory
 * @throws {GptLayersError} TYPE; VALUE for one whose memory is gone
 */
export function checkBytes(name, value) {
  if (isBytes(value)) {
    try {
      value.slice(0, 0)
    } catch (cause) {
      throw fail('VALUE', name, 'be readable', `${describe(value)} that was detached`, cause)
    }
    return ArrayBuffer.isView(value) ? value : new Uint8Array(value)
  }
  const got = describe(value)
  throw fail('TYPE', name, 'be a Uint8Array or an ArrayBuffer', got)
}
