// Files in the safetensors format: https://github.com/huggingface/safetensors#format. All numbers are
// little-endian.
//
// | bytes | content |
// | --- | --- |
// | 8 | n, the length of the header: an unsigned 64-bit integer |
// | n | the header: a JSON object in UTF-8, often padded with spaces |
// | the rest | the data of the tensors, row-major, without gaps or overlap |
//
// The header has an entry for each tensor, and may have one for strings about the file. Offsets count from
// the first byte of the data; the end is exclusive.
//
//     { "__metadata__": { "format": "pt" },
//       "weight": { "dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24] } }
//
// We write F32, or F16 where the user asks for float16. An int8 weight is I8 [outputs, inputs], a Conv1D's,
// too. Its scales are F32 [outputs, groups], under the same name with `_scale`. The masks of the book's model
// are BOOL. dtypes.ts has the dtypes that we read.

import { describe, isPlainObject, shortName } from '../check.ts'
import { fail } from '../errors.ts'
import { type TensorInfo, SCALE } from './names.ts'
import { checkTensor } from '../tensor/tensor.ts'
import { int8Of, Int8Weight } from '../tensor/int8weight.ts'
import type { Bytes } from '../typed.ts'
import { bytesOf, DTYPES, toFloat16 } from './dtypes.ts'
import {
  type Reading,
  type TensorFile,
  areCounts,
  Cursor,
  kindOf,
  MAX_TENSORS,
  newBytes,
  readRows,
} from './reading.ts'

/** What the header has under this name is no tensor. */
const METADATA_NAME = '__metadata__'

const LENGTH_BYTES = 8

/** The first bytes of a file, which tell what it is. */
const PREFIX_BYTES = 24

/** The longest header that is read, in bytes: the limit of the format's own library. */
const MAX_HEADER = 100_000_000

/**
 * The bytes that Python's safetensors writes for the same tensors: larger dtypes first, then sorted by name,
 * and the header padded with spaces to a multiple of 8 bytes.
 */
export function encode(given: readonly Written[], metadata: Record<string, string> = {}): Bytes {
  const entries = [...given]
  // Numbers of 4 bytes after bytes might not be aligned: PyTorch does not read such a file.
  entries.sort((a, b) => DTYPES[b.dtype].bytes - DTYPES[a.dtype].bytes || compare(a.name, b.name))
  // Python's transformers refuses files without a format.
  const header = new Map([[METADATA_NAME, { format: 'pt', ...metadata } as object]])
  let dataBytes = 0
  for (const { name, dtype, shape } of entries) {
    const begin = dataBytes
    dataBytes += bytesOf(dtype, shape)
    header.set(name, { dtype, shape, data_offsets: [begin, dataBytes] })
  }
  const text = new TextEncoder().encode(JSON.stringify(Object.fromEntries(header)))
  const headerBytes = Math.ceil(text.length / 8) * 8
  const file = newBytes(LENGTH_BYTES + headerBytes + dataBytes)
  const { buffer } = file
  new DataView(buffer).setBigUint64(0, BigInt(headerBytes), true)
  let end = LENGTH_BYTES + headerBytes
  file.fill(' '.charCodeAt(0), LENGTH_BYTES, end).set(text, LENGTH_BYTES)
  for (const { dtype, shape, write } of entries) {
    const begin = end
    end += bytesOf(dtype, shape)
    write(file.subarray(begin, end))
  }
  return file
}

const compare = (a: string, b: string) => Number(a > b) - Number(a < b)

export interface Written {
  name: string
  dtype: 'F32' | 'F16' | 'I8' | 'BOOL'
  shape: readonly number[]
  write: (target: Uint8Array) => void
}

export type FloatDtype = 'float32' | 'float16'

/** @param dtype of all but int8 weights */
export const entriesOf = (dict: Record<string, unknown>, dtype: FloatDtype = 'float32'): Written[] =>
  Object.entries(dict).flatMap(([name, value]) => {
    if (name === METADATA_NAME)
      throw fail('VALUE', 'names', 'not be reserved by the format', '"__metadata__"')
    const int8Weight = int8Of(value)
    if (!int8Weight) {
      const tensor = checkTensor(shortName(name), value)
      return [floatEntry(name, tensor.shape, dtype, () => tensor.data)]
    }
    Int8Weight.checkLive(int8Weight, shortName(name))
    const scale = name + SCALE
    if (Object.hasOwn(dict, scale)) {
      const expected = `be free for the scales of ${describe(name)}, which is int8`
      throw fail('VALUE', describe(scale), expected, 'a tensor')
    }
    return [
      { name, dtype: 'I8', shape: int8Weight.shape, write: (target) => int8Weight.readValues(target) },
      floatEntry(scale, int8Weight.scalesShape, 'float32', () => int8Weight.scales()),
    ]
  })

/** @param values called when it is written */
export function floatEntry(
  name: string,
  shape: readonly number[],
  dtype: FloatDtype,
  values: () => Float32Array,
): Written {
  const write = (target: Uint8Array) => {
    const floats = values()
    const { buffer, byteOffset, byteLength } = dtype === 'float16' ? toFloat16(name, floats) : floats
    target.set(new Uint8Array(buffer, byteOffset, byteLength))
  }
  return { name, dtype: dtype === 'float16' ? 'F16' : 'F32', shape, write }
}

/** @param what the argument that is the file, for errors */
export function* readSafetensors(what: string): Reading<TensorFile> {
  const cursor = new Cursor(what, 'a safetensors file')
  const prefix = (yield PREFIX_BYTES).slice()
  const start = headerEnd(cursor, prefix)
  const header = newBytes(start)
  header.set(prefix.subarray(0, start))
  cursor.at = prefix.length
  cursor.missing = `, with a header that ends at ${start}`
  if (start > prefix.length) header.set(yield* cursor.read(start - prefix.length), prefix.length)
  const { tensors, dataBytes, metadata } = parseHeader(cursor, header.subarray(LENGTH_BYTES))
  const byteLength = start + dataBytes
  cursor.missing = ` instead of ${byteLength}`
  return {
    tensors,
    stated: metadata,
    byteLength,
    *read(writerOf) {
      if (prefix.length > start) throw cursor.damaged(`more than ${start} bytes`)
      for (const tensor of tensors) {
        const writer = writerOf(tensor)
        if (writer) yield* readRows(cursor, tensor, writer)
        else yield* cursor.skip(bytesOf(tensor.dtype, tensor.shape))
      }
      if ((yield 1).length > 0) throw cursor.damaged(`more than ${byteLength} bytes`)
    },
  }
}

/**
 * @param prefix its first PREFIX_BYTES bytes, or all where it has less
 * @returns where the header ends
 */
function headerEnd(cursor: Cursor, prefix: Uint8Array): number {
  if (prefix.length < LENGTH_BYTES) throw cursor.damaged(`${prefix.length} bytes`)
  if (prefix[LENGTH_BYTES] !== '{'.charCodeAt(0)) {
    const kind = kindOf(prefix) // a safetensors file may begin as another, with the length of its header
    if (kind !== undefined) throw cursor.damaged(kind)
  }
  const headerBytes = prefix.subarray(0, LENGTH_BYTES).reduceRight((n, byte) => 256n * n + BigInt(byte), 0n)
  if (headerBytes <= MAX_HEADER) return LENGTH_BYTES + Number(headerBytes)
  const text = printable(prefix)
  if (text.length >= LENGTH_BYTES) throw cursor.damaged(`one that starts with ${describe(text)}`)
  throw cursor.damaged(`a header of ${headerBytes} bytes, more than ${MAX_HEADER}`)
}

/** The text with which a file begins, such as a page of HTML. */
function printable(prefix: Uint8Array): string {
  const end = prefix.findIndex((byte) => byte < 0x20 || byte > 0x7e)
  return String.fromCharCode(...prefix.subarray(0, end < 0 ? prefix.length : end))
}

/** What the header says about a tensor. */
interface Entry extends TensorInfo {
  /** the first byte, from the beginning of the data */
  begin: number
  /** the byte after the last */
  end: number
}

/**
 * What the header says. Of two tensors with one name the last counts, as in JSON.parse: the
 * data of the other would be a gap, which is refused.
 */
function parseHeader(cursor: Cursor, bytes: Uint8Array) {
  const { [METADATA_NAME]: given, ...infos } = parse(cursor, bytes)
  const metadata = given ?? {} // Python's safetensors reads null, too
  const names = Object.keys(infos)
  if (names.length > MAX_TENSORS) {
    throw cursor.damaged(`a header with ${names.length} names, more than ${MAX_TENSORS}`)
  }
  if (!isStrings(metadata)) throw cursor.damaged(`${METADATA_NAME} that is not an object of strings`)
  const tensors = names.map((name) => checkInfo(cursor, name, infos[name]))
  tensors.sort((a, b) => a.begin - b.begin || a.end - b.end)
  let dataBytes = 0
  for (const { name, begin, end } of tensors) {
    if (begin !== dataBytes) {
      throw cursor.damaged(`${describe(name)} at byte ${begin} of the data instead of ${dataBytes}`)
    }
    dataBytes = end
  }
  return { tensors, dataBytes, metadata }
}

function parse(cursor: Cursor, bytes: Uint8Array): Record<string, unknown> {
  if (bytes[0] !== '{'.charCodeAt(0)) throw cursor.damaged('a header that does not begin with {')
  if (bytes.at(-1) === 0) throw cursor.damaged('a header that is padded with NUL instead of spaces')
  try {
    // A copy: browsers do not decode shared memory.
    return JSON.parse(
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(new Uint8Array(bytes)),
    )
  } catch (cause) {
    throw cursor.damaged('a header that is not JSON in UTF-8', cause)
  }
}

const isStrings = (value: unknown): value is Record<string, string> =>
  isPlainObject(value) && Object.values(value).every((text) => typeof text === 'string')

function checkInfo(cursor: Cursor, name: string, info: unknown): Entry {
  const { dtype, shape, data_offsets: offsets }: Record<string, unknown> = Object(info)
  const tensor = describe(name)
  if (typeof dtype !== 'string') throw cursor.damaged(`${tensor} with dtype ${describe(dtype)}`)
  if (!Object.hasOwn(DTYPES, dtype)) {
    const known = Object.keys(DTYPES).join(', ')
    throw fail('UNSUPPORTED', tensor, `have a dtype among ${known}`, describe(dtype))
  }
  if (!areCounts(shape)) throw cursor.damaged(`${tensor} of shape ${describe(shape)}`)
  if (!areCounts(offsets) || offsets.length !== 2) {
    throw cursor.damaged(`${tensor} at offsets ${describe(offsets)}`)
  }
  const [begin, end] = offsets
  const size = bytesOf(dtype, shape)
  if (end - begin !== size) {
    const problem = `${dtype} of shape [${shape.join(', ')}], in ${end - begin} bytes instead of ${size}`
    throw cursor.damaged(`${tensor}, ${problem}`)
  }
  return { name, dtype, shape, begin, end }
}
