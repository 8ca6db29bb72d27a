import type { Module } from '../layers/module.ts'
import type { Tensor } from '../tensor/tensor.ts'
import type { Info } from './header.ts'
import type { FileStream } from './stream.ts'
import { checkSameShape, shortName } from '../check.ts'
import { fail } from '../errors.ts'
import { checkTensor } from '../tensor/check.ts'
import { evenGroups, GROUP_SIZE, Int8Weight, MATRICES, unitOf } from '../tensor/int8weight.ts'
import { isFloat } from './dtypes.ts'
import { checkScales, dequantizeRows, groupSizeOf, integersOf } from './int8.ts'
import { SafetensorsBytes } from './safetensors.ts'
import { type UseRows, type Values, slabRows } from './slabs.ts'
import { type Assignment, areFinite, assignments, notFinite } from './statedict.ts'

/** What becomes of a tensor of the file, as it arrives in slabs of rows. */
interface Place {
  /** the first row of a slab is a multiple of this */
  unit: number
  /** the bytes of the stage that it needs, by the slabs' unit */
  stageBytes: (unit: number) => number
  /** whether it takes the integers of dtype I8 */
  isRaw: boolean
  /** takes memory */
  begin: () => void
  /** refuse values before anything is changed */
  checks: UseRows[]
  write: UseRows
}

/** What takes floats, any number of rows at a time, and needs no stage. */
const UNSTAGED = { unit: 1, stageBytes: () => 0, isRaw: false }

/** A tensor of the file, and where its values go. */
type Entry = { info: Info; places: Place[] }

/** Slabs that suit every place. */
function slabsFor({ places }: Entry): { unit: number; isRaw: boolean } {
  const unit = places.reduce((unit, place) => (unit % place.unit ? unit * place.unit : unit), 1)
  return { unit, isRaw: places.some((place) => place.isRaw) }
}

const writeTo =
  ({ places }: Entry): UseRows =>
  (...rows) =>
    places.forEach((place) => place.write(...rows))

/**
 * Copies the values of a file into the tensors of a layer. Each tensor stays float32 or int8, whatever the
 * file has. Everything is checked before anything is changed.
 *
 * @param what the argument that is the file, or from which the file was made
 * @throws {GptLayersError} TYPE, UNSUPPORTED; VALUE for a file that is damaged, a name that is missing,
 *   unknown or there twice, tied tensors that differ, and NaN or an infinity for an int8 weight; SHAPE,
 *   MEMORY, DISPOSED
 */
export function loadBytes(module: Module, what: 'bytes' | 'dict', bytes: unknown): void {
  const file = new SafetensorsBytes(what, bytes)
  const plan = new Plan(module, what, file.tensors, null)
  const entries = plan.scalesFirst()
  for (const entry of entries) {
    const { info, places } = entry
    const { isRaw } = slabsFor(entry)
    const checks = places.flatMap((place) => place.checks)
    if (checks.length === 0 && (isFloat(info.dtype) || isRaw || places.length === 0)) continue
    file.read(info, { unit: 1, isRaw }, (...rows) => checks.forEach((check) => check(...rows)))
  }
  try {
    plan.begin()
    for (const entry of entries) {
      for (const place of entry.places) place.begin()
      if (entry.places.length > 0) file.read(entry.info, slabsFor(entry), writeTo(entry))
    }
  } finally {
    plan.dispose()
  }
}

/**
 * Reads the tensors of a new layer from a file, as they arrive.
 *
 * @param module whose parameters are meta tensors
 * @param stream at the first tensor
 * @param tensors the file's, in the order of their data
 * @param dtype what becomes of matrices of floats. Int8 weights stay so
 * @throws {GptLayersError} as `loadBytes`; what reading throws
 */
export async function loadStream(
  module: Module,
  stream: FileStream,
  tensors: readonly Info[],
  dtype: 'float32' | 'int8',
): Promise<void> {
  const plan = new Plan(module, 'source', tensors, dtype)
  try {
    plan.begin()
    for (const entry of plan.entries.values()) {
      for (const place of entry.places) place.begin()
      if (entry.places.length > 0) await stream.read(entry.info, slabsFor(entry), writeTo(entry))
      else await stream.skip(entry.info)
    }
    plan.end()
  } finally {
    plan.dispose()
  }
}

/** Where each tensor of a file goes. */
class Plan {
  #runtime
  #isDict
  /** For a new layer: what becomes of matrices of floats. Null for a layer that has values. */
  #dtype
  /** The tensors of the file by name, in the order of their data. */
  readonly entries: ReadonlyMap<string, Entry>
  /** The names of int8 weights' scales. */
  #scaleNames: Set<string> = new Set()
  /** How many tensors of the file go to a tensor. */
  #counts: Map<Tensor, number> = new Map()
  /** Whose values a tensor has got: those of the first one that arrived. */
  #owners: Map<Tensor, Assignment> = new Map()
  /** The values that a tensor with several names would get. */
  #tied: Map<Tensor, { assignment: Assignment; data: Float32Array }> = new Map()
  /** Int8 weights to be compared with that of their tensor. */
  #copies: Map<Int8Weight, Assignment> = new Map()
  /** Memory of the instance through which values pass on their way to an int8 weight. */
  #stage = { byteOffset: 0, bytes: 0 }

  constructor(module: Module, what: string, tensors: readonly Info[], dtype: 'float32' | 'int8' | null) {
    this.#runtime = module.runtime
    this.#isDict = what === 'dict'
    this.#dtype = dtype
    this.entries = new Map(tensors.map((info) => [info.name, { info, places: [] }]))
    const matrices = module[MATRICES]()
    const all = assignments(module, what, [...this.entries.keys()], matrices)
    for (const { target } of all) this.#counts.set(target, (this.#counts.get(target) ?? 0) + 1)
    for (const assignment of all) {
      const { name, target } = assignment
      if (target.int8Weight) target.int8Weight.checkLive(`own ${name}`)
      else if (dtype === null) checkTensor(this.#runtime, `own ${name}`, target)
      this.#add(assignment, dtype === 'int8' && (matrices.get(target)?.isProduct ?? false))
    }
    for (const entry of this.entries.values()) {
      const { unit } = slabsFor(entry)
      for (const place of entry.places)
        this.#stage.bytes = Math.max(this.#stage.bytes, place.stageBytes(unit))
    }
  }

  scalesFirst(): Entry[] {
    const rank = ({ info }: Entry) => (this.#scaleNames.has(info.name) ? 0 : 1)
    return [...this.entries.values()].sort((a, b) => rank(a) - rank(b))
  }

  /** @param name a name that `assignments` has found in the file */
  #entry(name: string): Entry {
    return this.entries.get(name) as Entry
  }

  /** Takes memory for the stage. */
  begin(): void {
    if (this.#stage.bytes === 0) return
    this.#stage.byteOffset = this.#runtime.memory.allocate(this.#stage.bytes)
  }

  /** Checks that tied int8 weights of a new layer are the same. */
  end(): void {
    const { memory } = this.#runtime
    for (const [copy, assignment] of this.#copies) {
      const { int8Weight } = assignment.target
      const bytes = memory.bytes(copy.byteOffset, copy.byteLength)
      const isSame =
        int8Weight?.byteLength === copy.byteLength &&
        memory.bytes(int8Weight.byteOffset, copy.byteLength).every((byte, i) => byte === bytes[i])
      if (!isSame) throw notTied(assignment, this.#ownerOf(assignment))
    }
  }

  dispose(): void {
    for (const copy of this.#copies.keys()) copy.dispose()
    if (this.#stage.byteOffset > 0) this.#runtime.memory.free(this.#stage.byteOffset)
  }

  /** @param becomesInt8 whether floats become int8 */
  #add(assignment: Assignment, becomesInt8: boolean): void {
    const { given, scale, target, transposed } = assignment
    const { info, places } = this.#entry(given)
    const shape = transposed ? [...target.shape].reverse() : target.shape
    const floats = () =>
      becomesInt8 || target.int8Weight ? this.#quantized(assignment, shape) : this.#float32(assignment)
    if (scale === null) {
      checkSameShape(shortName(given), info.shape, shape)
      places.push(floats())
      return
    }
    this.#scaleNames.add(scale)
    const { info: scaleInfo } = this.#entry(scale)
    const groupSize = groupSizeOf(given, info, scaleInfo, shape, this.#isDict)
    const staysSame = this.#dtype !== null || target.int8Weight?.groupSize === groupSize
    this.#addInt8(assignment, scale, scaleInfo.shape, groupSize, staysSame ? null : floats())
  }

  /** The place of a tensor that becomes or stays float32. */
  #float32(assignment: Assignment): Place {
    const { target } = assignment
    return {
      ...UNSTAGED,
      begin: () => {
        if (target.isMeta) target.materialize()
        if (this.#isOwner(assignment)) target.changed()
      },
      checks: this.#tiedChecks(assignment),
      write: (values, first, rows) => {
        if (this.#isOwner(assignment)) copyRows(assignment, target.data, values, first, rows)
        else if (this.#dtype !== null) {
          const isEqual = !target.int8Weight && isSame(assignment, target.data, values, first, rows)
          if (!isEqual) throw notTied(assignment, this.#ownerOf(assignment))
        }
      },
    }
  }

  /**
   * The place of floats whose tensor becomes or stays int8.
   *
   * @param shape the shape in the file
   */
  #quantized(assignment: Assignment, [count, cols]: readonly number[]): Place {
    const { given, turned, target } = assignment
    const shape = turned ? [cols, count] : [count, cols]
    const groupSize = target.int8Weight?.groupSize ?? evenGroups(shape[1], GROUP_SIZE)
    let int8Weight: Int8Weight | null = null
    return {
      unit: unitOf(turned, groupSize),
      stageBytes: (unit) => 4 * cols * Math.min(count, slabRows(cols, unit)),
      isRaw: false,
      begin: () => {
        int8Weight = this.#int8Of(assignment, shape, groupSize)
      },
      checks: [
        (values) => {
          if (!areFinite(values)) throw notFinite(given)
        },
        ...this.#tiedChecks(assignment),
      ],
      write: (values, first, rows) => {
        if (int8Weight === null) return
        this.#runtime.memory.floats(this.#stage.byteOffset, values.length).set(values)
        if (!int8Weight.quantizeRows(this.#stage, first, rows, turned)) throw notFinite(given)
      },
    }
  }

  /**
   * Adds the places of a weight that is int8 in the file, and of its scales.
   *
   * @param scale the name of its scales
   * @param scalesShape [outputs, groups]
   * @param floats gets each value times its scale; null where the weight stays as it is
   */
  #addInt8(
    assignment: Assignment,
    scale: string,
    [outputs, groups]: readonly number[],
    groupSize: number,
    floats: Place | null,
  ): void {
    const { given, target } = assignment
    const shape = assignment.transposed ? [...target.shape].reverse() : target.shape
    const inputs = shape[1]
    let int8Weight: Int8Weight | null = null
    const begin = () => {
      if (floats === null) int8Weight ??= this.#int8Of(assignment, shape, groupSize)
      else floats.begin()
    }
    let kept = new Float32Array(0) // the scales, while the values are checked and dequantized
    const dequantized =
      (use: UseRows): UseRows =>
      (values, first, rows) => {
        const scales = kept.subarray(first * groups, (first + rows) * groups)
        use(dequantizeRows(integersOf(given, values), scales, rows, groupSize), first, rows)
      }
    this.#entry(scale).places.push({
      ...UNSTAGED,
      begin,
      checks: [
        (values, first) => {
          if (kept.length === 0) kept = new Float32Array(outputs * groups)
          kept.set(checkScales(scale, values), first * groups)
        },
      ],
      write: (values, first, rows) => int8Weight?.writeScales(checkScales(scale, values), first, rows),
    })
    const checks = this.#isDict ? [(values: Values) => void integersOf(given, values)] : []
    const { checks: floatChecks } = floats ?? { checks: this.#tiedChecks(assignment) }
    this.#entry(given).places.push({
      unit: floats?.unit ?? unitOf(false, groupSize),
      stageBytes: floats?.stageBytes ?? ((unit) => inputs * Math.min(outputs, slabRows(inputs, unit))),
      isRaw: true,
      begin,
      checks: [...checks, ...floatChecks.map(dequantized)],
      write: floats
        ? dequantized(floats.write)
        : (values, first, rows) => {
            if (int8Weight === null) return
            this.#runtime.memory.bytes(this.#stage.byteOffset, values.length).set(integersOf(given, values))
            int8Weight.packRows(this.#stage, first, rows)
          },
    })
  }

  /** Checks that a tensor gets the same values under each of its names. */
  #tiedChecks(assignment: Assignment): UseRows[] {
    const { target } = assignment
    if (this.#counts.get(target) === 1) return []
    return [
      (values, first, rows) => {
        const tied = this.#tied.get(target) ?? { assignment, data: new Float32Array(target.size) }
        this.#tied.set(target, tied)
        if (tied.assignment === assignment) copyRows(assignment, tied.data, values, first, rows)
        else if (!isSame(assignment, tied.data, values, first, rows))
          throw notTied(assignment, tied.assignment)
      },
    ]
  }

  /** Whether this name came first: the tensor gets its values. */
  #isOwner(assignment: Assignment): boolean {
    return this.#ownerOf(assignment) === assignment
  }

  #ownerOf(assignment: Assignment): Assignment {
    const owner = this.#owners.get(assignment.target) ?? assignment
    this.#owners.set(assignment.target, owner)
    return owner
  }

  /**
   * @param shape [outputs, inputs]
   * @returns the tensor's; where the tensor has got its values, a copy to compare, or null where they were
   *   compared before
   */
  #int8Of(assignment: Assignment, shape: readonly number[], groupSize: number): Int8Weight | null {
    const { target } = assignment
    const isOwner = this.#isOwner(assignment)
    if (this.#dtype === null) return isOwner ? target.int8Weight : null
    const int8Weight = new Int8Weight(this.#runtime, shape, groupSize)
    if (isOwner) target.becomeInt8(int8Weight)
    else this.#copies.set(int8Weight, assignment)
    return int8Weight
  }
}

/** @param owner the assignment whose values the tensor has */
const notTied = ({ name }: Assignment, owner: Assignment) =>
  fail('VALUE', name, `be ${owner.name}, with which it is tied`, 'other values')

/** Copies rows of a file to their place in the tensor's data. */
function copyRows(
  { target, transposed }: Assignment,
  data: Float32Array,
  values: Values,
  first: number,
  rows: number,
): void {
  const cols = values.length / rows
  if (!transposed) {
    data.set(values, first * cols)
    return
  }
  const step = target.shape[1]
  for (let c = 0; c < cols; c++) {
    for (let r = 0; r < rows; r++) data[c * step + first + r] = values[r * cols + c]
  }
}

/** Whether the tensor's data have the values of these rows of a file. */
function isSame(
  { target, transposed }: Assignment,
  data: Float32Array,
  values: Values,
  first: number,
  rows: number,
): boolean {
  const cols = values.length / rows
  return values.every((value, i) => {
    const [r, c] = [first + Math.floor(i / cols), i % cols]
    return Object.is(value, data[transposed ? c * target.shape[1] + r : r * cols + c])
  })
}
