import type { Indices } from './tensor/indices.ts'
import type { Exports, Runtime } from './runtime/runtime.ts'
import type { NestedArray } from './tensor/nested.ts'
import type { NumberArray } from './typed.ts'
import { Module } from './layers/module.ts'
import {
  checkArray,
  checkChoice,
  checkCount,
  checkFunction,
  checkNumber,
  checkObject,
  checkOptions,
  checkShape,
  describe,
  guardMethods,
} from './check.ts'
import { BoundClasses } from './classes.ts'
import { fail, withName } from './errors.ts'
import { importNow } from './imports.ts'
import { type CrossEntropyOptions, crossEntropy } from './losses/crossentropy.ts'
import { type MSEOptions, mse } from './losses/mse.ts'
import { type ClipOptions, clipGradNorm } from './optim/clip.ts'
import { BytesInput, newTensors, openBytes } from './checkpoint/load.ts'
import { encode, entriesOf, SAVE } from './checkpoint/safetensors.ts'
import { record } from './runtime/tape.ts'
import { checkTensor, checkTensorOf } from './tensor/check.ts'
import { Tensor } from './tensor/tensor.ts'

/**
 * An instance, which `load` returns: its own memory, random generator and classes, independent of every other
 * instance. Its classes, such as `gpt.Linear`, make layers and optimizers in its memory; extend `gpt.Module`
 * for layers of your own.
 */
export class Gpt extends BoundClasses {
  #runtime: Runtime

  /** The build that runs. */
  readonly build: 'simd' | 'relaxed'
  /** The raw WebAssembly exports, under the C names that `gpt-layers/gpt_layers.h` documents. */
  readonly exports: Exports

  /** @internal */
  constructor(runtime: Runtime, build: 'simd' | 'relaxed') {
    super(runtime)
    this.#runtime = runtime
    this.build = build
    this.exports = runtime.exports
  }

  /**
   * The number of threads. It is 1 where this machine or page cannot share memory or start workers, and once
   * a worker has ended or has not done its part of a call in time.
   */
  get threads(): number {
    return this.#runtime.threads
  }

  /**
   * A sentence that says why there is one thread; null where there are more. While you develop (in a page
   * from localhost, and in Node and Bun unless NODE_ENV is 'production'), the console shows it, too, once, if
   * more than one thread was asked for.
   *
   * @example
   * const gpt = await load({ threads: 2 })
   * if (gpt.threads === 1) console.log(gpt.threadsReason)
   */
  get threadsReason(): string | null {
    return this.#runtime.threadsReason
  }

  /**
   * Seeds the generator, as torch.manual_seed: `randn`, `rand` and new layers then draw the numbers that
   * PyTorch draws on the CPU.
   *
   * @param n an integer; only the low 32 bits count, as in PyTorch
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED
   * @example
   * gpt.manualSeed(123)
   * String(gpt.randn([2])) // 'tensor([-0.1115,  0.1204])'
   */
  manualSeed(n: number): void {
    checkNumber('n', n, 'a safe integer', Number.isSafeInteger)
    const runtime = this.#runtime
    runtime.memory.checkLive()
    runtime.generator.seed(n)
  }

  /**
   * A tensor drawn from N(0, 1), as torch.randn: the same bits that PyTorch draws on an x86 CPU with AVX2.
   *
   * @throws {GptLayersError} TYPE, VALUE, MEMORY, DISPOSED
   */
  randn(shape: readonly number[]): Tensor {
    const runtime = this.#runtime
    const tensor = empty(runtime, shape)
    runtime.generator.normal(tensor)
    return tensor
  }

  /**
   * A tensor drawn from U[0, 1), as torch.rand: the same bits that PyTorch draws on the CPU.
   *
   * @throws {GptLayersError} TYPE, VALUE, MEMORY, DISPOSED
   */
  rand(shape: readonly number[]): Tensor {
    const runtime = this.#runtime
    const tensor = empty(runtime, shape)
    runtime.generator.uniform(tensor)
    return tensor
  }

  /**
   * A tensor of given values, rounded to float32.
   *
   * @param values a number, nested arrays, or a flat array or typed array with a shape
   * @param shape by default the shape of the nesting
   * @throws {GptLayersError} TYPE, VALUE, SHAPE, MEMORY, DISPOSED
   * @example gpt.tensor([[1, 2], [3, 4]])
   * @example gpt.tensor(new Float32Array(6), [2, 3])
   */
  tensor(values: NestedArray | NumberArray, shape?: readonly number[]): Tensor {
    return Tensor.from(this.#runtime, values, shape)
  }

  /**
   * A tensor of zeros.
   *
   * @throws {GptLayersError} TYPE, VALUE, MEMORY, DISPOSED
   */
  zeros(shape: readonly number[]): Tensor {
    return Tensor.zeros(this.#runtime, checkShape(shape))
  }

  /**
   * A tensor of ones.
   *
   * @throws {GptLayersError} TYPE, VALUE, MEMORY, DISPOSED
   */
  ones(shape: readonly number[]): Tensor {
    const tensor = empty(this.#runtime, shape)
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
   * @param parameters each may occur once; one without a gradient does not count
   * @param maxNorm a number >= 0
   * @returns the norm before clipping; NaN where a gradient has a NaN. It is summed in float64: PyTorch's is
   *   infinite for a gradient of 1e20, which then becomes 0
   * @throws {GptLayersError} TYPE, VALUE, SHAPE, DISPOSED, MEMORY
   * @example const norm = gpt.clipGradNorm(model.parameters(), 1)
   */
  clipGradNorm(parameters: readonly Tensor[], maxNorm: number, options?: ClipOptions): number {
    return clipGradNorm(this.#runtime, parameters, maxNorm, options)
  }

  /**
   * Writes a layer, or tensors by name, as a safetensors file.
   *
   * | names | a GPTModel is written as | opens in |
   * | --- | --- | --- |
   * | `'gpt2'` | transformers' GPT2LMHeadModel, with the values of its config.json in the metadata | transformers, nanoGPT's from_pretrained, here |
   * | `'book'` | the book's GPTModel, masks included | `model.load_state_dict(safetensors.torch.load_file(path))`, here |
   * | `'ours'` | its own state dict, as `model.saveSafetensors()` | here |
   *
   * @param dictOrModule tensors of any instance by name; an int8 weight is I8, with its scales
   * @param options names: by default 'gpt2' for a GPTModel without int8 weights, otherwise 'ours'. dtype:
   *   'float32', or 'float16' for half of the bytes; int8 weights stay int8
   * @returns the bytes of the file
   * @throws {GptLayersError} TYPE, DISPOSED, MEMORY; VALUE for what the format reserves, for a model that
   *   has other tensors than those names, and for numbers beyond float16; UNSUPPORTED for int8 weights under
   *   others' names
   * @example gpt.saveSafetensors({ x: gpt.ones([2]) }).length // 104
   * @example writeFileSync('model.safetensors', gpt.saveSafetensors(model, { names: 'book' }))
   */
  saveSafetensors(
    dictOrModule: Record<string, Tensor> | Module,
    options?: { names?: 'gpt2' | 'book' | 'ours'; dtype?: 'float32' | 'float16' },
  ): Uint8Array {
    const defaults: typeof options = { names: undefined, dtype: 'float32' }
    const { names, dtype = 'float32' } = checkOptions(options, defaults)
    checkChoice('dtype', dtype, ['float32', 'float16'])
    if (names !== undefined) checkChoice('names', names, ['gpt2', 'book', 'ours'])
    if (dictOrModule instanceof Module) return dictOrModule[SAVE](names, dtype)
    if (names === undefined || names === 'ours')
      return encode(entriesOf(checkObject('dictOrModule', dictOrModule), dtype))
    throw fail('VALUE', 'names', "be 'ours' for tensors by name", `'${names}'`)
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
   * @param bytes the file
   * @returns new tensors by name
   * @throws {GptLayersError} TYPE; VALUE where the file is truncated or damaged, or float32 cannot represent
   *   an integer; UNSUPPORTED for another dtype; MEMORY, DISPOSED
   * @example gpt.loadSafetensors(readFileSync('model.safetensors'))
   */
  loadSafetensors(bytes: Uint8Array | ArrayBuffer): Record<string, Tensor> {
    const { input, file } = openBytes(bytes)
    return newTensors(this.#runtime, input, file)
  }

  /**
   * Reads all tensors of a file that torch.save has written, since PyTorch 1.6. Those in dicts and lists
   * inside have the path as their name: `optimizer.state.0.exp_avg`. `GPTModel.fromPretrained` reads a model
   * from such a file.
   *
   * @param bytes the file. Its pickle is read as data: nothing is called
   * @returns new float32 tensors by name
   * @throws {GptLayersError} as a rejection: TYPE; VALUE where the file is damaged, has something else than
   *   tensors, numbers, strings, lists and dicts, or float32 cannot represent an integer; UNSUPPORTED for
   *   compressed or big-endian files and those over 4 GB; MEMORY, DISPOSED
   * @example const { 'out_head.weight': head } = await gpt.loadTorch(readFileSync('model.pth'))
   */
  async loadTorch(bytes: Uint8Array | ArrayBuffer): Promise<Record<string, Tensor>> {
    try {
      checkCount(arguments, 1)
      const input = new BytesInput('bytes', bytes)
      const { readTorchTensors } = await importNow(this.#runtime.imports.torchfile)
      return newTensors(this.#runtime, input, input.run(readTorchTensors('bytes')))
    } catch (error) {
      throw withName(error, 'loadTorch')
    }
  }

  /**
   * Cross entropy, as PyTorch's nn.functional.cross_entropy, except that the classes are always the last
   * axis. The mean over the targets of
   *
   *     -log softmax(logits)[target]
   *
   * @param logits [..., classes], unnormalized; do not write into it before `loss.backward()`
   * @param targets [...] or flat: integers from 0 to classes - 1; -100, or `ignoreIndex`, does not count
   * @returns a tensor of shape []; NaN when no target counts. With `reduction: 'none'` one of the targets'
   *   shape
   * @throws {GptLayersError} TYPE, SHAPE, VALUE for a target out of range, DISPOSED, MEMORY
   * @example
   * const loss = gpt.crossEntropy(model.forward(tokens), targets)
   * loss.backward()
   * console.log(loss.item())
   * @example gpt.crossEntropy(gpt.zeros([2, 4]), [3, -1], { ignoreIndex: -1, reduction: 'sum' }).item() // the logarithm of 4
   */
  crossEntropy(logits: Tensor, targets: Indices, options?: CrossEntropyOptions): Tensor {
    return crossEntropy(this.#runtime, logits, targets, options)
  }

  /**
   * The mean squared error, as PyTorch's nn.functional.mse_loss: the mean of (prediction - target)² over all
   * elements.
   *
   * @param prediction any shape; do not write into it before `loss.backward()`
   * @param target the same shape; do not write into it before `loss.backward()`
   * @returns a tensor of shape []; NaN when there are no elements. With `reduction: 'none'` one of the
   *   tensors' shape
   * @throws {GptLayersError} TYPE, VALUE, SHAPE, DISPOSED, MEMORY
   * @example gpt.mse(gpt.tensor([1, 2]), gpt.tensor([0, 0])).item() // 2.5
   */
  mse(prediction: Tensor, target: Tensor, options?: MSEOptions): Tensor {
    return mse(this.#runtime, prediction, target, options)
  }

  /**
   * Makes a tensor a parameter, in place, as PyTorch's nn.Parameter: it requires a gradient, and a module
   * that has it as a property lists it in `parameters()`. A module's other tensors are its buffers:
   * `stateDict` has them, `parameters` does not.
   *
   * @param tensor a leaf: not computed from a tensor that requires a gradient
   * @returns the tensor
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED
   * @example
   * const w = gpt.parameter(gpt.ones([2]))
   * w.sum().backward()
   * w.grad.toArray() // [1, 1]
   */
  parameter(tensor: Tensor): Tensor {
    return checkTensor(this.#runtime, 'tensor', tensor).asParameter()
  }

  /**
   * Records how you computed a tensor, so that `backward` reaches what you computed it from. For an operation
   * that the package does not have, such as a kernel of your own.
   *
   * @param output a new tensor, whose values you have computed
   * @param inputs the tensors that it depends on
   * @param gradients gets the gradient of the output, of its shape, and which inputs need one; returns a
   *   gradient for each input, of its shape, or null for zeros. It runs in `noGrad` and in a scope of its own
   * @param saved the tensors that `gradients` reads, so that no scope frees them before; by default the
   *   inputs and the output
   * @returns the output; unchanged where no input requires a gradient, and in `noGrad`
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED
   * @example
   * const x = gpt.parameter(gpt.tensor([3]))
   * const y = gpt.record(gpt.tensor([x.item() ** 3]), [x], (dy) => [dy.mul(x).mul(x).mul(3)])
   * y.backward()
   * x.grad.toArray() // [27]
   */
  record(
    output: Tensor,
    inputs: readonly Tensor[],
    gradients: (dy: Tensor, wanted: readonly boolean[]) => readonly (Tensor | null)[],
    saved?: readonly Tensor[],
  ): Tensor {
    const runtime = this.#runtime
    const checkAll = (name: string, list: unknown) => {
      checkArray(name, list, 'an array of tensors')
      return list.map((item, i) => checkTensor(runtime, `${name}[${i}]`, item))
    }
    checkTensor(runtime, 'output', output)
    const given = checkAll('inputs', inputs)
    const kept = saved === undefined ? [...given, output] : checkAll('saved', saved)
    if (output.requiresGrad || given.includes(output)) {
      throw fail('VALUE', 'output', 'be a new tensor', 'one that has a gradient')
    }
    checkFunction('gradients', gradients)
    const shapes = given.map(({ shape }) => shape)
    const checked: typeof gradients = (dy, wanted) => {
      const expected = `return an array of ${shapes.length}, one for each input`
      const computed = gradients(dy, wanted)
      if (!Array.isArray(computed)) throw fail('TYPE', 'gradients', expected, describe(computed))
      if (computed.length !== shapes.length) {
        throw fail('SHAPE', 'gradients', expected, `an array of ${computed.length}`)
      }
      return computed.map((gradient, i) =>
        gradient === null || !wanted[i]
          ? null
          : checkTensorOf(runtime, `the gradient of inputs[${i}]`, gradient, shapes[i]),
      )
    }
    return record(output, given, checked, kept)
  }

  /**
   * Runs `fn` without recording for `backward`, as torch.no_grad: nothing that it computes requires a
   * gradient, so nothing is kept, and `forward` takes less memory and time.
   *
   * @param fn synchronous
   * @returns the result of fn
   * @throws {GptLayersError} TYPE when fn is not a function, is a generator function, or returns a Promise
   * @example const y = gpt.noGrad(() => model.forward(tokens))
   */
  noGrad<T>(fn: () => T): T {
    checkNoGenerator(fn)
    const result = this.#runtime.noGrad(fn)
    if (result instanceof Promise) {
      throw fail('TYPE', 'fn', 'return its result at once', 'a Promise')
    }
    return result
  }

  /**
   * Runs `fn` and frees every tensor that was made inside, the parameters of layers too, except the result of
   * `fn` and what its `backward` needs. A result is a tensor, a layer, or an array or plain object of them.
   * Where `fn` throws, all are freed.
   *
   * @param fn synchronous
   * @returns the result of fn
   * @throws {GptLayersError} TYPE when fn is not a function, is a generator function, or returns a Promise
   * @example const y = gpt.scope(() => norm.forward(linear.forward(x))) // frees linear's output
   */
  scope<T>(fn: () => T): T {
    checkNoGenerator(fn)
    this.#runtime.memory.checkLive()
    return this.#runtime.scope(fn)
  }

  /**
   * Ends the threads and frees the memory. Every tensor counts as disposed afterwards. Using the instance is
   * an error; disposing again is not.
   */
  dispose(): void {
    this.#runtime.dispose()
  }

  // See Tensor's.
  [Symbol.dispose](): void {
    this.dispose()
  }
}

guardMethods(Gpt.prototype, (_gpt, method) => method)

/** A function, but not a generator function: its code would run after noGrad or scope has ended. */
function checkNoGenerator(fn: unknown): void {
  checkFunction('fn', fn)
  if (!String(Reflect.get(fn, Symbol.toStringTag)).endsWith('GeneratorFunction')) return
  throw fail('TYPE', 'fn', 'return its result at once', 'a generator function')
}

const empty = (runtime: Runtime, shape: unknown) => Tensor.empty(runtime, checkShape(shape))
