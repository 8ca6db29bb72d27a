import type { SignalLike } from '../check.ts'
import type { Source } from './source.ts'
import { type Header, type Info, notSafetensors, readHeader } from './header.ts'
import { headerEnd, LENGTH_BYTES, PREFIX_BYTES, truncatedHeader } from './safetensors.ts'
import { type UseRows, newBuffer, Slabs } from './slabs.ts'

/** The bytes that are skipped at once. */
const SKIP = 2 ** 22

/** How often progress is told. */
const REPORTS = 100

export type ProgressListener = (progress: { loaded: number; total: number }) => void

/** A file in the safetensors format, read once from its begin to its end: a tensor at a time, in slabs. */
export class FileStream {
  #source
  #onProgress
  #signal
  /** Rejects when the signal aborts. */
  #aborted: Promise<never>
  #abort: () => void = () => {}
  /** Bytes of the file. */
  #loaded = 0
  #total = 0
  /** What `onProgress` was told last. */
  #told = 0
  #slabs = new Slabs()

  constructor(source: Source, onProgress: ProgressListener | undefined, signal: SignalLike | undefined) {
    this.#source = source
    this.#onProgress = onProgress
    this.#signal = signal
    this.#aborted = new Promise((_, reject) => (this.#abort = () => reject(signal?.reason)))
    this.#aborted.catch(() => {})
    signal?.addEventListener('abort', this.#abort)
  }

  /** Lets go of the signal. */
  close(): void {
    this.#signal?.removeEventListener('abort', this.#abort)
  }

  /**
   * @returns what the header says
   * @throws {GptLayersError} VALUE, UNSUPPORTED, NETWORK, MEMORY; the signal's reason
   */
  async readHeader(): Promise<Header> {
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
   * @param options see `Slabs`
   */
  async read(tensor: Info, options: { unit: number; isRaw: boolean }, use: UseRows): Promise<void> {
    for (const room of this.#slabs.of(tensor, options, use)) {
      this.#checkLength(room.length, await this.#read(room))
      this.#report()
    }
  }

  /** Reads past the data of the next tensor. */
  async skip({ begin, end }: Info): Promise<void> {
    const room = new Uint8Array(newBuffer(Math.min(SKIP, end - begin)))
    for (let at = begin; at < end; at += SKIP) {
      const part = room.subarray(0, end - at)
      this.#checkLength(part.length, await this.#read(part))
      this.#report()
    }
  }

  /** Checks that nothing follows, and tells the last progress. */
  async end(): Promise<void> {
    const total = this.#loaded
    const more = await this.#read(new Uint8Array(1))
    if (more > 0) throw notSafetensors('source', `more than ${total} bytes`)
    this.#tell(total)
  }

  /** Reads some bytes, until the signal aborts: the source may never answer. */
  async #read(target: Uint8Array): Promise<number> {
    this.#checkSignal()
    const length = await Promise.race([this.#source.read(target), this.#aborted])
    this.#checkSignal()
    this.#loaded += length
    return length
  }

  #checkLength(expected: number, length: number): void {
    if (length === expected) return
    throw notSafetensors('source', `${this.#loaded} bytes instead of ${this.#total}`)
  }

  #checkSignal(): void {
    if (this.#signal?.aborted) throw this.#signal.reason
  }

  #report(): void {
    const next = this.#told + this.#total / REPORTS
    if (this.#loaded >= next && this.#loaded < this.#total) this.#tell(this.#loaded)
  }

  #tell(loaded: number): void {
    this.#told = loaded
    this.#onProgress?.({ loaded, total: this.#total })
    this.#checkSignal()
  }
}
