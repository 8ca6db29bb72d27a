/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { Context, ForwardListener } from './forward.js' */

import { checkObject, checkSameShape, describe } from '../check.js'
import { decodeSafetensors, encodeSafetensors } from '../checkpoint/safetensors.js'
import { copyInto, firstNames, snakeCase } from '../checkpoint/statedict.js'
import { GptLayersError } from '../errors.js'
import { TENSORS } from '../runtime/scope.js'
import { checkLiveTensor, checkTensor } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { observe } from './forward.js'

/**
 * The base of every layer, under nn.Module's names. Extend `gpt.Module` for a layer of your own. Its
 * parameters are the properties that are tensors, except those of `registerBuffer`; the layers inside are the
 * properties that are layers or arrays of layers.
 *
 * @example
 * class Scale extends gpt.Module {
 *   constructor(size) {
 *     super()
 *     this.scale = gpt.ones([size])
 *   }
 *   forward(x) {
 *     this.save({ x })
 *     return x.mul(this.scale)
 *   }
 *   backward(dy) {
 *     const { x } = this.saved()
 *     this.scale.addGradient(dy.mul(x).sum({ dim: 0 }))
 *     this.release()
 *     return dy.mul(this.scale)
 *   }
 * }
 * const layer = new Scale(2)
 * layer.forward(gpt.tensor([[1, 2], [3, 4]]))
 * layer.backward(gpt.ones([2, 2]))
 * layer.scale.grad.toArray() // [4, 6]
 */
export class Module {
  /**
   * Foreign checkpoint name -> our state-dict name; null: ignore; { transposed }: stored transposed.
   *
   * @internal @type {Readonly<Record<string, string | null | { transposed: string }>>}
   */
  static aliases = {}

  /** A prefix that foreign checkpoints may put before every name. @internal */
  static foreignPrefix = ''

  /**
   * State-dict name that a checkpoint may lack -> name of the tensor that replaces it.
   *
   * @internal @type {Readonly<Record<string, string>>}
   */
  static substitutes = {}

  /** The tensors that the last `forward` in training mode kept. @type {Record<string, Tensor> | null} */
  #saved = null

  /** The names of the buffers. @type {Set<string>} */
  #buffers = new Set()

  /**
   * @internal
   * @param {Runtime} runtime
   */
  constructor(runtime) {
    /** @internal @readonly @type {Runtime} */
    this.runtime = runtime
    /** Whether the layer is in training mode: `forward` keeps what `backward` needs. True for a new layer. */
    this.training = true
    // Not enumerable, so that a walk over the properties finds parameters and layers only.
    Object.defineProperty(this, 'runtime', { enumerable: false })
  }

  /**
   * Computes the layer. In training mode it keeps the tensors that `backward` needs.
   *
   * @param {Tensor} x
   * @param {Context} [context] options of this call, such as `{ returnWeights: true }`. A layer that contains
   *   layers passes it on to those that take one; Sequential to all
   * @returns {Tensor}
   */
  forward(x, context) {
    const call = [x, context].filter((value) => value !== undefined).map(describe)
    throw new GptLayersError(
      'UNSUPPORTED',
      `${this.constructor.name}.forward: not defined for ${call.join(', ')}`,
    )
  }

  /**
   * Returns the gradient with respect to the input of the last `forward`, and adds the gradients with respect
   * to the parameters to their `.grad`. Call it once after each `forward` in training mode; the input of that
   * `forward` must not have changed.
   *
   * @param {Tensor} dy the gradient with respect to the output of `forward`, of its shape; not modified
   * @returns {Tensor | null} dx; null where the input of `forward` is integers, which have no gradient
   * @throws {GptLayersError} VALUE when there was no `forward` in training mode since the last `backward`;
   *   SHAPE, TYPE, DISPOSED, MEMORY
   */
  backward(dy) {
    throw new GptLayersError(
      'UNSUPPORTED',
      `${this.constructor.name}.backward: not defined for ${describe(dy)}`,
    )
  }

  /**
   * Calls a listener after every `forward` of this layer and of every layer inside, as PyTorch's forward
   * hooks. Layers inside come before the layer that contains them. Without listeners a layer runs at full
   * speed. A layer added later is not listened to.
   *
   * @param {ForwardListener} listener gets `{ name, module, input, output }`. name: the path of the layer,
   *   such as `trf_blocks.0.norm1`, or '' for this one. The tensors are valid during the call: `clone` those
   *   that you keep. An error that it throws ends the `forward`. With `forward(x, { returnWeights: true })`
   *   the event of an Attention has its `weights`, too.
   * @returns {() => void} ends it; calling it again does nothing
   * @throws {GptLayersError} TYPE
   * @example
   * const seen = []
   * const stop = model.onForward(({ name, weights }) => weights && seen.push([name, weights.shape]))
   * model.forward(tokens, { returnWeights: true })
   * stop()
   * seen // [['trf_blocks.0.attn', [2, 2, 3, 3]]]
   */
  onForward(listener) {
    return observe(`${this.constructor.name}.onForward`, firstNames(this.#namedModules('')), listener)
  }

  /**
   * Adds a tensor that is state but not trained, such as a running mean, as PyTorch's register_buffer. It
   * becomes the property `name`; `stateDict` has it, `parameters` does not.
   *
   * @param {string} name of a property that does not exist yet, or that is a buffer
   * @param {Tensor} tensor
   * @returns {Tensor} the tensor
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED
   * @example
   * const counter = new gpt.Module()
   * counter.registerBuffer('batchesSeen', gpt.zeros([]))
   * Object.keys(counter.stateDict()) // ['batches_seen']
   */
  registerBuffer(name, tensor) {
    const where = `${this.constructor.name}.registerBuffer`
    if (typeof name !== 'string') {
      throw new GptLayersError('TYPE', `${where}: name should be a string, got ${describe(name)}`)
    }
    if (name === '' || name.includes('.') || (name in this && !this.#buffers.has(name))) {
      throw new GptLayersError(
        'VALUE',
        `${where}: name should be new, not empty and without a point, got ${describe(name)}`,
      )
    }
    checkTensor(this.runtime, where, 'tensor', tensor)
    this.#buffers.add(name)
    Reflect.set(this, name, tensor)
    return tensor
  }

  /**
   * Keeps tensors for `backward`, in place of those of the `forward` before; does nothing in evaluation mode.
   * The layer holds the memory itself: the caller, or a scope, may dispose the tensors.
   *
   * @param {Record<string, Tensor>} tensors by names of your choice; they must not be modified until
   *   `backward`
   * @throws {GptLayersError} DISPOSED
   */
  save(tensors) {
    this.release()
    if (!this.training) return
    /** @type {Record<string, Tensor>} */
    const saved = {}
    for (const name in tensors) saved[name] = tensors[name].hold()
    this.#saved = saved
  }

  /**
   * The tensors that the last `forward` kept. Call `release` after the last use.
   *
   * @param {string} [where] the name of the method, for the error
   * @returns {Record<string, Tensor>}
   * @throws {GptLayersError} VALUE when there are none
   */
  saved(where = `${this.constructor.name}.backward`) {
    if (this.#saved !== null) return this.#saved
    const state = this.training
      ? 'got none since the last backward, eval() or the beginning'
      : 'the layer is in evaluation mode'
    throw new GptLayersError('VALUE', `${where}: should follow a forward in training mode; ${state}`)
  }

  /** Frees the tensors that the last `forward` kept. */
  release() {
    if (this.#saved === null) return
    for (const name in this.#saved) this.#saved[name].dispose()
    this.#saved = null
  }

  /**
   * Lets a kernel write the gradients of some parameters, and adds them to each `.grad`. Kernels write
   * gradients instead of adding them, so that a part of a call can be run again; see Pool.
   *
   * @internal
   * @param {string} where
   * @param {readonly (Tensor | null)[]} parameters null for one that the layer does not have
   * @param {(...gradients: (Tensor | null)[]) => void} write fills tensors of the parameters' shapes
   */
  addGradients(where, parameters, write) {
    this.runtime.scope(() => {
      const gradients = parameters.map((parameter) => parameter && parameter.empty(where, parameter.shape))
      write(...gradients)
      parameters.forEach((parameter, i) => parameter?.addGradient(/** @type {Tensor} */ (gradients[i])))
    })
  }

  /**
   * The tensors and layers directly inside, by name.
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
   * The parameters with their names, as PyTorch has them, such as `layers.0.weight`. A parameter that two
   * layers share has the first of its names.
   *
   * @returns {[string, Tensor][]}
   */
  namedParameters() {
    return firstNames(this.#namedTensors({ withBuffers: false }))
  }

  /** @returns {Tensor[]} the parameters, in the order of `namedParameters` */
  parameters() {
    return this.namedParameters().map(([, tensor]) => tensor)
  }

  /** The parameters and buffers, for `scope`. @internal @returns {Tensor[]} */
  [TENSORS]() {
    return this.#namedTensors({ withBuffers: true }).map(([, tensor]) => tensor)
  }

  /** Frees the parameters' gradients: `.grad` is null again, as after PyTorch's zero_grad. */
  zeroGrad() {
    for (const parameter of this.parameters()) parameter.freeGradient()
  }

  /**
   * The parameters and buffers by name. As in PyTorch they are the live tensors: `clone` those that you keep.
   *
   * @returns {Record<string, Tensor>}
   */
  stateDict() {
    return Object.fromEntries(this.#namedTensors({ withBuffers: true }))
  }

  /**
   * Copies values into the parameters and buffers. Where a name or a shape does not fit, nothing is changed.
   *
   * @param {Record<string, Tensor>} dict tensors of any instance, under the names of `stateDict`, or of
   *   PyTorch's layer, or of GPT-2's checkpoint. Of a tensor with two names, one name is enough
   * @throws {GptLayersError} VALUE for a name that is missing or unknown, SHAPE, TYPE, DISPOSED
   */
  loadStateDict(dict) {
    const where = `${this.constructor.name}.loadStateDict`
    const given = checkObject(where, 'dict', dict)
    copyInto(this, where, 'dict', Object.keys(given), (name, shape) => {
      const source = checkLiveTensor(where, name, given[name])
      checkSameShape(where, name, source.shape, shape)
      const values = source.data.slice() // a copy: the source may be one of the targets
      return () => values
    })
  }

  /**
   * The state dict as a safetensors file, float32, which Python's safetensors reads. A tensor with two names
   * is written once, under the first.
   *
   * @returns {Uint8Array}
   * @throws {GptLayersError} DISPOSED
   * @example writeFileSync('layer.safetensors', new Linear(5, 6).saveSafetensors())
   */
  saveSafetensors() {
    const tensors = Object.fromEntries(firstNames(this.#namedTensors({ withBuffers: true })))
    return encodeSafetensors(`${this.constructor.name}.saveSafetensors`, tensors)
  }

  /**
   * Copies the values of a safetensors file into the parameters and buffers, by the names that
   * `loadStateDict` takes. Floats of 16 to 64 bits are rounded to float32; integers must be float32 values.
   *
   * @param {Uint8Array | ArrayBuffer} bytes the file
   * @throws {GptLayersError} as `loadStateDict`; VALUE for a file that is truncated or damaged; UNSUPPORTED
   *   for other types. Nothing is changed then
   */
  loadSafetensors(bytes) {
    const where = `${this.constructor.name}.loadSafetensors`
    const entries = decodeSafetensors(where, bytes)
    copyInto(this, where, 'bytes', Object.keys(entries), (name, shape) => {
      const entry = entries[name]
      checkSameShape(where, name, entry.shape, shape)
      return entry.prepare()
    })
  }

  /** Sets training mode, here and in the layers inside. @returns {this} */
  train() {
    return this.#setTraining(true)
  }

  /** Sets evaluation mode, here and in the layers inside: nothing is kept for `backward`. @returns {this} */
  eval() {
    return this.#setTraining(false)
  }

  /**
   * Frees the parameters, the buffers and everything kept for `backward` at once. Using the layer afterwards
   * is an error; disposing again is not.
   */
  dispose() {
    for (const tensor of this[TENSORS]()) tensor.dispose()
    for (const [, module] of this.#namedModules('')) module.release()
  }

  // See Tensor's.
  [Symbol.dispose]() {
    this.dispose()
  }

  /** @param {boolean} training @returns {this} */
  #setTraining(training) {
    for (const [, module] of this.#namedModules('')) {
      module.training = training
      if (!training) module.release()
    }
    return this
  }

  /**
   * Every tensor inside, by its name in a state dict.
   *
   * @param {{ withBuffers: boolean }} options
   * @returns {[string, Tensor][]}
   */
  #namedTensors({ withBuffers }) {
    return this.#namedModules('').flatMap(([path, module]) =>
      module.children().flatMap(([property, child]) => {
        if (!(child instanceof Tensor) || (!withBuffers && module.#buffers.has(property))) return []
        return [/** @type {[string, Tensor]} */ ([path + (path && '.') + snakeCase(property), child])]
      }),
    )
  }

  /**
   * This layer and every layer inside, by its path.
   *
   * @param {string} path of this one
   * @returns {[string, Module][]} a layer before the layers inside it
   */
  #namedModules(path) {
    const inside = this.children().flatMap(([property, child]) =>
      child instanceof Module ? child.#namedModules(path + (path && '.') + snakeCase(property)) : [],
    )
    return [[path, this], ...inside]
  }
}
