/** @import { Indices } from './tensor/indices.js' */
/** @import { Loss } from './losses/loss.js' */
/** @import { Exports, Runtime } from './runtime/runtime.js' */
/** @import { NestedArray } from './tensor/nested.js' */
/** @import { NumberArray } from './typed.js' */

import { checkNumber, copyObject, checkShape, describe } from './check.js'
import { BoundClasses } from './classes.js'
import { GptLayersError } from './errors.js'
import { crossEntropy } from './losses/crossentropy.js'
import { mse } from './losses/mse.js'
import { clipGradNorm } from './optim/clip.js'
import { decodeSafetensors, encodeSafetensors } from './checkpoint/safetensors.js'
import { Tensor } from './tensor/tensor.js'

/**
 * An instance, which `load` returns: its own memory, random generator and classes, independent of every other
 * instance. Its classes, such as `gpt.Linear`, make layers and optimizers in its memory; extend `gpt.Module`
 * for layers of your own.
 */
export class Gpt extends BoundClasses {
  /** @type {Runtime} */ #runtime

  /**
   * @internal
   * @param {Runtime} runtime
   * @param {'simd' | 'relaxed'} build
   */
  constructor(runtime, build) {
    super(runtime)
    this.#runtime = runtime
    /** The build that runs. @readonly @type {'simd' | 'relaxed'} */
    this.build = build
    /**
     * The raw WebAssembly exports, under the C names that `gpt-layers/gpt_layers.h` documents.
     *
     * @readonly @type {Exports}
     */
    this.exports = runtime.exports
    Object.freeze(this)
  }

  /**
   * The number of threads. It is 1 where this machine or page cannot share memory or start workers, and once
   * a worker has ended.
   *
   * @returns {number}
   */
  get threads() {
    return Gpt.#own(this, 'threads').threads
  }

  /**
   * A sentence that says why there is one thread; null where there are more. While you develop (in a page
   * from localhost, and in Node and Bun unless NODE_ENV is 'production'), the console shows it, too, once, if
   * more than one thread was asked for.
   *
   * @returns {string | null}
   * @example
   * const gpt = await load({ threads: 2 })
   * if (gpt.threads === 1) console.log(gpt.threadsReason)
   */
  get threadsReason() {
    return Gpt.#own(this, 'threadsReason').threadsReason
  }

  /**
   * Seeds the generator, as torch.manual_seed: `randn`, `rand` and new layers then draw the numbers that
   * PyTorch draws on the CPU.
   *
   * @param {number} n an integer; only the low 32 bits count, as in PyTorch
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED
   * @example
   * gpt.manualSeed(123)
   * String(gpt.randn([2])) // 'tensor([-0.1115,  0.1204])'
   */
  manualSeed(n) {
    checkNumber('manualSeed', 'n', n, 'a safe integer', Number.isSafeInteger)
    const runtime = Gpt.#own(this, 'manualSeed')
    runtime.memory.checkLive('manualSeed')
    runtime.generator.seed(n)
  }

  /**
   * A tensor drawn from N(0, 1), as torch.randn: the same bits that PyTorch draws on an x86 CPU with AVX2.
   *
   * @param {readonly number[]} shape
   * @returns {Tensor}
   * @throws {GptLayersError} TYPE, VALUE, MEMORY, DISPOSED
   */
  randn(shape) {
    const runtime = Gpt.#own(this, 'randn')
    const tensor = empty(runtime, 'randn', shape)
    runtime.generator.normal(tensor)
    return tensor
  }

  /**
   * A tensor drawn from U[0, 1), as torch.rand: the same bits that PyTorch draws on the CPU.
   *
   * @param {readonly number[]} shape
   * @returns {Tensor}
   * @throws {GptLayersError} TYPE, VALUE, MEMORY, DISPOSED
   */
  rand(shape) {
    const runtime = Gpt.#own(this, 'rand')
    const tensor = empty(runtime, 'rand', shape)
    runtime.generator.uniform(tensor)
    return tensor
  }

  /**
   * A tensor of given values, rounded to float32.
   *
   * @param {NestedArray | NumberArray} values a number, nested arrays, or a flat array or typed array with a
   *   shape
   * @param {readonly number[]} [shape] by default the shape of the nesting
   * @returns {Tensor}
   * @throws {GptLayersError} TYPE, VALUE, SHAPE, MEMORY
   * @example gpt.tensor([[1, 2], [3, 4]])
   * @example gpt.tensor(new Float32Array(6), [2, 3])
   */
  tensor(values, shape) {
    return Tensor.from(Gpt.#own(this, 'tensor'), values, shape)
  }

  /**
   * @param {readonly number[]} shape
   * @returns {Tensor} of zeros
   * @throws {GptLayersError} TYPE, VALUE, MEMORY, DISPOSED
   */
  zeros(shape) {
    const tensor = empty(Gpt.#own(this, 'zeros'), 'zeros', shape)
    tensor.data.fill(0)
    return tensor
  }

  /**
   * @param {readonly number[]} shape
   * @returns {Tensor} of ones
   * @throws {GptLayersError} TYPE, VALUE, MEMORY, DISPOSED
   */
  ones(shape) {
    const tensor = empty(Gpt.#own(this, 'ones'), 'ones', shape)
    tensor.data.fill(1)
    return tensor
  }

  /**
   * Limits the norm of all gradients together to maxNorm, in place, as PyTorch's clip_grad_norm_:
   *
   *     norm = √(Σ grad²)                          over every element of every gradient
   *     grad = grad · maxNorm / (norm + 1e-6)      where that factor is below 1
   *
   * Call it between `backward` and the optimizer's `step`.
   *
   * @param {readonly Tensor[]} parameters each may occur once; one without a gradient does not count
   * @param {number} maxNorm a number >= 0
   * @returns {number} the norm before clipping; NaN where a gradient has a NaN
   * @throws {GptLayersError} TYPE, VALUE, SHAPE, DISPOSED, MEMORY
   * @example const norm = gpt.clipGradNorm(model.parameters(), 1)
   */
  clipGradNorm(parameters, maxNorm) {
    return clipGradNorm(Gpt.#own(this, 'clipGradNorm'), parameters, maxNorm)
  }

  /**
   * Writes tensors as a file in the safetensors format, which Python's safetensors reads. A layer writes its
   * own parameters and buffers: `layer.saveSafetensors()`.
   *
   * @param {Record<string, Tensor>} dict tensors by name, of any instance
   * @returns {Uint8Array} the bytes of the file; the values are float32
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED
   * @example gpt.saveSafetensors({ x: gpt.ones([2]) }).length // 104
   */
  saveSafetensors(dict) {
    return encodeSafetensors('saveSafetensors', copyObject('saveSafetensors', 'dict', dict))
  }

  /**
   * Reads the tensors of a safetensors file. A layer reads its own parameters and buffers:
   * `layer.loadSafetensors(bytes)`.
   *
   * | dtype | becomes float32 |
   * | --- | --- |
   * | F32, F16, BF16 | exactly |
   * | F64 | rounded |
   * | I8 to I64, U8 to U64, BOOL | exactly, otherwise an error |
   *
   * @param {Uint8Array | ArrayBuffer} bytes the file
   * @returns {Record<string, Tensor>} new tensors by name
   * @throws {GptLayersError} TYPE; VALUE where the file is truncated or damaged, or float32 cannot represent
   *   an integer; UNSUPPORTED for another dtype; MEMORY
   * @example gpt.loadSafetensors(readFileSync('model.safetensors'))
   */
  loadSafetensors(bytes) {
    const where = 'loadSafetensors'
    const runtime = Gpt.#own(this, where)
    const entries = Object.entries(decodeSafetensors(where, bytes))
    return runtime.scope(() =>
      Object.fromEntries(
        entries.map(([name, { shape, prepare }]) => {
          const tensor = Tensor.empty(runtime, where, shape)
          tensor.data.set(prepare()())
          return [name, tensor]
        }),
      ),
    )
  }

  /**
   * Cross entropy, as PyTorch's nn.functional.cross_entropy, except that the classes are always the last
   * axis. The mean over the targets of
   *
   *     -log softmax(logits)[target]
   *
   * @param {Tensor} logits [..., classes], unnormalized; must not change until `loss.backward()`
   * @param {Indices} targets [...] or flat: integers from 0 to classes - 1; -100 is left out of the mean
   * @returns {Loss} NaN when every target is -100
   * @throws {GptLayersError} TYPE, SHAPE, VALUE for a target out of range, DISPOSED, MEMORY
   * @example
   * const loss = gpt.crossEntropy(model.forward(tokens), targets)
   * model.backward(loss.backward())
   * console.log(loss.item())
   */
  crossEntropy(logits, targets) {
    return crossEntropy(Gpt.#own(this, 'crossEntropy'), logits, targets)
  }

  /**
   * The mean squared error, as PyTorch's nn.functional.mse_loss: the mean of (prediction - target)² over all
   * elements.
   *
   * @param {Tensor} prediction of any shape; must not change until `loss.backward()`
   * @param {Tensor} target of the same shape; must not change until `loss.backward()`
   * @returns {Loss} NaN when there are no elements
   * @throws {GptLayersError} TYPE, VALUE, SHAPE, DISPOSED, MEMORY
   * @example gpt.mse(gpt.tensor([1, 2]), gpt.tensor([0, 0])).item() // 2.5
   */
  mse(prediction, target) {
    return mse(Gpt.#own(this, 'mse'), prediction, target)
  }

  /**
   * Runs `fn` and frees every tensor that was made inside, the parameters of layers too, except the result of
   * `fn`: a tensor, a layer, or an array or plain object of them. Where `fn` throws, all are freed.
   *
   * @template T
   * @param {() => T} fn synchronous
   * @returns {T} the result of fn
   * @throws {GptLayersError} TYPE when fn is not a function, or returns a Promise
   * @example const y = gpt.scope(() => norm.forward(linear.forward(x))) // frees linear's output
   */
  scope(fn) {
    if (typeof fn !== 'function') {
      throw new GptLayersError('TYPE', `scope: fn should be a function, got ${describe(fn)}`)
    }
    const runtime = Gpt.#own(this, 'scope')
    runtime.memory.checkLive('scope')
    return runtime.scope(fn)
  }

  /**
   * Ends the threads and frees the memory. Every tensor counts as disposed afterwards. Using the instance is
   * an error; disposing again is not.
   */
  dispose() {
    Gpt.#own(this, 'dispose').dispose()
  }

  // See Tensor's.
  [Symbol.dispose]() {
    this.dispose()
  }

  /**
   * @param {unknown} value the `this` of a method, which a caller may choose
   * @param {string} where
   * @returns {Runtime}
   * @throws {GptLayersError} TYPE
   */
  static #own(value, where) {
    if (typeof value === 'object' && value !== null && #runtime in value) return value.#runtime
    const expected = 'the instance that load() returned; call it as a method, and of no Proxy'
    throw new GptLayersError('TYPE', `${where}: this should be ${expected}`)
  }
}

/** @param {Runtime} runtime @param {string} where @param {unknown} shape */
const empty = (runtime, where, shape) => Tensor.empty(runtime, where, checkShape(where, shape))
