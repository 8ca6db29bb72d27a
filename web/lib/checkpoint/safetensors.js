// The safetensors format (https://github.com/huggingface/safetensors#format): 8 bytes with the length of a header in
// JSON, the header with each tensor's dtype, shape and place, then the data without gaps; all little-endian.

import { describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { checkTensor } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'

/** The longest header there may be, in bytes, as in the format's own library. */
const MAX_HEADER = 100_000_000

/**
 * @param {number} bits 16 of them: the sign, the exponent, the fraction
 * @param {number} fractionBits 10 for float16, 7 for bfloat16
 */
function shortFloat(bits, fractionBits) {
  const most = 2 ** (15 - fractionBits) - 1 // the exponent of infinities and NaN
  const exponent = (bits >> fractionBits) & most
  const fraction = (bits & (2 ** fractionBits - 1)) / 2 ** fractionBits
  const bias = most >> 1
  const finite = exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias)
  const magnitude = exponent === most ? (fraction === 0 ? Infinity : NaN) : finite
  return bits >> 15 ? -magnitude : magnitude
}

/**
 * The dtypes that are read: how many bytes an element has, and its value.
 *
 * @type {Record<string, { bytes: number, at: (view: DataView, byte: number) => number | bigint }>}
 */
const TYPES = {
  F64: { bytes: 8, at: (view, byte) => view.getFloat64(byte, true) },
  F32: { bytes: 4, at: (view, byte) => view.getFloat32(byte, true) },
  F16: { bytes: 2, at: (view, byte) => shortFloat(view.getUint16(byte, true), 10) },
  BF16: { bytes: 2, at: (view, byte) => shortFloat(view.getUint16(byte, true), 7) },
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

/**
 * Writes what Python's safetensors writes: sorted by name, the header padded with spaces to a multiple of 8 bytes.
 *
 * @param {string} where
 * @param {Record<string, unknown>} dict tensors by name
 * @returns {Uint8Array}
 * @throws {GptLayersError} TYPE, VALUE, DISPOSED
 */
export function encodeSafetensors(where, dict) {
  // transformers reads a file only where it says whose tensors they are
  const header = new Map([['__metadata__', /** @type {object} */ ({ format: 'pt' })]])
  const tensors = Object.keys(dict)
    .sort()
    .map((name) => checkLive(where, name, dict[name]))
  let end = 0
  for (const { name, tensor } of tensors) {
    header.set(name, { dtype: 'F32', shape: tensor.shape, data_offsets: [end, (end += 4 * tensor.size)] })
  }
  const json = JSON.stringify(Object.fromEntries(header))
  const text = new TextEncoder().encode(json)
  const length = Math.ceil(text.length / 8) * 8
  const buffer = new ArrayBuffer(8 + length + end)
  const bytes = new Uint8Array(buffer)
  new DataView(buffer).setBigUint64(0, BigInt(length), true)
  bytes.fill(0x20, 8, 8 + length).set(text, 8)
  let at = 8 + length
  for (const { tensor } of tensors) {
    bytes.set(tensor.runtime.memory.bytes(tensor.byteOffset, 4 * tensor.size), at)
    at += 4 * tensor.size
  }
  return bytes
}

/**
 * A tensor in a file.
 *
 * @typedef {object} Entry
 * @property {readonly number[]} shape
 * @property {() => () => Float32Array} prepare throws where a value is no float32, and gives what reads them and cannot fail
 */

/**
 * Reads a file's header, and checks all of it.
 *
 * @param {string} where
 * @param {unknown} file
 * @returns {Record<string, Entry>} by name
 * @throws {GptLayersError} TYPE when file is not bytes; VALUE when they are not a safetensors file, whole and without
 *   gaps; UNSUPPORTED for a dtype that is not among those above
 */
export function decodeSafetensors(where, file) {
  const bytes = file instanceof ArrayBuffer ? new Uint8Array(file) : file
  if (!(bytes instanceof Uint8Array)) {
    throw new GptLayersError(
      'TYPE',
      `${where}: bytes should be a Uint8Array or an ArrayBuffer, got ${describe(file)}`,
    )
  }
  const bad = (/** @type {string} */ problem, /** @type {unknown} */ cause = undefined) =>
    new GptLayersError('VALUE', `${where}: bytes should be a safetensors file, got ${problem}`, { cause })
  if (bytes.length < 8) throw bad(`${bytes.length} bytes`)
  const length = new DataView(copyOf(bytes, 0, 8)).getBigUint64(0, true)
  if (length > MAX_HEADER) throw bad(`a header of ${length} bytes, more than ${MAX_HEADER}`)
  const start = 8 + Number(length)
  if (start > bytes.length) throw bad(`${bytes.length} bytes, of which the header takes ${start}`)
  const header = readHeader(bytes.slice(8, start), bad)
  const { __metadata__: metadata = {}, ...infos } = header
  if (!isObject(metadata) || Object.values(metadata).some((value) => typeof value !== 'string')) {
    throw bad('__metadata__ that is not all strings')
  }
  const entries = Object.entries(infos).map(([name, info]) => {
    const { dtype, shape, data_offsets: offsets } = isObject(info) ? info : {}
    if (typeof dtype !== 'string') throw bad(`${describe(name)} with dtype ${describe(dtype)}`)
    if (!Object.hasOwn(TYPES, dtype)) {
      const known = Object.keys(TYPES).join(', ')
      throw new GptLayersError(
        'UNSUPPORTED',
        `${where}: ${describe(name)} should have a dtype among ${known}, got ${describe(dtype)}`,
      )
    }
    if (!isCounts(shape)) throw bad(`${describe(name)} of shape ${describe(shape)}`)
    if (!isCounts(offsets) || offsets.length !== 2)
      throw bad(`${describe(name)} at offsets ${describe(offsets)}`)
    const [begin, end] = offsets
    const size = shape.reduce((product, n) => product * n, TYPES[dtype].bytes)
    if (end - begin !== size) {
      throw bad(
        `${describe(name)}, ${dtype} of shape [${shape.join(', ')}], in ${end - begin} bytes instead of ${size}`,
      )
    }
    return { name, dtype, shape, begin, end }
  })
  let expected = 0
  for (const { name, begin, end } of entries.sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin !== expected)
      throw bad(`${describe(name)} at byte ${begin} of the data, where ${expected} should follow`)
    expected = end
  }
  if (start + expected !== bytes.length) throw bad(`${bytes.length} bytes instead of ${start + expected}`)
  return Object.fromEntries(
    entries.map(({ name, dtype, shape, begin, end }) => {
      const read = () => valuesOf(where, name, dtype, copyOf(bytes, start + begin, start + end))
      // only integers may turn out to be no float32s; they are few, and read at once
      const prepare = () => {
        const values = isFloat(dtype) ? null : read()
        return () => values ?? read()
      }
      return [name, { shape, prepare }]
    }),
  )
}

/**
 * @param {string} where
 * @param {string} name
 * @param {unknown} tensor
 */
function checkLive(where, name, tensor) {
  if (name === '__metadata__') {
    throw new GptLayersError('VALUE', `${where}: a name should not be the format's own, got "__metadata__"`)
  }
  if (!(tensor instanceof Tensor)) {
    throw new GptLayersError('TYPE', `${where}: ${name} should be a Tensor, got ${describe(tensor)}`)
  }
  return { name, tensor: checkTensor(tensor.runtime, where, name, tensor) }
}

/**
 * @param {Uint8Array} text
 * @param {(problem: string, cause?: unknown) => GptLayersError} bad
 * @returns {Record<string, unknown>}
 */
function readHeader(text, bad) {
  let header
  let json
  try {
    json = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text)
    header = JSON.parse(json)
  } catch (cause) {
    throw bad('a header that is not JSON in UTF-8', cause)
  }
  if (!isObject(header) || json[0] !== '{') throw bad('a header that does not begin with {')
  const twice = duplicateKey(json)
  if (twice !== undefined) throw bad(`a header with ${describe(twice)} twice`)
  return header
}

/**
 * JSON.parse takes the last of two equal names, and another reader the first: whoever signs off one reads another.
 *
 * @param {string} json that is valid
 * @returns {string | undefined} a name that stands twice in one object
 */
function duplicateKey(json) {
  /** @type {Set<string>[]} the names so far in each object that is open */
  const open = []
  for (const [token, key] of json.matchAll(/("(?:[^"\\]|\\.)*")(?=\s*:)|"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{') open.push(new Set())
    else if (token === '}') open.pop()
    else if (key !== undefined) {
      const name = JSON.parse(key)
      const names = /** @type {Set<string>} */ (open.at(-1))
      if (names.has(name)) return name
      names.add(name)
    }
  }
  return undefined
}

const isFloat = (/** @type {string} */ dtype) => dtype.includes('F')

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** @param {unknown} value @returns {value is number[]} */
const isCounts = (value) => Array.isArray(value) && value.every((n) => Number.isSafeInteger(n) && n >= 0)

/**
 * A copy, since the bytes may lie at any address.
 *
 * @param {Uint8Array} bytes
 * @param {number} begin
 * @param {number} end
 */
function copyOf(bytes, begin, end) {
  const copy = new ArrayBuffer(end - begin)
  new Uint8Array(copy).set(bytes.subarray(begin, end))
  return copy
}

/**
 * @param {string} where
 * @param {string} name
 * @param {string} dtype
 * @param {ArrayBuffer} data
 */
function valuesOf(where, name, dtype, data) {
  // Value by value GPT-2's 124 million take 2.8 s, so 0.6. The heap's floats are little-endian as well, or nothing works.
  if (dtype === 'F32') return new Float32Array(data)
  const { bytes, at } = TYPES[dtype]
  const view = new DataView(data)
  const values = new Float32Array(data.byteLength / bytes)
  for (let i = 0; i < values.length; i++) {
    const value = at(view, i * bytes)
    values[i] = Number(value)
    if (isFloat(dtype)) continue
    if (typeof value === 'bigint' ? BigInt(values[i]) !== value : values[i] !== value) {
      throw new GptLayersError(
        'VALUE',
        `${where}: ${describe(name)} should hold float32s, got ${describe(value)}`,
      )
    }
  }
  return values
}
