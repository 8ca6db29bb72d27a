// How the values of a large tensor are read and written: some rows at a time.

import { sizeOf } from '../tensor/shape.ts'

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
export const asMatrix = (shape: readonly number[]): readonly number[] =>
  shape.length === 2 ? shape : [sizeOf(shape), 1]

/** Gives all values of a tensor at once. */
export function writeAll(shape: readonly number[], { write }: Sink, values: Values): void {
  const [count, cols] = asMatrix(shape)
  if (count * cols > 0) write(values, 0, count)
}

/** A sink that takes any rows, as floats. */
export const floats = (write: Sink['write']): Sink => ({ unit: 1, isRaw: false, write })
