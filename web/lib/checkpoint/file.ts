// What the readers of files have in common.

import { GptLayersError } from '../errors.ts'
import { sizeOf } from '../tensor/shape.ts'
import { bytesOf, toFloat32, toInt8 } from './dtypes.ts'

/** A tensor of a file. */
export interface Info {
  name: string
  /** one of DTYPES */
  dtype: string
  shape: readonly number[]
  /** tensors of which this is the same are the same numbers; undefined where the file does not say it */
  values?: string
}

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

export type Values = Float32Array | Int8Array

/** What takes the values of a tensor: rows of a matrix; anything else is a matrix of one column. */
export interface Sink {
  /** the first of the rows that it takes at a time is a multiple of this */
  unit: number
  /** whether it takes the integers of dtype I8; all else becomes float32 */
  isRaw: boolean
  /** @param values are valid during the call */
  write: (values: Values, first: number, rows: number) => void
}

/** The values that are read at once, unless a row of a matrix has more. */
const SLAB = 2 ** 20

/** The most rows of a matrix with so many columns that are read at once. */
export const slabRows = (cols: number, unit: number): number =>
  unit * Math.max(1, Math.floor(SLAB / (cols * unit)))

/** [rows, columns] */
const asMatrix = (shape: readonly number[]): readonly number[] =>
  shape.length === 2 ? shape : [sizeOf(shape), 1]

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

/** Gives all values of a tensor at once. */
export function writeAll(shape: readonly number[], { write }: Sink, values: Values): void {
  const [count, cols] = asMatrix(shape)
  if (count * cols > 0) write(values, 0, count)
}

/** The bytes that are skipped at once. */
const SKIP = 2 ** 22

export function* skip(bytes: number, read: (bytes: number) => Reading<Uint8Array>): Reading<void> {
  for (let left = bytes; left > 0; left -= SKIP) yield* read(Math.min(left, SKIP))
}

export function newBytes(length: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(length)
  } catch (cause) {
    throw new GptLayersError('MEMORY', `needs ${length} bytes of JavaScript's memory`, { cause })
  }
}
