/// <reference lib="esnext.disposable" preserve="true" />
import type { Pointer, Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../runtime/memory.ts'
import type { Int8Weight } from './int8weight.ts'
import type { NumberArray } from '../typed.ts'
import {
  checkArray,
  checkBoolean,
  checkInteger,
  checkNumber,
  checkOptions,
  checkSameShape,
  checkShape,
  describe,
  sameShape,
} from '../check.ts'
import { fail, GptLayersError } from '../errors.ts'
import { type Step, backward, record } from '../runtime/tape.ts'
import { abs, add, div, exp, log, mul, neg, pow, sqrt, sub, tanh } from './elementwise.ts'
import { matmul } from './matmul.ts'
import { type NestedArray, flatten, nest } from './nested.ts'
import { type PrintOptions, formatTensor } from './print.ts'
import { type Reduction, type VarianceOptions, argmax, max, mean, sum, variance } from './reduce.ts'
import { checkElements, sizeOf } from './shape.ts'
import { type AxisOptions, at, slice, split } from './slice.ts'
import { permute, transpose } from './transpose.ts'

/**
 * A float32 tensor, row-major and contiguous, in the memory of the instance that made it. Make one with
 * `gpt.tensor`, `gpt.zeros`, `gpt.ones`, `gpt.rand` or `gpt.randn`.
 *
 * Its shape and its place in memory do not change. Its elements can.
 */
export class Tensor {
  /** Private, so that deepEqual and other walks over a tensor do not enter it. */
  #runtime: Runtime
  #shape: readonly number[]
  #size: number
  #storage: Storage | null
  #grad: Tensor | null = null
  #requiresGrad = false
  #step: Step | null = null
  #isParameter = false
  /** Whether this is a parameter that waits for its memory. */
  #isMeta
  #int8Weight: Int8Weight | null = null

  /**
   * @internal
   * @param shape frozen here: not an array that the user gave
   * @param storage null for a meta tensor
   */
  constructor(runtime: Runtime, shape: readonly number[], storage: Storage | null) {
    this.#runtime = runtime
    this.#shape = Object.freeze(shape) // kernels rely on it
    this.#size = sizeOf(shape)
    this.#storage = storage
    this.#isMeta = storage === null
    runtime.memory.track(this)
  }

  /** The size of each axis; `[]` for a single value. */
  get shape(): readonly number[] {
    return this.#shape
  }

  /** The number of elements. */
  get size(): number {
    return this.#size
  }

  /** @internal */
  get runtime(): Runtime {
    return this.#runtime
  }

  /**
   * A new tensor whose elements are undefined until they are written.
   *
   * @internal
   */
  static empty(runtime: Runtime, shape: readonly number[]): Tensor {
    checkElements(shape)
    return new Tensor(runtime, shape, runtime.memory.store(sizeOf(shape) * 4))
  }

  /** @internal */
  static zeros(runtime: Runtime, shape: readonly number[]): Tensor {
    const tensor = Tensor.empty(runtime, shape)
    tensor.data.fill(0)
    return tensor
  }

  /**
   * A new parameter of a layer, whose elements are undefined until they are written. Where `runtime.meta` is
   * set it is a meta tensor, as PyTorch's: it has a shape and no memory, and counts as disposed, until
   * `materialize`.
   *
   * @internal
   * @param initialize writes the elements; not called for a meta tensor
   */
  static parameter(
    runtime: Runtime,
    shape: readonly number[],
    initialize: (parameter: Tensor) => void = () => {},
  ): Tensor {
    checkElements(shape)
    const storage = runtime.meta ? null : runtime.memory.store(sizeOf(shape) * 4)
    const parameter = new Tensor(runtime, shape, storage).asParameter()
    if (storage !== null) initialize(parameter)
    return parameter
  }

  /**
   * Makes this tensor a parameter, in place.
   *
   * @internal
   */
  asParameter(): this {
    if (this.#step !== null) {
      throw fail('VALUE', 'tensor', 'be a leaf', 'a computed one; detach() it')
    }
    this.#requiresGrad = true
    this.#isParameter = true
    return this
  }

  /** Whether a module that has this tensor lists it in `parameters()`. @internal */
  get isParameter(): boolean {
    return this.#isParameter
  }

  /** Whether this is a parameter that waits for its memory. @internal */
  get isMeta(): boolean {
    return this.#isMeta
  }

  /**
   * Gives a meta tensor its memory. The elements are undefined until they are written.
   *
   * @internal
   */
  materialize(): void {
    this.#storage = this.#runtime.memory.store(4 * this.size)
    this.#isMeta = false
  }

  /**
   * What a layer's `quantize` has made of this weight, whose own memory is freed since: the tensor counts as
   * disposed. Null for a float32 tensor.
   */
  get int8Weight(): Int8Weight | null {
    return this.#int8Weight
  }

  /**
   * Frees this weight, in whose place comes another.
   *
   * @internal
   * @param int8Weight belongs to this tensor from here on
   */
  becomeInt8(int8Weight: Int8Weight): void {
    this.dispose()
    this.#int8Weight = int8Weight
  }

  /** A new tensor of given values. @internal */
  static from(runtime: Runtime, values: NestedArray | NumberArray, shape?: readonly number[]): Tensor {
    const given = shape === undefined ? undefined : checkShape(shape)
    const { data, shape: nesting } = flatten('values', values)
    const wanted = given ?? nesting
    const fits = sameShape(nesting, wanted) || (nesting.length === 1 && data.length === sizeOf(wanted))
    if (!fits) {
      const expected = `be flat with ${sizeOf(wanted)} elements, or nested, for shape [${wanted.join(', ')}]`
      throw fail('SHAPE', 'values', expected, nesting)
    }
    // A view of our own heap is detached when the new tensor grows the heap.
    const source = runtime.memory.isView(data) ? data.slice() : data
    const tensor = Tensor.empty(runtime, wanted)
    tensor.data.set(source)
    return tensor
  }

  /**
   * Whether `backward` computes a gradient for this tensor. True for parameters, and for what is computed
   * from a tensor that needs one. It can be set where the tensor was not computed, but made: a leaf.
   *
   * @throws {GptLayersError} TYPE; VALUE where the tensor was computed
   */
  get requiresGrad(): boolean {
    return this.#requiresGrad
  }

  set requiresGrad(requiresGrad) {
    checkBoolean('value', requiresGrad)
    if (this.#step !== null) {
      const expected = 'set on a leaf only, got a computed tensor; detach() gives one without a gradient'
      throw fail('VALUE', 'value', `be ${expected}`)
    }
    this.#requiresGrad = requiresGrad
  }

  /**
   * The sum of the gradients that `backward` has computed for this leaf since `zeroGrad`, of its shape; null
   * before the first. One that was disposed counts as none. It is freed with this tensor, and by `zeroGrad`.
   *
   * Assigning checks: null, or another live tensor of the same shape and instance.
   *
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED
   */
  get grad(): Tensor | null {
    return this.#grad
  }

  set grad(gradient) {
    if (gradient !== null) {
      this.#live()
      this.#operand('value', 'a Tensor or null', gradient)
      checkSameShape('value', gradient.shape, this.#shape)
      if (gradient === this) {
        throw fail('VALUE', 'value', 'be another Tensor', 'the tensor itself')
      }
    }
    this.#grad = gradient
  }

  /**
   * Computes the gradient of this tensor with respect to every leaf that it was computed from and that
   * requires one, and adds it to the leaf's `.grad`. As in PyTorch, the graph is freed, so that a second
   * `backward` through it is refused.
   *
   * @param gradient the gradient of a loss with respect to this tensor, of its shape; may be left out where
   *   this tensor is a single number, such as a loss: 1
   * @throws {GptLayersError} VALUE where the tensor requires no gradient, the graph was freed, or a tensor
   *   that the forward used has been changed by an optimizer, a loader or `quantize`; DISPOSED where it was
   *   disposed; SHAPE, TYPE, MEMORY
   * @example
   * const w = gpt.parameter(gpt.tensor([1, 2]))
   * w.mul(w).sum().backward()
   * w.grad.toArray() // [2, 4]
   */
  backward(gradient?: Tensor): void {
    this.#live()
    if (!this.#requiresGrad) {
      const expected = 'require a gradient: be a parameter, or computed from one outside of noGrad'
      throw fail('VALUE', 'the tensor', expected)
    }
    if (gradient !== undefined) {
      this.#operand('gradient', 'a Tensor', gradient)
      checkSameShape('gradient', gradient.shape, this.#shape)
      backward(this, gradient.hold())
    } else if (this.#size === 1) {
      const one = this.empty(this.#shape).keep()
      one.data[0] = 1
      backward(this, one)
    } else {
      const expected = `given for a tensor of ${this.#size} numbers, of shape [${this.#shape.join(', ')}]`
      throw fail('SHAPE', 'gradient', `be ${expected}`, 'none')
    }
  }

  /**
   * @returns the same memory, without what it was computed from: `backward` stops here
   * @throws {GptLayersError} DISPOSED
   * @example gpt.parameter(gpt.ones([2])).detach().requiresGrad // false
   */
  detach(): Tensor {
    return this.#alias(this.#shape)
  }

  /** The step of the tape that made this tensor; null for a leaf. @internal */
  get step(): Step | null {
    return this.#step
  }

  /** @internal */
  set step(step) {
    this.#step = step
    this.#requiresGrad = step !== null
  }

  /** How often our own code has changed the values of this memory in place. @internal */
  get version(): number {
    return this.#storage?.version ?? 0
  }

  /** Says that our own code has changed the values in place. @internal */
  changed(): void {
    if (this.#storage !== null) this.#storage.version++
  }

  /** Whether this tensor or its instance was disposed. */
  get disposed(): boolean {
    return this.#storage === null || this.#runtime.memory.disposed
  }

  /**
   * Where the elements begin in `gpt.exports.memory`, in bytes: the pointer that a kernel takes.
   *
   * @throws {GptLayersError} DISPOSED
   */
  get byteOffset(): number {
    return this.#live().offset
  }

  /**
   * A view of the elements in the instance's memory: writing to it changes the tensor. Get it anew after
   * every call that may allocate memory, because growing the memory detaches all views.
   *
   * @returns row-major
   * @throws {GptLayersError} DISPOSED
   */
  get data(): Float32Array {
    const { offset } = this.#live()
    return this.#runtime.memory.floats(offset, this.size)
  }

  /**
   * The value of a tensor that has one element.
   *
   * @throws {GptLayersError} SHAPE for another number of elements; DISPOSED
   * @example gpt.tensor([[2]]).item() // 2
   */
  item(): number {
    this.#live()
    if (this.size !== 1) {
      throw fail('SHAPE', 'the tensor', 'have 1 element', this.shape)
    }
    return this.data[0]
  }

  /**
   * The elements as nested arrays; a number for shape `[]`.
   *
   * @throws {GptLayersError} DISPOSED
   * @example gpt.tensor([1, 2, 3, 4], [2, 2]).toArray() // [[1, 2], [3, 4]]
   */
  toArray(): NestedArray {
    return nest(this.data, this.shape)
  }

  /**
   * What `JSON.stringify` writes: the elements as nested arrays. JSON has no NaN and no infinities: they
   * become null.
   *
   * @throws {GptLayersError} DISPOSED
   * @example JSON.stringify({ x: gpt.tensor([1, NaN]) }) // '{"x":[1,null]}'
   */
  toJSON(_key?: string): NestedArray {
    return nest(this.data, this.shape)
  }

  /**
   * The text that PyTorch's `print` shows, character for character.
   *
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED
   * @example String(gpt.tensor([1, 2])) // 'tensor([1., 2.])'
   */
  toString(options?: PrintOptions): string {
    this.#live()
    const { sciMode, precision } = checkOptions(options, { sciMode: undefined, precision: 4 })
    if (sciMode !== undefined) checkBoolean('sciMode', sciMode)
    checkInteger('precision', precision, 0, 20)
    return formatTensor(this.data, this.shape, { sciMode, precision })
  }

  /**
   * The text where JavaScript needs a string, as in `String(x)`. Its operators need a primitive, too: `x + 1`
   * would be a string and `-x` NaN, so they are refused.
   *
   * @internal
   */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === 'string') return this.toString()
    const text = 'String(x) or `${x}` for its text, x.item() for its number'
    throw new GptLayersError('TYPE', `a Tensor has no operators: use x.add, sub, mul, div or neg; ${text}`)
  }

  /** The text that Node's `console.log` shows. @internal */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.disposed ? 'tensor(disposed)' : this.toString()
  }

  /**
   * A copy with its own memory. As in PyTorch, its gradient goes on to this tensor.
   *
   * @throws {GptLayersError} DISPOSED, MEMORY
   */
  clone(): Tensor {
    this.#live()
    const copy = this.empty(this.shape)
    copy.data.set(this.data)
    return record(copy, [this], (dy) => [dy], [])
  }

  /**
   * The same elements in another shape. As in PyTorch, the two share their memory: writing to one changes the
   * other.
   *
   * @param shape has as many elements. One size may be -1; it is computed from the others
   * @throws {GptLayersError} SHAPE for another number of elements; TYPE, VALUE, DISPOSED
   * @example gpt.zeros([2, 6]).reshape([3, -1]).shape // [3, 4]
   */
  reshape(shape: readonly number[]): Tensor {
    this.#live()
    checkArray('shape', shape, 'an array of sizes')
    const open = shape.indexOf(-1)
    const known = checkShape(shape.map((size, i) => (i === open ? 1 : size)))
    const rest = this.size / sizeOf(known)
    const full = known.map((size, i) => (i === open ? rest : size))
    if ((open >= 0 && !Number.isInteger(rest)) || sizeOf(full) !== this.size) {
      throw fail('SHAPE', 'shape', `hold ${this.size} elements`, `[${shape.join(', ')}]`)
    }
    checkElements(full)
    const { shape: before } = this
    return record(this.#alias(full), [this], (dy) => [dy.reshape(before)], [])
  }

  /** Frees `.grad` and makes it null. @internal */
  freeGradient(): void {
    const gradient = this.#grad
    this.#grad = null // first: the gradient's own gradient may be this tensor
    gradient?.dispose()
  }

  /**
   * The sum along an axis, or of all elements.
   *
   * @returns 0 for a sum of no elements
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.tensor([[1, 2], [3, 5]]).sum({ dim: -1 }).toArray() // [3, 8]
   */
  sum(options?: Reduction): Tensor {
    this.#live()
    return sum(this, options)
  }

  /**
   * The largest element, a tensor of shape `[]`. NaN where there is a NaN, as in PyTorch.
   *
   * @throws {GptLayersError} SHAPE where there are no elements; DISPOSED, MEMORY
   * @example gpt.tensor([[1, 7], [3, 5]]).max().item() // 7
   */
  max(): Tensor
  /**
   * The largest elements along an axis, and the index of each along that axis, as nested arrays: integers are
   * numbers and arrays everywhere here, so Embedding and crossEntropy take them as they are. The first index
   * where several elements are the largest; that of a NaN where there is one.
   *
   * @throws {GptLayersError} SHAPE where the axis has size 0; TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.tensor([[1, 7], [3, 5]]).max({ dim: 1 }).indices // [1, 1]
   */
  max(options: Reduction & { dim: number }): { values: Tensor; indices: NestedArray }
  max(options?: Reduction): Tensor | { values: Tensor; indices: NestedArray }
  max(options?: Reduction): Tensor | { values: Tensor; indices: NestedArray } {
    this.#live()
    return max(this, options)
  }

  /**
   * The index of the largest element, among all elements in row-major order.
   *
   * @throws {GptLayersError} SHAPE where there are no elements; DISPOSED, MEMORY
   * @example gpt.tensor([[1, 7], [3, 5]]).argmax() // 1
   */
  argmax(): number
  /**
   * The index of the largest element along an axis, as nested arrays, such as the most probable token at each
   * position; see `max`.
   *
   * @returns a number where no axis is left
   * @throws {GptLayersError} SHAPE where the axis has size 0; TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.tensor([[1, 7], [5, 3]]).argmax({ dim: -1 }) // [1, 0]
   */
  argmax(options?: Reduction): NestedArray
  argmax(options?: Reduction): NestedArray {
    this.#live()
    return argmax(this, options)
  }

  /**
   * The mean along an axis, or of all elements.
   *
   * @returns NaN for a mean of no elements
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.tensor([[1, 2], [3, 5]]).mean({ dim: -1 }).toArray() // [1.5, 4]
   */
  mean(options?: Reduction): Tensor {
    this.#live()
    return mean(this, options)
  }

  /**
   * The variance along an axis, or of all elements.
   *
   * @returns NaN where n is 0, or 1 without `correction: 0`
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.tensor([1, 3]).var({ correction: 0 }).item() // 1
   */
  var(options?: VarianceOptions): Tensor {
    this.#live()
    return variance(this, options)
  }

  /**
   * @param other broadcast as in PyTorch
   * @returns this + other
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED, MEMORY
   */
  add(other: Tensor | number): Tensor {
    return add(this, this.#operandOrNumber(other))
  }

  /**
   * @param other broadcast as in PyTorch
   * @returns this - other
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED, MEMORY
   */
  sub(other: Tensor | number): Tensor {
    return sub(this, this.#operandOrNumber(other))
  }

  /**
   * @param other broadcast as in PyTorch
   * @returns this · other, element by element
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED, MEMORY
   */
  mul(other: Tensor | number): Tensor {
    return mul(this, this.#operandOrNumber(other))
  }

  /**
   * @param other broadcast as in PyTorch
   * @returns this / other, element by element
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED, MEMORY
   */
  div(other: Tensor | number): Tensor {
    return div(this, this.#operandOrNumber(other))
  }

  /**
   * The matrix product, as torch.matmul. The leading axes broadcast.
   *
   * @param other [..., inner, cols], or a vector: [inner]
   * @returns [..., rows, cols] for this [..., rows, inner]; without rows where this tensor is a vector,
   *   [inner], and without cols where the other one is
   * @throws {GptLayersError} SHAPE, TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.ones([4, 2, 3]).matmul(gpt.ones([4, 3, 5])).shape // [4, 2, 5]
   * @example gpt.tensor([1, 2]).matmul(gpt.tensor([3, 4])).item() // 11
   */
  matmul(other: Tensor): Tensor {
    this.#live()
    return matmul(this, this.#operand('other', 'a Tensor', other))
  }

  /**
   * The same elements with the axes in another order. Unlike PyTorch's, a copy.
   *
   * @param dims each axis once, negative from the end
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.zeros([2, 3, 5]).permute([0, 2, 1]).shape // [2, 5, 3]
   */
  permute(dims: readonly number[]): Tensor {
    this.#live()
    return permute(this, dims)
  }

  /**
   * The same elements with two axes swapped. Unlike PyTorch's, a copy.
   *
   * @param dim0 an axis, negative from the end
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.zeros([2, 3, 5]).transpose(1, 2).shape // [2, 5, 3]
   */
  transpose(dim0: number, dim1: number): Tensor {
    this.#live()
    return transpose(this, dim0, dim1)
  }

  /**
   * The elements at one index of the first axis, as PyTorch's `x[index]`: a tensor of the other axes. Unlike
   * PyTorch's, a copy.
   *
   * @param index negative from the end
   * @throws {GptLayersError} VALUE for an index out of range; SHAPE for a tensor of shape `[]`; TYPE,
   *   DISPOSED, MEMORY
   * @example gpt.tensor([[1, 2], [3, 4]]).at(-1).toArray() // [3, 4]
   */
  at(index: number): Tensor {
    this.#live()
    return at(this, index)
  }

  /**
   * The elements at some indices of an axis, as PyTorch's `x[start:end]`. Unlike PyTorch's, a copy.
   *
   * @param start the first index, negative from the end; 0 by default
   * @param end the index after the last one, negative from the end; by default the end
   * @returns a tensor without elements where start is not before end
   * @throws {GptLayersError} SHAPE for a tensor of shape `[]`; TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.tensor([1, 2, 3, 4]).slice(1, 3).toArray() // [2, 3]
   * @example gpt.zeros([2, 6]).slice(-2, undefined, { dim: 1 }).shape // [2, 2]
   */
  slice(start?: number, end?: number, options?: AxisOptions): Tensor {
    this.#live()
    return slice(this, start, end, options)
  }

  /**
   * Pieces along an axis, as torch.split. Unlike PyTorch's, copies.
   *
   * @param size the size of each piece along the axis; the last one may be smaller
   * @throws {GptLayersError} VALUE, TYPE, DISPOSED, MEMORY
   * @example gpt.zeros([2, 6]).split(2, { dim: -1 }).length // 3
   */
  split(size: number, options?: AxisOptions): Tensor[] {
    this.#live()
    return split(this, size, options)
  }

  /**
   * @returns e to the power of each element
   * @throws {GptLayersError} DISPOSED, MEMORY
   */
  exp(): Tensor {
    this.#live()
    return exp(this)
  }

  /**
   * @returns the natural logarithm of each element; NaN below 0, -Infinity at 0
   * @throws {GptLayersError} DISPOSED, MEMORY
   */
  log(): Tensor {
    this.#live()
    return log(this)
  }

  /**
   * @returns each element to the power of the exponent
   * @throws {GptLayersError} TYPE, DISPOSED, MEMORY
   * @example gpt.tensor([2, 3]).pow(2).toArray() // [4, 9]
   */
  pow(exponent: number): Tensor {
    this.#live()
    checkNumber('exponent', exponent, 'a number', () => true)
    return pow(this, exponent)
  }

  /**
   * @returns minus each element
   * @throws {GptLayersError} DISPOSED, MEMORY
   */
  neg(): Tensor {
    this.#live()
    return neg(this)
  }

  /**
   * @returns the absolute value of each element. Its gradient at 0 is 0, as PyTorch's
   * @throws {GptLayersError} DISPOSED, MEMORY
   */
  abs(): Tensor {
    this.#live()
    return abs(this)
  }

  /**
   * @returns the hyperbolic tangent of each element
   * @throws {GptLayersError} DISPOSED, MEMORY
   */
  tanh(): Tensor {
    this.#live()
    return tanh(this)
  }

  /**
   * @returns the square root of each element; NaN below 0
   * @throws {GptLayersError} DISPOSED, MEMORY
   */
  sqrt(): Tensor {
    this.#live()
    return sqrt(this)
  }

  /**
   * Frees the memory at once, the gradient's too. Memory that another tensor shares, such as one from
   * `reshape` or `detach`, is freed with the last of them. Using the tensor afterwards is an error; disposing
   * again is not.
   */
  dispose(): void {
    this.freeGradient()
    if (this.#storage !== null) this.#runtime.memory.drop(this.#storage)
    this.#storage = null
    this.#isMeta = false
    this.#int8Weight?.dispose()
    this.#int8Weight = null
  }

  // Where Symbol.dispose does not exist yet, this defines a method named "undefined", which nobody calls.
  [Symbol.dispose](): void {
    this.dispose()
  }

  /** A new tensor of the same instance, whose elements are undefined until they are written. @internal */
  empty(shape: readonly number[]): Tensor {
    return Tensor.empty(this.#runtime, shape)
  }

  /** As `empty`, with zeros. @internal */
  zeroed(shape: readonly number[]): Tensor {
    return Tensor.zeros(this.#runtime, shape)
  }

  /** The place of an element. @internal */
  pointerTo(index: number): Pointer {
    return index === 0 ? this : { byteOffset: this.byteOffset + 4 * index }
  }

  /** A second tensor on the same memory, with as many elements. */
  #alias(shape: readonly number[]): Tensor {
    const storage = this.#live()
    storage.holders++
    return new Tensor(this.#runtime, shape, storage)
  }

  /** Whether another tensor uses the same memory. @internal */
  get isShared(): boolean {
    return this.#storage !== null && this.#storage.holders > 1
  }

  /**
   * A second tensor on the same memory that no scope frees: it lasts until it is disposed itself.
   *
   * @internal
   */
  hold(): Tensor {
    return this.#alias(this.#shape).keep()
  }

  /** From here on no scope frees this tensor, which was made in the innermost scope. @internal */
  keep(): this {
    this.#runtime.memory.untrack(this)
    return this
  }

  /**
   * @internal
   * @returns this tensor, where it was made in the innermost scope, which then does not free it; otherwise a
   *   second one on its memory. It lasts until it is disposed
   */
  own(): Tensor {
    return this.#runtime.memory.untrack(this) ? this : this.hold()
  }

  /**
   * @internal
   * @param name the name of the argument that is this tensor
   * @throws {GptLayersError} VALUE for another instance's tensor; DISPOSED
   */
  checkUsable(runtime: Runtime, name: string): void {
    if (this.#runtime !== runtime) {
      throw fail('VALUE', name, 'come from the same load()', 'a Tensor of another')
    }
    if (this.disposed) {
      throw fail('DISPOSED', name, 'be a live Tensor', this.#fate())
    }
  }

  /** Why the tensor has no memory, for an error. */
  #fate(): string {
    if (this.#isMeta) return 'one that has no values before the file is read'
    return this.#int8Weight ? 'one that quantize has made int8: see int8Weight' : 'one that was disposed'
  }

  #live(): Storage {
    if (this.#storage === null || this.#runtime.memory.disposed) {
      throw fail('DISPOSED', 'the tensor', 'be live', this.#fate())
    }
    return this.#storage
  }

  /** Checks that a value is a live tensor of the same instance. */
  #operand(name: string, expected: string, value: unknown): Tensor {
    if (!(value instanceof Tensor)) throw notTensor(name, expected, value)
    value.checkUsable(this.#runtime, name)
    return value
  }

  #operandOrNumber(other: unknown): Tensor | number {
    this.#live()
    return typeof other === 'number' ? other : this.#operand('other', 'a Tensor or a number', other)
  }
}

Reflect.defineProperty(Tensor, 'name', { value: 'Tensor' }) // for errors, whatever a minifier calls the class

/** The error for a value that is no tensor. */
export const notTensor = (name: string, expected: string, value: unknown): GptLayersError =>
  fail('TYPE', name, `be ${expected}`, describe(value))
