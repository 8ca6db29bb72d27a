import { describe } from '../check.ts'
import { fail } from '../errors.ts'

type ViewConstructor = new (
  buffer: ArrayBuffer,
  byteOffset: number,
  length: number,
) => ArrayLike<number | bigint>

/**
 * The dtypes that are read: the bytes of an element, and its typed array. The typed arrays have the byte
 * order of the machine: little-endian, or WebAssembly's memory could not be read through them.
 */
export const DTYPES: Readonly<Record<string, { bytes: number; View: ViewConstructor }>> = {
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

export const isFloat = (dtype: string): boolean => dtype.includes('F')

export const bytesOf = (dtype: string, shape: readonly number[]): number =>
  shape.reduce((product, n) => product * n, DTYPES[dtype].bytes)

export type Values = Float32Array | Int8Array

/**
 * Converts the data of a tensor to float32: floats are rounded to the nearest one, integers must have an exact
 * one. Those of 8 bits stay as they are.
 *
 * @param bytes little-endian
 * @returns the values, until the next call; for F32 and I8 a view of the bytes
 */
export function valuesOf(name: string, dtype: string, bytes: Uint8Array): Values {
  const { View, bytes: size } = DTYPES[dtype]
  const { buffer, byteOffset } = bytes.byteOffset % size ? bytes.slice() : bytes
  const length = bytes.length / size
  const data = new View(buffer as ArrayBuffer, byteOffset, length)
  if (data instanceof Float32Array || data instanceof Int8Array) return data
  if (length <= MOST_VALUES && length > scratch.length) scratch = new Float32Array(length)
  const values = length <= MOST_VALUES ? scratch.subarray(0, length) : new Float32Array(length)
  if (data instanceof Float64Array) values.set(data)
  else if (data instanceof Uint16Array && isFloat(dtype)) widen(values, data, dtype === 'BF16')
  else round(name, values, data, dtype === 'BOOL' ? 1 : Infinity)
  return values
}

/** Memory for the values of one call after the other: to take and zero new memory costs a third of the time. */
let scratch = new Float32Array(0)
/** The values that are converted at once, unless a row of a matrix has more. */
export const MOST_VALUES = 2 ** 20

function widen({ buffer, length }: Float32Array, halves: Uint16Array, isBFloat16: boolean): void {
  const bits = new Uint32Array(buffer, 0, length)
  if (isBFloat16) for (let i = 0; i < length; i++) bits[i] = halves[i] << 16
  else for (let i = 0, table = float16Table(); i < length; i++) bits[i] = table[halves[i]]
}

/** @param most the largest value of the dtype */
function round(name: string, values: Float32Array, integers: ArrayLike<number | bigint>, most: number): void {
  for (let i = 0; i < values.length; i++) {
    const value = integers[i]
    values[i] = Number(value)
    const isExact = typeof value === 'bigint' ? BigInt(values[i]) === value : values[i] === value
    if (isExact && value <= most) continue
    const expected = most === 1 ? 'booleans, which are 0 or 1' : 'integers with an exact float32'
    throw fail('VALUE', describe(name), `hold ${expected}`, describe(value))
  }
}

let known: Uint32Array | null = null

/**
 * The bits of the float32 that equals each float16: 1 bit of sign, 5 of exponent, 10 of fraction. A table
 * converts GPT-2's 124 million values in 0.1 s; one by one, they take 2 s.
 */
function float16Table(): Uint32Array {
  if (known !== null) return known
  const word = new ArrayBuffer(4)
  const [float, bits] = [new Float32Array(word), new Uint32Array(word)]
  const table = new Uint32Array(2 ** 16)
  for (let half = 0; half < 2 ** 15; half++) {
    const exponent = half >> 10
    // 112: the difference of the exponents' biases, 127 and 15. 31 stands for infinities and NaN.
    bits[0] = (half << 13) + ((exponent === 31 ? 2 * 112 : 112) << 23)
    if (exponent === 0) float[0] = half * 2 ** -24
    table[half] = bits[0]
    table[half | 0x8000] = bits[0] | 0x80000000
  }
  known = table
  return table
}

/**
 * The bits of the nearest float16 of each value; of two that are equally near the one that ends in 0.
 *
 * @throws {GptLayersError} VALUE for a finite value that float16 cannot hold
 */
export function toFloat16(name: string, values: Float32Array): Uint16Array {
  const { buffer } = values.slice()
  const bits = new Uint32Array(buffer)
  return Uint16Array.from(bits, (word, i) => {
    const sign = (word >>> 16) & 0x8000
    const size = word & 0x7fffffff
    if (size > 0x7f800000) return sign | 0x7e00 // NaN
    if (size === 0x7f800000) return sign | 0x7c00 // infinity
    if (size < 113 << 23) return sign | toEven(Math.abs(values[i]) * 2 ** 24) // below 2^-14
    // 112: the difference of the exponents' biases.
    const half = (size + 0xfff + ((size >>> 13) & 1) - (112 << 23)) >>> 13
    if (half < 0x7c00) return sign | half
    throw fail('VALUE', describe(name), 'hold numbers up to 65504 to become float16', values[i])
  })
}

/** The nearest integer; of two that are equally near the even one. */
function toEven(value: number): number {
  const below = Math.floor(value)
  const rest = value - below
  return below + Number(rest > 0.5 || (rest === 0.5 && below % 2 === 1))
}
