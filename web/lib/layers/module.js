/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { Matrix } from '../tensor/int8weight.js' */
/** @import { Context, ForwardListener, Returned } from './forward.js' */

import {
  checkNumber,
  checkObject,
  checkOptions,
  checkSameShape,
  copyObject,
  describe,
  isArray,
} from '../check.js'
import { foundInt8, integersOf, readInt8 } from '../checkpoint/int8.js'
import { decodeSafetensors, encodeSafetensors } from '../checkpoint/safetensors.js'
import { areFinite, copyInto, firstNames, notFinite, SCALE, snakeCase } from '../checkpoint/statedict.js'
import { GptLayersError } from '../errors.js'
import { Call } from '../runtime/calls.js'
import { METADATA, TENSORS } from '../runtime/scope.js'
import { checkLiveTensor, checkTensor } from '../tensor/check.js'
import { collectGradients } from '../tensor/gradients.js'
import { evenGroups, GROUP_SIZE, int8Of, Int8Weight, MATRIX } from '../tensor/int8weight.js'
import { notTensor, Tensor } from '../tensor/tensor.js'
import { asObject } from './forward.js'

/**
 * The methods that `track` has wrapped, and the wrappers.
 *
 * @type {WeakSet<object>}
 */
const tracked = new WeakSet()

/** For a scope that keeps all tensors, unless its function throws. */
const EVERYTHING = { has: () => true }

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

  /** Private, so that a walk over the properties finds parameters and layers only. @type {Runtime} */
  #runtime

  /** The last `forward` in training mode, until `backward` has followed. @type {Call | null} */
  #call = null

  /** Called after every `forward`. @type {readonly { name: string, listener: ForwardListener }[]} */
  #listeners = []

  /** The names of the buffers. @type {Set<string>} */
  #buffers = new Set()

  /**
   * @internal
   * @param {Runtime} runtime
   */
  constructor(runtime) {
    this.#runtime = runtime
    /** Whether the layer is in training mode: `forward` keeps what `backward` needs. True for a new layer. */
    this.training = true
    Module.#track(Object.getPrototypeOf(this))
  }

  /**
   * @internal
   * @returns {Runtime}
   * @throws {GptLayersError} TYPE for a Proxy of a layer, which has no private state
   */
  get runtime() {
    try {
      return this.#runtime // throws where there is none
    } catch {
      // reported below
    }
    const name = Object.getPrototypeOf(this).constructor.name
    throw new GptLayersError(
      'TYPE',
      `${name}: the layer should be used itself, got a Proxy of it; in Vue use markRaw or shallowRef`,
    )
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
   * `forward` must not have changed. Where it fails, no `.grad` changes.
   *
   * @param {Tensor} dy the gradient with respect to the output of `forward`, of its shape; not modified
   * @returns {Tensor | null} dx; null where the input of `forward` is integers, which have no gradient
   * @throws {GptLayersError} VALUE when no `forward` in training mode came since the last `backward`, when it
   *   failed, or when a layer inside has had another `forward` since; SHAPE, TYPE, DISPOSED, MEMORY
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
   *   that you keep. A clone belongs to the scope, if any, in which you called the outermost `forward`. An
   *   error that the listener throws ends the `forward`. With `forward(x, { returnWeights: true })`
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
    const where = `${this.constructor.name}.onForward`
    if (typeof listener !== 'function') {
      throw new GptLayersError('TYPE', `${where}: listener should be a function, got ${describe(listener)}`)
    }
    const added = firstNames(namedModules(this)).map(([name, module]) => {
      const entry = { name, listener }
      module.#listeners = [...module.#listeners, entry]
      return { module, entry }
    })
    return () => {
      for (const { module, entry } of added) {
        module.#listeners = module.#listeners.filter((other) => other !== entry)
      }
    }
  }

  /** Whether anyone listens to this layer. @internal */
  get observed() {
    return this.#listeners.length > 0
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
   * Keeps tensors for `backward`, beside those that this `forward` has kept already. In evaluation mode it
   * does nothing. The layer holds the memory itself: the caller, or a scope, may dispose the tensors. They
   * are freed after `backward`, or by the next `forward`.
   *
   * @param {Record<string, Tensor>} tensors by names of your choice; they must not be modified until
   *   `backward`
   * @throws {GptLayersError} VALUE outside of this layer's `forward`, and for a name that it has saved
   *   already; TYPE, DISPOSED
   */
  save(tensors) {
    const { calls } = this.runtime
    checkObject('save', 'tensors', tensors)
    if (!this.training) return
    const call = calls.current
    if (calls.owner !== this || call === null) throw this.#badSave('be called in the forward of its layer')
    const saved = call.saved ?? {}
    call.saved = saved // what is held so far is freed with the call, also where the next name is refused
    for (const name of Object.keys(tensors)) {
      if (Object.hasOwn(saved, name))
        throw this.#badSave(`get new names in one forward, got ${describe(name)}`)
      saved[name] = checkLiveTensor('save', name, tensors[name]).hold()
    }
  }

  /** @param {string} expected */
  #badSave(expected) {
    return new GptLayersError('VALUE', `${this.constructor.name}.save: should ${expected}`)
  }

  /**
   * The tensors that the last `forward` kept.
   *
   * @param {string} [where] the name of the method, for the error
   * @returns {Record<string, Tensor>}
   * @throws {GptLayersError} VALUE when there are none
   */
  saved(where = `${this.constructor.name}.backward`) {
    const saved = /** @type {Record<string, Tensor> | undefined | null} */ (this.#call?.saved)
    // A copy for everybody else: kernels rely on the record.
    if (saved) return this.runtime.calls.owner === this ? saved : { ...saved }
    throw this.#noForward(where)
  }

  /** Frees the tensors that the last `forward` kept. `backward` does it at its end. */
  release() {
    const { owner, current } = this.runtime.calls
    if (owner === this) current?.release()
    else this.#forget()
  }

  /** From here on `backward` cannot follow the last `forward`, neither here nor in the layers inside. */
  #forget() {
    this.#call?.end()
    this.#call = null
  }

  /** @param {string} where */
  #noForward(where) {
    const state = this.training
      ? 'got none since the last backward, eval(), a forward that failed, or the beginning'
      : 'the layer is in evaluation mode'
    const name = typeof where === 'string' ? where : describe(where)
    return new GptLayersError('VALUE', `${name}: should follow a forward in training mode; ${state}`)
  }

  /**
   * Wraps the `forward` and the `backward` of a class, so that they tell `calls` which layer runs.
   *
   * @param {object} prototype
   */
  static #track(prototype) {
    if (prototype === Module.prototype || tracked.has(prototype)) return
    tracked.add(prototype)
    for (const [name, run] of /** @type {const} */ ([
      ['forward', Module.#forward],
      ['backward', Module.#backward],
    ])) {
      const method = Object.getOwnPropertyDescriptor(prototype, name)?.value
      if (typeof method !== 'function') continue
      /** @type {(this: Module, ...args: unknown[]) => unknown} */
      const wrapper = function (...args) {
        // super.forward(x) is a part of the same call.
        return this.runtime.calls.owner === this ? method.apply(this, args) : run(this, method, args)
      }
      tracked.add(wrapper)
      Object.defineProperty(prototype, name, { value: wrapper })
    }
    Module.#track(Object.getPrototypeOf(prototype))
  }

  /**
   * Runs `forward`, tells the listeners, and makes it the last one. Where it fails, no `backward` can follow.
   *
   * @param {Module} module
   * @param {Function} method
   * @param {unknown[]} args
   * @returns {Returned}
   */
  static #forward(module, method, args) {
    const { calls } = module.runtime
    const { owner, current } = calls
    module.#forget()
    const call = new Call(current)
    calls.enter(module, call)
    try {
      if (module.#listeners.length === 0) return module.#compute(call, method, args)
      const computeAndTell = () => {
        const returned = module.#compute(call, method, args)
        calls.outside(() => module.#tell(args[0], returned))
        return returned
      }
      // Where a listener throws, the scope frees what the layer returned.
      return module.runtime.memory.scope(computeAndTell, () => EVERYTHING)
    } catch (error) {
      call.end()
      module.#forget()
      if (owner === null) calls.fail()
      throw error
    } finally {
      calls.leave(owner, current)
    }
  }

  /**
   * @param {Call} call
   * @param {Function} method
   * @param {unknown[]} args
   * @returns {Returned}
   */
  #compute(call, method, args) {
    const returned = method.apply(this, args)
    this.#forget() // a forward of the same layer inside of this one, such as a listener's
    if (this.training) this.#call = call
    return returned
  }

  /** @param {any} input @param {Returned} returned */
  #tell(input, returned) {
    for (const { name, listener } of this.#listeners) {
      listener({ name, module: this, input, ...asObject(returned) })
    }
  }

  /**
   * Runs `backward` where it follows the last `forward`, and, within the `backward` of another layer, where
   * that layer's last `forward` called the last one here.
   *
   * @param {Module} module
   * @param {Function} method
   * @param {unknown[]} args
   * @returns {unknown}
   */
  static #backward(module, method, args) {
    const { calls } = module.runtime
    const { owner, current } = calls
    const call = module.#call
    if (call === null || !call.live) {
      // A layer with another method in place of forward: those inside check for themselves.
      if (!tracked.has(module.forward)) return collectGradients(calls, module, method, args)
      throw module.#noForward(`${module.constructor.name}.backward`)
    }
    if (current !== null && call.parentId !== current.id) {
      const expected = `follow the forward that ${owner?.constructor.name} called, got another since`
      throw new GptLayersError('VALUE', `${module.constructor.name}.backward: should ${expected}`)
    }
    calls.enter(module, call)
    try {
      const dx = collectGradients(calls, module, method, args)
      module.#forget()
      return dx
    } catch (error) {
      if (call.halfDone) module.#forget()
      if (owner === null) calls.fail()
      throw error
    } finally {
      calls.leave(owner, current)
    }
  }

  /**
   * Makes properties of this layer read-only, since kernels rely on them.
   *
   * @internal
   * @param {...string} names
   */
  fix(...names) {
    for (const name of names) {
      Object.defineProperty(this, name, { writable: false, configurable: false })
    }
  }

  /**
   * The tensors and layers directly inside, by name.
   *
   * @internal
   * @returns {[string, Tensor | Module][]}
   */
  children() {
    return Object.entries(this).flatMap(([name, value]) => {
      if (Tensor.isTensor(value) || value instanceof Module) return [[name, value]]
      if (value instanceof Tensor) throw notTensor(this.constructor.name, name, 'a Tensor', value) // a Proxy
      if (!isArray(value)) return []
      // A copy, because a subclass of Array may do anything in its methods.
      return Array.from(value).flatMap((layer, i) =>
        layer instanceof Module ? [/** @type {[string, Module]} */ ([`${name}.${i}`, layer])] : [],
      )
    })
  }

  /**
   * The parameters with their names, as PyTorch has them, such as `layers.0.weight`. A parameter that two
   * layers share has the first of its names. Int8 weights are left out: they cannot be trained.
   *
   * @returns {[string, Tensor][]}
   */
  namedParameters() {
    const named = firstNames(Module.#namedTensors(this, { withBuffers: false }))
    return named.filter(([, tensor]) => tensor.int8Weight === null)
  }

  /** @returns {Tensor[]} the parameters, in the order of `namedParameters` */
  parameters() {
    return this.namedParameters().map(([, tensor]) => tensor)
  }

  /**
   * Turns the weights of Linear and Conv1D, here and in the layers inside, into int8, one after the other: a
   * quarter of the memory, and a token is written up to four times as fast. An Embedding tied to such a layer
   * shares the new weight. Biases, norms and other embeddings stay float32.
   *
   * The layer computes as before, but for the rounding of its weights: each group of `groupSize` inputs of an
   * output has a scale, and each weight is rounded to one of 255 multiples of it. From here on `weight` is
   * disposed and `int8Weight` has its place; `parameters()` does not list it, and `backward` is refused.
   *
   * A weight that is int8 already stays as it is. Where a weight is not finite, nothing is changed. Where
   * memory runs out, the error names the weight: those before it are int8, all others float32, and the layer
   * computes with both.
   *
   * @param {{ groupSize?: number }} [options] groupSize: the most inputs that share a scale, an even integer;
   *   128 by default. Groups are equally long: 150 inputs in groups of at most 128 are two of 76 and 74. With
   *   Infinity each output has one scale
   * @returns {this}
   * @throws {GptLayersError} VALUE for a weight that is not finite; MEMORY, TYPE, DISPOSED
   * @example
   * model.quantize()
   * model.outHead.int8Weight.shape // [5, 8]
   */
  quantize(options = {}) {
    const where = `${this.constructor.name}.quantize`
    const { groupSize } = checkOptions(where, options, { groupSize: GROUP_SIZE })
    const expected = 'an even positive integer, or Infinity'
    checkNumber(where, 'groupSize', groupSize, expected, (n) => n > 0 && (n === Infinity || n % 2 === 0))
    const matrices = [...matricesOf(this)].filter(
      ([weight, { isProduct }]) => isProduct && weight.int8Weight === null,
    )
    for (const [weight, { name }] of matrices) {
      checkTensor(this.runtime, where, name, weight)
      if (!areFinite(weight.data)) throw notFinite(`${where}: ${name}`)
    }
    for (const [weight, { name, transposed }] of matrices) {
      const [rows, cols] = weight.shape
      const [outputs, inputs] = transposed ? [cols, rows] : [rows, cols]
      const length = evenGroups(inputs, groupSize)
      const int8Weight = Int8Weight.empty(this.runtime, `${where}: ${name}`, [outputs, inputs], length)
      int8Weight.quantizeRows(weight, 0, rows, transposed)
      weight.becomeInt8(int8Weight)
    }
    return this
  }

  /**
   * The tensor of this layer that may be int8, and how it is read.
   *
   * @internal
   * @returns {Matrix | null}
   */
  [MATRIX]() {
    return null
  }

  /** The parameters and buffers, for `scope`. @internal @returns {Tensor[]} */
  [TENSORS]() {
    return Module.#namedTensors(this, { withBuffers: true }).map(([, tensor]) => tensor)
  }

  /** Frees the parameters' gradients: `.grad` is null again, as after PyTorch's zero_grad. */
  zeroGrad() {
    for (const parameter of this.parameters()) parameter.freeGradient()
  }

  /**
   * The parameters and buffers by name. As in PyTorch they are the live tensors: `clone` those that you keep.
   * A weight that `quantize` has made int8 is there, too, as the layer's `weight`: its `int8Weight` has the
   * values and scales.
   *
   * @returns {Record<string, Tensor>}
   */
  stateDict() {
    return Object.fromEntries(Module.#namedTensors(this, { withBuffers: true }))
  }

  /**
   * Copies values into the parameters and buffers. Where a name or a shape does not fit, nothing is changed.
   *
   * Each tensor stays float32 or int8, whatever is given. A float32 tensor gets each int8 value times its
   * scale. An int8 weight gets float32 values rounded as `quantize` does, and int8 values to the bit where
   * their groups are as long as its own; otherwise their products are rounded once more.
   *
   * @param {Record<string, Tensor | Int8Weight>} dict tensors of any instance, under the names of
   *   `stateDict`, or of PyTorch's layer, or of GPT-2's checkpoint. Of a tensor with two names, one name is
   *   enough
   * @throws {GptLayersError} VALUE for a name that is missing or unknown; SHAPE, TYPE, DISPOSED, MEMORY
   */
  loadStateDict(dict) {
    const where = `${this.constructor.name}.loadStateDict`
    const given = copyObject(where, 'dict', dict)
    const matrices = matricesOf(this)
    const names = Object.keys(given).flatMap((name) => (int8Of(given[name]) ? [name, name + SCALE] : name))
    copyInto(this, where, 'dict', names, matrices, ({ given: name, scale }, shape) => {
      // Copies: a source may be one of the targets.
      const int8Weight = int8Of(given[name])?.checkLive(where, name)
      if (int8Weight) {
        checkSameShape(where, name, int8Weight.shape, shape)
        const { groupSize } = int8Weight
        return foundInt8({ values: int8Weight.values(), scales: int8Weight.scales(), shape, groupSize })
      }
      const source = checkLiveTensor(where, name, given[name])
      const values = source.data.slice()
      if (scale === null) {
        checkSameShape(where, name, source.shape, shape)
        return { floats: () => values, int8: null }
      }
      const entryOf = (/** @type {string} */ part) => {
        const { shape, data } = checkLiveTensor(where, part, given[part])
        return { dtype: part === name ? 'I8' : 'F32', shape, floats: () => data.slice() }
      }
      return readInt8(where, { given: name, scale }, shape, entryOf, () => integersOf(where, name, values))
    })
  }

  /**
   * The state dict as a safetensors file, which Python's safetensors reads. A tensor with two names is
   * written once, under the first. Tensors are F32. An int8 weight `name` is I8 [outputs, inputs], also a
   * Conv1D's. Its scales are F32 [outputs, groups], under `name_scale`. They load to the bit.
   *
   * @returns {Uint8Array}
   * @throws {GptLayersError} DISPOSED, MEMORY
   * @example writeFileSync('layer.safetensors', new Linear(5, 6).saveSafetensors())
   */
  saveSafetensors() {
    const tensors = Object.fromEntries(firstNames(Module.#namedTensors(this, { withBuffers: true })))
    return encodeSafetensors(`${this.constructor.name}.saveSafetensors`, tensors, this[METADATA]())
  }

  /**
   * What the header of a file says of the layer, beside its tensors.
   *
   * @internal
   * @returns {Record<string, string>}
   */
  [METADATA]() {
    return {}
  }

  /**
   * Copies the values of a safetensors file into the parameters and buffers, by the names that
   * `loadStateDict` takes. Floats of 16 to 64 bits are rounded to float32; integers must be float32 values. A
   * layer stays float32 or int8, as `loadStateDict` says; `GPTModel.fromSafetensors` does as the file does.
   *
   * @param {Uint8Array | ArrayBuffer} bytes the file
   * @throws {GptLayersError} as `loadStateDict`; VALUE for a file that is truncated or damaged; UNSUPPORTED
   *   for other types. Nothing is changed then
   */
  loadSafetensors(bytes) {
    const where = `${this.constructor.name}.loadSafetensors`
    const entries = decodeSafetensors(where, bytes)
    const matrices = matricesOf(this)
    copyInto(this, where, 'bytes', Object.keys(entries), matrices, ({ given, scale }, shape) => {
      const entry = entries[given]
      if (scale === null) {
        checkSameShape(where, given, entry.shape, shape)
        return { floats: entry.prepare(), int8: null }
      }
      const entryOf = (/** @type {string} */ part) => ({
        ...entries[part],
        floats: () => new Float32Array(entries[part].data()),
      })
      return readInt8(where, { given, scale }, shape, entryOf, () => new Int8Array(entry.data()))
    })
  }

  /** Sets training mode, here and in the layers inside. @returns {this} */
  train() {
    return Module.#setTraining(this, true)
  }

  /** Sets evaluation mode, here and in the layers inside: nothing is kept for `backward`. @returns {this} */
  eval() {
    return Module.#setTraining(this, false)
  }

  /**
   * Frees the parameters, the buffers and everything kept for `backward` at once. Using the layer afterwards
   * is an error; disposing again is not.
   */
  dispose() {
    const tensors = this[TENSORS]()
    const modules = namedModules(this) // before anything is freed: this may refuse
    for (const tensor of tensors) tensor.dispose()
    for (const [, module] of modules) module.#forget()
  }

  // See Tensor's.
  [Symbol.dispose]() {
    this.dispose()
  }

  /**
   * @template {Module} M
   * @param {M} root
   * @param {boolean} training
   * @returns {M}
   */
  static #setTraining(root, training) {
    for (const [, module] of namedModules(root)) {
      module.training = training
      if (!training) module.#forget()
    }
    return root
  }

  /**
   * Every tensor inside, by its name in a state dict.
   *
   * @param {Module} root
   * @param {{ withBuffers: boolean }} options
   * @returns {[string, Tensor][]}
   */
  static #namedTensors(root, { withBuffers }) {
    return namedModules(root).flatMap(([path, module]) =>
      module.children().flatMap(([property, child]) => {
        if (child instanceof Module || (!withBuffers && module.#buffers.has(property))) return []
        return [/** @type {[string, Tensor]} */ ([path + (path && '.') + snakeCase(property), child])]
      }),
    )
  }
}

// Vue's `reactive` leaves objects with this property as they are: a Proxy has no private state.
Reflect.defineProperty(Module.prototype, '__v_skip', { value: true })

/**
 * A module and every layer inside, by its path.
 *
 * @param {Module} module
 * @param {string} [path] of this one
 * @param {readonly Module[]} [above] the layers that contain it
 * @returns {[string, Module][]} a layer before the layers inside it
 * @throws {GptLayersError} VALUE where a layer contains itself; TYPE
 */
export function namedModules(module, path = '', above = []) {
  void module.runtime // refuses a Proxy
  if (above.includes(module)) {
    const name = above[0].constructor.name
    throw new GptLayersError('VALUE', `${name}: a layer should not contain itself, got itself at ${path}`)
  }
  const inside = module
    .children()
    .flatMap(([property, child]) =>
      child instanceof Module
        ? namedModules(child, path + (path && '.') + snakeCase(property), [...above, module])
        : [],
    )
  return [[path, module], ...inside]
}

/**
 * The matrices of a layer and of all layers inside that are int8 or may become so: each layer that has one
 * can read it so, and they agree on its order.
 *
 * @param {Module} root
 * @returns {Map<Tensor, { name: string, transposed: boolean, isProduct: boolean }>} isProduct: whether some
 *   layer computes a product with it
 */
export function matricesOf(root) {
  /** @type {ReturnType<typeof matricesOf>} */
  const matrices = new Map()
  /** @type {Set<unknown>} */
  const others = new Set()
  for (const [path, module] of namedModules(root)) {
    const matrix = module[MATRIX]()
    for (const [, child] of module.children()) if (child !== matrix?.weight) others.add(child)
    if (matrix === null) continue
    const { weight, transposed } = matrix
    const known = matrices.get(weight)
    if (known !== undefined && known.transposed !== transposed) others.add(weight)
    const name = known?.name ?? `${path}${path && '.'}weight`
    matrices.set(weight, { name, transposed, isProduct: matrix.isProduct || (known?.isProduct ?? false) })
  }
  for (const [weight] of matrices) {
    if (others.has(weight) && weight.int8Weight === null) matrices.delete(weight)
  }
  return matrices
}

/**
 * Checks the layers that a layer calls: a program may replace them.
 *
 * @param {string} where
 * @param {string} what the property that has them, for the error
 * @param {readonly unknown[]} layers
 * @throws {GptLayersError} TYPE
 */
export function checkLayers(where, what, layers) {
  const wrong = layers.findIndex((layer) => !(layer instanceof Module))
  if (wrong < 0) return
  const given = describe(layers[wrong])
  throw new GptLayersError('TYPE', `${where}: ${what} should be layers, got ${given} at ${wrong}`)
}

/**
 * @template {abstract new (...args: never[]) => Module} T
 * @param {Module} layer
 * @param {T} Class one of ours
 * @param {Runtime} runtime
 * @returns {layer is InstanceType<T>} whether its `forward` is that of our class, in evaluation mode, and
 *   nobody listens: a layer around it may run its kernels without it
 */
export const isPlain = (layer, Class, runtime) =>
  layer.runtime === runtime &&
  layer.forward === Class.prototype.forward &&
  layer instanceof Class &&
  !layer.training &&
  !layer.observed

/**
 * @param {string} where
 * @param {string} option of `forward`
 * @param {Module} layer
 * @throws {GptLayersError} VALUE where the layer is in training mode
 */
export function checkEvaluation(where, option, layer) {
  if (!layer.training) return
  const expected = 'used in evaluation mode; call eval() first'
  throw new GptLayersError('VALUE', `${where}: ${option} should be ${expected}, got training mode`)
}
