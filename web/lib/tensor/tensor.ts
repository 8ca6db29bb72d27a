import type { Storage } from '../runtime/memory.ts'
import type { Disposes } from '../typed.ts'
import type { Int8Weight } from './int8weight.ts'
import { checkBoolean, checkOptions, describe, integer } from '../check.ts'
import { fail, GptLayersError } from '../errors.ts'
import { type Pointer, heap } from '../runtime/runtime.ts'
import { giveToScope } from '../runtime/scope.ts'
import { Compared, hashOfFloats, withoutValues } from './compared.ts'
import { type NestedArray, toNested } from './nested.ts'
import { type PrintOptions, formatTensor } from './print.ts'
import { checkElements, checkSameShape } from './shape.ts'
import { type BackwardOptions, type Step, backward } from './tape.ts'

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
  private constructor(shape: readonly number[], storage: Storage | null, size: number) {
    if (storage === undefined) throw new GptLayersError('TYPE', 'Tensor: make one with gpt.tensor(values)')
    this.#shape = Object.freeze(shape) // kernels rely on it
    this.#size = size
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

  /** The elements are undefined until they are written. @internal */
  static empty(shape: readonly number[]): Tensor {
    const size = checkElements(shape)
    return new Tensor(shape, heap().store(4 * size), size)
  }

  /** @internal */
  static full(shape: readonly number[], value: number): Tensor {
    const tensor = Tensor.empty(shape)
    tensor.data.fill(value)
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
    const size = checkElements(shape)
    const storage = makesMeta ? null : heap().store(4 * size)
    const parameter = Tensor.makeParameter(new Tensor(shape, storage, size))
    if (storage !== null) initialize(parameter)
    return parameter
  }

  /** @internal */
  static makeParameter(tensor: Tensor): Tensor {
    if (tensor.#step !== null) {
      throw fail('VALUE', 'tensor', 'be a leaf', 'a computed one; detach() it')
    }
    tensor.#requiresGrad = true
    tensor.#isParameter = true
    return tensor
  }

  /** @internal */
  get isParameter(): boolean {
    return this.#isParameter
  }

  /** @internal */
  get isMeta(): boolean {
    return this.#isMeta
  }

  /** Gives a meta tensor its memory. @internal */
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

  /** Frees the float32 values. The int8 weight, which takes their place, belongs to this tensor. @internal */
  becomeInt8(int8Weight: Int8Weight): void {
    this.#free()
    this.#int8Weight = int8Weight
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
      Tensor.live(this)
      checkTensor('value', gradient, 'a Tensor or null')
      checkSameShape('value', gradient.shape, this.#shape)
      if (gradient === this) {
        throw fail('VALUE', 'value', 'be another Tensor', 'the tensor itself')
      }
    }
    if (gradient === this.#grad) return
    const before = this.#grad
    this.#grad = gradient?.hold() ?? null
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
    backward(this, first, second)
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

  /** @internal */
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
    return Tensor.live(this).offset
  }

  /**
   * A view of the elements in the WebAssembly's memory: writing to it changes the tensor. Get it anew after
   * every call that may allocate memory, because growing the memory detaches all views.
   *
   * @returns row-major
   */
  get data(): Float32Array {
    const { memory, offset } = Tensor.live(this)
    return memory.floats(offset, this.#size)
  }

  /**
   * The value of a tensor that has one element.
   *
   * @throws {GptLayersError} SHAPE for another number of elements
   * @example gpt.tensor([[2]]).item() // 2
   */
  item(): number {
    Tensor.live(this)
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
    return toNested(this.data, this.shape)
  }

  /**
   * What `JSON.stringify` writes: the elements as nested arrays. JSON has no NaN and no infinities: they
   * become null.
   *
   * @example JSON.stringify({ x: gpt.tensor([1, NaN]) }) // '{"x":[1,null]}'
   */
  toJSON(_key?: string): NestedArray {
    return toNested(this.data, this.shape)
  }

  /**
   * The text that PyTorch's `print` shows, character for character.
   *
   * @example String(gpt.tensor([1, 2])) // 'tensor([1., 2.])'
   */
  toString(options?: PrintOptions): string {
    const checks = { sciMode: checkBoolean, precision: integer(0, 20) }
    const { sciMode, precision } = checkOptions(options, { precision: 4, sciMode: undefined }, checks)
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

  /** Frees `.grad` and makes it null. @internal */
  freeGradient(): void {
    const gradient = this.#grad
    this.#grad = null // first: the gradient's own gradient may be this tensor
    gradient?.letGo()
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

  /** @internal */
  pointerTo(index: number): Pointer {
    return index === 0 ? this : { byteOffset: this.byteOffset + 4 * index }
  }

  /** @internal @throws {GptLayersError} DISPOSED where the tensor is not live */
  static live(tensor: Tensor): Storage {
    if (tensor.#storage === null || tensor.#storage.memory.disposed) {
      throw fail('DISPOSED', 'the tensor', 'be live', tensor.whyNotLive)
    }
    return tensor.#storage
  }

  /** A second tensor on the same memory. @internal @param shape of as many elements */
  static alias(tensor: Tensor, shape: readonly number[]): Tensor {
    const storage = Tensor.live(tensor)
    storage.owners++
    return new Tensor(shape, storage, tensor.#size)
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
  get whyNotLive(): string {
    if (this.#isMeta) return 'one that has no values before the file is read'
    return this.#int8Weight ? 'one that quantize has made int8: see int8Weight' : 'one that was disposed'
  }
}

// Checks of tensor arguments. Each takes the argument's name, for the error message.

/** @param expected in words: `a Tensor or a number` */
export function checkTensor(name: string, value: unknown, expected: string = 'a Tensor'): Tensor {
  if (!(value instanceof Tensor)) throw fail('TYPE', name, `be ${expected}`, describe(value))
  if (value.disposed) throw fail('DISPOSED', name, 'be a live Tensor', value.whyNotLive)
  return value
}

export function checkTensorOf(name: string, value: unknown, shape: readonly number[]): Tensor {
  const tensor = checkTensor(name, value)
  checkSameShape(name, tensor.shape, shape)
  return tensor
}

export const checkOptional = (name: string, value: unknown, shape: readonly number[]): Tensor | null =>
  value === null ? null : checkTensorOf(name, value, shape)

/**
 * @param sizes of x's last axes
 * @param name the layer's name for them
 * @returns the number of tensors of this shape in x
 */
export function checkRows(x: unknown, sizes: readonly number[], name: string): number {
  const { shape } = checkTensor('x', x)
  const before = shape.length - sizes.length
  for (let i = 0; i < sizes.length; i++) {
    if (shape[before + i] !== sizes[i])
      throw fail('SHAPE', 'x', `end in ${sizes.join(', ')} (${name})`, shape)
  }
  let rows = 1
  for (let i = 0; i < before; i++) rows *= shape[i]
  return rows
}
