/** @import { SignalLike } from '../check.js' */
/** @import { Header, Info } from './header.js' */
/** @import { UseRows } from './slabs.js' */
/** @import { Source } from './source.js' */

import { notSafetensors, readHeader } from './header.js'
import { headerEnd, LENGTH_BYTES, PREFIX_BYTES, truncatedHeader } from './safetensors.js'
import { newBuffer, Slabs } from './slabs.js'

/** The bytes that are skipped at once. */
const SKIP = 2 ** 22

/** How often progress is told. */
const REPORTS = 100

/** @typedef {(progress: { loaded: number, total: number }) => void} ProgressListener */

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
  #slabs = new Slabs()

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
   * Reads the data of the next tensor.
   *
   * @param {Info} tensor
   * @param {{ unit: number, isRaw: boolean }} options see `Slabs`
   * @param {UseRows} use
   */
  async read(tensor, options, use) {
    for (const room of this.#slabs.of(tensor, options, use)) {
      this.#checkLength(room.length, await this.#read(room))
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
