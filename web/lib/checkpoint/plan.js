/** @import { Module } from '../layers/module.js' */
/** @import { Tensor } from '../tensor/tensor.js' */
/** @import { Info } from './header.js' */
/** @import { UseRows, Values } from './slabs.js' */
/** @import { Assignment, Matrices } from './statedict.js' */
/** @import { FileStream } from './stream.js' */

import { checkSameShape, shortName } from '../check.js'
import { fail } from '../errors.js'
import { checkTensor } from '../tensor/check.js'
import { evenGroups, GROUP_SIZE, Int8Weight, unitOf } from '../tensor/int8weight.js'
import { isFloat } from './dtypes.js'
import { checkScales, dequantizeRows, groupSizeOf, integersOf } from './int8.js'
import { SafetensorsBytes } from './safetensors.js'
import { slabRows } from './slabs.js'
import { areFinite, assignments, notFinite } from './statedict.js'

/**
 * What becomes of a tensor of the file, as it arrives in slabs of rows.
 *
 * @typedef {object} Place
 * @property {number} unit the first row of a slab is a multiple of this
 * @property {(unit: number) => number} stageBytes the bytes of the stage that it needs, by the slabs' unit
 * @property {boolean} isRaw whether it takes the integers of dtype I8
 * @property {() => void} begin takes memory
 * @property {UseRows[]} checks refuse values before anything is changed
 * @property {UseRows} write
 */

/**
 * Copies the values of a file into the tensors of a layer. Each tensor stays float32 or int8, whatever the
 * file has. Everything is checked before anything is changed.
 *
 * @param {Module} module
 * @param {'bytes' | 'dict'} what the argument that is the file, or from which the file was made
 * @param {unknown} bytes
 * @param {Matrices} matrices of the module
 * @throws {GptLayersError} TYPE, UNSUPPORTED; VALUE for a file that is damaged, a name that is missing,
 *   unknown or there twice, tied tensors that differ, and NaN or an infinity for an int8 weight; SHAPE,
 *   MEMORY, DISPOSED
 */
export function loadBytes(module, what, bytes, matrices) {
  const file = new SafetensorsBytes(what, bytes)
  const plan = new Plan(module, what, file.tensors, matrices, null)
  const tensors = plan.scalesFirst(file.tensors)
  for (const tensor of tensors) {
    const { places, isRaw } = plan.of(tensor)
    const checks = places.flatMap((place) => place.checks)
    if (checks.length === 0 && (isFloat(tensor.dtype) || isRaw || places.length === 0)) continue
    file.read(tensor, { unit: 1, isRaw }, (...rows) => checks.forEach((check) => check(...rows)))
  }
  try {
    plan.begin()
    for (const tensor of tensors) {
      const { places, unit, isRaw } = plan.of(tensor)
      for (const place of places) place.begin()
      if (places.length === 0) continue
      file.read(tensor, { unit, isRaw }, (...rows) => places.forEach(({ write }) => write(...rows)))
    }
  } finally {
    plan.dispose()
  }
}

/**
 * Reads the tensors of a new layer from a file, as they arrive.
 *
 * @param {Module} module whose parameters are meta tensors
 * @param {FileStream} stream at the first tensor
 * @param {readonly Info[]} tensors of the file, in the order of their data
 * @param {Matrices} matrices of the module
 * @param {'float32' | 'int8'} dtype what becomes of matrices of floats. Int8 weights stay so
 * @throws {GptLayersError} as `loadBytes`; what reading throws
 */
export async function loadStream(module, stream, tensors, matrices, dtype) {
  const plan = new Plan(module, 'source', tensors, matrices, dtype)
  try {
    plan.begin()
    for (const tensor of tensors) {
      const { places, unit, isRaw } = plan.of(tensor)
      for (const place of places) place.begin()
      if (places.length === 0) await stream.skip(tensor)
      else
        await stream.read(tensor, { unit, isRaw }, (...rows) => places.forEach(({ write }) => write(...rows)))
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
  /** For a new layer: what becomes of matrices of floats. Null for a layer that has values. */ #dtype
  /** @type {Map<string, Place[]>} */ #places
  /** The names of int8 weights' scales. @type {Set<string>} */ #scaleNames = new Set()
  /** How many tensors of the file go to a tensor. @type {Map<Tensor, number>} */ #counts = new Map()
  /** Whose values a tensor has got: those of the first one that arrived. @type {Map<Tensor, Assignment>} */
  #owners = new Map()
  /**
   * The values that a tensor with several names would get.
   *
   * @type {Map<Tensor, { assignment: Assignment, data: Float32Array }>}
   */
  #tied = new Map()
  /** Int8 weights to be compared with that of their tensor. @type {Map<Int8Weight, Assignment>} */
  #copies = new Map()
  /** Memory of the instance through which values pass on their way to an int8 weight. */
  #stage = { byteOffset: 0, bytes: 0 }

  /**
   * @param {Module} module
   * @param {string} what
   * @param {readonly Info[]} tensors
   * @param {Matrices} matrices
   * @param {'float32' | 'int8' | null} dtype
   */
  constructor(module, what, tensors, matrices, dtype) {
    this.#runtime = module.runtime
    this.#isDict = what === 'dict'
    this.#dtype = dtype
    this.#places = new Map(tensors.map(({ name }) => [name, []]))
    const infos = new Map(tensors.map((info) => [info.name, info]))
    const all = assignments(module, what, [...infos.keys()], matrices)
    for (const { target } of all) this.#counts.set(target, (this.#counts.get(target) ?? 0) + 1)
    for (const assignment of all) {
      const { name, target } = assignment
      if (target.int8Weight) target.int8Weight.checkLive(`own ${name}`)
      else if (dtype === null) checkTensor(this.#runtime, `own ${name}`, target)
      this.#add(assignment, infos, dtype === 'int8' && (matrices.get(target)?.isProduct ?? false))
    }
    for (const tensor of tensors) {
      const { places, unit } = this.of(tensor)
      this.#stage.bytes = Math.max(this.#stage.bytes, ...places.map((place) => place.stageBytes(unit)))
    }
  }

  /** @param {Info} tensor @returns {{ places: Place[], unit: number, isRaw: boolean }} unit: of the slabs */
  of({ name }) {
    const places = /** @type {Place[]} */ (this.#places.get(name))
    const unit = places.reduce((unit, place) => (unit % place.unit ? unit * place.unit : unit), 1)
    return { places, unit, isRaw: places.some((place) => place.isRaw) }
  }

  /** @param {readonly Info[]} tensors @returns {Info[]} */
  scalesFirst(tensors) {
    const isScale = (/** @type {Info} */ { name }) => this.#scaleNames.has(name)
    return [...tensors.filter(isScale), ...tensors.filter((tensor) => !isScale(tensor))]
  }

  /** Takes memory for the stage. */
  begin() {
    if (this.#stage.bytes === 0) return
    this.#stage.byteOffset = this.#runtime.memory.allocate(this.#stage.bytes)
  }

  /** Checks that tied int8 weights of a new layer are the same. */
  end() {
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

  dispose() {
    for (const copy of this.#copies.keys()) copy.dispose()
    if (this.#stage.byteOffset > 0) this.#runtime.memory.free(this.#stage.byteOffset)
  }

  /**
   * @param {Assignment} assignment
   * @param {Map<string, Info>} infos
   * @param {boolean} becomesInt8 whether floats become int8
   */
  #add(assignment, infos, becomesInt8) {
    const { given, scale, target, transposed } = assignment
    const info = /** @type {Info} */ (infos.get(given))
    const shape = transposed ? [...target.shape].reverse() : target.shape
    const floats = () =>
      becomesInt8 || target.int8Weight ? this.#quantized(assignment, shape) : this.#float32(assignment)
    if (scale === null) {
      checkSameShape(shortName(given), info.shape, shape)
      this.#places.get(given)?.push(floats())
      return
    }
    this.#scaleNames.add(scale)
    const scaleInfo = /** @type {Info} */ (infos.get(scale))
    const groupSize = groupSizeOf(given, info, scaleInfo, shape, this.#isDict)
    const staysSame = this.#dtype !== null || target.int8Weight?.groupSize === groupSize
    this.#addInt8(assignment, scale, scaleInfo.shape, groupSize, staysSame ? null : floats())
  }

  /** @param {Assignment} assignment @returns {Place} of a tensor that becomes float32, or stays so */
  #float32(assignment) {
    const { target } = assignment
    return {
      unit: 1,
      stageBytes: () => 0,
      isRaw: false,
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
   * @param {Assignment} assignment of a tensor that becomes int8, or stays so, from floats
   * @param {readonly number[]} shape in the file
   * @returns {Place}
   */
  #quantized(assignment, [count, cols]) {
    const { given, turned, target } = assignment
    const shape = turned ? [cols, count] : [count, cols]
    const groupSize = target.int8Weight?.groupSize ?? evenGroups(shape[1], GROUP_SIZE)
    /** @type {Int8Weight | null} */
    let int8Weight = null
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
   * @param {Assignment} assignment
   * @param {string} scale the name of its scales
   * @param {readonly number[]} scalesShape [outputs, groups]
   * @param {number} groupSize
   * @param {Place | null} floats gets each value times its scale; null where the weight stays as it is
   */
  #addInt8(assignment, scale, [outputs, groups], groupSize, floats) {
    const { given, target } = assignment
    const shape = assignment.transposed ? [...target.shape].reverse() : target.shape
    const inputs = shape[1]
    /** @type {Int8Weight | null} */
    let int8Weight = null
    const begin = () => {
      if (floats === null) int8Weight ??= this.#int8Of(assignment, shape, groupSize)
      else floats.begin()
    }
    /** @type {Float32Array | null} */
    let kept = null
    /** @param {UseRows} use @returns {UseRows} */
    const dequantized = (use) => (values, first, rows) => {
      const scales = /** @type {Float32Array} */ (kept).subarray(first * groups, (first + rows) * groups)
      use(dequantizeRows(integersOf(given, values), scales, rows, groupSize), first, rows)
    }
    this.#places.get(scale)?.push({
      unit: 1,
      stageBytes: () => 0,
      isRaw: false,
      begin,
      checks: [
        (values, first) => {
          kept ??= new Float32Array(outputs * groups)
          kept.set(checkScales(scale, values), first * groups)
        },
      ],
      write: (values, first, rows) => int8Weight?.writeScales(checkScales(scale, values), first, rows),
    })
    const checks = this.#isDict ? [(/** @type {Values} */ values) => void integersOf(given, values)] : []
    const { checks: floatChecks } = floats ?? { checks: this.#tiedChecks(assignment) }
    this.#places.get(given)?.push({
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

  /**
   * @param {Assignment} assignment
   * @returns {UseRows[]} the check that a tensor gets the same values under each of its names
   */
  #tiedChecks(assignment) {
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

  /** @param {Assignment} assignment @returns {boolean} whether it came first: the tensor gets its values */
  #isOwner(assignment) {
    return this.#ownerOf(assignment) === assignment
  }

  /** @param {Assignment} assignment @returns {Assignment} */
  #ownerOf(assignment) {
    const owner = this.#owners.get(assignment.target) ?? assignment
    this.#owners.set(assignment.target, owner)
    return owner
  }

  /**
   * @param {Assignment} assignment
   * @param {readonly number[]} shape [outputs, inputs]
   * @param {number} groupSize
   * @returns {Int8Weight | null} the tensor's; where the tensor has got its values, a copy to compare,
   *   or null where they were compared before
   */
  #int8Of(assignment, shape, groupSize) {
    const { target } = assignment
    const isOwner = this.#isOwner(assignment)
    if (this.#dtype === null) return isOwner ? target.int8Weight : null
    const int8Weight = Int8Weight.empty(this.#runtime, shape, groupSize)
    if (isOwner) target.becomeInt8(int8Weight)
    else this.#copies.set(int8Weight, assignment)
    return int8Weight
  }
}

/** @param {Assignment} assignment @param {Assignment} owner of the tensor's values */
const notTied = ({ name }, owner) =>
  fail('VALUE', name, `be ${owner.name}, with which it is tied`, 'other values')

/**
 * @param {Assignment} assignment
 * @param {Values} values [rows, cols]
 * @param {number} first the first row
 * @param {number} rows
 * @returns {{ begin: number, rowStep: number, colStep: number }} where the values are in the tensor
 */
function stepsOf({ target, transposed }, values, first, rows) {
  const [rowStep, colStep] = transposed ? [1, target.shape[1]] : [values.length / rows, 1]
  return { begin: first * rowStep, rowStep, colStep }
}

/**
 * @param {Assignment} assignment
 * @param {Float32Array} data of the tensor
 * @param {Values} values
 * @param {number} first
 * @param {number} rows
 */
function copyRows(assignment, data, values, first, rows) {
  const { begin, rowStep, colStep } = stepsOf(assignment, values, first, rows)
  if (!assignment.transposed) {
    data.set(values, begin)
    return
  }
  const cols = values.length / rows
  for (let c = 0; c < cols; c++) {
    for (let r = 0, to = begin + c * colStep, from = c; r < rows; r++, to += rowStep, from += cols) {
      data[to] = values[from]
    }
  }
}

/**
 * @param {Assignment} assignment
 * @param {Float32Array} data of the tensor
 * @param {Values} values
 * @param {number} first
 * @param {number} rows
 * @returns {boolean}
 */
function isSame(assignment, data, values, first, rows) {
  const { begin, rowStep, colStep } = stepsOf(assignment, values, first, rows)
  const cols = values.length / rows
  return values.every((value, i) =>
    Object.is(value, data[begin + Math.floor(i / cols) * rowStep + (i % cols) * colStep]),
  )
}
