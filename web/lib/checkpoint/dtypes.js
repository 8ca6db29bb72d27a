import { describe } from '../check.js'
import { GptLayersError } from '../errors.js'

/** Four bytes, to see an integer as a float. */
const WORD = new DataView(new ArrayBuffer(4))
/** 2^112 */
const TWO_TO_112 = 5192296858534827628530496329220096

/**
 * The dtypes that are read: the bytes of an element, and how to read it.
 *
 * @type {Readonly<Record<string, { bytes: number, at: (view: DataView, byte: number) => number | bigint }>>}
 */
export const DTYPES = {
  F64: { bytes: 8, at: (view, byte) => view.getFloat64(byte, true) },
  F32: { bytes: 4, at: (view, byte) => view.getFloat32(byte, true) },
  F16: { bytes: 2, at: (view, byte) => half(view.getUint16(byte, true)) },
  BF16: { bytes: 2, at: (view, byte) => float(view.getUint16(byte, true) << 16) },
  I64: { bytes: 8, at: (view, byte) => view.getBigInt64(byte, true) },
  U64: { bytes: 8, at: (view, byte) => view.getBigUint64(byte, true) },
  I32: { bytes: 4, at: (view, byte) => view.getInt32(byte, true) },
  U32: { bytes: 4, at: (view, byte) => view.getUint32(byte, true) },
  I16: { bytes: 2, at: (view, byte) => view.getInt16(byte, true) },
  U16: { bytes: 2, at: (view, byte) => view.getUint16(byte, true) },
  I8: { bytes: 1, at: (view, byte) => view.getInt8(byte) },
  U8: { bytes: 1, at: (view, byte) => view.getUint8(byte) },
  BOOL: { bytes: 1, at: (view, byte) => view.getUint8(byte) },
}

/** @param {string} dtype @returns {boolean} */
export const isFloat = (dtype) => dtype.includes('F')

/** @param {string} dtype @param {readonly number[]} shape @returns {number} */
export const bytesOf = (dtype, shape) => shape.reduce((product, n) => product * n, DTYPES[dtype].bytes)

/**
 * Converts the data of a tensor: floats are rounded to the nearest float32, integers must have an exact one.
 *
 * @param {string} where
 * @param {string} name of the tensor
 * @param {string} dtype
 * @param {ArrayBuffer} data little-endian
 * @returns {Float32Array} for F32 a view of the data
 * @throws {GptLayersError} VALUE
 */
export function toFloat32(where, name, dtype, data) {
  // GPT-2's 124 million values take 0.6 s this way and 2.8 s one by one. Typed arrays have the byte order of
  // the machine: little-endian, or WebAssembly's memory could not be read through them.
  if (dtype === 'F32') return new Float32Array(data)
  const { bytes, at } = DTYPES[dtype]
  const view = new DataView(data)
  const values = new Float32Array(data.byteLength / bytes)
  for (let i = 0; i < values.length; i++) {
    const value = at(view, i * bytes)
    values[i] = Number(value)
    if (isFloat(dtype)) continue
    const isExact = typeof value === 'bigint' ? BigInt(values[i]) === value : values[i] === value
    if (isExact) continue
    throw new GptLayersError(
      'VALUE',
      `${where}: ${describe(name)} should hold integers with an exact float32, got ${describe(value)}`,
    )
  }
  return values
}

/** @param {number} bits of IEEE 754 binary32 @returns {number} */
function float(bits) {
  WORD.setInt32(0, bits)
  return WORD.getFloat32(0)
}

/**
 * The value of a binary16. Its exponent and fraction, moved to the places of binary32, give a value that is
 * too small by 2^112, also for a subnormal.
 *
 * @param {number} bits 1 bit of sign, 5 of exponent, 10 of fraction
 * @returns {number}
 */
function half(bits) {
  const [sign, size] = [(bits & 0x8000) << 16, (bits & 0x7fff) << 13]
  if (size >= 0x7c00 << 13) return float(sign | 0x7f800000 | size) // infinities and NaN
  return float(sign | size) * TWO_TO_112
}
