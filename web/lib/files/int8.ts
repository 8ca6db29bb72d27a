// How matrices become int8, and how int8 weights get their values: from float32 or int8, row by row.

import type { Memory } from '../runtime/memory.ts'
import type { Read } from './copy.ts'
import type { Matrices } from './matrix.ts'
import { shortName } from '../check.ts'
import { type GptLayersError, fail, withName } from '../errors.ts'
import { checkTensor } from '../tensor/tensor.ts'
import { evenGroups, GROUP_SIZE, groupLength, int8Of, Int8Weight, alignmentOf } from '../tensor/int8weight.ts'
import { type Match, type TensorInfo, SCALE } from './names.ts'
import type { Values } from './dtypes.ts'
import { type RowWriter, rowsAtOnce } from './reading.ts'

/**
 * Makes the factors of products int8, one after the other.
 *
 * @param caller the name of the public function, for errors
 * @throws {GptLayersError} VALUE where one is not finite, before any is changed; MEMORY
 */
function quantize(matrices: Matrices, groupSize: number, caller: string): void {
  const floats = [...matrices].filter(([weight, { isProduct }]) => isProduct && weight.int8Weight === null)
  for (const [weight, { name }] of floats) {
    checkTensor(name, weight)
    if (!areFinite(weight.data)) throw notFinite(name)
  }
  for (const [weight, { name, transposed }] of floats) {
    const [rows, cols] = weight.shape
    const [outputs, inputs] = transposed ? [cols, rows] : [rows, cols]
    try {
      const int8Weight = Int8Weight.empty([outputs, inputs], evenGroups(inputs, groupSize))
      int8Weight.quantizeRows(weight, 0, rows, transposed)
      weight.becomeInt8(int8Weight)
    } catch (error) {
      throw withName(error, `${caller}: ${name}`)
    }
  }
}

/** How an int8 weight gets its values. */
interface Layout {
  /** [outputs, inputs] */
  shape: readonly [number, number]
  groupSize: number
  /** whether the matrix in the file is [inputs, outputs] */
  transposed: boolean
  /** the first of the rows that are written at once is a multiple of this */
  alignment: number
}

/** @returns null where the tensor is float32, and stays so */
function layoutOf(match: Match, matrices: Matrices, dtype: 'float32' | 'int8'): Layout | null {
  const { target, info, scale, part } = match
  const matrix = matrices.get(target)
  const { int8Weight } = target
  if (!scale && !int8Weight && !(dtype === 'int8' && matrix?.isProduct)) return null
  const transposed = !scale && part === null && match.transposed !== matrix?.transposed
  const [rows, cols] = info.shape
  const count = part === null ? rows : 3 * rows
  const [outputs, inputs] = transposed ? [cols, count] : [count, cols]
  const groupSize =
    int8Weight?.groupSize ?? (scale ? groupSizeOf(info, scale) : evenGroups(inputs, GROUP_SIZE))
  return { shape: [outputs, inputs], groupSize, transposed, alignment: alignmentOf(transposed, groupSize) }
}

/** Writes rows to int8 weights. See `Copier`, whose parameters these are. */
class Int8Writer {
  #memory
  /** The matches whose tensor is an int8 weight, or becomes one. */
  #layouts: Map<Match, Layout> = new Map()
  /** Memory of the heap, from which rows are written to an int8 weight. */
  #scratch = { byteOffset: 0, bytes: 0 }
  /** Int8 weights that come in parts: the values so far [outputs, inputs], and how many are missing. */
  #joined: Map<unknown, { all: Float32Array; missing: number }> = new Map()

  constructor(memory: Memory, matrices: Matrices, matches: readonly Match[], dtype: 'float32' | 'int8') {
    this.#memory = memory
    let bytes = 0
    for (const match of matches) {
      const layout = layoutOf(match, matrices, dtype)
      if (!layout) continue
      this.#layouts.set(match, layout)
      const { shape, transposed, alignment } = layout
      const [rows, cols] = transposed ? [shape[1], shape[0]] : shape
      bytes = Math.max(bytes, (match.scale ? 1 : 4) * cols * Math.min(rows, rowsAtOnce(cols, alignment)))
    }
    if (bytes > 0) this.#scratch = { byteOffset: memory.allocate(bytes), bytes }
  }

  end(): void {
    const { byteOffset, bytes } = this.#scratch
    if (bytes > 0) this.#memory.free(byteOffset, bytes)
  }

  /** @returns null for a tensor that stays float32 */
  writerOf(match: Match, info: TensorInfo): RowWriter | null {
    const layout = this.#layouts.get(match)
    if (!layout) return null
    const { target, scale, part } = match
    return {
      alignment: layout.alignment,
      write: (values, first, rows) => {
        const int8Weight = target.int8Weight ?? Int8Weight.empty(layout.shape, layout.groupSize)
        if (!target.int8Weight) target.becomeInt8(int8Weight)
        if (info === scale) int8Weight.writeScales(checkScales(info, values), first, rows)
        else if (scale) this.#writeRows(int8Weight, layout, info, integersOf(info, values), first)
        else if (part === null) this.#writeRows(int8Weight, layout, info, values, first)
        else {
          // All parts at once: one need not begin where a block of the int8 layout does.
          const [outputs, inputs] = layout.shape
          const size = outputs * inputs
          const joined = this.#joined.get(target) ?? { all: new Float32Array(size), missing: size }
          this.#joined.set(target, joined)
          joined.all.set(values, (part * size) / 3 + first * inputs)
          joined.missing -= values.length
          if (joined.missing > 0) return
          this.#joined.delete(target)
          this.#writeRows(int8Weight, layout, info, joined.all, 0)
        }
      },
    }
  }

  /** Integers are written as they are, floats are rounded. */
  #writeRows(
    int8Weight: Int8Weight,
    { shape, transposed, alignment }: Layout,
    { name }: TensorInfo,
    values: Values,
    first: number,
  ): void {
    const cols = shape[transposed ? 0 : 1]
    const most = cols * rowsAtOnce(cols, alignment)
    const { byteOffset } = this.#scratch
    for (let at = 0; at < values.length; at += most) {
      const part = values.subarray(at, at + most)
      const [row, count] = [first + at / cols, part.length / cols]
      if (part instanceof Int8Array) {
        this.#memory.bytes(byteOffset, part.length).set(part)
        int8Weight.packRows(this.#scratch, row, count)
      } else {
        this.#memory.floats(byteOffset, part.length).set(part)
        if (!int8Weight.quantizeRows(this.#scratch, row, count, transposed)) throw notFinite(name)
      }
    }
  }
}

const newWriter = (...args: ConstructorParameters<typeof Int8Writer>): Int8Writer => new Int8Writer(...args)

/** The values and the scales of an int8 weight in a dict; null for anything else. */
function entriesOf(name: string, value: unknown): [TensorInfo, () => Values][] | null {
  const int8Weight = int8Of(value)
  if (!int8Weight) return null
  Int8Weight.checkLive(int8Weight, shortName(name))
  const { shape, scalesShape } = int8Weight
  return [
    [{ name, dtype: 'I8', shape }, () => int8Weight.values()],
    [{ name: name + SCALE, dtype: 'F32', shape: scalesShape }, () => int8Weight.scales()],
  ]
}

/** Whether a tensor is int8. Refuses one that was disposed. */
function isLive(name: string, { int8Weight }: { int8Weight: Int8Weight | null }): boolean {
  if (int8Weight) Int8Weight.checkLive(int8Weight, name)
  return int8Weight !== null
}

/** Whether int8 values may be copied as they are. */
const fits = ({ info, scale, target }: Match): boolean =>
  scale !== null && groupSizeOf(info, scale) === target.int8Weight?.groupSize

/** Checks the values for an int8 weight. */
function checkValues({ info, scale, target }: Match, read: Read): void {
  if (scale) {
    integersOf(info, read(info))
    checkScales(scale, read(scale))
  } else if (target.int8Weight && !areFinite(read(info))) throw notFinite(info.name)
}

function areFinite(values: ArrayLike<number>): boolean {
  for (let i = 0; i < values.length; i++) if (!(Math.abs(values[i]) < Infinity)) return false
  return true
}

const notFinite = (name: string): GptLayersError =>
  fail('VALUE', shortName(name), 'be finite to become int8', 'NaN or an infinity')

/** How many inputs of a weight [outputs, inputs] in a file share a scale; the scales are [outputs, groups]. */
function groupSizeOf(weight: TensorInfo, scale: TensorInfo): number {
  const name = shortName(weight.name)
  const dtypes = `${weight.dtype} and ${scale.dtype}`
  // The tensors of loadSafetensors are float32, whatever the file has.
  if (dtypes !== 'I8 and F32' && dtypes !== 'F32 and F32')
    throw fail('VALUE', `${name} and ${name}${SCALE}`, 'be I8 and F32', dtypes)
  const [outputs, inputs] = weight.shape
  const [rows, groups] = scale.shape
  const length = scale.shape.length === 2 && rows === outputs ? groupLength(inputs, groups) : 0
  if (length > 0) return length
  const expected = `have shape [${outputs}, groups], with groups of equal, even length`
  throw fail('SHAPE', name + SCALE, expected, `[${scale.shape.join(', ')}]`)
}

function checkScales({ name }: TensorInfo, scales: Values): Float32Array {
  const wrong = scales.find((scale) => !(scale >= 0 && scale < Infinity))
  if (wrong === undefined) return scales as Float32Array // a scale is F32
  throw fail('VALUE', shortName(name), 'have finite scales from 0 on', wrong)
}

/** @throws {GptLayersError} VALUE where a value is not an int8 */
function integersOf({ name }: TensorInfo, values: Values): Int8Array {
  if (values instanceof Int8Array) return values
  const integers = Int8Array.from(values)
  if (values.every((value, i) => value === integers[i])) return integers
  throw fail('VALUE', shortName(name), 'have integers from -128 to 127 beside its scales')
}

/** The values of an int8 weight times their scales. */
function floatsOf({ info, scale }: Match, read: Read): Float32Array {
  const integers = integersOf(info, read(info))
  const scales = scale ? checkScales(scale, read(scale)) : new Float32Array(0)
  const [rows, inputs] = info.shape
  const groups = scales.length / rows
  const length = groupLength(inputs, groups)
  const floats = new Float32Array(integers.length)
  for (let row = 0, at = 0; row < rows; row++) {
    for (let input = 0; input < inputs; input++, at++) {
      floats[at] = integers[at] * scales[row * groups + Math.floor(input / length)]
    }
  }
  return floats
}

/** What a layer with matrices leads to. */
export const int8 = { quantize, newWriter, entriesOf, isLive, fits, checkValues, floatsOf }
