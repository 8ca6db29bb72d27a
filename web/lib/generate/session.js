/** @import { Blueprint } from '../layers/blueprint.js' */
/** @import { Block } from '../runtime/memory.js' */
/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { Int8Weight } from '../tensor/int8weight.js' */
/** @import { Tensor } from '../tensor/tensor.js' */
/** @import { Call } from '../threads/call.js' */
/** @import { OwnWorker, Program } from '../threads/workers.js' */
/** @import { Order } from './async.js' */
/** @import { Generation } from './generate.js' */
/** @import { GeneratedToken } from './sample.js' */

import { GptLayersError } from '../errors.js'
import { ARENA_WORDS, give, refuse, revoke } from '../runtime/arena.js'
import { startWorkers } from '../threads/workers.js'

const STACK_BYTES = 65536 // of the worker, as the first instance has
const FIRST_BYTES = 2 ** 18 // of the worker's heap, which grows when it must
const PIECE_BYTES = 2 ** 23 // copying one to a worker takes a few milliseconds

/** @type {Program} */
const PROGRAM = {
  name: 'generator',
  greeting: `gpt-layers ${VERSION} generator`,
  code: async () => (await import('./generatorcode.js')).default,
  // Vite, webpack, rspack, Parcel and Turbopack recognize a worker by exactly this expression, and deliver
  // the file.
  fromFile: () => new Worker(new URL('./gpt-layers-generator.js', import.meta.url), { type: 'module' }),
}

/**
 * A heap for a worker, in the memory that it shares.
 *
 * @typedef {object} Lease
 * @property {number} stackTop where the worker's stack begins; it grows down
 * @property {Block} block the first one of the heap
 * @property {Int32Array} words the arena's
 */

/**
 * Threads for another caller.
 *
 * @typedef {object} SharedPool
 * @property {number} threads
 * @property {Call} call
 * @property {string[]} names of the kernels
 */

/**
 * @typedef {object} WeightPlace
 * @property {readonly number[]} shape
 * @property {number | null} groupSize null for float32
 * @property {number | null} byteOffset in shared memory, where it is
 */

/**
 * The first message of a session to its worker.
 *
 * @typedef {object} Beginning
 * @property {object} config GPTModel's
 * @property {WeightPlace[]} weights
 * @property {Blueprint['places']} places
 * @property {Int32Array} ids
 * @property {Generation} generation
 * @property {Lease | null} lease in shared memory
 * @property {SharedPool | null} pool
 */

/** The workers of one instance. */
class Staff {
  /** A worker without a session, kept for the next one. @type {OwnWorker | null} */ #idle = null
  /** @type {Set<Session>} */ sessions = new Set()
  /** Why no worker can be started. @type {string | null} */ reason = null

  /** @param {Runtime} runtime @returns {Promise<OwnWorker | null>} null where none can be started */
  async take(runtime) {
    const idle = this.#idle
    this.#idle = null
    if (idle !== null || this.reason !== null) return idle
    const { module, maxBytes, createWorker } = /** @type {NonNullable<Runtime['origin']>} */ (runtime.origin)
    const memory = isShared(runtime) ? runtime.exports.memory : null
    const { workers, reason } = await startWorkers(PROGRAM, [{ module, memory, maxBytes }], createWorker)
    this.reason = reason
    return workers[0] ?? null
  }

  /** @param {OwnWorker} worker whose session has ended */
  giveBack(worker) {
    this.#idle?.end()
    this.#idle = worker
    worker.onMessage = () => {}
    worker.onEnd = () => {
      if (this.#idle === worker) this.#idle = null
    }
  }

  /** Ends all. */
  dispose() {
    this.#idle?.end()
    this.#idle = null
    for (const session of this.sessions) session.lose(disposed())
  }
}

/** @type {WeakMap<Runtime, Staff>} */
const staffs = new WeakMap()

/** @param {Runtime} runtime @returns {Staff} */
function staffOf(runtime) {
  const known = staffs.get(runtime)
  if (known) return known
  const staff = new Staff()
  staffs.set(runtime, staff)
  runtime.own(staff)
  return staff
}

/**
 * A text that a worker writes. The worker builds the same model from a blueprint, and computes a token for
 * each request.
 *
 * Where the instance's memory is shared, the worker computes on the very same weights, and its heap is blocks
 * of the instance's memory. They are freed once the worker has stopped, which is at its next kernel.
 * Otherwise the weights are copied to a worker of its own, which is ended with its memory.
 *
 * While the session lasts it holds the weights, so that a program may dispose the model.
 */
export class Session {
  /** @type {Order} */ #order
  /** @type {Runtime} */ #runtime
  /** @type {Staff} */ #staff
  /** @type {OwnWorker | null} */ #worker = null
  /** The weights. @type {(Tensor | Int8Weight)[]} */ #held = []
  /** The blocks of the worker's heap. @type {number[]} */ #blocks = []
  /** Shared with the worker. @type {Int32Array | null} */ #words = null
  /** Why the worker got no block. @type {unknown} */ #refusal = null
  /** Hears the answer to the open request. @type {((reply: any) => void) | null} */ #answer = null
  /** Whether the worker computes. */ #busy = false
  #ended = false
  /** @type {(reason: unknown) => void} */ #fail = () => {}
  /** Rejected when the session is aborted or lost. @type {Promise<never>} */ #failure
  #abort = () => this.#fail(this.#order.signal?.reason)

  /** @param {Order} order */
  constructor(order) {
    this.#order = order
    this.#runtime = order.model.runtime
    this.#staff = staffOf(this.#runtime)
    this.#failure = new Promise((_, reject) => {
      this.#fail = reject
    })
    this.#failure.catch(() => {}) // whoever waits hears of it
    order.signal?.addEventListener('abort', this.#abort)
    this.#staff.sessions.add(this)
    /**
     * Fulfilled when the worker can write: null, or why there is none.
     *
     * @type {Promise<string | null>}
     */
    this.started = Promise.race([this.#start(), this.#failure])
  }

  /** @returns {Promise<string | null>} */
  async #start() {
    const { plan, ids, generation } = this.#order
    const runtime = this.#runtime
    const { config, weights, places } = plan()
    this.#held = weights.map((weight) => (weight.int8Weight ?? weight).hold())
    const worker = await this.#staff.take(runtime)
    if (worker === null) return this.#staff.reason
    this.#worker = worker
    worker.onMessage = (message) => this.#hear(message)
    worker.onEnd = (why) =>
      this.lose(new GptLayersError('INTERNAL', `${this.#order.where}: the worker has ended: ${why}`))
    if (this.#ended) {
      this.#free()
      return null
    }
    const shared = isShared(runtime)
    const descriptions = this.#held.map((held) => ({
      shape: held.shape,
      groupSize: 'groupSize' in held ? held.groupSize : null,
      byteOffset: shared ? held.byteOffset : null,
    }))
    const [lease, pool] = shared ? [this.#lease(), poolOf(runtime)] : [null, null]
    await this.#request({ config, weights: descriptions, places, ids, generation, lease, pool })
    if (shared) return null
    for (const [weight, held] of this.#held.entries()) {
      const bytes = 'groupSize' in held ? held.byteLength : 4 * held.size
      for (let begin = 0; begin < bytes; begin += PIECE_BYTES) {
        const length = Math.min(PIECE_BYTES, bytes - begin)
        const piece = runtime.memory.copy(held.byteOffset + begin, length)
        await this.#request({ weight, begin, piece }, [piece])
      }
    }
    return null
  }

  /** @returns {Lease} a heap for the worker in the instance's memory */
  #lease() {
    const size = STACK_BYTES + 4 * ARENA_WORDS + FIRST_BYTES
    const offset = this.#allocate(size)
    const stackTop = offset + STACK_BYTES
    this.#words = this.#runtime.memory.words(stackTop, ARENA_WORDS).fill(0)
    const begin = stackTop + 4 * ARENA_WORDS
    return { stackTop, words: this.#words, block: { offset: begin, size: FIRST_BYTES } }
  }

  /** @param {number} bytes @returns {number} the offset of a new block */
  #allocate(bytes) {
    const offset = this.#runtime.memory.allocate(this.#order.where, bytes)
    this.#blocks.push(offset)
    return offset
  }

  /**
   * @param {number} random in [0, 1), for the token that is drawn
   * @returns {Promise<GeneratedToken>}
   */
  next(random) {
    return this.#request({ random })
  }

  /**
   * @param {object} message
   * @param {ArrayBuffer[]} [transfer]
   * @returns {Promise<any>} the answer's value
   */
  #request(message, transfer) {
    if (this.#worker === null || this.#ended) return this.#failure
    const answer = new Promise((resolve, reject) => {
      this.#answer = ({ value, error }) => {
        if (error === undefined) resolve(value)
        else reject(this.#refusal ?? new GptLayersError(error.code, error.message))
      }
    })
    this.#busy = true
    this.#worker.keepProcess(true)
    this.#worker.post(message, transfer)
    return Promise.race([answer, this.#failure])
  }

  /** @param {any} message the worker's */
  #hear(message) {
    if (message.bytes !== undefined) {
      this.#giveMemory(message.bytes)
      return
    }
    this.#busy = false
    this.#worker?.keepProcess(false)
    if (this.#ended) this.#free()
    else this.#answer?.(message)
  }

  /** @param {number} bytes that the worker waits for */
  #giveMemory(bytes) {
    const words = /** @type {Int32Array} */ (this.#words)
    try {
      give(words, this.#allocate(bytes))
    } catch (error) {
      this.#refusal = error
      refuse(words)
    }
  }

  /** The instance is disposed, or the worker has ended. @param {unknown} reason */
  lose(reason) {
    this.#fail(reason)
    this.#worker?.end()
    this.#worker = null
    this.#busy = false
    this.end()
  }

  /** Ends the session. The weights and the worker's heap are freed after the worker has stopped. */
  end() {
    if (this.#ended) return
    this.#ended = true
    this.#order.signal?.removeEventListener('abort', this.#abort)
    this.#fail(disposed())
    if (this.#busy && this.#words !== null) revoke(this.#words)
    else this.#free()
  }

  #free() {
    const worker = this.#worker
    this.#worker = null
    this.#staff.sessions.delete(this)
    for (const weight of this.#held.splice(0)) weight.dispose()
    for (const offset of this.#blocks.splice(0)) this.#runtime.memory.free(offset)
    if (worker === null) return
    if (isShared(this.#runtime) && !this.#runtime.memory.disposed) this.#staff.giveBack(worker)
    else worker.end()
  }
}

/** @param {Runtime} runtime @returns {boolean} whether workers can use its memory */
const isShared = ({ memory }) => memory.isShared

/** @param {Runtime} runtime @returns {SharedPool | null} */
const poolOf = ({ pool }) => pool && { threads: pool.threads, call: pool.call, names: pool.names }

const disposed = () =>
  new GptLayersError(
    'DISPOSED',
    'GPTModel.generateAsync: the instance should be live, got one that was disposed',
  )
