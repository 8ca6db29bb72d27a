// Copies tensors into those of a layer.

import type { Tensor } from '../tensor/tensor.ts'
import { checkSameShape, shortName } from '../check.ts'
import { fail, GptLayersError } from '../errors.ts'
import { heap } from '../runtime/runtime.ts'
import { checkTensor } from '../tensor/check.ts'
import { type Matrices, groupLength, int8Of, Int8Weight, unitOf } from '../tensor/int8weight.ts'
import { type Values, asMatrix, slabRows } from './rows.ts'
import { type TensorInfo, type Match, matchNames, SCALE } from './names.ts'

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
export function loadDict(
  own: Record<string, Tensor>,
  matrices: Matrices,
  dict: Record<string, unknown>,
  strict: boolean,
): LoadedKeys {
  /** The values of each tensor, and of the scales of each int8 weight. */
  const given: Map<TensorInfo, () => Values> = new Map()
  const isOwn = new Set(Object.values(own))
  for (const [name, value] of Object.entries(dict)) {
    const int8Weight = int8Of(value)
    if (int8Weight) {
      Int8Weight.checkLive(int8Weight, shortName(name))
      given.set({ name, dtype: 'I8', shape: int8Weight.shape }, () => int8Weight.values())
      const scales = { name: name + SCALE, dtype: 'F32', shape: int8Weight.scalesShape }
      given.set(scales, () => int8Weight.scales())
    } else {
      const tensor = checkTensor(shortName(name), value)
      const copy = isOwn.has(tensor) ? tensor.data.slice() : null // it may change before it is read
      given.set({ name, dtype: 'F32', shape: tensor.shape }, () => copy ?? tensor.data)
    }
  }
  const { matches, missing, unknown } = matchNames(own, matrices, 'dict', [...given.keys()], strict)
  const targets: Map<Tensor, Target> = new Map()
  for (const place of matches) {
    const target = targets.get(place.target) ?? new Target(place.target, matrices, given)
    targets.set(place.target, target)
    target.add(place)
  }
  for (const target of targets.values()) target.check()
  const bytes = Math.max(...[...targets.values()].map((target) => target.stageBytes), 0)
  const stage = { byteOffset: bytes > 0 ? heap().allocate(bytes) : 0 }
  try {
    for (const target of targets.values()) target.write(stage)
  } finally {
    if (bytes > 0) heap().free(stage.byteOffset)
  }
  return { missingKeys: missing, unexpectedKeys: unknown }
}

/** A tensor of the layer, and where its values come from. */
class Target {
  #tensor
  #isTransposed
  #given
  /** Its places by our name for it: one, or three where the file has thirds. */
  #places: Map<string, Match[]> = new Map()
  /** Scratch bytes: one slab of rows on its way into the int8 layout. */
  stageBytes = 0

  constructor(tensor: Tensor, matrices: Matrices, given: ReadonlyMap<TensorInfo, () => Values>) {
    this.#tensor = tensor
    this.#isTransposed = matrices.get(tensor)?.transposed ?? false
    this.#given = given
  }

  /** @throws {GptLayersError} DISPOSED, SHAPE, VALUE */
  add(place: Match): void {
    const { name, info, scale } = place
    const { int8Weight } = this.#tensor
    if (int8Weight) Int8Weight.checkLive(int8Weight, `own ${name}`)
    else checkTensor(`own ${name}`, this.#tensor)
    const shape = shapeInFile(place)
    if (scale) groupSizeOf(info, scale, shape)
    else checkSameShape(shortName(info.name), info.shape, shape)
    this.#places.set(name, [...(this.#places.get(name) ?? []), place])
  }

  /** @throws {GptLayersError} VALUE where the tensor cannot get its values. Nothing is changed before */
  check(): void {
    const { int8Weight } = this.#tensor
    const [[first, places], ...others] = this.#places
    for (const { info, scale } of places) {
      if (!scale) continue
      integersOf(info, this.#read(info))
      checkScales(scale, this.#read(scale))
    }
    if (int8Weight) {
      const [rows, cols] = this.#tensor.shape
      const [outputs, inputs] = int8Weight.shape
      const ofFloats = 4 * cols * Math.min(rows, this.#rowsAtOnce(int8Weight))
      this.stageBytes = Math.max(ofFloats, inputs * Math.min(outputs, slabRows(inputs, unitOf(false, 0))))
      const [{ info, scale }] = places
      if (!scale && !areFinite(this.#gather(places))) throw notFinite(info.name)
    }
    if (others.length === 0) return
    const values = this.#gather(places)
    for (const [name, tied] of others) {
      const same = this.#gather(tied)
      if (values.every((value, i) => Object.is(value, same[i]))) continue
      throw fail('VALUE', name, `be ${first}, with which it is tied`, 'other values')
    }
  }

  /** @param stage memory of `stageBytes` */
  write(stage: { byteOffset: number }): void {
    const [[, places]] = this.#places
    const { int8Weight } = this.#tensor
    if (!int8Weight) {
      for (const place of places) this.#copy(place, () => this.#tensor.data)
      this.#tensor.changed()
      return
    }
    const [{ info, scale }] = places
    if (scale && groupSizeOf(info, scale, int8Weight.shape) === int8Weight.groupSize) {
      const values = integersOf(info, this.#read(info))
      const [outputs, inputs] = int8Weight.shape
      const most = slabRows(inputs, unitOf(false, int8Weight.groupSize))
      for (let row = 0; row < outputs; row += most) {
        const part = values.subarray(row * inputs, (row + most) * inputs)
        heap().bytes(stage.byteOffset, part.length).set(part)
        int8Weight.packRows(stage, row, part.length / inputs)
      }
      int8Weight.writeScales(checkScales(scale, this.#read(scale)), 0, outputs)
      return
    }
    const values = this.#gather(places)
    const [rows, cols] = this.#tensor.shape
    const most = this.#rowsAtOnce(int8Weight)
    for (let row = 0; row < rows; row += most) {
      const part = values.subarray(row * cols, (row + most) * cols)
      heap().floats(stage.byteOffset, part.length).set(part)
      int8Weight.quantizeRows(stage, row, part.length / cols, this.#isTransposed)
    }
  }

  #rowsAtOnce({ groupSize }: Int8Weight): number {
    return slabRows(this.#tensor.shape[1], unitOf(this.#isTransposed, groupSize))
  }

  #read(info: TensorInfo): Values {
    const read = this.#given.get(info)
    return read ? read() : new Float32Array(0)
  }

  /** The values in the tensor's own layout. */
  #gather(places: readonly Match[]): Float32Array {
    const data = new Float32Array(this.#tensor.size)
    for (const place of places) this.#copy(place, () => data)
    return data
  }

  /** @param into is called last, because to read an int8 weight may grow the memory, which moves it */
  #copy(place: Match, into: () => Float32Array): void {
    const { info, scale } = place
    const [rows, cols] = asMatrix(info.shape)
    if (rows * cols === 0) return
    const values = this.#read(info)
    const scales = scale && checkScales(scale, this.#read(scale))
    const floats = scales ? products(integersOf(info, values), scales, rows) : values
    copyRows(place, into(), floats, 0, rows)
  }
}

/** The shape that a file has for a tensor of ours, or for a part of it. */
export function shapeInFile({ target, transposed, part }: Match): number[] {
  const shape = transposed ? [...target.shape].reverse() : [...target.shape]
  if (part !== null) shape[0] /= 3
  return shape
}

/** Where an element of the file's matrix is in the tensor's data. */
export function indexIn({ target, transposed, part, info }: Match): (row: number, col: number) => number {
  const before = (part ?? 0) * info.shape[0]
  const [rowStep, colStep] = transposed ? [1, target.shape[1]] : [target.shape[1] ?? 1, 1]
  if (target.shape.length > 2) return (row) => row
  return (row, col) => (before + row) * rowStep + col * colStep
}

/** Copies rows of the file's matrix to their place in the tensor's data. */
export function copyRows(
  place: Match,
  data: Float32Array,
  values: Values,
  first: number,
  rows: number,
): void {
  const cols = values.length / rows
  const at = indexIn(place)
  if (!place.transposed) {
    data.set(values, at(first, 0))
    return
  }
  for (let c = 0; c < cols; c++) {
    for (let r = 0, to = at(first, c); r < rows; r++) data[to + r] = values[r * cols + c]
  }
}

export function areFinite(values: ArrayLike<number>): boolean {
  for (let i = 0; i < values.length; i++) if (!(Math.abs(values[i]) < Infinity)) return false
  return true
}

export const notFinite = (name: string): GptLayersError =>
  fail('VALUE', shortName(name), 'be finite to become int8', 'NaN or an infinity')

/**
 * Checks an int8 weight of a checkpoint: values [outputs, inputs] with scales [outputs, groups].
 *
 * @param shape [outputs, inputs] of the layer
 * @returns how many inputs share a scale
 */
export function groupSizeOf(weight: TensorInfo, scale: TensorInfo, shape: readonly number[]): number {
  const name = shortName(weight.name)
  const dtypes = `${weight.dtype} and ${scale.dtype}`
  // The tensors of loadSafetensors are float32, whatever the file has.
  if (dtypes !== 'I8 and F32' && dtypes !== 'F32 and F32') {
    const expected = `${name} and ${name}_scale should be I8 and F32`
    throw new GptLayersError('VALUE', `${expected}, got ${dtypes}`)
  }
  const [outputs, inputs] = shape
  const [rows, groups] = scale.shape
  const length = scale.shape.length === 2 && rows === outputs ? groupLength(inputs, groups) : 0
  checkSameShape(name, weight.shape, shape)
  if (length > 0) return length
  const expected = `have shape [${outputs}, groups], with groups of equal, even length`
  throw fail('SHAPE', `${name}_scale`, expected, `[${scale.shape.join(', ')}]`)
}

export function checkScales({ name }: TensorInfo, scales: Values): Float32Array {
  const isScale = (scale: number) => scale >= 0 && scale < Infinity
  if (scales instanceof Float32Array && scales.every(isScale)) return scales
  const wrong = scales.find((scale) => !isScale(scale))
  throw fail('VALUE', shortName(name), 'have finite scales from 0 on', wrong)
}

/**
 * Each int8 value times its scale.
 *
 * @param values [rows, inputs]
 * @param scales [rows, groups]
 */
function products(values: Int8Array, scales: Float32Array, rows: number): Float32Array {
  const [inputs, groups] = [values.length / rows, scales.length / rows]
  const length = groupLength(inputs, groups)
  return Float32Array.from(values, (value, at) => {
    const [row, input] = [Math.floor(at / inputs), at % inputs]
    return value * scales[row * groups + Math.floor(input / length)]
  })
}

/** @throws {GptLayersError} VALUE where a value is not an int8 */
export function integersOf({ name }: TensorInfo, values: Values): Int8Array {
  if (values instanceof Int8Array) return values
  const integers = Int8Array.from(values)
  if (values.every((value, i) => value === integers[i])) return integers
  throw fail('VALUE', shortName(name), 'have integers from -128 to 127 beside its scales')
}
