// What the readers of files have in common.

import type { TensorInfo } from './names.ts'
import { fail, GptLayersError } from '../errors.ts'
import { MAX_AXES, sizeOf } from '../tensor/shape.ts'
import type { Bytes } from '../typed.ts'
import { type Values, bytesOf, MOST_VALUES, valuesOf } from './dtypes.ts'

/** A file whose tensors are known, and whose values come next. */
export interface TensorFile {
  tensors: TensorInfo[]
  /** what the file says about itself: the number of heads, for one. `config`: what a training script's settings say */
  stated: Record<string, unknown>
  /** how many bytes the file has up to the last value */
  byteLength: number
  /** Reads the values, in the order of the file. */
  read: (writerOf: (info: TensorInfo) => RowWriter | null) => Reading<void>
}

/**
 * Reads a file from its beginning: yields how many bytes it needs next, and gets them, fewer where the file ends.
 * They are valid until it yields again. So one reader serves bytes and streams.
 */
export type Reading<T> = Generator<number, T, Uint8Array>

/** The most tensors that are read from a file. A model has some thousands. */
export const MAX_TENSORS = 100_000

/** What files begin with, in hexadecimal. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/^1f8b/, 'one that gzip has compressed'],
  [/^504b0304/, 'a ZIP archive, as torch.save writes it: loadTorch reads it'],
  [
    /^800[2-5](?!00)/,
    'a pickle, as torch.save wrote it before PyTorch 1.6: load it there, and save it again',
  ],
  [/^47475546/, 'a GGUF file'],
  [/^894844460d0a1a0a/, 'an HDF5 file'],
  [/^934e554d5059/, 'a .npy file of NumPy'],
  [/^08[01].(12|3a|42)/, 'an ONNX model'], // a version below 32, then another field
  [/^.{16}7b/, 'a safetensors file: loadSafetensors reads it'],
]

/** What a file is that the reader does not read, by its first bytes. */
export function kindOf(prefix: Uint8Array): string | undefined {
  const text = Array.from(prefix.subarray(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return KINDS.find(([magic]) => magic.test(text))?.[1]
}

export const areCounts = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length <= MAX_AXES && value.every(isCount)

export const isCount = (n: unknown): n is number =>
  Number.isSafeInteger(n) && Number(n) >= 0 && !Object.is(n, -0)

/** Takes the values of a tensor: rows of a matrix; anything else is a matrix of one column. */
export interface RowWriter {
  /** the first of the rows that it takes at a time is a multiple of this */
  alignment: number
  /** @param values are valid during the call */
  write: (values: Values, first: number, rows: number) => void
}

/** The most rows of a matrix with so many columns that are read at once. */
export const rowsAtOnce = (cols: number, alignment: number): number =>
  alignment * Math.max(1, Math.floor(MOST_VALUES / (cols * alignment)))

export const rowsAndCols = (shape: readonly number[]): readonly number[] =>
  shape.length === 2 ? shape : [sizeOf(shape), 1]

/** Reads the values of the tensor that comes next in the file, some rows at a time. */
export function* readRows(
  cursor: Cursor,
  { name, dtype, shape }: TensorInfo,
  { alignment, write }: RowWriter,
): Reading<void> {
  const [count, cols] = rowsAndCols(shape)
  const most = rowsAtOnce(cols, alignment)
  for (let first = 0; first < count; first += most) {
    const rows = Math.min(most, count - first)
    const bytes = yield* cursor.read(bytesOf(dtype, [rows, cols]))
    write(valuesOf(name, dtype, bytes), first, rows)
  }
}

/** The bytes that are read at once of what is not converted. */
export const PIECE = 2 ** 22

/** Where a reader is in its file. */
export class Cursor {
  /** the argument that is the file, for errors */
  readonly what: string
  #kind
  at = 0
  /** what an error says of a file that ends early, after the number of its bytes */
  missing = ', which are not all of it'

  /** @param kind such as 'a safetensors file' */
  constructor(what: string, kind: string) {
    this.what = what
    this.#kind = kind
  }

  damaged(problem: string, cause?: unknown): GptLayersError {
    return fail('VALUE', this.what, `be ${this.#kind}`, problem, cause)
  }

  *read(bytes: number): Reading<Uint8Array> {
    const part = yield bytes
    this.at += part.length
    if (part.length === bytes) return part
    throw this.damaged(`${this.at} bytes${this.missing}`)
  }

  *skip(bytes: number): Reading<void> {
    for (let left = bytes; left > 0; left -= PIECE) yield* this.read(Math.min(left, PIECE))
  }
}

export function newBytes(length: number): Bytes {
  try {
    return new Uint8Array(length)
  } catch (cause) {
    throw new GptLayersError('MEMORY', `needs ${length} bytes of JavaScript's memory`, { cause })
  }
}
