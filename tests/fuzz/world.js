// The state of one run of the API fuzzer: a copy of the package, the objects made so far, and what must stay as it is.

/** @import { Int8Weight, Tensor } from 'gpt-layers' */
/** @import { Gpt } from '../lib/support.js' */
/** @import { Range } from './witness.js' */

import { load } from '../lib/support.js'
import { checkError } from './find.js'
import { Mine, STRANGE } from './strange.js'
import { Finding, Witness } from './witness.js'

const CODES = ['TYPE', 'SHAPE', 'VALUE', 'MEMORY', 'DISPOSED', 'UNSUPPORTED']
/**
 * Errors that may come in a run that has replaced parts of a layer. A layer that contains itself overflows
 * the stack. A kernel refuses a size or a number that was replaced.
 */
const TAMPERED = /^RangeError: Maximum call stack size exceeded|_\w+ refused its arguments with status/
/** The most live objects of each kind. The oldest are disposed first. */
const MOST = { tensors: 24, modules: 6, optimizers: 3, caches: 3, files: 4 }
const MIB = 2 ** 20

/**
 * An argument as data, so that a run can be printed, shrunk and replayed. Numbers, strings, booleans, null
 * and arrays stand for themselves; an object names its kind in `$`; see `World.decode`.
 *
 * @typedef {any} Code
 */

/** A copy of the package that a fuzzer uses again and again. @typedef {{ gpt: Gpt, witness: Witness }} Watched */

/** The copy for the next run: a run that leaves it clean hands it on. @type {Promise<Watched> | null} */
let watched = null

/** @returns {Promise<Watched>} */
async function watch() {
  const gpt = await load({ build: 'simd', maxMemory: 4 })
  return { gpt, witness: new Witness(gpt) }
}

/** @param {any} value @returns {boolean} */
const isModule = (value) =>
  typeof value?.forward === 'function' && typeof value.namedParameters === 'function'

export class World {
  /** @type {Tensor[]} */ tensors = []
  /** @type {any[]} */ modules = []
  /** @type {any[]} */ optimizers = []
  /** @type {any[]} */ caches = []
  /** @type {Uint8Array[]} */ files = []
  /** @type {(() => void)[]} what ends a listener */ stops = []
  /** Whether a caller replaced parts of a layer: what its calls return is then not predicted. */
  tampered = false
  /** Whether a listener changed things during this call. */
  chaotic = false
  /** How many calls of the fuzzer's own functions are open. */
  depth = 0
  calls = 0
  /** @type {WeakMap<object, number>} a name for each object */ #ids = new WeakMap()
  #nextId = 1

  /** @param {Watched} watched */
  constructor({ gpt, witness }) {
    this.gpt = gpt
    this.witness = witness
    gpt.manualSeed(123)
    witness.begin()
    this.dead = { tensor: gpt.zeros([4]), module: new gpt.Linear(4, 4) }
    this.dead.tensor.dispose()
    this.dead.module.dispose()
    this.keep(
      gpt.tensor([
        [1, -2, 3, 4],
        [0.5, 0, -0, 1e-3],
      ]),
    )
    this.keep(gpt.tensor([1, 2, 3, 4]))
    this.keep(gpt.tensor(2))
    witness.end([witness.generator])
  }

  static async make() {
    return new World(await (watched ??= watch()))
  }

  /** @param {number} i @returns {Tensor} */
  tensor(i) {
    return this.tensors[i % this.tensors.length]
  }

  /** @param {number} i @returns {any} */
  module(i) {
    return this.modules[i % this.modules.length]
  }

  /** @param {unknown} object @returns {number} */
  id(object) {
    if (typeof object !== 'object' || object === null) return 0
    const known = this.#ids.get(object)
    if (known !== undefined) return known
    this.#ids.set(object, this.#nextId)
    return this.#nextId++
  }

  /**
   * Keeps what a call returned, so that later calls use it.
   *
   * @param {any} value
   * @param {number} [depth] the depth of the nesting; the fuzzer's own results can be cyclic
   */
  keep(value, depth = 0) {
    const { gpt } = this
    if (typeof value !== 'object' || value === null || depth > 3) return
    if (isModule(value)) add(this.modules, value)
    else if (value instanceof Uint8Array && value.length > 0) this.files.push(value)
    else if (value instanceof gpt.Optimizer) add(this.optimizers, value)
    else if (typeof value.truncate === 'function') add(this.caches, value)
    else if (this.#isTensor(value)) add(this.tensors, value)
    else if (Array.isArray(value)) itemsOf(value).forEach((item) => this.keep(item, depth + 1))
    else if (value instanceof Map) value.forEach((item) => this.keep(item, depth + 1))
    else if (Object.getPrototypeOf(value) === Object.prototype)
      Object.values(value).forEach((item) => this.keep(item, depth + 1))
  }

  /** Drops what is disposed, and disposes the oldest where there are too many. */
  tidy() {
    this.tensors = this.tensors.filter((tensor) => !tensor.disposed)
    this.caches = this.caches.filter((cache) => !cache.disposed)
    for (const kind of /** @type {const} */ (['tensors', 'modules', 'optimizers', 'caches', 'files'])) {
      const list = /** @type {any[]} */ (this[kind])
      while (list.length > MOST[kind]) {
        const [oldest] = list.splice(kind === 'tensors' ? 3 : 0, 1)
        if (kind !== 'files') dispose(oldest, this.tampered)
      }
    }
    if (this.tensors.length > 0) return
    this.witness.begin()
    this.keep(this.gpt.ones([2, 4]))
    this.witness.end([])
  }

  /** Every tensor that the run can reach. @returns {Set<Tensor>} */
  reachable() {
    /** @type {Set<Tensor>} */
    const found = new Set(this.tensors)
    for (const module of this.modules) for (const tensor of this.tensorsIn(module)) found.add(tensor)
    for (const optimizer of this.optimizers) {
      for (const tensor of this.keptBy(optimizer)) found.add(tensor)
      for (const tensor of parametersOf(optimizer)) if (this.#isTensor(tensor)) found.add(tensor)
    }
    for (const cache of this.caches) for (const tensor of tensorsOfCache(cache)) found.add(tensor)
    for (const tensor of [...found]) if (tensor.grad) found.add(tensor.grad)
    return found
  }

  /** @param {any} optimizer @returns {Tensor[]} its state */
  keptBy(optimizer) {
    return this.witness.aside(() => keptBy(optimizer))
  }

  /** @param {any} module @returns {Tensor[]} those in its properties and inside, read without its getters */
  tensorsIn(module) {
    return this.#tensorsAmong(contentsOf(module))
  }

  /** @param {Contents} contents */
  #tensorsAmong(contents) {
    /** @type {Tensor[]} */
    const found = []
    for (const properties of contents.values()) {
      for (const { value } of Object.values(properties)) {
        if (typeof value === 'object' && value !== null && this.#isTensor(value)) found.push(value)
      }
    }
    return found
  }

  /**
   * What an error must leave as it was, beside the bytes of the heap.
   *
   * @returns {string}
   */
  state() {
    const ofTensor = (/** @type {Tensor} */ tensor) =>
      `${this.id(tensor)}${tensor.disposed ? 'x' : ''}[${tensor.shape}]${tensor.size}g${this.id(tensor.grad)}` +
      `r${tensor.requiresGrad}q${this.id(tensor.int8Weight)}${tensor.int8Weight?.disposed}`
    /** @type {string[]} */
    const lines = this.tensors.map(ofTensor)
    for (const module of this.modules) {
      const contents = contentsOf(module)
      for (const [part, properties] of contents) {
        const texts = Object.entries(properties).map(([name, { value }]) => `${name}=${this.#text(value)}`)
        lines.push(`${this.id(part)} ${texts}`)
      }
      lines.push(this.#tensorsAmong(contents).map(ofTensor).join())
    }
    for (const optimizer of this.optimizers) {
      for (const { params: _, ...options } of optimizer.paramGroups) {
        lines.push(
          Object.values(options)
            .map((option) => this.#text(option))
            .join(),
        )
      }
      lines.push(`${this.id(optimizer)} ${this.keptBy(optimizer).map(ofTensor)}`)
    }
    for (const cache of this.caches) {
      lines.push(`${this.id(cache)} length=${cache.length} ${tensorsOfCache(cache).map(ofTensor)}`)
    }
    return lines.join('\n')
  }

  /** Checks what holds at any time: a live tensor has its place. */
  checkPlaces() {
    for (const tensor of this.reachable()) if (!tensor.disposed) this.witness.checkPlace(tensor)
    if (this.tampered) return // a caller may have replaced byteLength
    for (const weight of this.int8Weights()) this.witness.checkInt8Place(weight)
  }

  /** @returns {Int8Weight[]} the live ones */
  int8Weights() {
    return [...this.reachable()].flatMap(({ int8Weight }) =>
      int8Weight?.disposed === false ? int8Weight : [],
    )
  }

  /**
   * @param {Code} code
   * @param {any} [receiver] whose method is to be called
   * @returns {any} the value
   */
  decode(code, receiver) {
    if (typeof code !== 'object' || code === null) return code
    if (Array.isArray(code)) return code.map((item) => this.decode(item, receiver))
    const { $: kind, i = 0 } = code
    switch (kind) {
      case 'strange':
        return this.#strangeValue(code.name, i)
      case 'tensor':
        return this.tensor(i)
      case 'grad':
        return this.tensor(i).grad
      case 'cache':
        return this.caches[i % Math.max(this.caches.length, 1)] ?? null
      case 'module':
        return this.module(i) ?? null
      case 'groups':
        return [{ params: [this.tensor(i)], lr: i / 2 }, { params: i % 3 ? [] : [this.tensor(i + 1)] }]
      case 'input':
        return this.#inputOf(receiver, i)
      case 'dy':
        return this.#gradientFor(receiver, i)
      case 'inputs':
        return [this.tensor(i), this.tensor(i + 1)].slice(i % 2)
      case 'parameters': {
        const parameters = isModule(this.module(i)) ? this.tensorsIn(this.module(i)) : []
        return parameters.length > 0 ? parameters : [this.tensor(i)]
      }
      case 'dict':
        return this.#dictFor(receiver, i)
      case 'file':
        return this.#file(code)
      case 'typed':
        return new /** @type {any} */ (globalThis)[code.type](code.values)
      case 'options':
        return this.#options(code, receiver)
      case 'listener':
        return this.#listener(code.name, i)
      case 'fn':
        return this.#function(code.name, i)
      case 'gradients':
        return (/** @type {Tensor} */ dy) => [[dy, dy.mul(2)], [dy], [null], [], [this.tensor(i)]][i % 5]
      default:
        throw new Error(`no value of kind ${kind}`)
    }
  }

  /** Frees everything, and checks that nothing is left. */
  finish() {
    const { witness } = this
    witness.begin()
    for (const stop of this.stops) stop()
    for (const list of [this.optimizers, this.caches, this.modules, this.tensors])
      list.forEach((object) => dispose(object, this.tampered))
    for (const tensor of this.reachable()) tensor.dispose()
    witness.endAll([])
    const { blocks } = witness
    if (blocks.size > 0 && !this.tampered) {
      throw new Finding(`${blocks.size} blocks of ${[...blocks.values()]} bytes are still in use at the end`)
    }
    if (blocks.size > 0 || witness.size > 3 * MIB) watched = null
  }

  /** After a finding the next run gets a new copy. */
  static discard() {
    watched = null
  }

  /**
   * @param {unknown} error that a call threw
   * @param {boolean} [tampered] whether the run has replaced parts of a layer. Then a TypeError may come, and
   *   the errors of TAMPERED. A message may then be long: it shows the value that replaced a number.
   * @throws {Finding} unless the package may throw it
   */
  static checkError(error, tampered = false) {
    if (error instanceof Mine) return
    if (tampered && (error instanceof TypeError || TAMPERED.test(String(error)))) return
    if (error instanceof TypeError && /has only a getter|without 'new'/.test(error.message)) return
    checkError(error, CODES, tampered ? Infinity : 1000)
  }

  /** @param {any} value */
  #isTensor(value) {
    const prototype = Object.getPrototypeOf(this.dead.tensor)
    return Object.getPrototypeOf(Object(value)) === prototype
  }

  /** @param {unknown} value */
  #text(value) {
    if (Array.isArray(value)) return `[${itemsOf(value).map((item) => this.id(item) || String(item))}]`
    if (typeof value === 'object' && value !== null) return String(this.id(value))
    return String(value)
  }

  /** @param {string} name @param {number} i */
  #strangeValue(name, i) {
    return STRANGE[name](this, i)
  }

  /** @param {any} module @param {number} i a value that its forward takes */
  #inputOf(module, i) {
    if (!isModule(module)) return this.tensor(i)
    const leading = [[], [1], [2], [3], [2, 3], [2, 1, 2], [0], [2, 0]][i % 8]
    const count = module.numEmbeddings ?? module.vocabSize
    if (Number.isInteger(count) && count > 0) {
      const indices = [
        [0],
        [0, count - 1],
        [
          [0, 1 % count],
          [0, 0],
        ],
        [],
        [[[0]]],
      ][i % 5]
      if (i % 7 === 0) {
        const tensor = this.gpt.tensor(indices)
        this.keep(tensor)
        return tensor
      }
      return i % 7 === 1 ? new Int32Array([0, count - 1]) : indices
    }
    const [first] = [module.layers ?? []].flat()
    const { inFeatures, nx, embDim, numFeatures } = isModule(first) && !module.embDim ? first : module
    const features =
      [inFeatures, nx, embDim, numFeatures].find((size) => Number.isInteger(size) && size < 100) ?? 4
    return this.#made([...leading, features])
  }

  /** @param {any} tensor @param {number} i */
  #gradientFor(tensor, i) {
    if (tensor?.size === 1 && i % 2) return undefined
    return tensor?.disposed === false ? this.#made(tensor.shape) : this.tensor(i)
  }

  /** @param {any} receiver @param {number} i a state dict that fits or nearly fits */
  #dictFor(receiver, i) {
    const own = stateOf(receiver) ?? stateOf(this.module(i)) ?? { x: this.tensor(i) }
    /** @type {Record<string, any>} */
    const dict = { ...own }
    const names = Object.keys(dict)
    const name = names[i % Math.max(names.length, 1)] ?? 'x'
    if (i % 5 === 1) delete dict[name]
    if (i % 5 === 2) dict[name] = this.tensor(i)
    if (i % 5 === 3) dict[['weight', 'x', '__proto__x', 'state.0.step'][i % 4]] = this.tensor(i)
    if (i % 5 === 4) dict[name] = this.#strangeValue(['text', 'deadTensor'][i % 2], i)
    return dict
  }

  /** @param {Code} code */
  #file({ i = 0, at = -1, value = 0 }) {
    const file = this.files[i % Math.max(this.files.length, 1)] ?? new Uint8Array(i)
    if (at < 0) return file
    const changed = file.slice()
    changed[at % Math.max(changed.length, 1)] = value
    return changed
  }

  /** @param {Code} code @param {any} receiver */
  #options({ entries }, receiver) {
    const options = {}
    for (const [name, code] of entries) {
      const value = this.decode(code, receiver)
      Object.defineProperty(options, name, { value, writable: true, enumerable: true, configurable: true })
    }
    return options
  }

  /** @param {string} name @param {number} i a function for onForward */
  #listener(name, i) {
    return (/** @type {any} */ event) =>
      this.#inside(() => {
        const { module, output, input } = event
        this.chaotic ||= name !== 'quiet' && name !== 'throws' && name !== 'reads'
        switch (name) {
          case 'quiet':
            return
          case 'throws':
            throw new Mine()
          case 'reads':
            return void [String(output), event.name, Object.keys(event)]
          case 'keeps':
            return void this.keep(output.clone())
          case 'replaces': {
            const other = i % 3 ? output.mul(2) : this.tensor(i)
            this.keep(other)
            return other
          }
          case 'disposes':
            return [output, input, module][i % 3]?.dispose?.()
          case 'forwards':
            return void this.keep(module.forward(input))
          case 'backwards':
            return void output.sum().backward()
          case 'evaluates':
            return void (i % 2 ? module.eval() : module.train())
          case 'listens':
            return void this.stops.push(
              module.onForward(this.#listener(['quiet', 'throws', 'listens'][i % 3], i + 1)),
            )
          case 'stops':
            return this.stops.forEach((stop) => stop())
          case 'writes':
            return void output.data?.fill(i)
        }
      })
  }

  /** @param {string} name @param {number} i a function for scope, noGrad and record */
  #function(name, i) {
    const { gpt } = this
    return () =>
      this.#inside(() => {
        switch (name) {
          case 'tensor':
            return gpt.ones([2])
          case 'nothing':
            return void gpt.ones([3])
          case 'throws':
            gpt.ones([3])
            throw new Mine()
          case 'many':
            return { a: gpt.zeros([1]), b: [gpt.ones([2])], c: new Map([['d', gpt.ones([1])]]) }
          case 'layer':
            return new gpt.Linear(2, 3)
          case 'nested':
            return gpt.scope(() => gpt.scope(() => gpt.ones([4])))
          case 'promise':
            gpt.ones([1])
            return Promise.resolve(1)
          case 'strange':
            return this.#strangeValue(Object.keys(STRANGE)[i % Object.keys(STRANGE).length], i)
          case 'given':
            return this.tensor(i)
          case 'computed':
            return this.tensor(i).mul(this.tensor(i)).sum()
        }
      })
  }

  /**
   * Runs a function that the package calls back. It may call the package, which may call back once more.
   *
   * @template T
   * @param {() => T} fn
   */
  #inside(fn) {
    if (this.depth >= 2) return undefined
    this.depth++
    try {
      return fn()
    } finally {
      this.depth--
    }
  }

  /** @param {readonly number[]} shape @returns {Tensor} one that later calls use, too */
  #made(shape) {
    const tensor = this.gpt.zeros(shape)
    const { data } = tensor
    for (let i = 0; i < data.length; i++) data[i] = Math.fround(Math.sin(i + 1))
    this.keep(tensor)
    return tensor
  }
}

/** @param {any[]} list @param {any} value */
function add(list, value) {
  if (!list.includes(value)) list.push(value)
}

/** @param {any} object the package's @param {boolean} [tampered] whether parts of it were replaced */
function dispose(object, tampered = false) {
  try {
    object.dispose()
  } catch (error) {
    World.checkError(error, tampered)
  }
}

/** @param {any} object @returns {Record<string, Tensor> | undefined} */
function stateOf(object) {
  try {
    return object.stateDict()
  } catch {
    return undefined
  }
}

/**
 * The items of an array, without its getters. None of a long one.
 *
 * @param {any[]} array
 * @returns {any[]}
 */
function itemsOf(array) {
  if (array.length > 100) return []
  /** @type {Record<string, PropertyDescriptor>} */
  const { length: _, ...items } = Object.getOwnPropertyDescriptors(array)
  return Object.values(items).map(({ value }) => value)
}

/** @param {any} optimizer @returns {Tensor[]} its parameters, where nobody replaced them */
export const parametersOf = ({ parameters }) => (Array.isArray(parameters) ? itemsOf(parameters) : [])

/** @param {any} optimizer @returns {Tensor[]} the tensors that it keeps */
export const keptBy = (optimizer) => Object.values(stateOf(optimizer) ?? {})

/** @param {any} cache @returns {Tensor[]} its keys and values, which the package hides */
export const tensorsOfCache = (cache) => cache.tensorsForScope

/** Layers, each with its own properties. @typedef {Map<any, Record<string, PropertyDescriptor>>} Contents */

/** @param {any} module @returns {Contents} of the layer and those inside; no getter is run */
function contentsOf(module) {
  /** @type {Contents} */
  const found = new Map()
  const parts = [module]
  for (const part of parts) {
    if (found.has(part)) continue
    const properties = Object.getOwnPropertyDescriptors(part)
    found.set(part, properties)
    for (const { value } of Object.values(properties)) {
      if (typeof value !== 'object' || value === null) continue
      parts.push(...(Array.isArray(value) ? itemsOf(value) : [value]).filter(isModule))
    }
  }
  return found
}

/** @param {any} module @returns {any[]} the layer and those inside, each once */
export const partsOf = (module) => [...contentsOf(module).keys()]

/** @param {Witness} witness @param {Iterable<Tensor>} tensors @returns {Range[]} */
export const rangesOf = (witness, tensors) =>
  [...tensors].flatMap((tensor) => {
    if (!tensor.disposed) return witness.rangeOf(tensor)
    return tensor.int8Weight?.disposed === false ? witness.rangeOfInt8(tensor.int8Weight) : []
  })
