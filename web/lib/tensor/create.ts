import type { NumberArray } from '../typed.ts'
import { checkAxisSize, checkFinite, checkInteger, checkNumber, named } from '../check.ts'
import { fail } from '../errors.ts'
import * as random from '../runtime/random.ts'
import { heap } from '../runtime/runtime.ts'
import { type NestedArray, fromNested } from './nested.ts'
import { MAX_INTEGER, checkShape, sameShape, sizeOf } from './shape.ts'
import { checkTensor, Tensor } from './tensor.ts'

/**
 * Seeds the generator, as torch.manual_seed: `randn`, `rand`, `randint`, `multinomial` and new layers then draw the
 * numbers that PyTorch draws on the CPU.
 *
 * @param n an integer; only the low 32 bits count, as in PyTorch
 * @example
 * gpt.manualSeed(123)
 * String(gpt.randn([2])) // 'tensor([-0.1115,  0.1204])'
 */
export const manualSeed = /* @__PURE__ */ named('manualSeed', (n: number): void => {
  checkNumber('n', n, 'a safe integer', Number.isSafeInteger)
  random.seed(n)
})

function ofShape(name: string, write: (tensor: Tensor) => void): (shape: readonly number[]) => Tensor {
  const make = (shape: readonly number[]) => {
    const tensor = Tensor.empty(checkShape(shape))
    write(tensor)
    return tensor
  }
  return named(name, make, '...')
}

/** A tensor drawn from N(0, 1), as torch.randn: the same bits that PyTorch draws on an x86 CPU with AVX2. */
export const randn = /* @__PURE__ */ ofShape('randn', random.normal)

/** A tensor drawn from U[0, 1), as torch.rand: the same bits that PyTorch draws on the CPU. */
export const rand = /* @__PURE__ */ ofShape('rand', random.uniform)

/**
 * A tensor of integers from low to high - 1, as torch.randint: the same that PyTorch draws on the CPU.
 *
 * @param low from -2^24; high to 2^24: float32 holds all integers between
 * @example
 * gpt.manualSeed(123)
 * gpt.randint(0, 10, [4]).toArray() // [2, 9, 2, 0]
 */
export const randint = /* @__PURE__ */ named(
  'randint',
  (low: number, high: number, shape: readonly number[]): Tensor => {
    checkInteger('low', low, -MAX_INTEGER, MAX_INTEGER)
    checkInteger('high', high, low + 1, MAX_INTEGER)
    const tensor = Tensor.empty(checkShape(shape))
    random.words(tensor)
    toIntegers(tensor.data, heap().words(tensor.byteOffset, tensor.size), low, high - low)
    return tensor
  },
)

/**
 * A tensor of given values, rounded to float32.
 *
 * @param values a number, nested arrays, or a flat array or typed array with a shape
 * @param shape by default the shape of the nesting
 * @example gpt.tensor([[1, 2], [3, 4]])
 * @example gpt.tensor(new Float32Array(6), [2, 3])
 */
export const tensor = /* @__PURE__ */ named(
  'tensor',
  (values: NestedArray | NumberArray, shape?: readonly number[]): Tensor => {
    const given = shape === undefined ? undefined : checkShape(shape)
    const { data, shape: nesting } = fromNested('values', values)
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
  },
)

/** A tensor of zeros. */
export const zeros = /* @__PURE__ */ ofShape('zeros', (tensor) => tensor.data.fill(0))

/** A tensor of ones. */
export const ones = /* @__PURE__ */ ofShape('ones', (tensor) => tensor.data.fill(1))

/**
 * A tensor of one value, as torch.full.
 *
 * @param value rounded to float32; may be NaN or infinite
 * @example gpt.full([2, 2], -Infinity)
 * @example gpt.full([2], 7).toArray() // [7, 7]
 */
export const full = /* @__PURE__ */ named('full', (shape: readonly number[], value: number): Tensor => {
  const sizes = checkShape(shape)
  checkNumber('value', value)
  return Tensor.full(sizes, value)
})

/** A tensor of zeros, of the shape of x, as torch.zeros_like. It requires no gradient. */
export const zerosLike = /* @__PURE__ */ named('zerosLike', (x: Tensor): Tensor =>
  Tensor.full(checkTensor('x', x).shape, 0),
)

/** A tensor of ones, of the shape of x, as torch.ones_like. It requires no gradient. */
export const onesLike = /* @__PURE__ */ named('onesLike', (x: Tensor): Tensor =>
  Tensor.full(checkTensor('x', x).shape, 1),
)

interface Arange {
  /**
   * The integers 0, 1, ... below `end`, as torch.arange.
   *
   * @returns [max(0, ceil(end))]. Integers are exact up to 2^24
   * @throws {GptLayersError} VALUE where end is below 0
   * @example gpt.arange(4).toArray() // [0, 1, 2, 3]
   */
  (end: number): Tensor
  /**
   * The numbers start, start + step, start + 2 · step, ... before `end`, as torch.arange.
   *
   * @param step not 0; 1 by default
   * @returns [ceil((end - start) / step)]; each element is start + i · step, rounded to float32 once
   * @throws {GptLayersError} VALUE where the steps lead away from `end`
   * @example gpt.arange(2, 8, 3).toArray() // [2, 5]
   * @example gpt.arange(3, 0, -1).toArray() // [3, 2, 1]
   */
  (start: number, end: number, step?: number): Tensor
}

export const arange: Arange = /* @__PURE__ */ named(
  'arange',
  (first: number, second?: number, step?: number) => {
    const isEnd = second === undefined && step === undefined
    const [start, end, by] = isEnd ? [0, first, 1] : [first, second, step === undefined ? 1 : step]
    checkFinite('start', start)
    checkFinite('end', end)
    checkNumber('step', by, 'a finite number other than 0', (n) => Number.isFinite(n) && n !== 0)
    const count = Math.ceil((end - start) / by)
    if (count < 0) {
      throw fail('VALUE', 'end', `be at ${by > 0 ? 'least' : 'most'} ${start} for a step of ${by}`, end)
    }
    const tensor = Tensor.empty([count === 0 ? 0 : count]) // -0 is no size
    const { data } = tensor
    for (let i = 0; i < count; i++) data[i] = start + i * by
    return tensor
  },
)

/**
 * A matrix with ones on its diagonal and zeros elsewhere, as torch.eye.
 *
 * @param n rows
 * @param m columns; n by default
 * @example gpt.eye(2).toArray() // [[1, 0], [0, 1]]
 */
export const eye = /* @__PURE__ */ named('eye', (n: number, m?: number): Tensor => {
  checkAxisSize('n', n)
  const cols = m === undefined ? n : m
  checkAxisSize('m', cols)
  const tensor = Tensor.full([n, cols], 0)
  const { data } = tensor
  for (let i = 0; i < Math.min(n, cols); i++) data[i * cols + i] = 1
  return tensor
})

/**
 * low + words modulo range. The quotient is exact enough to be rounded down, and `%` took 8 times as long. A
 * function of its own, so that the engine compiles its loop well.
 *
 * @param words random bits; may be the memory of `to`
 */
function toIntegers(to: Float32Array, words: Int32Array, low: number, range: number): void {
  for (let i = 0; i < to.length; i++) {
    const word = words[i] >>> 0
    to[i] = low + word - Math.floor(word / range) * range
  }
}
