// What the fuzzers see of the package's memory: every block, and every byte that a call changes.

/** @import { Tensor } from 'gpt-layers' */
/** @import { Gpt } from '../lib/support.js' */

import { GptLayersError } from 'gpt-layers'
import { memoryOf, untyped } from '../lib/support.js'

/** A promise of the package that a call broke. */
export class Finding extends Error {
  /** @param {string} message @param {ErrorOptions} [options] */
  constructor(message, options) {
    super(message, options)
    this.name = 'Finding'
  }
}

/** A range of addresses. @typedef {{ begin: number, end: number }} Range */

const ALIGNMENT = 16
/** Bytes before and behind each block that nobody may write. */
const ZONE = 16
const FILL = 0xa5
/** Bytes behind the last block that are compared after each call. */
const NEAR = 4096

/** @param {number} bytes */
const aligned = (bytes) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT

/**
 * Stands between a copy of the package and its allocator.
 *
 * - Each block has a guarded zone on both sides.
 * - A copy of the whole heap shows which bytes a call wrote.
 * - The k-th allocation of a call can be made to fail.
 */
export class Witness {
  #memory
  #allocate
  #free
  /** @type {WebAssembly.Memory} */ #wasm
  /** @type {Range} */ #scratch
  #copy
  /** Where the last block ended that was ever made. */ #top
  /** Where blocks lay since `begin`. @type {Range[]} */ #touched = []
  /**
   * The bytes asked for, of every block made since the witness came, by address.
   *
   * @type {Map<number, number>}
   */
  blocks = new Map()
  /** The number of allocations since `begin`. */
  allocations = 0
  /** Which of them is to fail: 1 for the first, 0 for none. */
  failAt = 0

  /** @param {Gpt} gpt with one thread, in which nothing was made */
  constructor(gpt) {
    this.#memory = memoryOf(gpt)
    gpt.manualSeed(123)
    this.#wasm = untyped(gpt.exports.memory)
    this.#allocate = this.#memory.allocate
    this.#free = this.#memory.free
    const first = this.#allocate.call(this.#memory, ALIGNMENT)
    this.#free.call(this.#memory, first, ALIGNMENT)
    const begin = this.#memory.numbers + ALIGNMENT // any call may change the numbers, with which the heap begins
    /** The generator's state, which is allocated first. @type {Range} */
    this.generator = { begin, end: begin + gpt.exports.gpt_random_size() }
    /** What is allocated with it: scratch memory. */
    this.#scratch = { begin: this.generator.end, end: first }
    this.#top = first
    this.#copy = Buffer.from(new Uint8Array(this.#wasm.buffer))
    this.#memory.allocate = (/** @type {number} */ bytes) => this.#make(bytes)
    this.#memory.free = (/** @type {number} */ address, /** @type {number} */ bytes) =>
      this.#drop(address, bytes)
  }

  /** The number of bytes in blocks. */
  get used() {
    let sum = 0
    for (const bytes of this.blocks.values()) sum += bytes
    return sum
  }

  /** The size of the memory. */
  get size() {
    return this.#wasm.buffer.byteLength
  }

  /** @returns {string} the bytes of the generator's state */
  generatorState() {
    const { begin, end } = this.generator
    return Buffer.from(this.#wasm.buffer, begin, end - begin).toString('hex')
  }

  /** Starts to watch. */
  begin() {
    this.#touched = []
    this.failFrom(0)
  }

  /**
   * Runs what only looks at the package, and may make tensors for that: no call is watched meanwhile.
   *
   * @template T
   * @param {() => T} fn
   */
  aside(fn) {
    const [touched, allocations, failAt] = [this.#touched, this.allocations, this.failAt]
    this.begin()
    try {
      return fn()
    } finally {
      this.#learn(this.#touched)
      this.#touched = touched
      this.allocations = allocations
      this.failAt = failAt
    }
  }

  /** @param {number} failAt which allocation from now on fails; 0 for none */
  failFrom(failAt) {
    this.allocations = 0
    this.failAt = failAt
  }

  /**
   * Checks the bytes after a call: only blocks that the call made, and `allowed`, may have changed. Memory
   * far behind every block is left to `endAll`: to compare it takes longer than most calls.
   *
   * @param {Iterable<Range>} allowed
   * @throws {Finding}
   */
  end(allowed) {
    this.#end(allowed, this.#top + NEAR)
  }

  /**
   * Like `end`, with all of the memory.
   *
   * @param {Iterable<Range>} allowed
   * @throws {Finding}
   */
  endAll(allowed) {
    this.#end(allowed, Infinity)
  }

  /** @param {Iterable<Range>} allowed @param {number} limit */
  #end(allowed, limit) {
    this.failAt = 0
    this.#grow()
    const now = Buffer.from(this.#wasm.buffer)
    const ranges = [...this.#touched, this.#scratch, ...allowed].sort((a, b) => a.begin - b.begin)
    let from = this.generator.begin
    const compare = (/** @type {number} */ to) => {
      if (from >= to || this.#copy.compare(now, from, to, from, to) === 0) return
      let at = from
      while (this.#copy[at] === now[at]) at++
      throw new Finding(`byte ${at} changed, in ${this.#place(at)}`)
    }
    for (const { begin, end } of ranges) {
      compare(begin)
      from = Math.max(from, end)
    }
    compare(Math.min(now.length, limit))
    this.#learn(ranges)
    for (const { begin } of this.#touched) {
      const bytes = this.blocks.get(begin + ZONE)
      if (bytes !== undefined) this.#checkZones(begin + ZONE, bytes)
    }
  }

  /** Makes the copy as large as the memory. */
  #grow() {
    const missing = this.size - this.#copy.length
    if (missing > 0) this.#copy = Buffer.concat([this.#copy, Buffer.alloc(missing)])
  }

  /** Takes ranges over into the copy. @param {Range[]} ranges */
  #learn(ranges) {
    this.#grow()
    const now = Buffer.from(this.#wasm.buffer)
    for (const { begin, end } of ranges) now.copy(this.#copy, begin, begin, end)
  }

  /**
   * Checks that a live tensor lies inside a block.
   *
   * @param {Tensor} tensor
   * @throws {Finding}
   */
  checkPlace(tensor) {
    const { byteOffset, size, shape } = tensor
    const bytes = this.blocks.get(byteOffset)
    if (bytes === undefined) throw new Finding(`a live tensor of shape [${shape}] lies in no block`)
    if (bytes < 4 * size) throw new Finding(`a tensor of shape [${shape}] lies in a block of ${bytes} bytes`)
  }

  /** @param {Tensor} tensor @returns {Range} */
  rangeOf({ byteOffset, size }) {
    return { begin: byteOffset, end: byteOffset + 4 * size }
  }

  /** @param {any} weight a live Int8Weight, whose place the types do not tell */
  checkInt8Place({ byteOffset, byteLength, shape }) {
    const bytes = this.blocks.get(byteOffset)
    if (bytes === undefined || bytes < byteLength) {
      throw new Finding(`a live int8 weight of shape [${shape}] lies in a block of ${bytes} bytes`)
    }
  }

  /** @param {any} weight a live Int8Weight @returns {Range} */
  rangeOfInt8({ byteOffset }) {
    return { begin: byteOffset, end: byteOffset + (this.blocks.get(byteOffset) ?? 0) }
  }

  /** @param {number} address @returns {string} */
  #place(address) {
    if (address < this.generator.end) return "the generator's state"
    for (const [begin, bytes] of this.blocks) {
      if (address >= begin - ZONE && address < begin + aligned(bytes) + ZONE) {
        return `the block of ${bytes} bytes at ${begin}`
      }
    }
    return 'free memory'
  }

  /** @param {number} bytes */
  #make(bytes) {
    this.allocations++
    if (this.allocations === this.failAt) {
      throw new GptLayersError('MEMORY', `needs ${bytes} bytes, which the fuzzer refuses`)
    }
    const begin = this.#allocate.call(this.#memory, bytes + 2 * ZONE)
    const address = begin + ZONE
    const end = begin + aligned(bytes + 2 * ZONE)
    const heap = new Uint8Array(this.#wasm.buffer)
    heap.fill(FILL, begin, address)
    heap.fill(FILL, address + bytes, end)
    this.blocks.set(address, bytes)
    this.#touched.push({ begin, end })
    this.#top = Math.max(this.#top, end)
    return address
  }

  /** @param {number} address @param {number} bytes */
  #drop(address, bytes) {
    if (this.blocks.get(address) !== bytes) {
      throw new Finding(`freed ${bytes} bytes at ${address}, where no such block is`)
    }
    this.#checkZones(address, bytes)
    this.blocks.delete(address)
    this.#free.call(this.#memory, address - ZONE, bytes + 2 * ZONE)
  }

  /** @param {number} address @param {number} bytes */
  #checkZones(address, bytes) {
    const heap = new Uint8Array(this.#wasm.buffer)
    const end = address - ZONE + aligned(bytes + 2 * ZONE)
    for (let i = address - ZONE; i < end; i++) {
      if (i === address) i += bytes
      if (heap[i] === FILL) continue
      throw new Finding(`a call wrote byte ${i - address} of a block of ${bytes} bytes`)
    }
  }
}
