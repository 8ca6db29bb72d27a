/** @import { Module } from '../layers/module.js' */
/** @import { Tensor } from '../tensor/tensor.js' */
/** @import { Info } from './header.js' */
/** @import { SignalLike, Source } from './source.js' */
/** @import { Assignment } from './statedict.js' */

import { checkSameShape } from '../check.js'
import { sizeOf } from '../tensor/shape.js'
import { bytesOf, DTYPES, toFloat32 } from './dtypes.js'
import { notSafetensors, readHeader } from './header.js'
import { headerEnd, LENGTH_BYTES, newBuffer, PREFIX_BYTES, truncatedHeader } from './safetensors.js'
import { assignments, notTied, shapeInFile } from './statedict.js'

/** The bytes that are read at once, unless a row of a matrix has more. */
const SLAB = 2 ** 22

/** How often progress is told. */
const REPORTS = 100

/** @typedef {(progress: { loaded: number, total: number }) => void} ProgressListener */

/**
 * A file in the safetensors format, read once from its begin to its end: a tensor at a time, in slabs.
 */
export class FileStream {
  #where
  #source
  #onProgress
  #signal
  /** Bytes of the file. */ #loaded = 0
  #total = 0
  /** What `onProgress` was told last. */ #told = 0
  #slab = new ArrayBuffer(0)
  #floats = new ArrayBuffer(0)

  /**
   * @param {string} where
   * @param {Source} source
   * @param {ProgressListener | undefined} onProgress
   * @param {SignalLike | undefined} signal
   */
  constructor(where, source, onProgress, signal) {
    this.#where = where
    this.#source = source
    this.#onProgress = onProgress
    this.#signal = signal
  }

  /**
   * @returns {Promise<readonly Info[]>} what the header says, in the order of the data
   * @throws {GptLayersError} VALUE, UNSUPPORTED, NETWORK, MEMORY; the signal's reason
   */
  async readHeader() {
    const where = this.#where
    const prefix = new Uint8Array(PREFIX_BYTES)
    const known = prefix.subarray(0, await this.#read(prefix))
    const start = headerEnd(where, 'source', known)
    const file = new Uint8Array(newBuffer(where, start))
    file.set(known.subarray(0, start)) // a header that is shorter than the prefix has no tensors
    const rest = file.subarray(known.length)
    const length = Math.min(known.length, start) + (await this.#read(rest))
    if (length < start) throw truncatedHeader(where, 'source', length, start)
    const { tensors, dataBytes } = readHeader(where, 'source', file.subarray(LENGTH_BYTES))
    this.#total = start + dataBytes
    this.#report()
    return tensors
  }

  /**
   * Reads the data of the next tensor in slabs of whole rows.
   *
   * @param {Info} tensor a matrix, or anything else as a matrix of one column
   * @param {number} unit the rows of each slab but the last are a multiple of this
   * @param {(values: Float32Array, first: number, rows: number) => void} write gets the rows from `first` on,
   *   in memory that is used again
   */
  async readFloats({ name, dtype, shape }, unit, write) {
    const where = this.#where
    await this.#readRows(dtype, shape, unit, (slab, bytes, first, rows) => {
      const size = (bytes / DTYPES[dtype].bytes) * 4
      if (this.#floats.byteLength < size && dtype !== 'F32') this.#floats = newBuffer(where, size)
      write(toFloat32(where, name, dtype, slab, bytes, this.#floats), first, rows)
    })
  }

  /**
   * @param {string} dtype
   * @param {readonly number[]} shape
   * @param {number} unit
   * @param {(slab: ArrayBuffer, bytes: number, first: number, rows: number) => void} use
   */
  async #readRows(dtype, shape, unit, use) {
    const [count, cols] = shape.length === 2 ? shape : [sizeOf(shape), 1]
    const rowBytes = bytesOf(dtype, [cols])
    const most = unit * Math.max(1, Math.floor(SLAB / (rowBytes * unit)))
    for (let first = 0; first < count && rowBytes > 0; first += most) {
      const rows = Math.min(most, count - first)
      const bytes = rows * rowBytes
      if (this.#slab.byteLength < bytes) this.#slab = newBuffer(this.#where, Math.max(bytes, SLAB))
      this.#checkLength(bytes, await this.#read(new Uint8Array(this.#slab, 0, bytes)))
      use(this.#slab, bytes, first, rows)
      this.#report()
    }
  }

  /**
   * Reads past the data of the next tensor.
   *
   * @param {Info} tensor
   */
  async skip({ begin, end }) {
    for (let at = begin; at < end; at += SLAB) {
      const bytes = Math.min(SLAB, end - at)
      const length = await this.#source.skip(bytes)
      this.#checkSignal()
      this.#loaded += length
      this.#checkLength(bytes, length)
      this.#report()
    }
  }

  /** Checks that nothing follows, and tells the last progress. */
  async end() {
    const total = this.#loaded
    const more = await this.#read(new Uint8Array(1))
    if (more > 0) throw notSafetensors(this.#where, 'source', `more than ${total} bytes`)
    this.#tell(total)
  }

  /** @param {Uint8Array} target @returns {Promise<number>} */
  async #read(target) {
    this.#checkSignal()
    const length = await this.#source.read(target)
    this.#checkSignal()
    this.#loaded += length
    return length
  }

  /** @param {number} expected @param {number} length */
  #checkLength(expected, length) {
    if (length === expected) return
    throw notSafetensors(this.#where, 'source', `${this.#loaded} bytes instead of ${this.#total}`)
  }

  #checkSignal() {
    if (this.#signal?.aborted) throw this.#signal.reason
  }

  #report() {
    const next = this.#told + this.#total / REPORTS
    if (this.#loaded >= next && this.#loaded < this.#total) this.#tell(this.#loaded)
  }

  /** @param {number} loaded */
  #tell(loaded) {
    this.#told = loaded
    this.#onProgress?.({ loaded, total: this.#total })
    this.#checkSignal()
  }
}

/**
 * Reads the tensors of a layer from a file: each goes to its place as it arrives.
 *
 * @param {FileStream} stream at the first tensor
 * @param {string} where
 * @param {Module} module whose parameters are meta tensors
 * @param {readonly Info[]} tensors of the file
 * @throws {GptLayersError} VALUE for a name that is missing, unknown or there twice; SHAPE; MEMORY; as reading
 */
export async function loadInto(stream, where, module, tensors) {
  const names = tensors.map(({ name }) => name)
  const byName = new Map(tensors.map((info) => [info.name, info]))
  /** @type {Map<string, FloatPlace[]>} */
  const places = new Map(names.map((name) => [name, []]))
  for (const assignment of assignments(module, where, 'source', names)) {
    const { given, target, transposed } = assignment
    const info = /** @type {Info} */ (byName.get(given))
    checkSameShape(where, given, info.shape, shapeInFile(target.shape, transposed))
    places.get(given)?.push(new FloatPlace(where, assignment))
  }
  /** @type {Map<Tensor, string>} */
  const begun = new Map()
  for (const info of tensors) {
    const here = /** @type {FloatPlace[]} */ (places.get(info.name))
    if (here.length === 0) await stream.skip(info)
    else {
      for (const place of here) place.begin(begun)
      await stream.readFloats(info, 1, (values, first, rows) => {
        for (const place of here) place.write(values, first, rows)
      })
    }
  }
}

/** Where the values of a float32 tensor go. */
class FloatPlace {
  #where
  #assignment
  /** The name under which the file had the same values before. @type {string | undefined} */ #tied

  /** @param {string} where @param {Assignment} assignment */
  constructor(where, assignment) {
    this.#where = where
    this.#assignment = assignment
  }

  /** @param {Map<Tensor, string>} begun the tensors that have values already, with their names */
  begin(begun) {
    const { target, name } = this.#assignment
    if (target.isMeta) target.materialize(this.#where)
    this.#tied = begun.get(target)
    if (this.#tied === undefined) begun.set(target, name)
  }

  /**
   * @param {Float32Array} values rows of the file's matrix
   * @param {number} first
   * @param {number} rows
   */
  write(values, first, rows) {
    const { target, transposed, name } = this.#assignment
    const { data } = target
    const cols = values.length / rows
    const [rowStep, colStep] = transposed ? [1, target.shape[1]] : [cols, 1]
    const begin = first * rowStep
    if (this.#tied !== undefined) {
      if (!isSame(data, begin, values, rows, cols, rowStep, colStep)) {
        throw notTied(this.#where, name, this.#tied)
      }
    } else if (transposed) scatter(data, begin, values, rows, cols, colStep)
    else data.set(values, begin)
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
