// What the readers of files have in common.

import type { TensorInfo } from './names.ts'
import { MAX_AXES } from '../check.ts'
import { GptLayersError } from '../errors.ts'
import { type Sink, asMatrix, slabRows } from './rows.ts'
import type { Bytes } from '../typed.ts'
import { bytesOf, toFloat32, toInt8 } from './dtypes.ts'

/** A file whose tensors are known, and whose values come next. */
export interface TensorFile {
  tensors: TensorInfo[]
  /** what the file says about itself: the number of heads, for one. `config`: what a training script's settings say */
  stated: Record<string, unknown>
  /** how many bytes the file has up to the last value */
  byteLength: number
  /** Reads the values, in the order of the file. */
  read: (sinkOf: (info: TensorInfo) => Sink | null) => Reading<void>
}

/**
 * Reads a file from its begin: yields how many bytes it needs next, and gets them, fewer where the file ends.
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

/**
 * What a file is that the reader does not read.
 *
 * @param prefix its first bytes
 */
export function kindOf(prefix: Uint8Array): string | undefined {
  const text = Array.from(prefix.subarray(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return KINDS.find(([magic]) => magic.test(text))?.[1]
}

/** Whether a value is an array of integers >= 0, such as a shape. */
export const areCounts = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length <= MAX_AXES && value.every(isCount)

export const isCount = (n: unknown): n is number =>
  Number.isSafeInteger(n) && Number(n) >= 0 && !Object.is(n, -0)

/**
 * Reads the values of a tensor, which come next, a slab of rows at a time.
 *
 * @param read gives exactly so many bytes
 */
export function* readSlabs(
  { name, dtype, shape }: TensorInfo,
  { unit, isRaw, write }: Sink,
  read: (bytes: number) => Reading<Uint8Array>,
): Reading<void> {
  const [count, cols] = asMatrix(shape)
  if (cols === 0) return
  const most = slabRows(cols, unit)
  for (let first = 0; first < count; first += most) {
    const rows = Math.min(most, count - first)
    const bytes = yield* read(bytesOf(dtype, [rows, cols]))
    const isRawI8 = isRaw && dtype === 'I8'
    write(isRawI8 ? toInt8(bytes) : toFloat32(name, dtype, bytes), first, rows)
  }
}

/** The bytes that are skipped at once. */
const SKIP = 2 ** 22

export function* skip(bytes: number, read: (bytes: number) => Reading<Uint8Array>): Reading<void> {
  for (let left = bytes; left > 0; left -= SKIP) yield* read(Math.min(left, SKIP))
}

export function newBytes(length: number): Bytes {
  try {
    return new Uint8Array(length)
  } catch (cause) {
    throw new GptLayersError('MEMORY', `needs ${length} bytes of JavaScript's memory`, { cause })
  }
}
