import { checkSameShape, describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { Generator } from './random.js'
import { Module } from '../layers/module.js'
import { Memory } from './memory.js'
import { Tensor } from '../tensor/tensor.js'

/** @import { Crew } from '../threads/threads.js' */

/**
 * The exports of one of our WebAssembly builds, under their C names; `c/gpt_layers.h` documents each.
 *
 * @typedef {{ memory: WebAssembly.Memory, __heap_base: WebAssembly.Global } &
 *   Record<`gpt_${string}`, (...args: number[]) => number>} Exports
 */

/**
 * Nanoseconds of one thread's work from which on sharing it pays. A call on two threads costs 3 µs more, and a worker
 * that sleeps comes 10 µs late or, after milliseconds, 20: GELU of 19 µs takes 11 when called again and again, 14 after
 * 0.2 ms of something else, 21 after 2 ms; of 70 µs, 37, 40 and 46.
 */
const WORTH_SHARING = 20_000

/**
 * Ends the workers of an instance that nobody holds.
 *
 * @type {FinalizationRegistry<Crew>}
 */
const abandoned = new FinalizationRegistry((crew) => crew.dispose())

/** What tensors and layers of one instance share: its kernels, its heap, its generator and its threads. */
export class Runtime {
  /** @type {Crew | null} */ #crew = null

  /**
   * @param {Exports} exports
   * @param {number} maxBytes that the instance's memory may reach
   */
  constructor(exports, maxBytes) {
    this.exports = exports
    this.memory = new Memory(exports.memory, exports.__heap_base.value, maxBytes)
    this.generator = new Generator(this)
  }

  /** On how many threads it runs. */
  get threads() {
    return this.#crew?.threads ?? 1
  }

  /** @param {Crew} crew that has been started for this runtime */
  employ(crew) {
    this.#crew = crew
    abandoned.register(this, crew)
  }

  /**
   * Calls a kernel. Arguments were checked before, so a status here is a bug of ours, and says so.
   *
   * @param {`gpt_${string}`} kernel
   * @param {...number} args
   */
  call(kernel, ...args) {
    this.memory.checkLive(kernel)
    checkStatus(kernel, this.exports[kernel](...args))
  }

  /**
   * Into how many parts to cut a call.
   *
   * @param {number} nanoseconds that one thread takes, about
   * @returns {number} as many as there are threads, or 1 where that is not worth while
   */
  partsOf(nanoseconds) {
    return nanoseconds < WORTH_SHARING ? 1 : this.threads
  }

  /**
   * Calls a kernel in parts, on all threads; one part is a plain call. The bits are the same.
   *
   * @param {number} parts from partsOf
   * @param {`gpt_${string}`} kernel whose outputs are not its inputs; see Crew
   * @param {...number} args
   */
  inParts(parts, kernel, ...args) {
    if (parts === 1) return this.call(kernel, ...args, 0, 1)
    checkStatus(kernel, /** @type {Crew} */ (this.#crew).run(kernel, args, parts))
  }

  /**
   * Calls a kernel on all threads where that is worth while, for one that needs to know the parts no sooner.
   *
   * @param {number} nanoseconds that one thread takes, about
   * @param {`gpt_${string}`} kernel
   * @param {...number} args
   */
  parallel(nanoseconds, kernel, ...args) {
    this.inParts(this.partsOf(nanoseconds), kernel, ...args)
  }

  /** Ends the workers and gives up the heap. Every tensor counts as disposed from here on. */
  dispose() {
    this.#crew?.dispose()
    this.memory.dispose()
  }

  /**
   * Where a tensor argument's data begin, once it is known to be a live tensor of this instance.
   *
   * @param {string} where
   * @param {string} name
   * @param {unknown} value
   * @returns {Tensor}
   */
  checkTensor(where, name, value) {
    if (!(value instanceof Tensor)) {
      throw new GptLayersError('TYPE', `${where}: ${name} should be a Tensor, got ${describe(value)}`)
    }
    if (value.runtime !== this) {
      throw new GptLayersError(
        'VALUE',
        `${where}: ${name} should come from the same load(), got another's Tensor`,
      )
    }
    if (value.disposed) {
      throw new GptLayersError(
        'DISPOSED',
        `${where}: ${name} should be a live Tensor, got one that was disposed`,
      )
    }
    return value
  }

  /**
   * A tensor argument whose last axis has a given size.
   *
   * @param {string} where
   * @param {unknown} x
   * @param {number} features
   * @param {string} featuresName what the layer calls that size
   * @returns {{ x: Tensor, rows: number }} rows: how many vectors of `features` there are
   */
  checkRows(where, x, features, featuresName) {
    const tensor = this.checkTensor(where, 'x', x)
    if (tensor.shape.at(-1) !== features) {
      throw new GptLayersError(
        'SHAPE',
        `${where}: x should end in ${features} (${featuresName}), got shape [${tensor.shape.join(', ')}]`,
      )
    }
    return { x: tensor, rows: tensor.size / features }
  }

  /**
   * Has a kernel write the gradients of some parameters, and adds them to what those have. Kernels write and never add,
   * so that a part of a call may be done again; see Crew.
   *
   * @param {string} where
   * @param {readonly (Tensor | null)[]} parameters null for one that the layer does without
   * @param {(...offsets: number[]) => void} write calls the kernel with where the gradients are to be; 0 for null
   */
  addGradients(where, parameters, write) {
    this.scope(() => {
      const gradients = parameters.map((parameter) => parameter && Tensor.empty(this, where, parameter.shape))
      write(...gradients.map((gradient) => gradient?.byteOffset ?? 0))
      parameters.forEach((parameter, i) => parameter?.accumulate(/** @type {Tensor} */ (gradients[i])))
    })
  }

  /**
   * The gradient that `backward` is given: of the shape that `forward` returned.
   *
   * @param {string} where
   * @param {unknown} dy
   * @param {readonly number[]} shape
   * @returns {Tensor}
   */
  checkGradient(where, dy, shape) {
    const tensor = this.checkTensor(where, 'dy', dy)
    this.checkParameter(where, 'dy', tensor, shape)
    return tensor
  }

  /**
   * A layer's parameter, which its user may have disposed or replaced.
   *
   * @param {string} where
   * @param {string} name
   * @param {unknown} value
   * @param {readonly number[]} shape
   * @returns {number} the byte offset of its data
   */
  checkParameter(where, name, value, shape) {
    const tensor = this.checkTensor(where, name, value)
    checkSameShape(where, name, tensor.shape, shape)
    return tensor.byteOffset
  }

  /**
   * Runs `fn` and frees every tensor made inside but the ones it returns, in whatever arrays, plain objects and
   * layers they stand.
   *
   * @template T
   * @param {() => T} fn
   * @returns {T}
   */
  scope(fn) {
    return this.memory.scope(fn, tensorsIn)
  }

  /**
   * Builds something of several parts. If one of them fails, the others are freed and the generator stands where it
   * stood.
   *
   * @template T
   * @param {() => T} fn
   * @returns {T}
   */
  build(fn) {
    const saved = this.generator.save()
    try {
      return this.scope(fn)
    } catch (error) {
      this.generator.restore(saved)
      throw error
    }
  }
}

/**
 * @param {string} kernel
 * @param {number} status
 */
function checkStatus(kernel, status) {
  if (status !== 0) {
    throw new GptLayersError(
      'VALUE',
      `${kernel} refused its arguments with status ${status}; please report this`,
    )
  }
}

/**
 * @param {unknown} root
 * @returns {Set<unknown>} the tensors that can be reached from it
 */
function tensorsIn(root) {
  const found = new Set()
  const visit = (/** @type {unknown} */ value) => {
    if (typeof value !== 'object' || value === null || found.has(value)) return
    found.add(value)
    if (value instanceof Module) value.tensors().forEach(visit)
    else if (value instanceof Map || value instanceof Set) [...value.values()].forEach(visit)
    else if (isPlain(value)) Object.values(value).forEach(visit)
    else if (typeof (/** @type {any} */ (value).then) === 'function') {
      throw new GptLayersError(
        'TYPE',
        'scope: fn should return its result at once, got a Promise: what an async function makes later is out of scope',
      )
    }
  }
  visit(root)
  return found
}

/** @param {object} value */
function isPlain(value) {
  if (Array.isArray(value)) return true
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
