/** @import { Block } from './memory.js' */

import { GptLayersError } from '../errors.js'
import { Memory } from './memory.js'

// Indices into the words that both threads share.
const ANSWER = 0 // to the worker's request: WAITING, GIVEN or REFUSED; the worker sleeps on it
const OFFSET = 1 // of the block that was given
const REVOKED = 2 // 1 once the worker should stop
/** How many words. */
export const ARENA_WORDS = 4

const WAITING = 0
const GIVEN = 1
const REFUSED = 2

const LEAST = 2 ** 20 // bytes to ask for

/**
 * The heap of a worker, in the memory of the instance that started it: blocks that the instance's own thread
 * has allocated, and frees when the worker needs them no more. The worker asks for each block by a message,
 * and sleeps until the block is there.
 */
export class Arena extends Memory {
  /** @type {Int32Array} */ #words
  /** @type {(bytes: number) => void} */ #ask

  /**
   * @param {WebAssembly.Memory} memory shared
   * @param {Block} block the first one
   * @param {Int32Array} words ARENA_WORDS of them, shared, zeros
   * @param {number} limit the most bytes of the whole linear memory
   * @param {(bytes: number) => void} ask sends a message to the instance's thread, which calls `give` or
   *   `refuse`
   */
  constructor(memory, { offset, size }, words, limit, ask) {
    super(memory, offset, limit, offset + size)
    this.#words = words
    this.#ask = ask
    this.refresh()
  }

  /**
   * @override
   * @param {string} where
   * @returns {WebAssembly.Memory}
   * @throws {GptLayersError} DISPOSED, also where the instance's thread wants the blocks back
   */
  checkLive(where) {
    if (Atomics.load(this.#words, REVOKED) === 0) return super.checkLive(where)
    throw new GptLayersError(
      'DISPOSED',
      `${where}: the memory should be this worker's, got one that was revoked`,
    )
  }

  /**
   * @protected
   * @override
   * @param {string} where
   * @param {number} size
   * @returns {Block}
   */
  more(where, size) {
    const bytes = Math.max(size, LEAST)
    Atomics.store(this.#words, ANSWER, WAITING)
    this.#ask(bytes)
    Atomics.wait(this.#words, ANSWER, WAITING)
    if (Atomics.load(this.#words, ANSWER) === GIVEN) {
      this.refresh()
      return { offset: this.#words[OFFSET] >>> 0, size: bytes }
    }
    throw new GptLayersError('MEMORY', `${where}: needs ${bytes} bytes, which the instance has not`)
  }
}

/**
 * Answers a worker's request.
 *
 * @param {Int32Array} words
 * @param {number} offset of the block
 */
export function give(words, offset) {
  words[OFFSET] = offset
  answer(words, GIVEN)
}

/** Answers a worker's request. @param {Int32Array} words */
export const refuse = (words) => answer(words, REFUSED)

/** @param {Int32Array} words @param {number} value */
function answer(words, value) {
  Atomics.store(words, ANSWER, value)
  Atomics.notify(words, ANSWER)
}

/** Makes the worker stop soon: at its next kernel. @param {Int32Array} words */
export const revoke = (words) => Atomics.store(words, REVOKED, 1)
