// Copies values into tensors: for loadStateDict, whose values are in memory, and for files as they arrive.

import type { Memory } from '../runtime/memory.ts'
import { checkSameShape, shortName } from '../check.ts'
import { type GptLayersError, fail } from '../errors.ts'
import { heap } from '../runtime/runtime.ts'
import { checkTensor } from '../tensor/check.ts'
import {
  type Matrices,
  evenGroups,
  GROUP_SIZE,
  groupLength,
  int8Of,
  Int8Weight,
  unitOf,
} from '../tensor/int8weight.ts'
import { Tensor } from '../tensor/tensor.ts'
import { type Match, type TensorInfo, matchNames, SCALE } from './names.ts'
import { type RowWriter, type Values, asMatrix, rowsAtOnce } from './reading.ts'

/** How an int8 weight gets its values. */
interface Int8Layout {
  /** [outputs, inputs] */
  shape: readonly [number, number]
  groupSize: number
  /** whether the matrix in the file is [inputs, outputs] */
  transposed: boolean
  /** the first of the rows that are written at once is a multiple of this */
  alignment: number
}

/** @returns null where the tensor is float32, and stays so */
function layoutOf(match: Match, matrices: Matrices, dtype: 'float32' | 'int8'): Int8Layout | null {
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
  return { shape: [outputs, inputs], groupSize, transposed, alignment: unitOf(transposed, groupSize) }
}

/** Writes values to the tensors that matched. A new layer's tensor gets memory with its first values. */
export class Copier {
  #memory
  /** The matches of a tensor of the file, or of scales. */
  #matches: Map<TensorInfo, Match[]> = new Map()
  /** Those whose tensor is an int8 weight, or becomes one. */
  #layouts: Map<Match, Int8Layout> = new Map()
  /** Memory of the heap, from which rows are written to an int8 weight. */
  #scratch = { byteOffset: 0 }
  /** The name under which a tensor of two names gets its values: the first that comes. */
  #firstNames: Map<Tensor, string> = new Map()
  /** Int8 weights that come in parts: the values so far [outputs, inputs], and how many are missing. */
  #joined: Map<Tensor, { all: Float32Array; missing: number }> = new Map()

  /**
   * Checks the shapes. Nothing is written yet.
   *
   * @param memory the heap of the tensors. Whoever calls a `write` has checked that it is live
   * @param dtype what a float32 matrix of a new layer becomes
   * @throws {GptLayersError} SHAPE, VALUE; MEMORY
   */
  constructor(memory: Memory, matrices: Matrices, matches: readonly Match[], dtype: 'float32' | 'int8') {
    this.#memory = memory
    let bytes = 0
    for (const match of matches) {
      const { info, scale } = match
      checkShape(match)
      for (const one of scale ? [info, scale] : [info]) {
        this.#matches.set(one, [...(this.#matches.get(one) ?? []), match])
      }
      const layout = layoutOf(match, matrices, dtype)
      if (!layout) continue
      this.#layouts.set(match, layout)
      const { shape, transposed, alignment } = layout
      const [rows, cols] = transposed ? [shape[1], shape[0]] : shape
      bytes = Math.max(bytes, (scale ? 1 : 4) * cols * Math.min(rows, rowsAtOnce(cols, alignment)))
    }
    if (bytes > 0) this.#scratch.byteOffset = memory.allocate(bytes)
  }

  /** Frees the scratch memory. */
  end(): void {
    if (this.#scratch.byteOffset > 0) this.#memory.free(this.#scratch.byteOffset)
  }

  /** What writes the values of a tensor of the file to all tensors that it matched. */
  writerOf(info: TensorInfo): RowWriter | null {
    const writers = (this.#matches.get(info) ?? []).map((match) => this.#writerOf(match, info))
    if (writers.length < 2) return writers[0] ?? null
    return {
      alignment: writers.reduce((n, { alignment }) => (n % alignment ? n * alignment : n), 1),
      takesInt8: writers[0].takesInt8,
      write: (...rows) => writers.forEach(({ write }) => write(...rows)),
    }
  }

  #writerOf(match: Match, info: TensorInfo): RowWriter {
    const { name, target, scale } = match
    const layout = this.#layouts.get(match)
    return {
      alignment: layout?.alignment ?? 1,
      takesInt8: scale !== null && info !== scale,
      write: (values, first, rows) => {
        const firstName = this.#firstNames.get(target) ?? name
        this.#firstNames.set(target, firstName)
        if (layout) {
          if (firstName === name) this.#writeInt8(match, layout, info, values, first, rows)
        } else if (firstName === name) {
          if (target.isMeta) Tensor.materialize(target)
          target.changed()
          copyRows(match, target.data, values, first, rows)
        } else checkTied(match, firstName, target.data, values, first, rows)
      },
    }
  }

  #writeInt8(
    { target, scale, part }: Match,
    layout: Int8Layout,
    info: TensorInfo,
    values: Values,
    first: number,
    rows: number,
  ): void {
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
  }

  /** Integers are written as they are, floats are rounded. */
  #writeRows(
    int8Weight: Int8Weight,
    { shape, transposed, alignment }: Int8Layout,
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

/** Checks the shape of a tensor of the file, which may be transposed, or a part of ours. */
function checkShape({ target, transposed, part, info }: Match): void {
  const shape = transposed ? [...target.shape].reverse() : [...target.shape]
  if (part !== null) shape[0] /= 3
  checkSameShape(shortName(info.name), info.shape, shape)
}

/** Where an element of the file's matrix is in our tensor: that of [row, 0], and how far [row, 1] is from it. */
function indexOf({ target, transposed, part, info }: Match, row: number): { at: number; step: number } {
  const cols = target.shape.length === 2 ? target.shape[1] : 1
  const ownRow = (part ?? 0) * info.shape[0] + row
  return transposed ? { at: ownRow, step: cols } : { at: ownRow * cols, step: 1 }
}

/** Copies rows of the file's matrix to their place in our tensor's data. */
function copyRows(match: Match, data: Float32Array, values: Values, first: number, rows: number): void {
  const { at, step } = indexOf(match, first)
  if (step === 1) {
    data.set(values, at)
    return
  }
  const cols = values.length / rows
  for (let c = 0; c < cols; c++) {
    for (let r = 0, to = at + c * step; r < rows; r++) data[to + r] = values[r * cols + c]
  }
}

/** @throws {GptLayersError} VALUE where a tensor of two names has got other values under the first */
function checkTied(
  match: Match,
  firstName: string,
  data: Float32Array,
  values: Values,
  first: number,
  rows: number,
): void {
  const cols = values.length / rows
  for (let r = 0; r < rows; r++) {
    const { at, step } = indexOf(match, first + r)
    for (let c = 0; c < cols; c++) {
      if (Object.is(values[r * cols + c], data[at + c * step])) continue
      throw fail('VALUE', match.name, `be ${firstName}, with which it is tied`, 'other values')
    }
  }
}

/** What PyTorch's load_state_dict returns. */
export interface LoadedKeys {
  missingKeys: string[]
  unexpectedKeys: string[]
}

/**
 * Copies tensors into those of a layer. Each stays float32 or int8. Everything is checked before anything is
 * changed.
 *
 * @param own the layer's state dict
 * @param matrices the layer's
 * @param strict false: names that are missing or unknown are no errors
 * @throws {GptLayersError} VALUE for a name that is missing, unknown or there twice, tied tensors that
 *   differ, and NaN or an infinity for an int8 weight
 */
export function copyDict(
  own: Record<string, Tensor>,
  matrices: Matrices,
  dict: Record<string, unknown>,
  strict: boolean,
): LoadedKeys {
  /** The values of each tensor, and of the scales of each int8 weight. */
  const values: Map<TensorInfo, () => Values> = new Map()
  const read = (info: TensorInfo): Values => values.get(info)?.() ?? new Float32Array(0)
  const isOwn: Set<unknown> = new Set(Object.values(own))
  for (const [name, value] of Object.entries(dict)) {
    const add = (name: string, dtype: string, shape: readonly number[], read: () => Values) => {
      const copy = isOwn.has(value) ? read().slice() : null // it may change before it is read
      values.set({ name, dtype, shape }, copy ? () => copy : read)
    }
    const int8Weight = int8Of(value)
    if (int8Weight) {
      Int8Weight.checkLive(int8Weight, shortName(name))
      add(name, 'I8', int8Weight.shape, () => int8Weight.values())
      add(name + SCALE, 'F32', int8Weight.scalesShape, () => int8Weight.scales())
    } else {
      const tensor = checkTensor(shortName(name), value)
      add(name, 'F32', tensor.shape, () => tensor.data)
    }
  }
  const { matches, missing, unknown } = matchNames(own, matrices, 'dict', [...values.keys()], strict)
  /** Each int8 value times its scale, where the layer's weight is float32 or has other groups. */
  const fitting = matches.map((match): Match => {
    const { name, target, info, scale } = match
    if (target.int8Weight) Int8Weight.checkLive(target.int8Weight, `own ${name}`)
    else checkTensor(`own ${name}`, target)
    checkShape(match)
    if (!scale || groupSizeOf(info, scale) === target.int8Weight?.groupSize) return match
    const floats = { ...info, dtype: 'F32' }
    values.set(floats, () => floatsOf(match, read))
    return { ...match, info: floats, scale: null }
  })
  const copier = new Copier(heap(), matrices, fitting, 'float32')
  try {
    checkValues(fitting, read)
    for (const info of values.keys()) {
      const [rows, cols] = asMatrix(info.shape)
      if (rows * cols > 0) copier.writerOf(info)?.write(read(info), 0, rows)
    }
  } finally {
    copier.end()
  }
  return { missingKeys: missing, unexpectedKeys: unknown }
}

/**
 * Checks what `Copier` finds only as it writes.
 *
 * @param read gives all values of a tensor
 * @throws {GptLayersError} VALUE
 */
function checkValues(matches: readonly Match[], read: (info: TensorInfo) => Values): void {
  /** The matches of each tensor under the first of its names. */
  const firsts: Map<Tensor, Match[]> = new Map()
  for (const match of matches) {
    const { name, info, scale, target } = match
    const values = read(info)
    if (scale) {
      integersOf(info, values)
      checkScales(scale, read(scale))
    } else if (target.int8Weight && !areFinite(values)) throw notFinite(info.name)
    const first = firsts.get(target) ?? []
    firsts.set(target, first)
    if (first.length === 0 || first[0].name === name) {
      first.push(match)
      continue
    }
    const data = new Float32Array(target.size)
    for (const one of first) copyRows(one, data, floatsOf(one, read), 0, asMatrix(one.info.shape)[0])
    checkTied(match, first[0].name, data, floatsOf(match, read), 0, asMatrix(info.shape)[0])
  }
}

export function areFinite(values: ArrayLike<number>): boolean {
  for (let i = 0; i < values.length; i++) if (!(Math.abs(values[i]) < Infinity)) return false
  return true
}

export const notFinite = (name: string): GptLayersError =>
  fail('VALUE', shortName(name), 'be finite to become int8', 'NaN or an infinity')

/**
 * Checks the scales of an int8 weight in a file: [outputs, groups].
 *
 * @param weight [outputs, inputs]
 * @returns how many inputs share a scale
 */
function groupSizeOf(weight: TensorInfo, scale: TensorInfo): number {
  const name = shortName(weight.name)
  const dtypes = `${weight.dtype} and ${scale.dtype}`
  // The tensors of loadSafetensors are float32, whatever the file has.
  if (dtypes !== 'I8 and F32' && dtypes !== 'F32 and F32')
    throw fail('VALUE', `${name} and ${name}_scale`, 'be I8 and F32', dtypes)
  const [outputs, inputs] = weight.shape
  const [rows, groups] = scale.shape
  const length = scale.shape.length === 2 && rows === outputs ? groupLength(inputs, groups) : 0
  if (length > 0) return length
  const expected = `have shape [${outputs}, groups], with groups of equal, even length`
  throw fail('SHAPE', `${name}_scale`, expected, `[${scale.shape.join(', ')}]`)
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

/** All values that match; those of an int8 weight times their scales. */
function floatsOf({ info, scale }: Match, read: (info: TensorInfo) => Values): Values {
  const values = read(info)
  if (!scale) return values
  const integers = integersOf(info, values)
  const scales = checkScales(scale, read(scale))
  const [rows, inputs] = info.shape
  const groups = scales.length / rows
  const length = groupLength(inputs, groups)
  const floats = new Float32Array(values.length)
  for (let row = 0, at = 0; row < rows; row++) {
    for (let input = 0; input < inputs; input++, at++) {
      floats[at] = integers[at] * scales[row * groups + Math.floor(input / length)]
    }
  }
  return floats
}
