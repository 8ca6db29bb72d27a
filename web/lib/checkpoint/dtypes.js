import { describe } from '../check.js'
import { fail } from '../errors.js'

/**
 * @typedef {new (buffer: ArrayBuffer, byteOffset: number, length: number) => ArrayLike<number | bigint>}
 *   ViewConstructor
 */

/**
 * The dtypes that are read: the bytes of an element, and its typed array. The typed arrays have the byte
 * order of the machine: little-endian, or WebAssembly's memory could not be read through them.
 *
 * @type {Readonly<Record<string, { bytes: number, View: ViewConstructor }>>}
 */
export const DTYPES = {
  F64: { bytes: 8, View: Float64Array },
  F32: { bytes: 4, View: Float32Array },
  F16: { bytes: 2, View: Uint16Array },
  BF16: { bytes: 2, View: Uint16Array },
  I64: { bytes: 8, View: BigInt64Array },
  U64: { bytes: 8, View: BigUint64Array },
  I32: { bytes: 4, View: Int32Array },
  U32: { bytes: 4, View: Uint32Array },
  I16: { bytes: 2, View: Int16Array },
  U16: { bytes: 2, View: Uint16Array },
  I8: { bytes: 1, View: Int8Array },
  U8: { bytes: 1, View: Uint8Array },
  BOOL: { bytes: 1, View: Uint8Array },
}

/** @param {string} dtype @returns {boolean} */
export const isFloat = (dtype) => dtype.includes('F')

/** @param {string} dtype @param {readonly number[]} shape @returns {number} */
export const bytesOf = (dtype, shape) => shape.reduce((product, n) => product * n, DTYPES[dtype].bytes)

/**
 * Converts the data of a tensor: floats are rounded to the nearest float32, integers must have an exact one.
 *
 * @param {string} name of the tensor
 * @param {string} dtype
 * @param {ArrayBuffer} data little-endian
 * @param {number} bytes how many of data
 * @param {ArrayBuffer} room where the values go, of enough bytes
 * @returns {Float32Array} for F32 a view of the data
 * @throws {GptLayersError} VALUE
 */
export function toFloat32(name, dtype, data, bytes, room) {
  if (dtype === 'F32') return new Float32Array(data, 0, bytes / 4)
  const { View, bytes: size } = DTYPES[dtype]
  const given = new View(data, 0, bytes / size)
  const values = new Float32Array(room, 0, given.length)
  const bits = new Uint32Array(room, 0, given.length)
  if (dtype === 'F16') widen(bits, /** @type {Uint16Array} */ (given), halves())
  else if (dtype === 'BF16') shift(bits, /** @type {Uint16Array} */ (given))
  else if (dtype === 'F64') values.set(/** @type {Float64Array} */ (given))
  else round(name, values, given)
  return values
}

/**
 * @param {Uint32Array} bits of each float32
 * @param {Uint16Array} halves
 * @param {Uint32Array} table the bits of the float32 by those of the float16
 */
function widen(bits, halves, table) {
  for (let i = 0; i < bits.length; i++) bits[i] = table[halves[i]]
}

/** @param {Uint32Array} bits of each float32 @param {Uint16Array} halves the upper half of each */
function shift(bits, halves) {
  for (let i = 0; i < bits.length; i++) bits[i] = halves[i] << 16
}

/**
 * @param {string} name of the tensor
 * @param {Float32Array} values
 * @param {ArrayLike<number | bigint>} integers
 */
function round(name, values, integers) {
  for (let i = 0; i < values.length; i++) {
    const value = integers[i]
    values[i] = Number(value)
    const isExact = typeof value === 'bigint' ? BigInt(values[i]) === value : values[i] === value
    if (isExact) continue
    throw fail('VALUE', describe(name), 'hold integers with an exact float32', describe(value))
  }
}

/** @type {Uint32Array | null} */
let table = null

/**
 * The bits of the float32 that equals each float16: 1 bit of sign, 5 of exponent, 10 of fraction. A table
 * converts GPT-2's 124 million values in 0.1 s; one by one, they take 2 s.
 */
function halves() {
  if (table !== null) return table
  const word = new ArrayBuffer(4)
  const [float, bits] = [new Float32Array(word), new Uint32Array(word)]
  table = new Uint32Array(2 ** 16)
  for (let half = 0; half < 2 ** 15; half++) {
    const exponent = half >> 10
    // 112: the difference of the exponents' biases, 127 and 15. 31 stands for infinities and NaN.
    bits[0] = (half << 13) + ((exponent === 31 ? 2 * 112 : 112) << 23)
    if (exponent === 0) float[0] = half * 2 ** -24
    table[half] = bits[0]
    table[half | 0x8000] = bits[0] | 0x80000000
  }
  return table
}
