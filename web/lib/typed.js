// Typed arrays and buffers as they are, whatever realm made them: a page's iframe, a vm context, jsdom under
// Jest or Vitest. `instanceof` refuses those of another realm and believes a Proxy or a forged prototype. The
// getters of TypedArray.prototype read an object's own state, which no program can forge.

import { describe } from './check.js'
import { GptLayersError } from './errors.js'

/**
 * A typed array of numbers, not of bigints.
 *
 * @typedef {Float32Array | Float64Array | Int8Array | Uint8Array | Uint8ClampedArray | Int16Array
 *   | Uint16Array | Int32Array | Uint32Array} NumberArray
 */

/** @typedef {new (buffer: ArrayBufferLike, byteOffset: number, length: number) => NumberArray} Constructor */

/** The typed arrays of numbers, by name. Float16Array is newer than the others. */
const CONSTRUCTORS = /** @type {Map<string, Constructor>} */ (
  new Map(
    [
      Float32Array,
      Float64Array,
      Int8Array,
      Uint8Array,
      Uint8ClampedArray,
      Int16Array,
      Uint16Array,
      Int32Array,
      Uint32Array,
      Reflect.get(globalThis, 'Float16Array'),
    ]
      .filter((Constructor) => Constructor !== undefined)
      .map((Constructor) => [Constructor.name, Constructor]),
  )
)

/**
 * @param {object} prototype
 * @param {PropertyKey} name
 * @returns {(value: unknown) => any} the prototype's getter of this name, as a function
 */
function getter(prototype, name) {
  const { get } = /** @type {Required<PropertyDescriptor>} */ (
    Object.getOwnPropertyDescriptor(prototype, name)
  )
  return (value) => get.call(value)
}

const typedArray = Object.getPrototypeOf(Uint8Array.prototype)
const nameOf = getter(typedArray, Symbol.toStringTag) // undefined for what is no typed array
const bufferOf = getter(typedArray, 'buffer')
const byteOffsetOf = getter(typedArray, 'byteOffset')
const lengthOf = getter(typedArray, 'length')
const byteLengthOf = getter(ArrayBuffer.prototype, 'byteLength') // throws for what is no ArrayBuffer

/** @param {unknown} value @returns {boolean} whether it is a typed array of numbers, of any realm */
export const isTyped = (value) => CONSTRUCTORS.has(nameOf(value))

/**
 * @param {string} where
 * @param {string} name
 * @param {unknown} value for which `isTyped` is true
 * @returns {NumberArray} a plain view of the same memory, of fixed length, of our own realm
 * @throws {GptLayersError} VALUE for one whose memory is gone
 */
export function checkTyped(where, name, value) {
  const Constructor = /** @type {Constructor} */ (CONSTRUCTORS.get(nameOf(value)))
  return view(where, name, value, Constructor, bufferOf(value), byteOffsetOf(value), lengthOf(value))
}

/** @param {unknown} value @returns {boolean} whether it is a Uint8Array or an ArrayBuffer, of any realm */
export function isBytes(value) {
  if (nameOf(value) === 'Uint8Array') return true
  try {
    byteLengthOf(value)
    return true
  } catch {
    return false
  }
}

/**
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @returns {Uint8Array} a plain view of the same memory, of fixed length, of our own realm
 * @throws {GptLayersError} TYPE where value is no Uint8Array or ArrayBuffer of any realm; VALUE for one whose
 *   memory is gone
 */
export function checkBytes(where, name, value) {
  if (nameOf(value) === 'Uint8Array') return /** @type {Uint8Array} */ (checkTyped(where, name, value))
  let length
  try {
    length = byteLengthOf(value)
  } catch {
    const given = describe(value)
    throw new GptLayersError(
      'TYPE',
      `${where}: ${name} should be a Uint8Array or an ArrayBuffer, got ${given}`,
    )
  }
  return view(where, name, value, Uint8Array, /** @type {ArrayBuffer} */ (value), 0, length)
}

/**
 * @template T
 * @param {string} where
 * @param {string} name
 * @param {unknown} value the view or buffer that the user gave
 * @param {new (buffer: ArrayBufferLike, byteOffset: number, length: number) => T} Constructor
 * @param {ArrayBufferLike} buffer
 * @param {number} byteOffset
 * @param {number} length
 * @returns {T}
 */
function view(where, name, value, Constructor, buffer, byteOffset, length) {
  try {
    return new Constructor(buffer, byteOffset, length)
  } catch (cause) {
    const given = describe(value)
    throw new GptLayersError(
      'VALUE',
      `${where}: ${name} should be readable, got ${given} that was detached`,
      {
        cause,
      },
    )
  }
}
