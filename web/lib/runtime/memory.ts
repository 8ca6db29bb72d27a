import { fail, GptLayersError } from '../errors.ts'
import { watch } from './scope.ts'

const PAGE = 65536
const ALIGNMENT = 16 // bytes of a SIMD vector
const GROWTH = 16 * PAGE // the heap grows by at least 1 MiB, so that few small tensors grow it

/** A part of the heap, in bytes. */
type Block = { offset: number; size: number }

/**
 * A block of the heap that several tensors may share. It is freed when the last of them is disposed, or when
 * the garbage collector has freed all of them. `watched`: whether the collector will tell. `version`: how
 * often an optimizer, a loader or `quantize` has changed the values.
 */
export type Storage = Block & { memory: Memory; owners: number; watched: boolean; version: number }

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
  /** Addresses whose blocks are never freed. */
  #retired: number[] = []
  /** The number of bytes in use, those of retired blocks included. */
  used = 0
  /** The offset of the numbers that one call reads or writes: 16 bytes. */
  readonly numbers: number
  #pressure: Pressure
  #abandoned: FinalizationRegistry<Block> = new FinalizationRegistry(({ offset, size }) => {
    this.free(offset, size)
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
    this.numbers = Math.ceil(base / ALIGNMENT) * ALIGNMENT
    const offset = this.numbers + ALIGNMENT
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
    const size = blockSize(bytes)
    let offset = this.#free.take(size)
    while (offset === null) {
      this.#free.add(this.#grow(size))
      offset = this.#free.take(size)
    }
    this.used += size
    if (this.used > this.#pressure.next) this.#pressure.rise(this.used)
    return offset
  }

  /** @throws {GptLayersError} DISPOSED where the heap was disposed, even if there is another one since */
  checkLive(): WebAssembly.Memory {
    if (this.#memory !== null) return this.#memory
    throw fail('DISPOSED', 'gpt-layers', 'stay loaded', 'a dispose() meanwhile')
  }

  /**
   * @param offset from `allocate`
   * @param bytes that `allocate` was asked for
   */
  free(offset: number, bytes: number): void {
    const size = blockSize(bytes)
    if (this.#retired.some((address) => offset <= address && address < offset + size)) return
    this.used -= size
    if (this.used < this.#pressure.base) this.#pressure.fall(this.used)
    this.#free.add({ offset, size })
  }

  /** Takes the block at an address out of use for good: `free` leaves it alone, so no later block gets its memory. */
  retire(address: number): void {
    this.#retired.push(address)
  }

  // New views of the heap. When it grows, they are detached, except in shared memory.

  floats(offset: number, length: number): Float32Array<ArrayBuffer> {
    return new Float32Array(this.checkLive().buffer, offset, length)
  }

  bytes(offset: number, length: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.checkLive().buffer, offset, length)
  }

  words(offset: number, length: number): Int32Array<ArrayBuffer> {
    return new Int32Array(this.checkLive().buffer, offset, length)
  }

  doubles(offset: number, length: number): Float64Array<ArrayBuffer> {
    return new Float64Array(this.checkLive().buffer, offset, length)
  }

  /** Whether a value is a view of this heap, which is detached when the heap grows. */
  isView(values: object): boolean {
    return ArrayBuffer.isView(values) && values.buffer === this.#memory?.buffer
  }

  store(size: number): Storage {
    const offset = this.allocate(size)
    const storage = { memory: this, offset, size, owners: 1, watched: false, version: 0 }
    watch(storage)
    return storage
  }

  /** Frees a block when the collector has freed its tensors. */
  watch(storage: Storage): void {
    storage.watched = true
    const { offset, size } = storage
    this.#abandoned.register(storage, { offset, size }, storage)
  }

  /** One tensor no longer holds the storage: the last one frees it. */
  drop(storage: Storage): void {
    if (--storage.owners > 0) return
    if (storage.watched) this.#abandoned.unregister(storage)
    this.free(storage.offset, storage.size)
  }

  /** @returns more memory, so that a block of this size is free */
  #grow(size: number): Block {
    const memory = this.checkLive()
    const end = memory.buffer.byteLength
    const { last } = this.#free
    const missing = size - (last && last.offset + last.size === end ? last.size : 0)
    const pages = Math.ceil(missing / PAGE)
    const room = Math.floor((this.#limit - end) / PAGE)
    const outOfMemory = (cause: unknown) =>
      new GptLayersError(
        'MEMORY',
        `needs ${size} bytes, and the heap of ${end} bytes may not grow beyond ${this.#limit}: ` +
          'dispose tensors or work in gpt.scope (unused tensors are freed between tasks only), or load with ' +
          'a larger maxMemory',
        { cause },
      )
    if (pages > room) throw outOfMemory(undefined)
    const wanted = Math.min(Math.max(pages, GROWTH / PAGE), room)
    try {
      memory.grow(wanted)
    } catch (cause) {
      throw outOfMemory(cause)
    }
    return { offset: end, size: wanted * PAGE }
  }
}

/** The size of the block for so many bytes. */
const blockSize = (bytes: number): number => Math.max(ALIGNMENT, Math.ceil(bytes / ALIGNMENT) * ALIGNMENT)

/** Neighboring free blocks in the list. `most`: no block is larger; all may be smaller. */
type Chunk = { blocks: Block[]; most: number }

/** The most blocks of a chunk. Many more chunks, or many more blocks in one, take longer to search. */
const LONGEST = 256

/**
 * The free blocks of the heap, sorted by address; no two of them touch. The list is cut into chunks, so that a
 * heap of 80,000 holes is not searched, nor moved, hole by hole.
 */
class FreeList {
  #chunks: Chunk[]

  constructor(first: Block) {
    this.#chunks = [{ blocks: [first], most: first.size }]
  }

  get last(): Block | undefined {
    return this.#chunks.at(-1)?.blocks.at(-1)
  }

  /** @returns the offset of the first block that is large enough, now used; or null */
  take(size: number): number | null {
    for (let c = 0; c < this.#chunks.length; c++) {
      const chunk = this.#chunks[c]
      if (chunk.most < size) continue
      const { blocks } = chunk
      const i = blocks.findIndex((block) => block.size >= size)
      if (i < 0) {
        chunk.most = blocks.reduce((most, block) => Math.max(most, block.size), 0)
        continue
      }
      const { offset } = blocks[i]
      if (blocks[i].size > size) blocks[i] = { offset: offset + size, size: blocks[i].size - size }
      else this.#remove(c, i)
      return offset
    }
    return null
  }

  /** Adds a block, merged with the free blocks that it touches. */
  add({ offset, size }: Block): void {
    const end = offset + size
    // The last chunk that begins before the block, and the first block of it that begins after.
    const c = Math.max(0, lowerBound(this.#chunks, ({ blocks: [first] }) => first.offset, offset) - 1)
    if (this.#chunks.length === 0) this.#chunks.push({ blocks: [], most: 0 })
    const chunk = this.#chunks[c]
    const { blocks } = chunk
    const i = lowerBound(blocks, (block) => block.offset, offset)
    const before: Block | undefined = blocks[i - 1]
    const isLast = i === blocks.length
    const after: Block | undefined = isLast ? this.#chunks[c + 1]?.blocks[0] : blocks[i]
    const joinsBefore = before !== undefined && before.offset + before.size === offset
    const joinsAfter = after !== undefined && after.offset === end
    const begin = joinsBefore ? before.offset : offset
    const merged = { offset: begin, size: (joinsAfter ? end + after.size : end) - begin }
    chunk.most = Math.max(chunk.most, merged.size)
    if (joinsAfter && isLast) this.#remove(c + 1, 0)
    const first = joinsBefore ? i - 1 : i
    const replaced = Number(joinsBefore) + Number(joinsAfter && !isLast)
    if (replaced === 1) blocks[first] = merged
    else blocks.splice(first, replaced, merged)
    if (blocks.length > LONGEST) {
      this.#chunks.splice(c + 1, 0, { blocks: blocks.splice(LONGEST / 2), most: chunk.most })
    }
  }

  #remove(c: number, i: number): void {
    const { blocks } = this.#chunks[c]
    blocks.splice(i, 1)
    if (blocks.length === 0) this.#chunks.splice(c, 1)
  }
}

/** @returns the index of the first item of which a number that ascends is `least` or more */
export function lowerBound<T>(items: ArrayLike<T>, numberOf: (item: T) => number, least: number): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (numberOf(items[middle]) < least) low = middle + 1
    else high = middle
  }
  return low
}

const BUFFER = 2 ** 25 // bytes; glibc maps a block of this size anew, so it never becomes resident
const HELD = 8 // buffers; older ones are garbage, which still counts until the next collection
const STEPS = 8
const MOST_DOUBLINGS = 4
const MORE_THAN_ENGINES_GIVE = 2 ** 35 - 1 // bytes

/**
 * Makes the garbage collector run when the heap fills with tensors that nobody holds. To an engine a tensor
 * is a small object: the engine does not count the memory behind it. It counts ArrayBuffers, so `rise` makes
 * some that nobody touches: they take address space and no memory.
 *
 * The room is the part of the heap that was free when the count began. `rise` makes a buffer for every 32 MiB
 * by which the use grows, or for every eighth of the room if that is less. A buffer has 32 MiB in the first
 * eighth of the room, and twice as much in each further one, up to 512 MiB. V8 collects after 64 MiB, Firefox
 * after some hundred.
 *
 * From half of the room on, V8 is made to collect at once: it collects before it refuses a buffer, and also
 * when it gives one of such a size. Other engines refuse at once.
 *
 * A program that disposes its tensors pays once: only growth beyond the largest use so far counts. The first
 * unused tensor that the collector finds starts the count anew.
 */
class Pressure {
  #limit: number
  #buffers: (ArrayBuffer | null)[] = []
  #made = 0
  #demanded = false
  #step = 0
  /** The use that counts as no pressure, in bytes. Below it, call `fall`. */
  base = 0
  /** The use, in bytes, beyond which `rise` has something to do. */
  next = 0

  /** @param limit the most bytes of the heap */
  constructor(limit: number) {
    this.#limit = limit
    this.fall(0)
  }

  /** @param used bytes of the heap, more than `next` */
  rise(used: number): void {
    for (; used > this.next; this.next += this.#step) {
      const doublings = Math.floor((STEPS * this.#made * this.#step) / (this.#limit - this.base))
      const buffer = untouched(BUFFER * 2 ** Math.min(MOST_DOUBLINGS, doublings))
      this.#buffers[this.#made++ % HELD] = buffer
    }
    if (this.#demanded || used < (this.base + this.#limit) / 2) return
    this.#demanded = true
    untouched(MORE_THAN_ENGINES_GIVE)
  }

  /** @param used bytes of the heap, less than `base` */
  fall(used: number): void {
    this.base = used
    this.#step = Math.max(1, Math.min(BUFFER, (this.#limit - used) / STEPS))
    this.next = used + (this.#made + 1) * this.#step
  }

  /** The collector has found an unused tensor, without which the heap has so many bytes in use. */
  relieve(used: number): void {
    this.#buffers = []
    this.#made = 0
    this.#demanded = false
    this.fall(used)
  }
}

function untouched(bytes: number): ArrayBuffer | null {
  try {
    return new ArrayBuffer(bytes)
  } catch {
    return null
  }
}
