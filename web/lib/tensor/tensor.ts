import type { Memory, Storage } from '../runtime/memory.ts'
import type { NumberArray, Disposes } from '../typed.ts'
import type { Int8Weight } from './int8weight.ts'
import {
  checkBoolean,
  checkChoice,
  checkInteger,
  checkNumber,
  checkOptions,
  checkSameShape,
  checkShape,
  isPlainObject,
  nameMethods,
  sameShape,
} from '../check.ts'
import { fail, GptLayersError } from '../errors.ts'
import { type Pointer, heap } from '../runtime/runtime.ts'
import { giveToScope } from '../runtime/scope.ts'
import { type BackwardOptions, backward } from './backward.ts'
import { checkLive, checkOperand, checkTensor, checkTensorOf } from './check.ts'
import { Compared, withoutValues } from './compared.ts'
import {
  type ClampOptions,
  type GELUOptions,
  binary,
  clamp,
  cos,
  gelu,
  pow,
  reciprocal,
  relu,
  rsqrt,
  sigmoid,
  silu,
  sin,
  unary,
} from './elementwise.ts'
import { hashOfFloats } from './hash.ts'
import { matmul } from './matmul.ts'
import { type NestedArray, flatten as flattenNested, nest } from './nested.ts'
import { type PickOptions, gather, indexSelect } from './pick.ts'
import { type PrintOptions, formatTensor } from './print.ts'
import {
  type AxisReduction,
  type CumsumOptions,
  type Extremes,
  type Reduction,
  type VarianceOptions,
  argExtreme,
  cumsum,
  extreme,
  logsumexp,
  mean,
  norm,
  std,
  sum,
  variance,
} from './reduce.ts'
import { expand, flatten, reshape, squeeze, unsqueeze } from './reshape.ts'
import { checkElements, sizeOf } from './shape.ts'
import { type AxisOptions, at, chunk, slice, split } from './slice.ts'
import { type SoftmaxOptions, logSoftmax, softmax } from './softmax.ts'
import { type Step, record } from './tape.ts'
import { type TopkOptions, topk } from './topk.ts'
import { permute, transpose } from './transpose.ts'
import { type TriangleOptions, compare, maskedFill, triangle } from './where.ts'

/** How the errors of a tensor's method begin. */
const methodName = (_tensor: object, method: string): string => method

/** Whether the parameters of new layers are meta tensors. */
let makesMeta = false

/** Runs `fn`, in which the parameters of new layers are meta tensors; see `Tensor.parameter`. */
export function withMeta<T>(fn: () => T): T {
  const before = makesMeta
  makesMeta = true
  try {
    return fn()
  } finally {
    makesMeta = before
  }
}

const NOT_CLONED: symbol = /* @__PURE__ */ Symbol('a Tensor: send x.data.slice() and x.shape, or x.item()')

function* rows(this: Tensor): IterableIterator<Tensor> {
  for (let i = 0; i < this.shape[0]; i++) yield this.at(i)
}

export interface Tensor extends Disposes {}

/**
 * A float32 tensor, row-major and contiguous, in the memory of the WebAssembly. Make one with
 * `gpt.tensor`, `gpt.zeros`, `gpt.ones`, `gpt.rand` or `gpt.randn`.
 *
 * Its shape and its place in memory do not change. Its elements can.
 */
export class Tensor {
  /** @internal */
  static readonly ownName = 'Tensor'

  #shape: readonly number[]
  #size: number
  #storage: Storage | null
  #owners = 1
  #grad: Tensor | null = null
  #requiresGrad = false
  #step: Step | null = null
  #isParameter = false
  /** Whether this is a parameter that waits for its memory. */
  #isMeta
  #int8Weight: Int8Weight | null = null
  /** @internal */
  readonly compared: Compared

  /**
   * @param shape frozen here: not an array that the user gave
   * @param storage null for a meta tensor
   */
  private constructor(shape: readonly number[], storage: Storage | null) {
    nameMethods(Tensor, methodName)
    if (storage === undefined) throw new GptLayersError('TYPE', 'Tensor: make one with gpt.tensor(values)')
    this.#shape = Object.freeze(shape) // kernels rely on it
    this.#size = sizeOf(shape)
    this.#storage = storage
    this.#isMeta = storage === null
    // Vitest's toMatchObject sees nothing else of tensors without elements.
    const name = this.#size > 0 ? NOT_CLONED : Symbol.for(`a Tensor of shape [${shape.join(', ')}]`)
    this.compared = new Compared(this, name)
    giveToScope(this)
  }

  /** The size of each axis; `[]` for a single value. */
  get shape(): readonly number[] {
    return this.#shape
  }

  /** The number of axes. */
  get ndim(): number {
    return this.#shape.length
  }

  /** The number of elements. */
  get size(): number {
    return this.#size
  }

  /**
   * A new tensor whose elements are undefined until they are written.
   *
   * @internal
   */
  static empty(shape: readonly number[]): Tensor {
    checkElements(shape)
    return new Tensor(shape, heap().store(sizeOf(shape) * 4))
  }

  /** @internal */
  static zeros(shape: readonly number[]): Tensor {
    const tensor = Tensor.empty(shape)
    tensor.data.fill(0)
    return tensor
  }

  /**
   * A new parameter of a layer, whose elements are undefined until they are written. Within `withMeta`
   * it is a meta tensor, as PyTorch's: it has a shape and no memory, and counts as disposed, until
   * `materialize`.
   *
   * @internal
   * @param initialize writes the elements; not called for a meta tensor
   */
  static parameter(shape: readonly number[], initialize: (parameter: Tensor) => void = () => {}): Tensor {
    checkElements(shape)
    const storage = makesMeta ? null : heap().store(sizeOf(shape) * 4)
    const parameter = Tensor.makeParameter(new Tensor(shape, storage))
    if (storage !== null) initialize(parameter)
    return parameter
  }

  /**
   * Makes a tensor a parameter, in place.
   *
   * @internal
   */
  static makeParameter(tensor: Tensor): Tensor {
    if (tensor.#step !== null) {
      throw fail('VALUE', 'tensor', 'be a leaf', 'a computed one; detach() it')
    }
    tensor.#requiresGrad = true
    tensor.#isParameter = true
    return tensor
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
  static materialize(tensor: Tensor): void {
    tensor.#storage = heap().store(4 * tensor.size)
    tensor.#isMeta = false
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
    this.#free()
    this.#int8Weight = int8Weight
  }

  /** A new tensor of given values. @internal */
  static from(values: NestedArray | NumberArray, shape?: readonly number[]): Tensor {
    const given = shape === undefined ? undefined : checkShape(shape)
    const { data, shape: nesting } = flattenNested('values', values)
    const wanted = given ?? nesting
    const fits = sameShape(nesting, wanted) || (nesting.length === 1 && data.length === sizeOf(wanted))
    if (!fits) {
      const expected = `be flat with ${sizeOf(wanted)} elements, or nested, for shape [${wanted.join(', ')}]`
      throw fail('SHAPE', 'values', expected, nesting)
    }
    // A view of our own heap is detached when the new tensor grows the heap.
    const source = heap().isView(data) ? new Float32Array(data) : data
    const tensor = Tensor.empty(wanted)
    tensor.data.set(source)
    return tensor
  }

  /**
   * Whether `backward` computes a gradient for this tensor. True for parameters, and for what is computed
   * from a tensor that needs one. It can be set where the tensor was not computed, but made: a leaf.
   *
   * @throws {GptLayersError} VALUE where the tensor was computed
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
   * before the first. One that was disposed counts as none. This tensor owns it: see `scope`.
   *
   * Assigning checks: null, or another live tensor of the same shape. The one before belongs to the scope again,
   * if there is one.
   */
  get grad(): Tensor | null {
    return this.#grad
  }

  set grad(gradient) {
    if (gradient !== null) {
      this.#live()
      checkOperand('value', 'a Tensor or null', gradient)
      checkSameShape('value', gradient.shape, this.#shape)
      if (gradient === this) {
        throw fail('VALUE', 'value', 'be another Tensor', 'the tensor itself')
      }
    }
    if (gradient === this.#grad) return
    const before = this.#grad
    this.receiveGradient(gradient?.hold() ?? null)
    // The program may still have it.
    if (before?.hasOtherOwners) before.letGo()
    else if (before) giveToScope(before)
  }

  /** @internal @param gradient passes to this leaf */
  receiveGradient(gradient: Tensor | null): void {
    this.#grad = gradient
  }

  /**
   * Computes the gradient of this tensor with respect to every leaf that it was computed from and that
   * requires one, and adds it to the leaf's `.grad`. As in PyTorch, the graph is freed, so that a second
   * `backward` through it is refused, unless the first one has `retainGraph: true`.
   *
   * @param gradient the gradient of a loss with respect to this tensor, of its shape; may be left out where
   *   this tensor is a single number, such as a loss: 1
   * @throws {GptLayersError} VALUE where the tensor requires no gradient, the graph was freed, or a tensor
   *   that the forward used has been changed by an optimizer, a loader or `quantize`; DISPOSED where it was
   *   disposed
   * @example
   * const w = gpt.parameter(gpt.tensor([1, 2]))
   * w.mul(w).sum().backward()
   * w.grad.toArray() // [2, 4]
   * @example
   * const w = gpt.parameter(gpt.tensor([1, 2]))
   * const loss = w.mul(w).sum()
   * loss.backward({ retainGraph: true })
   * loss.backward()
   * w.grad.toArray() // [4, 8]
   */
  backward(options?: BackwardOptions): void
  backward(gradient?: Tensor, options?: BackwardOptions): void
  backward(first?: unknown, second?: BackwardOptions): void {
    const isOptions = second === undefined && isPlainObject(first)
    const gradient = isOptions ? undefined : first
    const { retainGraph } = checkOptions(isOptions ? first : second, { retainGraph: false })
    checkBoolean('retainGraph', retainGraph)
    this.#live()
    if (!this.#requiresGrad) {
      const expected = 'require a gradient: be a parameter, or computed from one outside of noGrad'
      throw fail('VALUE', 'the tensor', expected)
    }
    if (gradient === undefined && this.#size !== 1) {
      const expected = `given for a tensor of ${this.#size} numbers, of shape [${this.#shape.join(', ')}]`
      throw fail('SHAPE', 'gradient', `be ${expected}`, 'none')
    }
    const given = gradient === undefined ? null : checkTensorOf('gradient', gradient, this.#shape)
    backward(this, given, retainGraph)
  }

  /**
   * @returns the same memory, without what it was computed from: `backward` stops here
   * @example gpt.parameter(gpt.ones([2])).detach().requiresGrad // false
   */
  detach(): Tensor {
    return Tensor.alias(this, this.#shape)
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

  /** The heap that the elements lie in; null without elements. @internal */
  get heap(): Memory | null {
    return this.#storage?.memory ?? null
  }

  /** How often our own code has changed the values of this memory in place. @internal */
  get version(): number {
    return this.#storage?.version ?? 0
  }

  /** Says that our own code has changed the values in place. @internal */
  changed(): void {
    if (this.#storage !== null) this.#storage.version++
  }

  /** Whether this tensor was disposed, or `dispose()` was called. */
  get disposed(): boolean {
    return this.#storage === null || this.#storage.memory.disposed
  }

  /**
   * Where the elements begin in `gpt.exports.memory`, in bytes: the pointer that a kernel takes.
   */
  get byteOffset(): number {
    return this.#live().offset
  }

  /**
   * A view of the elements in the WebAssembly's memory: writing to it changes the tensor. Get it anew after
   * every call that may allocate memory, because growing the memory detaches all views.
   *
   * @returns row-major
   */
  get data(): Float32Array {
    const { offset } = this.#live()
    return heap().floats(offset, this.size)
  }

  /**
   * The value of a tensor that has one element.
   *
   * @throws {GptLayersError} SHAPE for another number of elements
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
   * @example gpt.tensor([1, 2, 3, 4], [2, 2]).toArray() // [[1, 2], [3, 4]]
   */
  toArray(): NestedArray {
    return nest(this.data, this.shape)
  }

  /**
   * What `JSON.stringify` writes: the elements as nested arrays. JSON has no NaN and no infinities: they
   * become null.
   *
   * @example JSON.stringify({ x: gpt.tensor([1, NaN]) }) // '{"x":[1,null]}'
   */
  toJSON(_key?: string): NestedArray {
    return nest(this.data, this.shape)
  }

  /**
   * The text that PyTorch's `print` shows, character for character.
   *
   * @example String(gpt.tensor([1, 2])) // 'tensor([1., 2.])'
   */
  toString(options?: PrintOptions): string {
    this.#live()
    const { sciMode, precision } = checkOptions(options, { precision: 4, sciMode: undefined })
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
   * What the test frameworks of Node, Vitest and Jest compare: the text, and a hash of all bits. A NaN is every
   * NaN. A tensor without values equals only itself.
   *
   * @internal
   */
  get [Symbol.toStringTag](): string {
    if (!(#size in this)) return Tensor.ownName // the prototype, or a copy of a framework's
    if (this.#int8Weight !== null) return this.#int8Weight[Symbol.toStringTag]
    if (this.disposed) return withoutValues(this)
    return `${this} ${hashOfFloats(this.data)}`
  }

  /**
   * The parts along the first axis, as in PyTorch: `x.at(0)`, `x.at(1)`, ... Each is made when the loop comes
   * to it. Unlike PyTorch's, copies. A tensor of shape `[]`, or one that was disposed, is not iterable: JavaScript
   * throws a TypeError. (It has no iterator, because Vitest and Jest compare by iterators.)
   *
   * @example
   * const sums = []
   * for (const row of gpt.tensor([[1, 2], [3, 4]])) sums.push(row.sum().item())
   * sums // [3, 7]
   */
  get [Symbol.iterator](): () => IterableIterator<Tensor> {
    const isIterable = #size in this && !this.disposed && this.ndim > 0
    return (isIterable ? rows : undefined) as () => IterableIterator<Tensor>
  }

  /**
   * A copy with its own memory. As in PyTorch, its gradient goes on to this tensor.
   */
  clone(): Tensor {
    this.#live()
    const copy = Tensor.empty(this.shape)
    copy.data.set(this.data)
    return record(copy, [this], (dy) => [dy], [])
  }

  /**
   * The same elements in another shape. As in PyTorch, the two share their memory: writing to one changes the
   * other.
   *
   * @param shape has as many elements. One size may be -1; it is computed from the others
   * @throws {GptLayersError} SHAPE for another number of elements
   * @example gpt.zeros([2, 6]).reshape([3, -1]).shape // [3, 4]
   */
  reshape(shape: readonly number[]): Tensor {
    return reshape(this, shape)
  }

  /**
   * As `reshape`.
   *
   * @param shape has as many elements. One size may be -1
   */
  view(shape: readonly number[]): Tensor {
    return reshape(this, shape)
  }

  /**
   * The same elements with an axis of size 1 more. The two share their memory.
   *
   * @param dim where the new axis is in the result, negative from the end
   * @example gpt.zeros([2, 3]).unsqueeze(1).shape // [2, 1, 3]
   */
  unsqueeze(dim: number): Tensor {
    return unsqueeze(this, dim)
  }

  /**
   * The same elements without the axes of size 1. The two share their memory.
   *
   * @param dim drops this axis only, where its size is 1; by default all
   * @example gpt.zeros([1, 2, 1]).squeeze().shape // [2]
   * @example gpt.zeros([1, 2, 1]).squeeze(-1).shape // [1, 2]
   */
  squeeze(dim?: number): Tensor {
    return squeeze(this, dim)
  }

  /**
   * The same elements with some neighboring axes as one. The two share their memory.
   *
   * @param startDim the first of these axes, negative from the end; 0 by default
   * @param endDim the last one; -1 by default
   * @returns [1] for a tensor of shape `[]`
   * @throws {GptLayersError} VALUE where endDim is before startDim
   * @example gpt.zeros([2, 3, 5]).flatten(1).shape // [2, 15]
   */
  flatten(startDim?: number, endDim?: number): Tensor {
    return flatten(this, startDim, endDim)
  }

  /**
   * The same elements, repeated along axes of size 1 and along new axes in front. Unlike PyTorch's, a copy.
   * `add`, `mul` and the like broadcast by themselves, without a copy.
   *
   * @param shape that this tensor's broadcasts to. -1 is the size that an axis has
   * @throws {GptLayersError} SHAPE where it does not
   * @example gpt.tensor([[1], [2]]).expand([-1, 3]).toArray() // [[1, 1, 1], [2, 2, 2]]
   */
  expand(shape: readonly number[]): Tensor {
    return expand(this, shape)
  }

  /** Frees `.grad` and makes it null. @internal */
  freeGradient(): void {
    const gradient = this.#grad
    this.#grad = null // first: the gradient's own gradient may be this tensor
    gradient?.letGo()
  }

  /**
   * The sum along an axis or several, or of all elements.
   *
   * @returns 0 for a sum of no elements
   * @example gpt.tensor([[1, 2], [3, 5]]).sum({ dim: -1 }).toArray() // [3, 8]
   * @example gpt.ones([2, 3, 5]).sum({ dim: [0, 2] }).toArray() // [10, 10, 10]
   */
  sum(options?: Reduction): Tensor {
    return sum(this, options)
  }

  /**
   * The sums of the elements up to each one, along an axis.
   *
   * @param options dim: the axis, negative from the end
   * @returns a tensor of this shape, with the bits of PyTorch on the CPU
   * @example gpt.tensor([1, 2, 3]).cumsum({ dim: 0 }).toArray() // [1, 3, 6]
   */
  cumsum(options: CumsumOptions): Tensor {
    return cumsum(this, options)
  }

  /**
   * The Euclidean norm √Σ x² along an axis or several, or of all elements, as torch.norm. Its gradient where it
   * is 0 is 0, as PyTorch's.
   *
   * @returns 0 for no elements
   * @example gpt.tensor([[3, 4], [0, 0]]).norm({ dim: -1 }).toArray() // [5, 0]
   */
  norm(options?: Reduction): Tensor {
    return norm(this, options)
  }

  /**
   * log Σ e^x along an axis or several, or of all elements, as torch.logsumexp. The largest element of each sum
   * is subtracted first, so that no power of e is infinite.
   *
   * @returns -Infinity for no elements
   * @example String(gpt.tensor([200, 200]).logsumexp()) // 'tensor(200.6931)'
   */
  logsumexp(options?: Reduction): Tensor {
    return logsumexp(this, options)
  }

  /**
   * The largest element, a tensor of shape `[]`. NaN where there is a NaN, as in PyTorch.
   *
   * @throws {GptLayersError} SHAPE where there are no elements
   * @example gpt.tensor([[1, 7], [3, 5]]).max().item() // 7
   */
  max(): Tensor
  /**
   * The largest elements along an axis, and the index of each along that axis. The first index where several
   * elements are the largest; that of the first NaN where there is one. The element at the index gets the
   * gradient, as in PyTorch.
   *
   * @returns two tensors of the same shape. Embedding, crossEntropy and gather take the indices as they are
   * @throws {GptLayersError} SHAPE where the axis has size 0, or more than 2^24 elements
   * @example gpt.tensor([[1, 7], [3, 5]]).max({ dim: 1 }).indices.toArray() // [1, 1]
   */
  max(options: AxisReduction & { dim: number }): Extremes
  max(options?: AxisReduction): Tensor | Extremes
  max(options?: AxisReduction): Tensor | Extremes {
    return extreme('largest', this, options)
  }

  /**
   * The smallest element, a tensor of shape `[]`. NaN where there is a NaN, as in PyTorch.
   *
   * @throws {GptLayersError} SHAPE where there are no elements
   * @example gpt.tensor([[1, 7], [3, 5]]).min().item() // 1
   */
  min(): Tensor
  /**
   * The smallest elements along an axis, and the index of each along that axis; see `max`.
   *
   * @throws {GptLayersError} SHAPE where the axis has size 0, or more than 2^24 elements
   * @example gpt.tensor([[1, 7], [5, 3]]).min({ dim: 1 }).indices.toArray() // [0, 1]
   */
  min(options: AxisReduction & { dim: number }): Extremes
  min(options?: AxisReduction): Tensor | Extremes
  min(options?: AxisReduction): Tensor | Extremes {
    return extreme('smallest', this, options)
  }

  /**
   * The index of the largest element, among all elements in row-major order.
   *
   * @throws {GptLayersError} SHAPE where there are no elements
   * @example gpt.tensor([[1, 7], [3, 5]]).argmax() // 1
   */
  argmax(): number
  /**
   * The index of the largest element along an axis, such as the most probable token at each position; see
   * `max`. Without `dim` that of all elements.
   *
   * @returns a tensor, which has no gradient
   * @throws {GptLayersError} SHAPE where the axis has size 0, or more than 2^24 elements
   * @example gpt.tensor([[1, 7], [5, 3]]).argmax({ dim: -1 }).toArray() // [1, 0]
   */
  argmax(options: AxisReduction): Tensor
  argmax(options?: AxisReduction): Tensor | number {
    return argExtreme('largest', this, options)
  }

  /**
   * The index of the smallest element, among all elements in row-major order.
   *
   * @throws {GptLayersError} SHAPE where there are no elements
   * @example gpt.tensor([[1, 7], [0, 5]]).argmin() // 2
   */
  argmin(): number
  /**
   * The index of the smallest element along an axis; see `argmax`.
   *
   * @returns a tensor, which has no gradient
   * @throws {GptLayersError} SHAPE where the axis has size 0, or more than 2^24 elements
   * @example gpt.tensor([[1, 7], [5, 3]]).argmin({ dim: -1 }).toArray() // [0, 1]
   */
  argmin(options: AxisReduction): Tensor
  argmin(options?: AxisReduction): Tensor | number {
    return argExtreme('smallest', this, options)
  }

  /**
   * The k largest elements along an axis, the largest first, and their indices along that axis. Of equal
   * elements the one with the lower index comes first; PyTorch promises no order of these. NaN counts as the
   * largest, as in PyTorch.
   *
   * @param k at most the size of the axis
   * @param options largest: false for the smallest elements, the smallest first
   * @returns two tensors, with k in place of the size of the axis
   * @throws {GptLayersError} SHAPE where the axis has more than 2^24 elements
   * @example gpt.tensor([1, 7, 5]).topk(2).indices.toArray() // [1, 2]
   */
  topk(k: number, options?: TopkOptions): Extremes {
    return topk(this, k, options)
  }

  /**
   * An element along an axis for each index, as torch.gather: with `dim: 1`, y[i][j] = x[i][index[i][j]].
   *
   * @param options index: integers with as many axes as this tensor, and at most its sizes except along `dim`
   * @returns a tensor of the shape of the indices. Its gradient adds up where an index is repeated
   * @throws {GptLayersError} VALUE for an index out of range; SHAPE for indices of another shape
   * @example gpt.tensor([[1, 2], [3, 4]]).gather({ dim: 1, index: [[1], [0]] }).toArray() // [[2], [3]]
   */
  gather(options: PickOptions): Tensor {
    return gather(this, options)
  }

  /**
   * The parts at some indices of an axis, as torch.index_select.
   *
   * @param options index: integers, one axis of them; they may repeat
   * @returns a copy. Its gradient adds up where an index is repeated
   * @throws {GptLayersError} VALUE for an index out of range; SHAPE for indices of more axes
   * @example gpt.tensor([[1, 2], [3, 4]]).indexSelect({ dim: 1, index: [1, 1] }).toArray() // [[2, 2], [4, 4]]
   */
  indexSelect(options: PickOptions): Tensor {
    return indexSelect(this, options)
  }

  /**
   * The mean along an axis or several, or of all elements.
   *
   * @returns NaN for a mean of no elements
   * @example gpt.tensor([[1, 2], [3, 5]]).mean({ dim: -1 }).toArray() // [1.5, 4]
   */
  mean(options?: Reduction): Tensor {
    return mean(this, options)
  }

  /**
   * The variance along an axis or several, or of all elements.
   *
   * @returns NaN where n is 0, or 1 without `correction: 0`
   * @example gpt.tensor([1, 3]).var({ correction: 0 }).item() // 1
   */
  var(options?: VarianceOptions): Tensor {
    return variance(this, options)
  }

  /**
   * The standard deviation along an axis or several, or of all elements: the square root of `var`. Its gradient
   * where it is 0 is 0, as PyTorch's.
   *
   * @returns NaN where n is 0, or 1 without `correction: 0`
   * @example gpt.tensor([1, 5]).std({ correction: 0 }).item() // 2
   */
  std(options?: VarianceOptions): Tensor {
    return std(this, options)
  }

  /**
   * @param other broadcast as in PyTorch
   * @returns this + other
   */
  add(other: Tensor | number): Tensor {
    return binary('add', this, other)
  }

  /**
   * @param other broadcast as in PyTorch
   * @returns this - other
   */
  sub(other: Tensor | number): Tensor {
    return binary('sub', this, other)
  }

  /**
   * @param other broadcast as in PyTorch
   * @returns this · other, element by element
   */
  mul(other: Tensor | number): Tensor {
    return binary('mul', this, other)
  }

  /**
   * @param other broadcast as in PyTorch
   * @returns this / other, element by element
   */
  div(other: Tensor | number): Tensor {
    return binary('div', this, other)
  }

  /**
   * @param other broadcast as in PyTorch
   * @returns 1 where this = other, otherwise 0; NaN equals nothing. It has no gradient
   */
  eq(other: Tensor | number): Tensor {
    return compare('eq', this, other)
  }

  /**
   * @param other broadcast as in PyTorch
   * @returns 1 where this ≠ other, otherwise 0. It has no gradient
   */
  ne(other: Tensor | number): Tensor {
    return compare('ne', this, other)
  }

  /**
   * @param other broadcast as in PyTorch
   * @returns 1 where this < other, otherwise 0. It has no gradient
   */
  lt(other: Tensor | number): Tensor {
    return compare('lt', this, other)
  }

  /**
   * @param other broadcast as in PyTorch
   * @returns 1 where this ≤ other, otherwise 0. It has no gradient
   */
  le(other: Tensor | number): Tensor {
    return compare('le', this, other)
  }

  /**
   * @param other broadcast as in PyTorch
   * @returns 1 where this > other, otherwise 0. It has no gradient
   */
  gt(other: Tensor | number): Tensor {
    return compare('gt', this, other)
  }

  /**
   * @param other broadcast as in PyTorch
   * @returns 1 where this ≥ other, otherwise 0. It has no gradient
   */
  ge(other: Tensor | number): Tensor {
    return compare('ge', this, other)
  }

  /**
   * Replaces each element by `value` where the mask is not 0, as PyTorch's masked_fill. Attention's mask does so.
   *
   * @param mask broadcast as in PyTorch. It has no gradient
   * @param value may be -Infinity
   * @example gpt.ones([2, 2]).maskedFill(gpt.ones([2, 2]).triu({ diagonal: 1 }), 5).toArray() // [[1, 5], [1, 1]]
   */
  maskedFill(mask: Tensor, value: number): Tensor {
    return maskedFill(this, mask, value)
  }

  /**
   * The lower triangle of each matrix: zeros above a diagonal, as torch.tril.
   *
   * @param options diagonal: 0 is the main one, 1 the one above it
   * @returns a copy
   * @throws {GptLayersError} SHAPE for a tensor of less than 2 axes
   * @example gpt.ones([2, 2]).tril().toArray() // [[1, 0], [1, 1]]
   */
  tril(options?: TriangleOptions): Tensor {
    return triangle(this, options, true)
  }

  /**
   * The upper triangle of each matrix: zeros below a diagonal, as torch.triu.
   *
   * @param options diagonal: 0 is the main one, 1 the one above it
   * @returns a copy
   * @throws {GptLayersError} SHAPE for a tensor of less than 2 axes
   * @example gpt.ones([2, 2]).triu({ diagonal: 1 }).toArray() // [[0, 1], [0, 0]]
   */
  triu(options?: TriangleOptions): Tensor {
    return triangle(this, options, false)
  }

  /**
   * The matrix product, as torch.matmul. The leading axes broadcast.
   *
   * @param other [..., inner, cols], or a vector: [inner]
   * @returns [..., rows, cols] for this [..., rows, inner]; without rows where this tensor is a vector,
   *   [inner], and without cols where the other one is
   * @example gpt.ones([4, 2, 3]).matmul(gpt.ones([4, 3, 5])).shape // [4, 2, 5]
   * @example gpt.tensor([1, 2]).matmul(gpt.tensor([3, 4])).item() // 11
   */
  matmul(other: Tensor): Tensor {
    return matmul(this, checkTensor('other', other))
  }

  /**
   * The same elements with the axes in another order. Unlike PyTorch's, a copy.
   *
   * @param dims each axis once, negative from the end
   * @example gpt.zeros([2, 3, 5]).permute([0, 2, 1]).shape // [2, 5, 3]
   */
  permute(dims: readonly number[]): Tensor {
    return permute(this, dims)
  }

  /**
   * The same elements with two axes swapped. Unlike PyTorch's, a copy.
   *
   * @param dim0 an axis, negative from the end
   * @example gpt.zeros([2, 3, 5]).transpose(1, 2).shape // [2, 5, 3]
   */
  transpose(dim0: number, dim1: number): Tensor {
    return transpose(this, dim0, dim1)
  }

  /**
   * The elements at one index of the first axis, as PyTorch's `x[index]`: a tensor of the other axes. Unlike
   * PyTorch's, a copy.
   *
   * @param index negative from the end
   * @throws {GptLayersError} VALUE for an index out of range; SHAPE for a tensor of shape `[]`
   * @example gpt.tensor([[1, 2], [3, 4]]).at(-1).toArray() // [3, 4]
   */
  at(index: number): Tensor {
    return at(this, index)
  }

  /**
   * The elements at some indices of an axis, as PyTorch's `x[start:end]`. Unlike PyTorch's, a copy.
   *
   * @param start the first index, negative from the end; 0 by default
   * @param end the index after the last one, negative from the end; by default the end
   * @returns a tensor without elements where start is not before end
   * @throws {GptLayersError} SHAPE for a tensor of shape `[]`
   * @example gpt.tensor([1, 2, 3, 4]).slice(1, 3).toArray() // [2, 3]
   * @example gpt.zeros([2, 6]).slice(-2, undefined, { dim: 1 }).shape // [2, 2]
   */
  slice(start?: number, end?: number, options?: AxisOptions): Tensor {
    return slice(this, start, end, options)
  }

  /**
   * Pieces along an axis, as torch.split. Unlike PyTorch's, copies.
   *
   * @param size the size of each piece along the axis; the last one may be smaller
   * @example gpt.zeros([2, 6]).split(2, { dim: -1 }).length // 3
   */
  split(size: number, options?: AxisOptions): Tensor[] {
    return split(this, size, options)
  }

  /**
   * n pieces along an axis, as torch.chunk. Unlike PyTorch's, copies.
   *
   * @param n how many. Where it does not divide the axis, the last piece is smaller, and there may be fewer
   * @throws {GptLayersError} SHAPE for a tensor of shape `[]`
   * @example gpt.zeros([2, 6]).chunk(3, { dim: -1 })[0].shape // [2, 2]
   */
  chunk(n: number, options?: AxisOptions): Tensor[] {
    return chunk(this, n, options)
  }

  /**
   * e^x / Σ e^x over an axis, as torch.softmax.
   *
   * @returns a tensor of this shape; within 1e-6 of float64. Its gradient, dx = y · (dy - Σ dy·y), reads it: do
   *   not write into it before `backward`
   * @example gpt.tensor([0, 0, -Infinity]).softmax({ dim: -1 }).toArray() // [0.5, 0.5, 0]
   */
  softmax(options?: SoftmaxOptions): Tensor {
    return softmax(this, options)
  }

  /**
   * x - log Σ e^x over an axis, as torch.log_softmax: the logarithm of `softmax`, also where that is too small
   * for a float32.
   *
   * @returns a tensor of this shape. Its gradient reads it, too
   * @example gpt.tensor([0, 200]).logSoftmax({ dim: -1 }).toArray() // [-200, 0]
   */
  logSoftmax(options?: SoftmaxOptions): Tensor {
    return logSoftmax(this, options)
  }

  /**
   * @returns e to the power of each element
   */
  exp(): Tensor {
    return unary(this, 'gpt_exp', { fromY: (dy, y) => dy.mul(y) })
  }

  /**
   * @returns the natural logarithm of each element; NaN below 0, -Infinity at 0
   */
  log(): Tensor {
    return unary(this, 'gpt_log', { fromX: (dy, x) => dy.div(x) })
  }

  /**
   * @returns each element to the power of the exponent
   * @example gpt.tensor([2, 3]).pow(2).toArray() // [4, 9]
   */
  pow(exponent: number): Tensor {
    checkNumber('exponent', exponent, 'a number', () => true)
    return pow(this, exponent)
  }

  /**
   * @returns minus each element
   */
  neg(): Tensor {
    return this.mul(-1)
  }

  /**
   * @returns the absolute value of each element. Its gradient at 0 is 0, as PyTorch's
   */
  abs(): Tensor {
    return unary(this, 'gpt_abs', { kernel: 'gpt_abs_backward' })
  }

  /**
   * @returns the hyperbolic tangent of each element
   */
  tanh(): Tensor {
    return unary(this, 'gpt_tanh', { fromY: (dy, y) => dy.sub(dy.mul(y.mul(y))) })
  }

  /**
   * @returns the square root of each element; NaN below 0
   */
  sqrt(): Tensor {
    return unary(this, 'gpt_sqrt', { fromY: (dy, y) => dy.div(y.mul(2)) })
  }

  /**
   * @returns 1 / √x of each element; Infinity at 0, NaN below
   */
  rsqrt(): Tensor {
    return rsqrt(this)
  }

  /**
   * @returns 1 / x of each element
   */
  reciprocal(): Tensor {
    return reciprocal(this)
  }

  /**
   * @returns the sine of each element, in radians; NaN of an infinity
   */
  sin(): Tensor {
    return sin(this)
  }

  /**
   * @returns the cosine of each element, in radians; NaN of an infinity
   */
  cos(): Tensor {
    return cos(this)
  }

  /**
   * @returns 1 / (1 + e^-x) of each element
   * @example gpt.tensor([0]).sigmoid().item() // 0.5
   */
  sigmoid(): Tensor {
    return sigmoid(this)
  }

  /**
   * @returns x / (1 + e^-x) of each element, as PyTorch's silu
   * @example String(gpt.tensor([1]).silu()) // 'tensor([0.7311])'
   */
  silu(): Tensor {
    return silu(this)
  }

  /**
   * @returns max(0, x) of each element. Its gradient at 0 is 0
   */
  relu(): Tensor {
    return relu(this)
  }

  /**
   * @param options approximate: `'tanh'`, the default, or `'none'`, as the layer GELU
   * @returns x · Φ(x) of each element
   */
  gelu(options?: GELUOptions): Tensor {
    const { approximate } = checkOptions<Required<GELUOptions>>(options, { approximate: 'tanh' })
    checkChoice('approximate', approximate, ['tanh', 'none'])
    return gelu(this, approximate)
  }

  /**
   * Limits each element to the range from `min` to `max`, as torch.clamp. NaN stays NaN.
   *
   * @throws {GptLayersError} VALUE where neither is given
   * @example gpt.tensor([-2, 0.5, 2]).clamp({ min: -1, max: 1 }).toArray() // [-1, 0.5, 1]
   */
  clamp(options?: ClampOptions): Tensor {
    return clamp(this, options)
  }

  /**
   * Frees the memory at once, the gradient's too. Memory that another tensor shares, such as one from
   * `reshape` or `detach`, is freed with the last of them. Using the tensor afterwards is an error; disposing
   * again is not.
   */
  dispose(): void {
    if (this.#owners > 0) this.#step?.receiveOutput(this)
    this.#owners = 0
    this.#free()
  }

  #free(): void {
    this.freeGradient()
    if (this.#storage !== null) this.#storage.memory.drop(this.#storage)
    this.#storage = null
    this.#isMeta = false
    this.#int8Weight?.dispose()
    this.#int8Weight = null
  }

  // Where Symbol.dispose does not exist yet, this defines a method named "undefined", which nobody calls.
  /** @internal */
  [Symbol.dispose](): void {
    this.dispose()
  }

  /** The place of an element. @internal */
  pointerTo(index: number): Pointer {
    return index === 0 ? this : { byteOffset: this.byteOffset + 4 * index }
  }

  /** A second tensor on the same memory, with as many elements. @internal */
  static alias(tensor: Tensor, shape: readonly number[]): Tensor {
    const storage = tensor.#live()
    storage.owners++
    return new Tensor(shape, storage)
  }

  /** Adds an owner: see runtime/scope.ts. @internal */
  hold(): this {
    this.#owners++
    return this
  }

  /** One owner lets go: the last one frees the memory. @internal */
  letGo(): void {
    if (this.#owners === 0 || --this.#owners > 0) return
    if (!this.#step?.receiveOutput(this)) this.#free()
  }

  /** @internal */
  get hasOtherOwners(): boolean {
    return this.#owners > 1
  }

  /** Whether somebody else has this tensor, or another tensor uses the same memory. @internal */
  get isShared(): boolean {
    return this.#owners > 1 || (this.#storage !== null && this.#storage.owners > 1)
  }

  /** @internal */
  get isTrainedLeaf(): boolean {
    return this.#requiresGrad && this.#step === null
  }

  /** Why the tensor has no memory, for an error. @internal */
  get fate(): string {
    if (this.#isMeta) return 'one that has no values before the file is read'
    return this.#int8Weight ? 'one that quantize has made int8: see int8Weight' : 'one that was disposed'
  }

  #live(): Storage {
    checkLive(this)
    return this.#storage as Storage
  }
}
