import type { TensorInfo, Match } from './names.ts'
import type { Memory } from '../runtime/memory.ts'
import { checkSameShape, shortName } from '../check.ts'
import { fail } from '../errors.ts'
import { checkScales, copyRows, groupSizeOf, indexIn, integersOf, notFinite, shapeInFile } from './copy.ts'
import { type Matrices, evenGroups, GROUP_SIZE, Int8Weight, unitOf } from '../tensor/int8weight.ts'
import { type Sink, type Values, floats, slabRows } from './rows.ts'
import { Tensor } from '../tensor/tensor.ts'

/** How an int8 weight gets its values. */
interface Int8Form {
  /** [outputs, inputs] */
  shape: readonly [number, number]
  groupSize: number
  /** whether the matrix in the file is [inputs, outputs] */
  turned: boolean
  /** the first row of a slab is a multiple of this */
  unit: number
}

/** Writes the values of a file to the tensors of a new layer, whose parameters are meta tensors until then. */
export class Loader {
  #memory
  #matrices
  /** What a matrix of floats becomes. */
  #dtype
  /** The places of a tensor of the file, or of its scales. */
  #places: Map<TensorInfo, Match[]> = new Map()
  /** The places in int8 weights. */
  #forms: Map<Match, Int8Form> = new Map()
  /** Memory of the heap, through which values pass on their way to an int8 weight. */
  #stage = { byteOffset: 0, bytes: 0 }
  /** The name under which a tensor of two names gets its values: the first that the file has. */
  #owners: Map<Tensor, string> = new Map()
  /** Int8 weights that come in thirds: the values so far [outputs, inputs], and how many outputs are missing. */
  #thirds: Map<Tensor, { values: Float32Array; missing: number }> = new Map()

  /**
   * @param memory the heap of the layer. Whoever gives values to a sink of `writes` has checked that the heap is
   *   live
   */
  constructor(memory: Memory, matrices: Matrices, places: readonly Match[], dtype: 'float32' | 'int8') {
    this.#memory = memory
    this.#matrices = matrices
    this.#dtype = dtype
    for (const place of places) {
      const { info, scale } = place
      const shape = shapeInFile(place)
      const fileGroup = scale && groupSizeOf(info, scale, shape)
      if (!scale) checkSameShape(shortName(info.name), info.shape, shape)
      for (const one of scale ? [info, scale] : [info]) {
        this.#places.set(one, [...(this.#places.get(one) ?? []), place])
      }
      const form = this.#formOf(place, fileGroup)
      if (form === null) continue
      this.#forms.set(place, form)
      const [cols, rows] = form.turned ? form.shape : [form.shape[1], form.shape[0]]
      const bytes = (scale ? 1 : 4) * cols * Math.min(rows, slabRows(cols, form.unit))
      this.#stage.bytes = Math.max(this.#stage.bytes, bytes)
    }
  }

  /** Takes memory, before anything is changed. */
  begin(): void {
    if (this.#stage.bytes > 0) this.#stage.byteOffset = this.#memory.allocate(this.#stage.bytes)
  }

  end(): void {
    if (this.#stage.byteOffset > 0) this.#memory.free(this.#stage.byteOffset)
  }

  /** @returns null where the tensor is float32 */
  #formOf({ target, info, scale, transposed, part }: Match, fileGroup: number | null): Int8Form | null {
    const matrix = this.#matrices.get(target)
    if (scale === null && !(this.#dtype === 'int8' && matrix?.isProduct)) return null
    const turned = scale === null && part === null && transposed !== matrix?.transposed
    const [rows, cols] = info.shape
    const count = part === null ? rows : 3 * rows
    const shape = turned ? ([cols, count] as const) : ([count, cols] as const)
    const groupSize = fileGroup ?? evenGroups(shape[1], GROUP_SIZE)
    return { shape, groupSize, turned, unit: unitOf(turned, groupSize) }
  }

  /** The sink that writes a tensor's values to all of its places. */
  writes(info: TensorInfo): Sink | null {
    return join(this.#places.get(info), (place) => {
      const { scale } = place
      const form = this.#forms.get(place)
      if (scale === null || form === undefined) return this.#writeFloats(place, form)
      return info === scale ? this.#writeScales(place, form) : this.#writeInt8(place, form)
    })
  }

  #writeFloats(place: Match, form: Int8Form | undefined): Sink {
    const { info, target, part } = place
    if (form === undefined) return this.#writeFloat32(place)
    const { shape, turned, unit } = form
    const quantize: Sink['write'] = (values, first, rows) => {
      const int8Weight = this.#int8Of(target, form)
      const cols = shape[turned ? 0 : 1]
      for (const [row, part] of this.#slabs(values, rows, cols, unit)) {
        this.#memory.floats(this.#stage.byteOffset, part.length).set(part)
        const isFinite = int8Weight.quantizeRows(this.#stage, first + row, part.length / cols, turned)
        if (!isFinite) throw notFinite(info.name)
      }
    }
    if (part === null) return { unit, isRaw: false, write: this.#ifOwner(place, quantize) }
    // All thirds at once: a part need not begin where a block of the layout does.
    const [outputs, inputs] = shape
    const gather: Sink['write'] = (values, first, rows) => {
      const known = this.#thirds.get(target) ?? {
        values: new Float32Array(outputs * inputs),
        missing: outputs,
      }
      this.#thirds.set(target, known)
      known.values.set(values, ((part * outputs) / 3 + first) * inputs)
      known.missing -= rows
      if (known.missing > 0) return
      this.#thirds.delete(target)
      quantize(known.values, 0, outputs)
    }
    return floats(this.#ifOwner(place, gather))
  }

  #writeFloat32(place: Match): Sink {
    const { target } = place
    return floats((values, first, rows) => {
      if (!this.#isOwner(place)) {
        this.#checkSame(place, target.data, values, first, rows)
        return
      }
      if (target.isMeta) Tensor.materialize(target)
      target.changed()
      copyRows(place, target.data, values, first, rows)
    })
  }

  #writeInt8(place: Match, form: Int8Form): Sink {
    const [, inputs] = form.shape
    const write: Sink['write'] = (values, first, rows) => {
      const int8Weight = this.#int8Of(place.target, form)
      for (const [row, part] of this.#slabs(integersOf(place.info, values), rows, inputs, form.unit)) {
        this.#memory.bytes(this.#stage.byteOffset, part.length).set(part)
        int8Weight.packRows(this.#stage, first + row, part.length / inputs)
      }
    }
    return raw(form.unit, this.#ifOwner(place, write))
  }

  #writeScales(place: Match, form: Int8Form): Sink {
    const scale = place.scale ?? place.info
    const write: Sink['write'] = (values, first, rows) =>
      this.#int8Of(place.target, form).writeScales(checkScales(scale, values), first, rows)
    return floats(this.#ifOwner(place, write))
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
    (place: Match, write: Sink['write']): Sink['write'] =>
    (...rows) => {
      if (this.#isOwner(place)) write(...rows)
    }

  /** The weight that a tensor becomes; made once. */
  #int8Of(target: Tensor, { shape, groupSize }: Int8Form): Int8Weight {
    if (target.int8Weight) return target.int8Weight
    const int8Weight = Int8Weight.empty(shape, groupSize)
    target.becomeInt8(int8Weight)
    return int8Weight
  }

  /** Whether the tensor gets its values under this name. */
  #isOwner({ name, target }: Match): boolean {
    const owner = this.#owners.get(target) ?? name
    this.#owners.set(target, owner)
    return owner === name
  }

  #checkSame(place: Match, known: Float32Array, values: Values, first: number, rows: number): void {
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

const raw = (unit: number, write: Sink['write']): Sink => ({ unit, isRaw: true, write })

/** The sinks of all places of a tensor as one. */
function join(places: readonly Match[] = [], sinkOf: (place: Match) => Sink | null): Sink | null {
  const sinks = places.flatMap((place) => sinkOf(place) ?? [])
  if (sinks.length < 2) return sinks[0] ?? null
  return {
    unit: sinks.reduce((unit, sink) => (unit % sink.unit ? unit * sink.unit : unit), 1),
    isRaw: sinks[0].isRaw,
    write: (...rows) => sinks.forEach((sink) => sink.write(...rows)),
  }
}
