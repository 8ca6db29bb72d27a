/** @import { Module } from '../layers/module.js' */
/** @import { Tensor } from '../tensor/tensor.js' */
/** @import { Info } from './header.js' */
/** @import { Assignment } from './statedict.js' */
/** @import { FileStream } from './stream.js' */

import { checkSameShape } from '../check.js'
import { evenGroups, GROUP_SIZE, Int8Weight, unitOf } from '../tensor/int8weight.js'
import { checkScales, groupSizeOf } from './int8.js'
import { assignments, notFinite, notTied, shapeInFile } from './statedict.js'
import { slabRows } from './stream.js'

/**
 * The tensors of a layer that may be int8: how they are read, and whether `quantize` makes them int8.
 *
 * @typedef {ReadonlyMap<Tensor, { transposed: boolean, isProduct: boolean }>} Matrices
 */

/**
 * Where a tensor of the file goes, as it arrives in slabs of rows.
 *
 * @typedef {object} Place
 * @property {number} unit the first row of a slab is a multiple of this
 * @property {(unit: number) => number} stageBytes the bytes of the stage that it needs, by the slabs' unit
 * @property {() => void} begin takes memory
 * @property {Write<Float32Array> | null} floats
 * @property {Write<Uint8Array> | null} integers the bytes, in place of floats, for dtype I8
 */

/**
 * @template T
 * @typedef {(values: T, first: number, rows: number) => void} Write writes the rows from `first` on
 */

/**
 * Reads the tensors of a layer from a file: each goes to its place as it arrives.
 *
 * @param {FileStream} stream at the first tensor
 * @param {Module} module its tensors may be meta tensors
 * @param {Matrices} matrices of the module
 * @param {readonly Info[]} tensors of the file, in the order of their data
 * @param {'float32' | 'int8'} dtype what becomes of matrices of floats
 * @throws {GptLayersError} VALUE for a name that is missing, unknown or there twice; SHAPE; MEMORY; what
 *   reading throws
 */
export async function loadInto(stream, module, matrices, tensors, dtype) {
  const plan = new Plan(module, matrices, tensors, dtype)
  try {
    plan.begin()
    for (const tensor of tensors) {
      const { places, unit } = plan.of(tensor)
      for (const place of places) place.begin()
      if (places.length === 0) await stream.skip(tensor)
      else if (places[0].integers === null) {
        await stream.readFloats(tensor, unit, (...slab) => places.forEach(({ floats }) => floats?.(...slab)))
      } else {
        await stream.readIntegers(tensor, unit, (...slab) =>
          places.forEach(({ integers }) => integers?.(...slab)),
        )
      }
    }
    plan.end()
  } finally {
    plan.dispose()
  }
}

/** Where each tensor of a file goes. */
class Plan {
  #runtime
  /** @type {Map<string, Place[]>} */ #places
  /** The tensors that have values, and the name of what has given them. @type {Map<Tensor, string>} */
  #begun = new Map()
  /**
   * What a file has for a tensor that is int8 already.
   *
   * @type {{ copy: Int8Weight, assignment: Assignment }[]}
   */
  #copies = []
  /** Memory of the instance through which values pass on their way to an int8 weight. */
  #stage = { byteOffset: 0, bytes: 0 }

  /**
   * @param {Module} module
   * @param {Matrices} matrices
   * @param {readonly Info[]} tensors
   * @param {'float32' | 'int8'} dtype
   */
  constructor(module, matrices, tensors, dtype) {
    this.#runtime = module.runtime
    this.#places = new Map(tensors.map(({ name }) => [name, []]))
    const names = tensors.map(({ name }) => name)
    const byName = new Map(tensors.map((info) => [info.name, info]))
    const infoOf = (/** @type {string} */ name) => /** @type {Info} */ (byName.get(name))
    for (const assignment of assignments(module, 'source', names, matrices)) {
      const { given, scale, target, transposed } = assignment
      const shape = shapeInFile(target.shape, transposed)
      if (scale !== null) {
        const groupSize = groupSizeOf(given, infoOf(given), infoOf(scale), shape)
        this.#addInt8(assignment, scale, shape, groupSize)
        continue
      }
      checkSameShape(given, infoOf(given).shape, shape)
      if (dtype === 'int8' && matrices.get(target)?.isProduct) this.#addQuantized(assignment, shape)
      else this.#addFloats(assignment)
    }
    for (const tensor of tensors) {
      const { places, unit } = this.of(tensor)
      this.#stage.bytes = Math.max(this.#stage.bytes, ...places.map((place) => place.stageBytes(unit)))
    }
  }

  /** @param {Info} tensor @returns {{ places: Place[], unit: number }} unit: of the slabs' rows */
  of({ name }) {
    const places = /** @type {Place[]} */ (this.#places.get(name))
    return { places, unit: places.reduce((unit, place) => (unit % place.unit ? unit * place.unit : unit), 1) }
  }

  /** Takes memory for the stage. */
  begin() {
    if (this.#stage.bytes === 0) return
    this.#stage.byteOffset = this.#runtime.memory.allocate(this.#stage.bytes)
  }

  /** Checks that tied int8 weights are the same. */
  end() {
    const { memory } = this.#runtime
    for (const { copy, assignment } of this.#copies) {
      const { int8Weight } = assignment.target
      const bytes = memory.bytes(copy.byteOffset, copy.byteLength)
      const isSame =
        int8Weight?.byteLength === copy.byteLength &&
        memory.bytes(int8Weight.byteOffset, copy.byteLength).every((byte, i) => byte === bytes[i])
      if (!isSame) throw this.#notTied(assignment)
    }
  }

  dispose() {
    for (const { copy } of this.#copies) copy.dispose()
    if (this.#stage.byteOffset > 0) this.#runtime.memory.free(this.#stage.byteOffset)
  }

  /** @param {Assignment} assignment */
  #notTied({ target, name }) {
    return notTied(name, this.#begun.get(target) ?? null)
  }

  /** @param {string} given a name in the file @param {Place} place */
  #add(given, place) {
    this.#places.get(given)?.push(place)
  }

  /** @param {Assignment} assignment of a tensor that becomes float32 */
  #addFloats(assignment) {
    const { given, target, name, transposed } = assignment
    let isTied = false
    this.#add(given, {
      unit: 1,
      stageBytes: () => 0,
      begin: () => {
        if (target.isMeta) target.materialize()
        isTied = this.#begun.has(target)
        if (!isTied) this.#begun.set(target, name)
      },
      floats: (values, first, rows) => {
        if (isTied && target.int8Weight) throw this.#notTied(assignment)
        const { data } = target
        const cols = values.length / rows
        const [rowStep, colStep] = transposed ? [1, target.shape[1]] : [cols, 1]
        const begin = first * rowStep
        if (isTied) {
          if (!isSame(data, begin, values, rows, cols, rowStep, colStep)) throw this.#notTied(assignment)
        } else if (transposed) scatter(data, begin, values, rows, cols, colStep)
        else data.set(values, begin)
      },
      integers: null,
    })
  }

  /**
   * @param {Assignment} assignment of a tensor that becomes int8
   * @param {readonly number[]} shape in the file
   */
  #addQuantized(assignment, [count, cols]) {
    const { given, turned } = assignment
    const [outputs, inputs] = turned ? [cols, count] : [count, cols]
    const groupSize = evenGroups(inputs, GROUP_SIZE)
    /** @type {Int8Weight} */
    let int8Weight
    this.#add(given, {
      unit: unitOf(turned, groupSize),
      stageBytes: (unit) => 4 * cols * Math.min(count, slabRows(cols, unit)),
      begin: () => {
        int8Weight = this.#newInt8(assignment, [outputs, inputs], groupSize)
      },
      floats: (values, first, rows) => {
        this.#runtime.memory.floats(this.#stage.byteOffset, values.length).set(values)
        const isFinite = int8Weight.quantizeRows(this.#stage, first, rows, turned)
        if (!isFinite) throw notFinite(`${given}`)
      },
      integers: null,
    })
  }

  /**
   * @param {Assignment} assignment of a tensor that is int8 in the file
   * @param {string} scale the name of its scales
   * @param {readonly number[]} shape [outputs, inputs]
   * @param {number} groupSize
   */
  #addInt8(assignment, scale, shape, groupSize) {
    const [outputs, inputs] = shape
    /** @type {Int8Weight | null} */
    let int8Weight = null
    const take = () => (int8Weight ??= this.#newInt8(assignment, shape, groupSize))
    this.#add(scale, {
      unit: 1,
      stageBytes: () => 0,
      begin: take,
      floats: (values, first, rows) => take().writeScales(checkScales(scale, values), first, rows),
      integers: null,
    })
    this.#add(assignment.given, {
      unit: unitOf(false, groupSize),
      stageBytes: (unit) => inputs * Math.min(outputs, slabRows(inputs, unit)),
      begin: take,
      floats: null,
      integers: (values, first, rows) => {
        this.#runtime.memory.bytes(this.#stage.byteOffset, values.length).set(values)
        take().packRows(this.#stage, first, rows)
      },
    })
  }

  /**
   * @param {Assignment} assignment
   * @param {readonly number[]} shape [outputs, inputs]
   * @param {number} groupSize
   * @returns {Int8Weight} the tensor's, or a copy to compare with it
   */
  #newInt8(assignment, shape, groupSize) {
    const { target, name } = assignment
    const int8Weight = Int8Weight.empty(this.#runtime, shape, groupSize)
    if (this.#begun.has(target)) this.#copies.push({ copy: int8Weight, assignment })
    else {
      this.#begun.set(target, name)
      target.becomeInt8(int8Weight)
    }
    return int8Weight
  }
}

/**
 * Writes a matrix transposed: [inputs, outputs] to [outputs, inputs].
 *
 * @param {Float32Array} data
 * @param {number} begin the place of the first value
 * @param {Float32Array} values [rows, cols]
 * @param {number} rows
 * @param {number} cols
 * @param {number} colStep
 */
function scatter(data, begin, values, rows, cols, colStep) {
  for (let c = 0; c < cols; c++) {
    for (let r = 0, to = begin + c * colStep, from = c; r < rows; r++, to++, from += cols) {
      data[to] = values[from]
    }
  }
}

/**
 * @param {Float32Array} data
 * @param {number} begin
 * @param {Float32Array} values [rows, cols]
 * @param {number} rows
 * @param {number} cols
 * @param {number} rowStep
 * @param {number} colStep
 */
function isSame(data, begin, values, rows, cols, rowStep, colStep) {
  for (let r = 0, from = 0; r < rows; r++) {
    for (let c = 0; c < cols; c++, from++) {
      if (!Object.is(values[from], data[begin + r * rowStep + c * colStep])) return false
    }
  }
  return true
}
