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
// We write F32. An int8 weight is I8 [outputs, inputs], a Conv1D's, too. Its scales are F32 [outputs,
// groups], under the same name with `_scale`. We read these dtypes, converted to float32:
//
// | dtype | bytes | conversion |
// | --- | --- | --- |
// | F32 | 4 | none |
// | F64 | 8 | rounded |
// | F16, BF16 | 2 | exact |
// | I8, U8, I16, U16, I32, U32, I64, U64 | 1 to 8 | exact, otherwise an error |
// | BOOL | 1 | 0 or 1 |

import { describe, shortName } from '../check.ts'
import { fail } from '../errors.ts'
import { checkLiveTensor } from '../tensor/check.ts'
import { checkBytes } from '../typed.ts'
import { int8Of } from '../tensor/int8weight.ts'
import { bytesOf } from './dtypes.ts'
import { type Info, notSafetensors, readHeader } from './header.ts'
import { type UseRows, newBuffer, Slabs } from './slabs.ts'
import { SCALE } from './statedict.ts'

/** What the header has under this name is no tensor. */
export const METADATA_NAME = '__metadata__'

/** The bytes of the header's length. */
export const LENGTH_BYTES = 8

/** The first bytes of a file, from which `headerEnd` tells what it is. */
export const PREFIX_BYTES = 24

/** What other files begin with. A safetensors file may, too, as the length of its header. */
const OTHERS = [
  { magic: [0x1f, 0x8b], kind: 'one that gzip has compressed' },
  { magic: [0x50, 0x4b, 3, 4], kind: 'a ZIP archive, as torch.save writes it' },
]

/** The longest header that is read, in bytes: the limit of the format's own library. */
const MAX_HEADER = 100_000_000

/**
 * The bytes that Python's safetensors writes for the same tensors: larger dtypes first, then sorted by name,
 * and the header padded with spaces to a multiple of 8 bytes.
 *
 * @param dict tensors and int8 weights by name, of any instance
 * @param metadata for the header
 */
export function encodeSafetensors(
  dict: Record<string, unknown>,
  metadata: Record<string, string> = {},
): Uint8Array {
  const entries = Object.keys(dict).flatMap((name) => entriesOf(name, dict))
  entries.sort((a, b) => (a.dtype === b.dtype ? compare(a.name, b.name) : compare(a.dtype, b.dtype)))
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
  const buffer = newBuffer(LENGTH_BYTES + headerBytes + dataBytes)
  const file = new Uint8Array(buffer)
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

/** A tensor to be written. */
interface Written {
  name: string
  dtype: 'F32' | 'I8'
  shape: readonly number[]
  write: (target: Uint8Array) => void
}

/** @returns a tensor, or the values and the scales of an int8 weight */
function entriesOf(name: string, dict: Record<string, unknown>): Written[] {
  if (name === METADATA_NAME) {
    throw fail('VALUE', 'names', 'not be reserved by the format', '"__metadata__"')
  }
  const int8Weight = int8Of(dict[name])
  int8Weight?.checkLive(shortName(name))
  if (!int8Weight) {
    const { shape, size, runtime, byteOffset } = checkLiveTensor(shortName(name), dict[name])
    const write = (target: Uint8Array) => target.set(runtime.memory.bytes(byteOffset, 4 * size))
    return [{ name, dtype: 'F32', shape, write }]
  }
  const scale = name + SCALE
  if (Object.hasOwn(dict, scale)) {
    const expected = `be free for the scales of ${describe(name)}, which is int8`
    throw fail('VALUE', describe(scale), expected, 'a tensor')
  }
  const writeScales = (target: Uint8Array) => {
    const bytes = newBuffer(target.length)
    new Float32Array(bytes).set(int8Weight.scales())
    target.set(new Uint8Array(bytes))
  }
  return [
    { name, dtype: 'I8', shape: int8Weight.shape, write: (target) => int8Weight.readValues(target) },
    { name: scale, dtype: 'F32', shape: int8Weight.scalesShape, write: writeScales },
  ]
}

/** A file that is in memory. */
export class SafetensorsBytes {
  #bytes
  #start
  #slabs = new Slabs()

  readonly tensors: Info[]

  /**
   * @param what the argument that is the file, for errors
   * @throws {GptLayersError} TYPE where file is not bytes; VALUE where the bytes are not a whole safetensors
   *   file; UNSUPPORTED for other dtypes than those above
   */
  constructor(what: string, file: unknown) {
    const bytes = checkBytes(what, file)
    const start = headerEnd(what, bytes.subarray(0, PREFIX_BYTES))
    if (start > bytes.length) throw truncatedHeader(what, bytes.length, start)
    const { tensors, dataBytes } = readHeader(what, bytes.subarray(LENGTH_BYTES, start))
    if (start + dataBytes !== bytes.length) {
      throw notSafetensors(what, `${bytes.length} bytes instead of ${start + dataBytes}`)
    }
    this.#bytes = bytes
    this.#start = start
    this.tensors = tensors
  }

  /** @param options see `Slabs` */
  read(tensor: Info, options: { unit: number; isRaw: boolean }, use: UseRows): void {
    let at = this.#start + tensor.begin
    for (const room of this.#slabs.of(tensor, options, use)) {
      room.set(this.#bytes.subarray(at, at + room.length))
      at += room.length
    }
  }
}

/**
 * @param what the argument that is the file
 * @param prefix its first PREFIX_BYTES bytes, or all where it has less
 * @returns where the header ends
 */
export function headerEnd(what: string, prefix: Uint8Array): number {
  if (prefix.length < LENGTH_BYTES) throw notSafetensors(what, `${prefix.length} bytes`)
  if (prefix[LENGTH_BYTES] !== '{'.charCodeAt(0)) {
    const other = OTHERS.find(({ magic }) => magic.every((byte, i) => prefix[i] === byte))
    if (other) throw notSafetensors(what, other.kind)
  }
  const headerBytes = prefix.subarray(0, LENGTH_BYTES).reduceRight((n, byte) => 256n * n + BigInt(byte), 0n)
  if (headerBytes <= MAX_HEADER) return LENGTH_BYTES + Number(headerBytes)
  const text = printable(prefix)
  if (text.length >= LENGTH_BYTES) throw notSafetensors(what, `one that starts with ${describe(text)}`)
  throw notSafetensors(what, `a header of ${headerBytes} bytes, more than ${MAX_HEADER}`)
}

/** @param bytes how many the file has */
export const truncatedHeader = (what: string, bytes: number, end: number) =>
  notSafetensors(what, `${bytes} bytes, with a header that ends at ${end}`)

/** The text with which a file begins, such as a page of HTML. */
function printable(prefix: Uint8Array): string {
  const end = prefix.findIndex((byte) => byte < 0x20 || byte > 0x7e)
  return String.fromCharCode(...prefix.subarray(0, end < 0 ? prefix.length : end))
}
