/** @import { SignalLike } from '../check.js' */
/** @import { Header, Info } from './header.js' */
/** @import { Source } from './source.js' */

import { sizeOf } from '../tensor/shape.js'
import { bytesOf, DTYPES, toFloat32 } from './dtypes.js'
import { notSafetensors, readHeader } from './header.js'
import { headerEnd, LENGTH_BYTES, newBuffer, PREFIX_BYTES, truncatedHeader } from './safetensors.js'

/** The float32 values that are read at once, unless a row of a matrix has more. */
const SLAB_FLOATS = 2 ** 20

/** The bytes that are skipped at once. */
const SKIP = 2 ** 22

/** How often progress is told. */
const REPORTS = 100

/** @typedef {(progress: { loaded: number, total: number }) => void} ProgressListener */

/**
 * @param {number} cols of a matrix
 * @param {number} unit
 * @returns {number} the rows of a slab: a multiple of unit
 */
export const slabRows = (cols, unit) => unit * Math.max(1, Math.floor(SLAB_FLOATS / (cols * unit)))

/**
 * A file in the safetensors format, read once from its begin to its end: a tensor at a time, in slabs.
 */
export class FileStream {
  #source
  #onProgress
  #signal
  /** Rejects when the signal aborts. @type {Promise<never>} */ #aborted
  /** @type {() => void} */ #abort = () => {}
  /** Bytes of the file. */ #loaded = 0
  #total = 0
  /** What `onProgress` was told last. */ #told = 0
  #slab = new ArrayBuffer(0)
  #floats = new ArrayBuffer(0)

  /**
   * @param {Source} source
   * @param {ProgressListener | undefined} onProgress
   * @param {SignalLike | undefined} signal
   */
  constructor(source, onProgress, signal) {
    this.#source = source
    this.#onProgress = onProgress
    this.#signal = signal
    this.#aborted = new Promise((_, reject) => (this.#abort = () => reject(signal?.reason)))
    this.#aborted.catch(() => {})
    signal?.addEventListener('abort', this.#abort)
  }

  /** Lets go of the signal. */
  close() {
    this.#signal?.removeEventListener('abort', this.#abort)
  }

  /**
   * @returns {Promise<Header>} what the header says
   * @throws {GptLayersError} VALUE, UNSUPPORTED, NETWORK, MEMORY; the signal's reason
   */
  async readHeader() {
    const prefix = new Uint8Array(PREFIX_BYTES)
    const known = prefix.subarray(0, await this.#read(prefix))
    const start = headerEnd('source', known)
    const file = new Uint8Array(newBuffer(start))
    file.set(known.subarray(0, start)) // a header that is shorter than the prefix has no tensors
    const rest = file.subarray(known.length)
    const length = Math.min(known.length, start) + (await this.#read(rest))
    if (length < start) throw truncatedHeader('source', length, start)
    const header = readHeader('source', file.subarray(LENGTH_BYTES))
    this.#total = start + header.dataBytes
    this.#report()
    return header
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
    await this.#readRows(dtype, shape, unit, (slab, bytes, first, rows) => {
      const size = (bytes / DTYPES[dtype].bytes) * 4
      if (this.#floats.byteLength < size && dtype !== 'F32') this.#floats = newBuffer(size)
      write(toFloat32(name, dtype, slab, bytes, this.#floats), first, rows)
    })
  }

  /**
   * Reads the data of the next tensor, of dtype I8, as `readFloats`.
   *
   * @param {Info} tensor
   * @param {number} unit
   * @param {(bytes: Uint8Array, first: number, rows: number) => void} write
   */
  async readIntegers({ dtype, shape }, unit, write) {
    await this.#readRows(dtype, shape, unit, (slab, bytes, first, rows) => {
      write(new Uint8Array(slab, 0, bytes), first, rows)
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
    if (cols === 0) return
    const rowBytes = bytesOf(dtype, [cols])
    const most = slabRows(cols, unit)
    for (let first = 0; first < count; first += most) {
      const rows = Math.min(most, count - first)
      const bytes = rows * rowBytes
      if (this.#slab.byteLength < bytes) this.#slab = newBuffer(bytes)
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
    for (let at = begin; at < end; at += SKIP) {
      const bytes = Math.min(SKIP, end - at)
      this.#checkLength(bytes, await this.#wait(() => this.#source.skip(bytes)))
      this.#report()
    }
  }

  /** Checks that nothing follows, and tells the last progress. */
  async end() {
    const total = this.#loaded
    const more = await this.#read(new Uint8Array(1))
    if (more > 0) throw notSafetensors('source', `more than ${total} bytes`)
    this.#tell(total)
  }

  /** @param {Uint8Array} target @returns {Promise<number>} */
  #read(target) {
    return this.#wait(() => this.#source.read(target))
  }

  /**
   * Waits for the source, which may never answer, or until the signal aborts.
   *
   * @param {() => Promise<number>} read
   * @returns {Promise<number>} the bytes that were read
   */
  async #wait(read) {
    this.#checkSignal()
    const length = await Promise.race([read(), this.#aborted])
    this.#checkSignal()
    this.#loaded += length
    return length
  }

  /** @param {number} expected @param {number} length */
  #checkLength(expected, length) {
    if (length === expected) return
    throw notSafetensors('source', `${this.#loaded} bytes instead of ${this.#total}`)
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
