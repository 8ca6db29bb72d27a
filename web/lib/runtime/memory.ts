import { fail, GptLayersError } from '../errors.ts'
import { type Block, FreeList } from './freelist.ts'
import { Pressure } from './pressure.ts'
import { watch } from './scope.ts'

const PAGE = 65536
const ALIGNMENT = 16 // bytes of a SIMD vector
const GROWTH = 16 * PAGE // the heap grows by at least 1 MiB, so that few small tensors grow it

/**
 * A block of the heap that several tensors may share. It is freed when the last of them is disposed, or when
 * the garbage collector has freed all of them. `watched`: whether the collector will tell. `version`: how
 * often an optimizer, a loader or `quantize` has changed the values.
 */
export type Storage = { memory: Memory; offset: number; owners: number; watched: boolean; version: number }

/**
 * The heap: the linear memory of the WebAssembly from `base` on.
 *
 * An allocation takes the first free block that is large enough. Free blocks are sorted by address, and
 * neighbors are merged. Growing the memory detaches all views, so none is kept: `floats` makes a new one each
 * time.
 */
export class Memory {
  /** null after dispose */
  #memory: WebAssembly.Memory | null
  #limit: number
  #free: FreeList
  /**
   * The size of every block in use, by its offset; 0 for one that was freed. It is not deleted: V8 leaves a deleted
   * entry in its bucket, so that adding the same offset again and again would search ever longer buckets.
   */
  #blocks: Map<number, number> = new Map()
  #freed = 0
  /** The number of bytes in use, those of retired blocks included. */
  used = 0
  #pressure: Pressure
  #abandoned: FinalizationRegistry<number> = new FinalizationRegistry((offset) => {
    this.free(offset)
    this.#pressure.relieve(this.used)
  })

  /**
   * @param base the first byte of the heap
   * @param limit the most bytes of the whole linear memory
   */
  constructor(memory: WebAssembly.Memory, base: number, limit: number) {
    this.#memory = memory
    this.#limit = limit
    this.#pressure = new Pressure(limit)
    const offset = Math.ceil(base / ALIGNMENT) * ALIGNMENT
    this.#free = new FreeList({ offset, size: memory.buffer.byteLength - offset })
  }

  get disposed(): boolean {
    return this.#memory === null
  }

  dispose(): void {
    this.#memory = null
  }

  /**
   * @returns the offset of a block of so many bytes, aligned to 16, contents undefined
   * @throws {GptLayersError} MEMORY when the heap may not or cannot grow so far; nothing has changed then.
   *   DISPOSED
   */
  allocate(bytes: number): number {
    this.checkLive()
    const size = Math.max(ALIGNMENT, Math.ceil(bytes / ALIGNMENT) * ALIGNMENT)
    let offset = this.#free.take(size)
    while (offset === null) {
      this.#free.add(this.#grow(size))
      offset = this.#free.take(size)
    }
    if (this.#blocks.get(offset) === 0) this.#freed--
    this.#blocks.set(offset, size)
    this.used += size
    if (this.used > this.#pressure.next) this.#pressure.rise(this.used)
    return offset
  }

  /** @throws {GptLayersError} DISPOSED where the heap was disposed, even if there is another one since */
  checkLive(): WebAssembly.Memory {
    if (this.#memory !== null) return this.#memory
    throw fail('DISPOSED', 'gpt-layers', 'stay loaded', 'a dispose() meanwhile')
  }

  /** @param offset from `allocate` */
  free(offset: number): void {
    const size = this.#blocks.get(offset)
    if (!size) return // retired, or freed before
    this.#blocks.set(offset, 0)
    if (2 * ++this.#freed > this.#blocks.size) this.#forgetFreed()
    this.used -= size
    if (this.used < this.#pressure.base) this.#pressure.fall(this.used)
    this.#free.add({ offset, size })
  }

  #forgetFreed(): void {
    this.#blocks = new Map([...this.#blocks].filter(([, size]) => size > 0))
    this.#freed = 0
  }

  /**
   * Takes a block out of use for good: `free` leaves it alone, so no later block gets its memory.
   *
   * @param address within the block; where there is none, nothing happens
   */
  retire(address: number): void {
    for (const [offset, size] of this.#blocks) {
      if (offset <= address && address < offset + size) this.#blocks.delete(offset)
    }
  }

  /** A new view of the heap, valid until the next allocation. */
  floats(offset: number, length: number): Float32Array<ArrayBuffer> {
    return new Float32Array(this.checkLive().buffer, offset, length)
  }

  /** A new view of the heap as bytes, valid until the next allocation. */
  bytes(offset: number, length: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.checkLive().buffer, offset, length)
  }

  /** A new view of the heap as 32-bit integers. In shared memory it stays valid when the memory grows. */
  words(offset: number, length: number): Int32Array<ArrayBuffer> {
    return new Int32Array(this.checkLive().buffer, offset, length)
  }

  /** A new view of the heap as float64. In shared memory it stays valid when the memory grows. */
  doubles(offset: number, length: number): Float64Array<ArrayBuffer> {
    return new Float64Array(this.checkLive().buffer, offset, length)
  }

  /** Whether a value is a view of this heap, which is detached when the heap grows. */
  isView(values: object): boolean {
    return ArrayBuffer.isView(values) && values.buffer === this.#memory?.buffer
  }

  store(bytes: number): Storage {
    const storage = { memory: this, offset: this.allocate(bytes), owners: 1, watched: false, version: 0 }
    watch(storage)
    return storage
  }

  /** Frees a block when the collector has freed its tensors. */
  watch(storage: Storage): void {
    storage.watched = true
    this.#abandoned.register(storage, storage.offset, storage)
  }

  /** One tensor no longer holds the storage: the last one frees it. */
  drop(storage: Storage): void {
    if (--storage.owners > 0) return
    if (storage.watched) this.#abandoned.unregister(storage)
    this.free(storage.offset)
  }

  /** @returns more memory, so that a block of this size is free */
  #grow(size: number): Block {
    const memory = this.checkLive()
    const end = memory.buffer.byteLength
    const { last } = this.#free
    const missing = size - (last && last.offset + last.size === end ? last.size : 0)
    const pages = Math.ceil(missing / PAGE)
    const room = Math.floor((this.#limit - end) / PAGE)
    const fail = (cause: unknown) =>
      new GptLayersError(
        'MEMORY',
        `needs ${size} bytes, and the heap of ${end} bytes may not grow beyond ${this.#limit}: ` +
          'dispose tensors or work in gpt.scope (unused tensors are freed between tasks only), or load with ' +
          'a larger maxMemory',
        { cause },
      )
    if (pages > room) throw fail(undefined)
    const wanted = Math.min(Math.max(pages, GROWTH / PAGE), room)
    try {
      memory.grow(wanted)
    } catch (cause) {
      throw fail(cause)
    }
    return { offset: end, size: wanted * PAGE }
  }
}
