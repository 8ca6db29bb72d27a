import type { Info } from './header.ts'
import { GptLayersError } from '../errors.ts'
import { sizeOf } from '../tensor/shape.ts'
import { bytesOf, toFloat32 } from './dtypes.ts'

/** The float32 values that are read at once, unless a row of a matrix has more. */
const SLAB_FLOATS = 2 ** 20

/** The rows of a slab of a matrix with so many columns: a multiple of unit. */
export const slabRows = (cols: number, unit: number): number =>
  unit * Math.max(1, Math.floor(SLAB_FLOATS / (cols * unit)))

export type Values = Float32Array | Int8Array

/** Uses rows of a tensor, in memory that is used again. */
export type UseRows = (values: Values, first: number, rows: number) => void

/** The data of a tensor in slabs of whole rows, so that a file need not be in memory twice. */
export class Slabs {
  #bytes = new ArrayBuffer(0)
  #floats = new ArrayBuffer(0);

  /**
   * @param tensor a matrix, or anything else as a matrix of one column
   * @param options unit: the first row of a slab is a multiple of this. isRaw: whether values of dtype I8
   *   stay integers; all others become float32
   * @returns the room for the bytes of each slab, which the caller has to fill
   * @throws {GptLayersError} VALUE for an integer that is no float32; MEMORY
   */
  *of(
    { name, dtype, shape }: Info,
    { unit, isRaw }: { unit: number; isRaw: boolean },
    use: UseRows,
  ): Generator<Uint8Array, void> {
    const [count, cols] = shape.length === 2 ? shape : [sizeOf(shape), 1]
    if (cols === 0) return
    const most = slabRows(cols, unit)
    for (let first = 0; first < count; first += most) {
      const rows = Math.min(most, count - first)
      const bytes = bytesOf(dtype, [rows, cols])
      if (this.#bytes.byteLength < bytes) this.#bytes = newBuffer(bytes)
      yield new Uint8Array(this.#bytes, 0, bytes)
      if (isRaw && dtype === 'I8') {
        use(new Int8Array(this.#bytes, 0, bytes), first, rows)
        continue
      }
      const room = 4 * rows * cols
      if (dtype !== 'F32' && this.#floats.byteLength < room) this.#floats = newBuffer(room)
      use(toFloat32(name, dtype, this.#bytes, bytes, this.#floats), first, rows)
    }
  }
}

export function newBuffer(bytes: number): ArrayBuffer {
  try {
    return new ArrayBuffer(bytes)
  } catch (cause) {
    throw new GptLayersError('MEMORY', `needs ${bytes} bytes of JavaScript's memory`, { cause })
  }
}
