/** @import { Runtime } from '../runtime/runtime.js' */

import { checkObject, checkSameShape, describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { TENSORS } from '../runtime/scope.js'
import { decodeSafetensors, encodeSafetensors } from '../checkpoint/safetensors.js'
import { checkTensor, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'

/** A property's name as PyTorch writes it: runningMean is running_mean. */
const snakeCase = (/** @type {string} */ name) =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/**
 * Names in an error message, not all 148 of GPT-2.
 *
 * @param {string[]} names
 * @param {string} none
 */
function listed(names, none) {
  const more = names.length > 12 ? ` and ${names.length - 12} more` : ''
  return names.slice(0, 12).join(', ') + more || none
}

/**
 * @param {Float32Array} values [cols, rows]
 * @param {readonly number[]} shape [rows, cols]
 * @returns {Float32Array} of that shape
 */
function transpose(values, [rows, cols]) {
  const result = new Float32Array(values.length)
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < cols; c++) result[r * cols + c] = values[c * rows + r]
  }
  return result
}

/**
 * @param {[string, Tensor][]} named
 * @returns {[string, Tensor][]} each tensor once, under the first of its names
 */
function once(named) {
  const seen = new Set()
  return named.filter(([, tensor]) => !seen.has(tensor) && seen.add(tensor))
}

/**
 * @param {Float32Array} a
 * @param {Float32Array} b
 */
const sameValues = (a, b) => a.every((value, i) => Object.is(value, b[i]))

/** What every layer has, under nn.Module's names. */
export class Module {
  /** The properties that are tensors and state, but not trained, such as running statistics. @internal @type {readonly string[]} */
  static buffers = []

  /**
   * What others call what is inside, where they differ, and what it is in `stateDict`: null for what has no use here,
   * `{ transposed }` for a matrix that they have the other way round.
   *
   * @internal @type {Readonly<Record<string, string | null | { transposed: string }>>}
   */
  static aliases = {}

  /**
   * Those in `stateDict` that a dict to be loaded may lack, and which to take instead.
   *
   * @internal @type {Readonly<Record<string, string>>}
   */
  static substitutes = {}

  /** What the last `forward` in training mode kept. @type {Record<string, Tensor> | null} */
  #saved = null

  /**
   * @internal
   * @param {Runtime} runtime
   */
  constructor(runtime) {
    /** @internal @readonly @type {Runtime} */
    this.runtime = runtime
    /** Whether the layer is in training mode, as it is when new: `forward` then keeps what `backward` needs. */
    this.training = true
    // Not enumerable, so that only parameters and layers inside are found among the properties.
    Object.defineProperty(this, 'runtime', { enumerable: false })
  }

  /**
   * @param {Tensor} x
   * @returns {Tensor}
   */
  forward(x) {
    throw new GptLayersError(
      'UNSUPPORTED',
      `${this.constructor.name}.forward: not defined for ${describe(x)}`,
    )
  }

  /**
   * Gives the gradient with respect to what the last `forward` took, and adds those with respect to the parameters to
   * their `.grad`. To be called once after each `forward` in training mode, whose input must not have changed since.
   *
   * @param {Tensor} dy the gradient with respect to what `forward` returned, same shape, not modified
   * @returns {Tensor} dx
   * @throws {GptLayersError} VALUE when there was no `forward` in training mode since the last `backward`; SHAPE, TYPE,
   *   DISPOSED, MEMORY
   */
  backward(dy) {
    throw new GptLayersError(
      'UNSUPPORTED',
      `${this.constructor.name}.backward: not defined for ${describe(dy)}`,
    )
  }

  /**
   * Keeps tensors for `backward`, in training mode. Whoever made them may dispose them.
   *
   * @internal
   * @param {Record<string, Tensor>} tensors an object of its own, which is kept
   */
  save(tensors) {
    this.release()
    if (!this.training) return
    for (const name in tensors) tensors[name] = tensors[name].hold()
    this.#saved = tensors
  }

  /**
   * What the last `forward` kept; `release` it when done.
   *
   * @internal
   * @param {string} where
   * @returns {Record<string, Tensor>}
   * @throws {GptLayersError} VALUE
   */
  saved(where) {
    if (this.#saved !== null) return this.#saved
    const state = this.training
      ? 'got none since the last backward, eval() or the beginning'
      : 'the layer is in evaluation mode'
    throw new GptLayersError('VALUE', `${where}: should follow a forward in training mode; ${state}`)
  }

  /** Frees what the last `forward` kept. @internal */
  release() {
    if (this.#saved === null) return
    for (const name in this.#saved) this.#saved[name].dispose()
    this.#saved = null
  }

  /**
   * The tensors and layers directly inside, by name: those properties that are tensors, layers or lists of layers.
   *
   * @internal
   * @returns {[string, Tensor | Module][]}
   */
  children() {
    return Object.entries(this).flatMap(([name, value]) => {
      if (value instanceof Tensor || value instanceof Module) return [[name, value]]
      if (!Array.isArray(value)) return []
      return value.flatMap((layer, i) =>
        layer instanceof Module ? [/** @type {[string, Module]} */ ([`${name}.${i}`, layer])] : [],
      )
    })
  }

  /**
   * Every tensor inside by its name in a state dict.
   *
   * @param {boolean} withBuffers whether with those that are not trained
   * @returns {[string, Tensor][]}
   */
  #named(withBuffers) {
    const { buffers } = /** @type {typeof Module} */ (this.constructor)
    return this.children().flatMap(([property, child]) => {
      const name = snakeCase(property)
      if (child instanceof Module) {
        return child
          .#named(withBuffers)
          .map(([rest, tensor]) => /** @type {[string, Tensor]} */ ([`${name}.${rest}`, tensor]))
      }
      return withBuffers || !buffers.includes(property)
        ? [/** @type {[string, Tensor]} */ ([name, child])]
        : []
    })
  }

  /**
   * The parameters with their names as PyTorch has them, such as `layers.0.weight`; one that stands in two places, the
   * first.
   *
   * @returns {[string, Tensor][]}
   */
  namedParameters() {
    return once(this.#named(false))
  }

  /** @returns {Tensor[]} the parameters, in the order of `namedParameters` */
  parameters() {
    return this.namedParameters().map(([, tensor]) => tensor)
  }

  /** @internal @returns {Tensor[]} the parameters and buffers */
  tensors() {
    return this.#named(true).map(([, tensor]) => tensor)
  }

  /** For `scope`. @internal */
  [TENSORS]() {
    return this.tensors()
  }

  /**
   * Has a kernel write the gradients of some parameters, and adds them to what those have. Kernels write and never add,
   * so that a part of a call may be done again; see Crew.
   *
   * @internal
   * @param {string} where
   * @param {readonly (Tensor | null)[]} parameters null for one that the layer does without
   * @param {(...offsets: number[]) => void} write calls the kernel with where the gradients are to be; 0 for null
   */
  addGradients(where, parameters, write) {
    this.runtime.scope(() => {
      const gradients = parameters.map(
        (parameter) => parameter && Tensor.empty(this.runtime, where, parameter.shape),
      )
      write(...gradients.map((gradient) => gradient?.byteOffset ?? 0))
      parameters.forEach((parameter, i) => parameter?.addGradient(/** @type {Tensor} */ (gradients[i])))
    })
  }

  /** Forgets the parameters' gradients: `.grad` is null again, as after PyTorch's zero_grad. */
  zeroGrad() {
    for (const parameter of this.parameters()) {
      parameter.grad?.dispose()
      parameter.grad = null
    }
  }

  /**
   * The parameters and buffers by name. They are the live ones, as in PyTorch: `clone` what should stay as it is.
   *
   * @returns {Record<string, Tensor>}
   */
  stateDict() {
    return Object.fromEntries(this.#named(true))
  }

  /**
   * Copies values into the parameters and buffers. Names and shapes must be just those of `stateDict`, or those that
   * PyTorch's layer or GPT-2's checkpoint has; where one is not, nothing is changed. Of two names for one tensor, one will do.
   *
   * @param {Record<string, Tensor>} dict tensors of any instance
   * @throws {GptLayersError} VALUE for a name that is missing or unknown, SHAPE, TYPE, DISPOSED
   */
  loadStateDict(dict) {
    const where = `${this.constructor.name}.loadStateDict`
    const given = checkObject(where, 'dict', dict)
    this.#load(where, 'dict', Object.keys(given), (name, shape) => {
      const source = given[name]
      if (!(source instanceof Tensor)) {
        throw new GptLayersError('TYPE', `${where}: ${name} should be a Tensor, got ${describe(source)}`)
      }
      checkTensorOf(source.runtime, where, name, source, shape)
      const values = source.data.slice() // it may be one of those that are written
      return () => values
    })
  }

  /**
   * The state dict as a safetensors file, float32, which Python's safetensors reads; a tensor that stands in two places
   * is written once, under the first name.
   *
   * @returns {Uint8Array}
   * @throws {GptLayersError} DISPOSED
   * @example writeFileSync('layer.safetensors', new Linear(5, 6).saveSafetensors())
   */
  saveSafetensors() {
    return encodeSafetensors(
      `${this.constructor.name}.saveSafetensors`,
      Object.fromEntries(once(this.#named(true))),
    )
  }

  /**
   * Copies the values of a safetensors file into the parameters and buffers, as `loadStateDict` does. They may be of any
   * float that has 16 to 64 bits, rounded to float32, or integers that are float32s.
   *
   * @param {Uint8Array | ArrayBuffer} bytes the file
   * @throws {GptLayersError} as `loadStateDict`; VALUE where the file is truncated or damaged; UNSUPPORTED for other dtypes.
   *   Nothing is changed then
   */
  loadSafetensors(bytes) {
    const where = `${this.constructor.name}.loadSafetensors`
    const entries = decodeSafetensors(where, bytes)
    this.#load(where, 'bytes', Object.keys(entries), (name, shape) => {
      const entry = entries[name]
      checkSameShape(where, name, entry.shape, shape)
      return entry.prepare()
    })
  }

  /**
   * @internal
   * @param {string} name that PyTorch, GPT-2 or we ourselves give to what is inside
   * @returns {{ name: string, transposed: boolean } | null} what it is in `stateDict`; null for what has no use here
   */
  resolve(name) {
    const { aliases } = /** @type {typeof Module} */ (this.constructor)
    const alias = Object.keys(aliases).find((alias) => name === alias || name.startsWith(`${alias}.`))
    const own = alias === undefined ? '' : aliases[alias]
    if (own === null) return null
    if (typeof own === 'object') return { name: own.transposed, transposed: true }
    const full = alias === undefined ? name : own + name.slice(alias.length)
    for (const [property, child] of this.children()) {
      const prefix = `${snakeCase(property)}.`
      if (!(child instanceof Module) || !full.startsWith(prefix)) continue
      const inside = child.resolve(full.slice(prefix.length))
      return inside && { ...inside, name: prefix + inside.name }
    }
    return { name: full, transposed: false }
  }

  /**
   * @param {string} where
   * @param {string} what the argument is called
   * @param {string[]} names that it has
   * @param {(name: string, shape: readonly number[]) => () => Float32Array} prepare checks one that should be of that
   *   shape, and gives what reads its values and cannot fail
   */
  #load(where, what, names, prepare) {
    const { substitutes } = /** @type {typeof Module} */ (this.constructor)
    const own = this.stateDict()
    /** @type {Map<string, { given: string, transposed: boolean }>} by own name */
    const found = new Map()
    for (const given of names) {
      const place = this.resolve(given)
      if (place === null) continue
      const { name, transposed } = place
      if (!Object.hasOwn(own, name)) {
        const known = listed(Object.keys(own), 'no parameters')
        throw new GptLayersError('VALUE', `${where}: ${what} should have ${known}, got ${describe(given)}`)
      }
      const other = found.get(name)
      if (other) {
        throw new GptLayersError(
          'VALUE',
          `${where}: ${what} should have ${name} once, got ${other.given} and ${given}`,
        )
      }
      found.set(name, { given, transposed })
    }
    /** @type {Map<Tensor, { name: string, values: () => Float32Array }>} */
    const copies = new Map()
    for (const [name, target] of Object.entries(own)) {
      const source = found.get(name) ?? found.get(substitutes[name])
      const other = copies.get(target)
      if (!source && other) continue
      if (!source) {
        throw new GptLayersError(
          'VALUE',
          `${where}: ${what} should have ${name}, got ${listed(names, 'none')}`,
        )
      }
      checkTensor(target.runtime, where, `own ${name}`, target)
      const { given, transposed } = source
      const read = prepare(given, transposed ? [...target.shape].reverse() : target.shape)
      const values = transposed ? () => transpose(read(), target.shape) : read
      if (other && !sameValues(values(), other.values())) {
        throw new GptLayersError(
          'VALUE',
          `${where}: ${name} should be ${other.name}, with which it is tied, got other values`,
        )
      }
      copies.set(target, { name, values })
    }
    for (const [target, { values }] of copies) target.data.set(values())
  }

  /** Training mode, for the layers inside as well. @returns {this} */
  train() {
    return this.#setTraining(true)
  }

  /** Evaluation mode, for the layers inside as well: nothing is kept for `backward`. @returns {this} */
  eval() {
    return this.#setTraining(false)
  }

  /** Frees the parameters at once, and all that is kept. Any use afterwards is an error; disposing again is not. */
  dispose() {
    for (const tensor of this.tensors()) tensor.dispose()
    this.#releaseAll()
  }

  // See Tensor's.
  [Symbol.dispose]() {
    this.dispose()
  }

  /** @param {boolean} training @returns {this} */
  #setTraining(training) {
    this.training = training
    if (!training) this.release()
    for (const layer of this.#layers()) layer.#setTraining(training)
    return this
  }

  #releaseAll() {
    this.release()
    for (const layer of this.#layers()) layer.#releaseAll()
  }

  /** @returns {Module[]} the layers directly inside */
  #layers() {
    return this.children().flatMap(([, child]) => (child instanceof Module ? [child] : []))
  }
}
