// Copies the values of files, or of other tensors, into the tensors of a layer.

import type { Module } from '../layers/module.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { checkSameShape, shortName } from '../check.ts'
import { fail, GptLayersError } from '../errors.ts'
import { checkLiveTensor, checkTensor } from '../tensor/check.ts'
import { Tensor } from '../tensor/tensor.ts'
import { checkBytes } from '../typed.ts'
import {
  evenGroups,
  GROUP_SIZE,
  groupLength,
  int8Of,
  Int8Weight,
  MATRICES,
  unitOf,
} from '../tensor/int8weight.ts'
import { isFloat } from './dtypes.ts'
import {
  type Info,
  type Reading,
  type Sink,
  type TensorFile,
  type Values,
  slabRows,
  writeAll,
} from './file.ts'
import { type Place, placesOf, SCALE } from './names.ts'
import { notSafetensors, readSafetensors } from './safetensors.ts'

/** Reads a file that is in memory. */
export class BytesInput {
  #bytes
  /** The next byte. */
  at = 0

  /** @param what the argument that is the file, for errors */
  constructor(what: string, bytes: unknown) {
    this.#bytes = checkBytes(what, bytes)
  }

  get length(): number {
    return this.#bytes.length
  }

  run<T>(reading: Reading<T>): T {
    let step = reading.next()
    while (!step.done) {
      const bytes = this.#bytes.subarray(this.at, this.at + step.value)
      this.at += bytes.length
      step = reading.next(bytes)
    }
    return step.value
  }
}

/** Opens a whole safetensors file. */
export function openBytes(bytes: unknown): { input: BytesInput; file: TensorFile } {
  const input = new BytesInput('bytes', bytes)
  const file = input.run(readSafetensors('bytes'))
  if (input.length === file.byteLength) return { input, file }
  throw notSafetensors('bytes', `${input.length} bytes instead of ${file.byteLength}`)
}

/** All tensors of a file that is in memory. */
export function newTensors(runtime: Runtime, input: BytesInput, file: TensorFile): Record<string, Tensor> {
  return runtime.scope(() => {
    const tensors = new Map(file.tensors.map((info) => [info, Tensor.empty(runtime, info.shape)]))
    const sinkOf = (info: Info) =>
      floats((values, first, rows) => tensors.get(info)?.data.set(values, (first * values.length) / rows))
    input.run(file.read(sinkOf))
    return Object.fromEntries([...tensors].map(([{ name }, tensor]) => [name, tensor]))
  })
}

/**
 * Copies the values of a safetensors file into a layer. Each tensor stays float32 or int8, whatever the file
 * has. Everything is checked before anything is changed.
 *
 * @throws {GptLayersError} TYPE, UNSUPPORTED; VALUE for a file that is damaged, a name that is missing,
 *   unknown or there twice, tied tensors that differ, and NaN or an infinity for an int8 weight; SHAPE,
 *   MEMORY, DISPOSED
 */
export function loadBytes(module: Module, bytes: unknown): void {
  const { input, file } = openBytes(bytes)
  const data = input.at
  load(module, 'bytes', file.tensors, true, (sinkOf) => {
    input.at = data
    input.run(file.read(sinkOf))
  })
}

/** What PyTorch's load_state_dict returns. */
export interface LoadedKeys {
  missingKeys: string[]
  unexpectedKeys: string[]
}

/**
 * Copies tensors into a layer, as `loadBytes`.
 *
 * @param strict false: names that are missing or unknown are no errors
 */
export function loadDict(module: Module, dict: Record<string, unknown>, strict: boolean): LoadedKeys {
  const own = new Set(Object.values(module.stateDict()))
  const given = Object.entries(dict).flatMap(([name, value]): [Info, () => Values][] => {
    const int8Weight = int8Of(value)
    if (int8Weight) {
      int8Weight.checkLive(shortName(name))
      return [
        [{ name, dtype: 'I8', shape: int8Weight.shape }, () => int8Weight.values()],
        [{ name: name + SCALE, dtype: 'F32', shape: int8Weight.scalesShape }, () => int8Weight.scales()],
      ]
    }
    const tensor = checkLiveTensor(shortName(name), value)
    const copy = own.has(tensor) ? tensor.data.slice() : null // it may change before it is read
    return [[{ name, dtype: 'F32', shape: tensor.shape }, () => copy ?? tensor.data]]
  })
  const infos = given.map(([info]) => info)
  return load(module, 'dict', infos, strict, (sinkOf) => {
    for (const [info, values] of given) {
      const sink = sinkOf(info)
      if (sink) writeAll(info.shape, sink, values())
    }
  })
}

/** @param each gives the values of each tensor to its sink; called twice */
function load(
  module: Module,
  what: 'bytes' | 'dict',
  infos: readonly Info[],
  strict: boolean,
  each: (sinkOf: (info: Info) => Sink | null) => void,
): LoadedKeys {
  const { places, missing, unknown } = placesOf(module, what, infos, strict)
  const loader = new Loader(module, places, null, what === 'dict')
  each((info) => loader.checks(info))
  loader.begin()
  try {
    each((info) => loader.writes(info))
  } finally {
    loader.end()
  }
  return { missingKeys: missing, unexpectedKeys: unknown }
}

/** How an int8 weight gets its values. */
interface Int8Form {
  /** [outputs, inputs] */
  shape: readonly [number, number]
  groupSize: number
  /** whether the values come as int8, with scales for the same groups */
  isRaw: boolean
  /** whether the matrix in the file is [inputs, outputs] */
  turned: boolean
  /** the first row of a slab is a multiple of this */
  unit: number
}

/** Writes values to their places. */
export class Loader {
  #runtime
  #matrices
  /** For a new layer: what becomes of matrices of floats. Null for a layer that has values. */
  #dtype
  /** The places of a tensor of the file, or of its scales. */
  #places: Map<Info, Place[]> = new Map()
  /** The places in int8 weights. */
  #forms: Map<Place, Int8Form> = new Map()
  /** Memory of the instance, through which values pass on their way to an int8 weight. */
  #stage = { byteOffset: 0, bytes: 0 }
  /** The scales in the file, for a layer that has values. */
  #scales: Map<Info, Float32Array> = new Map()
  /** The name under which the file has a tensor; null for several. */
  #names: Map<Tensor, string | null> = new Map()
  /** Under which of its names a tensor gets its values: the first that the file has. */
  #owners: Map<Tensor, string> = new Map()
  /** The values under the first name, of tensors with several. */
  #tied: Map<Tensor, Float32Array> = new Map()
  /** Int8 weights of which a third has come: [outputs, inputs], and how many outputs are missing. */
  #thirds: Map<Tensor, { values: Float32Array; missing: number }> = new Map()

  /**
   * @param isDict whether the values come from tensors: integers may then be float32
   * @throws {GptLayersError} SHAPE, VALUE, DISPOSED: nothing is changed then
   */
  constructor(module: Module, places: readonly Place[], dtype: 'float32' | 'int8' | null, isDict: boolean) {
    this.#runtime = module.runtime
    this.#matrices = module[MATRICES]()
    this.#dtype = dtype
    for (const place of places) {
      const { name, target, info, scale, transposed, third } = place
      if (target.int8Weight) target.int8Weight.checkLive(`own ${name}`)
      else if (dtype === null) checkTensor(this.#runtime, `own ${name}`, target)
      this.#names.set(target, (this.#names.get(target) ?? name) === name ? name : null)
      const shape = transposed ? [...target.shape].reverse() : [...target.shape]
      if (third !== null) shape[0] /= 3
      const fileGroup = scale && groupSizeOf(info, scale, shape, isDict)
      if (!scale) checkSameShape(shortName(info.name), info.shape, shape)
      for (const one of scale ? [info, scale] : [info]) {
        this.#places.set(one, [...(this.#places.get(one) ?? []), place])
      }
      const form = this.#formOf(place, fileGroup)
      if (form === null) continue
      this.#forms.set(place, form)
      const [cols, rows] = form.turned ? form.shape : [form.shape[1], form.shape[0]]
      const bytes = (form.isRaw ? 1 : 4) * cols * Math.min(rows, slabRows(cols, form.unit))
      this.#stage.bytes = Math.max(this.#stage.bytes, bytes)
    }
  }

  /** Takes memory, before anything is changed. */
  begin(): void {
    if (this.#stage.bytes > 0) this.#stage.byteOffset = this.#runtime.memory.allocate(this.#stage.bytes)
  }

  end(): void {
    if (this.#stage.byteOffset > 0) this.#runtime.memory.free(this.#stage.byteOffset)
  }

  /** @returns null where the tensor is float32 */
  #formOf({ target, info, scale, transposed, third }: Place, fileGroup: number | null): Int8Form | null {
    const { int8Weight } = target
    const matrix = this.#matrices.get(target)
    const becomesInt8 =
      this.#dtype !== null && (scale !== null || (this.#dtype === 'int8' && matrix?.isProduct))
    if (!int8Weight && !becomesInt8) return null
    const turned = scale === null && third === null && transposed !== matrix?.transposed
    const [rows, cols] = info.shape
    const count = third === null ? rows : 3 * rows
    const shape = turned ? ([cols, count] as const) : ([count, cols] as const)
    const groupSize = int8Weight?.groupSize ?? fileGroup ?? evenGroups(shape[1], GROUP_SIZE)
    return { shape, groupSize, isRaw: fileGroup === groupSize, turned, unit: unitOf(turned, groupSize) }
  }

  /** What refuses values before anything is changed. */
  checks(info: Info): Sink | null {
    return join(this.#places.get(info), (place) => {
      const { target, scale } = place
      if (info === scale) {
        const scales = new Float32Array(scale.shape[0] * scale.shape[1])
        this.#scales.set(scale, scales)
        return floats((values, first) => scales.set(checkScales(info, values), first * scale.shape[1]))
      }
      if (scale) return info.dtype === 'I8' ? null : raw(1, (values) => void integersOf(info, values))
      const isTied = this.#names.get(target) === null
      if (isFloat(info.dtype) && !target.int8Weight && !isTied) return null
      return floats((values, first, rows) => {
        if (target.int8Weight && !areFinite(values)) throw notFinite(info.name)
        if (!isTied) return
        const known = this.#tied.get(target) ?? new Float32Array(target.size)
        this.#tied.set(target, known)
        if (this.#isOwner(place)) copyRows(place, known, values, first, rows)
        else this.#checkSame(place, known, values, first, rows)
      })
    })
  }

  /** What writes values. */
  writes(info: Info): Sink | null {
    return join(this.#places.get(info), (place) => {
      const { scale } = place
      const form = this.#forms.get(place)
      if (!scale) return this.#writeFloats(place, form)
      if (form?.isRaw) return info === scale ? this.#writeScales(place, form) : this.#writeInt8(place, form)
      return info === scale ? null : this.#dequantized(place, this.#writeFloats(place, form))
    })
  }

  #writeFloats(place: Place, form: Int8Form | undefined): Sink {
    const { info, target, third } = place
    if (form === undefined) return this.#writeFloat32(place)
    const { shape, turned, unit } = form
    const quantize: Sink['write'] = (values, first, rows) => {
      const int8Weight = this.#int8Of(target, form)
      const cols = shape[turned ? 0 : 1]
      for (const [row, part] of this.#slabs(values, rows, cols, unit)) {
        this.#runtime.memory.floats(this.#stage.byteOffset, part.length).set(part)
        const isFinite = int8Weight.quantizeRows(this.#stage, first + row, part.length / cols, turned)
        if (!isFinite) throw notFinite(info.name)
      }
    }
    if (third === null) return { unit, isRaw: false, write: this.#ifOwner(place, quantize) }
    // All thirds at once: a third need not begin where a block of the layout does.
    const [outputs, inputs] = shape
    const gather: Sink['write'] = (values, first, rows) => {
      const known = this.#thirds.get(target) ?? {
        values: new Float32Array(outputs * inputs),
        missing: outputs,
      }
      this.#thirds.set(target, known)
      known.values.set(values, ((third * outputs) / 3 + first) * inputs)
      known.missing -= rows
      if (known.missing > 0) return
      this.#thirds.delete(target)
      quantize(known.values, 0, outputs)
    }
    return floats(this.#ifOwner(place, gather))
  }

  #writeFloat32(place: Place): Sink {
    const { target } = place
    return floats((values, first, rows) => {
      if (!this.#isOwner(place)) {
        if (this.#dtype !== null) this.#checkSame(place, target.data, values, first, rows)
        return
      }
      if (target.isMeta) target.materialize()
      target.changed()
      copyRows(place, target.data, values, first, rows)
    })
  }

  #writeInt8(place: Place, form: Int8Form): Sink {
    const [, inputs] = form.shape
    const write: Sink['write'] = (values, first, rows) => {
      const int8Weight = this.#int8Of(place.target, form)
      for (const [row, part] of this.#slabs(integersOf(place.info, values), rows, inputs, form.unit)) {
        this.#runtime.memory.bytes(this.#stage.byteOffset, part.length).set(part)
        int8Weight.packRows(this.#stage, first + row, part.length / inputs)
      }
    }
    return raw(form.unit, this.#ifOwner(place, write))
  }

  #writeScales(place: Place, form: Int8Form): Sink {
    const scale = place.scale ?? place.info
    const write: Sink['write'] = (values, first, rows) =>
      this.#int8Of(place.target, form).writeScales(checkScales(scale, values), first, rows)
    return floats(this.#ifOwner(place, write))
  }

  /** Gives each int8 value times its scale as a float. */
  #dequantized({ info, scale }: Place, { unit, write }: Sink): Sink {
    const scales = (scale && this.#scales.get(scale)) ?? new Float32Array(0)
    const [outputs, inputs] = info.shape
    const groups = scales.length / outputs
    return raw(unit, (values, first, rows) => {
      const ofRows = scales.subarray(first * groups, (first + rows) * groups)
      write(dequantizeRows(integersOf(info, values), ofRows, rows, groupLength(inputs, groups)), first, rows)
    })
  }

  /** Cuts rows into parts that fit into the stage: the first row of each part, and its values. */
  *#slabs<V extends Values>(values: V, rows: number, cols: number, unit: number): Generator<[number, V]> {
    const most = slabRows(cols, unit)
    for (let row = 0; row < rows; row += most) {
      yield [row, values.subarray(row * cols, (row + most) * cols) as V]
    }
  }

  /** Writes only under the name under which the tensor gets its values. */
  #ifOwner =
    (place: Place, write: Sink['write']): Sink['write'] =>
    (...rows) => {
      if (this.#isOwner(place)) write(...rows)
    }

  /** The weight of a tensor; in a new layer made here. */
  #int8Of(target: Tensor, { shape, groupSize }: Int8Form): Int8Weight {
    if (target.int8Weight) return target.int8Weight
    const int8Weight = new Int8Weight(this.#runtime, shape, groupSize)
    target.becomeInt8(int8Weight)
    return int8Weight
  }

  /** Whether the tensor gets its values under this name. */
  #isOwner({ name, target }: Place): boolean {
    const owner = this.#owners.get(target) ?? name
    this.#owners.set(target, owner)
    return owner === name
  }

  #checkSame(place: Place, known: Float32Array, values: Values, first: number, rows: number): void {
    const cols = values.length / rows
    const at = indexIn(place)
    const isSame = values.every((value, i) => {
      return Object.is(value, known[at(first + Math.floor(i / cols), i % cols)])
    })
    if (isSame) return
    throw fail(
      'VALUE',
      place.name,
      `be ${this.#owners.get(place.target)}, with which it is tied`,
      'other values',
    )
  }
}

const floats = (write: Sink['write']): Sink => ({ unit: 1, isRaw: false, write })
const raw = (unit: number, write: Sink['write']): Sink => ({ unit, isRaw: true, write })

/** The sinks of all places of a tensor as one. */
function join(places: readonly Place[] = [], sinkOf: (place: Place) => Sink | null): Sink | null {
  const sinks = places.flatMap((place) => sinkOf(place) ?? [])
  if (sinks.length < 2) return sinks[0] ?? null
  return {
    unit: sinks.reduce((unit, sink) => (unit % sink.unit ? unit * sink.unit : unit), 1),
    isRaw: sinks[0].isRaw,
    write: (...rows) => sinks.forEach((sink) => sink.write(...rows)),
  }
}

/** Where an element of the file's matrix is in the tensor's data. */
function indexIn({ target, transposed, third, info }: Place): (row: number, col: number) => number {
  const before = (third ?? 0) * info.shape[0]
  const [rowStep, colStep] = transposed ? [1, target.shape[1]] : [target.shape[1] ?? 1, 1]
  if (target.shape.length > 2) return (row) => row
  return (row, col) => (before + row) * rowStep + col * colStep
}

/** Copies rows of the file's matrix to their place in the tensor's data. */
function copyRows(place: Place, data: Float32Array, values: Values, first: number, rows: number): void {
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
 * @param isDict whether the values may be integers of dtype F32, as in a dict of tensors
 * @returns how many inputs share a scale
 */
function groupSizeOf(weight: Info, scale: Info, shape: readonly number[], isDict: boolean): number {
  const name = shortName(weight.name)
  const dtypes = `${weight.dtype} and ${scale.dtype}`
  if (dtypes !== 'I8 and F32' && !(isDict && dtypes === 'F32 and F32')) {
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

function checkScales({ name }: Info, scales: Values): Float32Array {
  const isScale = (scale: number) => scale >= 0 && scale < Infinity
  if (scales instanceof Float32Array && scales.every(isScale)) return scales
  const wrong = scales.find((scale) => !isScale(scale))
  throw fail('VALUE', shortName(name), 'have finite scales from 0 on', wrong)
}

/**
 * Each value times its scale.
 *
 * @param values [rows, inputs]
 * @param scales [rows, groups]
 */
function dequantizeRows(
  values: Int8Array,
  scales: Float32Array,
  rows: number,
  groupSize: number,
): Float32Array {
  const [inputs, groups] = [values.length / rows, scales.length / rows]
  const result = new Float32Array(values.length)
  for (let r = 0, at = 0; r < rows; r++) {
    for (let i = 0; i < inputs; i++, at++) {
      result[at] = values[at] * scales[r * groups + Math.floor(i / groupSize)]
    }
  }
  return result
}

/** @throws {GptLayersError} VALUE where a value is not an int8 */
function integersOf({ name }: Info, values: Values): Int8Array {
  if (values instanceof Int8Array) return values
  const integers = Int8Array.from(values)
  if (values.every((value, i) => value === integers[i])) return integers
  throw fail('VALUE', shortName(name), 'have integers from -128 to 127 beside its scales')
}
