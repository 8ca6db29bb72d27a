// What the readers of files have in common.

import type { Info } from '../layers/names.ts'
import { GptLayersError } from '../errors.ts'
import { type Sink, asMatrix, slabRows } from '../tensor/slabs.ts'
import type { Bytes } from '../typed.ts'
import { bytesOf, toFloat32, toInt8 } from './dtypes.ts'

/** A file whose tensors are known, and whose values come next. */
export interface TensorFile {
  tensors: Info[]
  /** what the file says about itself: the number of heads, for one */
  stated: Record<string, unknown>
  /** how many bytes the file has up to the last value */
  byteLength: number
  /** Reads the values, in the order of the file. */
  read: (sinkOf: (info: Info) => Sink | null) => Reading<void>
}

/**
 * Reads a file from its begin: yields how many bytes it needs next, and gets them, fewer where the file ends.
 * They are valid until it yields again. So one reader serves bytes and streams.
 */
export type Reading<T> = Generator<number, T, Uint8Array>

/**
 * Reads the values of a tensor, which come next, a slab of rows at a time.
 *
 * @param read gives exactly so many bytes
 */
export function* readSlabs(
  { name, dtype, shape }: Info,
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
