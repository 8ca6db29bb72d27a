import { GptLayersError } from '../errors.js'

const PAGE = 65536
const ALIGNMENT = 16 // a vector's size: a block never shares one with its neighbour
const GROWTH = 16 * PAGE // grow in steps of 1 MiB, so that small tensors do not grow the heap one by one

/** @type {ReadonlySet<unknown>} */
const NONE = new Set()

/** @typedef {{ offset: number, size: number }} Block */

/**
 * One block of the heap, shared by the tensors that view it. It goes back to the heap when the last of them
 * is disposed or, by the garbage collector's word, when nobody holds any of them.
 *
 * @typedef {{ offset: number, holders: number }} Storage
 */

/**
 * The heap of one WebAssembly instance: everything in its linear memory from `base` on.
 *
 * First fit over the free blocks, which are kept in the order of their addresses and merged when they touch.
 * Growing detaches every view, so none is ever kept: `floats` makes a new one each time.
 */
export class Memory {
  /** @type {WebAssembly.Memory | null} null once the heap is given up */ #memory
  /** @type {number} */ #limit
  /** @type {Block[]} */ #free
  /** @type {Map<number, number>} the size of every block in use, by its offset */ #used = new Map()
  /** @type {Set<{ dispose(): void }>[]} what each open scope has seen made, the innermost last */ #scopes =
    []
  /** @type {FinalizationRegistry<number>} */ #abandoned = new FinalizationRegistry((offset) =>
    this.free(offset),
  )

  /**
   * @param {WebAssembly.Memory} memory
   * @param {number} base the first byte that is ours
   * @param {number} limit bytes that the whole linear memory may reach
   */
  constructor(memory, base, limit) {
    this.#memory = memory
    this.#limit = limit
    const offset = Math.ceil(base / ALIGNMENT) * ALIGNMENT
    this.#free = [{ offset, size: memory.buffer.byteLength - offset }]
  }

  /** Whether the heap was given up. */
  get disposed() {
    return this.#memory === null
  }

  /** Gives the heap up: from here on whoever asks for some gets an error. */
  dispose() {
    this.#memory = null
  }

  /** Bytes in use now. */
  get used() {
    let sum = 0
    for (const size of this.#used.values()) sum += size
    return sum
  }

  /**
   * @param {string} where the public function that asks, for the error
   * @param {number} bytes
   * @returns {number} the offset of a block of so many bytes, aligned to 16, contents undefined
   * @throws {GptLayersError} MEMORY when the heap may not or cannot grow so far; nothing has changed then.
   *   DISPOSED
   */
  allocate(where, bytes) {
    this.checkLive(where)
    const size = Math.max(ALIGNMENT, Math.ceil(bytes / ALIGNMENT) * ALIGNMENT)
    let i = this.#free.findIndex((block) => block.size >= size)
    if (i < 0) {
      this.#grow(where, size)
      i = this.#free.length - 1
    }
    const block = this.#free[i]
    const { offset } = block
    if (block.size === size) this.#free.splice(i, 1)
    else this.#free[i] = { offset: offset + size, size: block.size - size }
    this.#used.set(offset, size)
    return offset
  }

  /**
   * @param {string} where
   * @returns {WebAssembly.Memory}
   * @throws {GptLayersError} DISPOSED
   */
  checkLive(where) {
    if (this.#memory !== null) return this.#memory
    throw new GptLayersError('DISPOSED', `${where}: the instance should be live, got one that was disposed`)
  }

  /** @param {number} offset as `allocate` gave it */
  free(offset) {
    const size = /** @type {number} */ (this.#used.get(offset))
    this.#used.delete(offset)
    this.#release({ offset, size })
  }

  /**
   * A new view of the heap; good until the next allocation.
   *
   * @param {number} offset
   * @param {number} length
   */
  floats(offset, length) {
    return new Float32Array(this.checkLive('data').buffer, offset, length)
  }

  /**
   * A new view of the heap as bytes; good until the next allocation.
   *
   * @param {number} offset
   * @param {number} length
   */
  bytes(offset, length) {
    return new Uint8Array(this.checkLive('data').buffer, offset, length)
  }

  /**
   * A view of the heap as integers. Where the memory is shared, growing it leaves the view good.
   *
   * @param {number} offset
   * @param {number} length
   */
  words(offset, length) {
    return new Int32Array(this.checkLive('data').buffer, offset, length)
  }

  /**
   * A view of the heap as float64s, as good as one of integers.
   *
   * @param {number} offset
   * @param {number} length
   */
  doubles(offset, length) {
    return new Float64Array(this.checkLive('data').buffer, offset, length)
  }

  /**
   * @param {string} where
   * @param {number} bytes
   * @returns {Storage} held by one tensor
   */
  store(where, bytes) {
    const storage = { offset: this.allocate(where, bytes), holders: 1 }
    this.#abandoned.register(storage, storage.offset, storage)
    return storage
  }

  /** @param {Storage} storage that one of its tensors lets go */
  drop(storage) {
    if (--storage.holders > 0) return
    this.#abandoned.unregister(storage)
    this.free(storage.offset)
  }

  /**
   * Every tensor tells when it is made, so that the innermost scope can free it.
   *
   * @param {{ dispose(): void }} tensor
   */
  track(tensor) {
    this.#scopes.at(-1)?.add(tensor)
  }

  /**
   * Takes a tensor that was just made out of the innermost scope, which so does not free it.
   *
   * @param {{ dispose(): void }} tensor
   */
  untrack(tensor) {
    this.#scopes.at(-1)?.delete(tensor)
  }

  /**
   * Runs `fn` and disposes the tensors that were made meanwhile, except its result and those that `kept`
   * finds in it. Where `fn` or `kept` throws, disposes all of them.
   *
   * @template T
   * @param {() => T} fn
   * @param {(result: T) => Set<unknown>} kept not called where the result itself was made meanwhile
   * @returns {T}
   */
  scope(fn, kept) {
    const made = new Set()
    this.#scopes.push(made)
    /** @type {{ has(tensor: unknown): boolean }} */
    let survivors = NONE
    try {
      const result = fn()
      if (made.delete(result)) this.#scopes.at(-2)?.add(/** @type {any} */ (result))
      else survivors = kept(result)
      return result
    } finally {
      this.#scopes.pop()
      for (const tensor of made) {
        if (survivors.has(tensor)) this.track(tensor)
        else tensor.dispose()
      }
    }
  }

  /**
   * @param {string} where
   * @param {number} size
   */
  #grow(where, size) {
    const memory = this.checkLive(where)
    const end = memory.buffer.byteLength
    const last = this.#free.at(-1)
    const missing = size - (last && last.offset + last.size === end ? last.size : 0)
    const pages = Math.ceil(missing / PAGE)
    const room = Math.floor((this.#limit - end) / PAGE)
    const fail = (/** @type {unknown} */ cause) =>
      new GptLayersError(
        'MEMORY',
        `${where}: needs ${size} bytes, and the heap of ${end} bytes may not grow beyond ${this.#limit}: ` +
          'dispose tensors, work in gpt.scope, or load with a larger maxMemory',
        { cause },
      )
    if (pages > room) throw fail(undefined)
    const wanted = Math.min(Math.max(pages, GROWTH / PAGE), room)
    try {
      memory.grow(wanted)
    } catch (cause) {
      throw fail(cause)
    }
    this.#release({ offset: end, size: wanted * PAGE })
  }

  /** @param {Block} block that becomes free, and merges with a free neighbour on either side */
  #release({ offset, size }) {
    let low = 0
    let high = this.#free.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#free[middle].offset < offset) low = middle + 1
      else high = middle
    }
    const before = this.#free[low - 1]
    const after = this.#free[low]
    const joinsBefore = before && before.offset + before.size === offset
    const joinsAfter = after && offset + size === after.offset
    const start = joinsBefore ? before.offset : offset
    const end = joinsAfter ? after.offset + after.size : offset + size
    const first = joinsBefore ? low - 1 : low
    this.#free.splice(first, Number(joinsBefore ?? false) + Number(joinsAfter ?? false), {
      offset: start,
      size: end - start,
    })
  }
}
