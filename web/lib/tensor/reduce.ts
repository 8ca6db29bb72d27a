import { checkBoolean, checkNumber, checkOptions } from '../check.ts'
import { fail } from '../errors.ts'
import { heap, run } from '../runtime/runtime.ts'
import { checkLive } from './check.ts'
import { repeat } from './elementwise.ts'
import { type NestedArray, nest } from './nested.ts'
import { temporary } from './scope.ts'
import { checkAxis, sizeOf } from './shape.ts'
import { record } from './tape.ts'
import { Tensor } from './tensor.ts'

type Kernel = 'gpt_sum' | 'gpt_mean' | 'gpt_var'

export interface Reduction {
  /** the axis, negative from the end; by default all elements */
  dim?: number
  /** whether to keep the axis, with size 1; false by default */
  keepdim?: boolean
}

export interface VarianceOptions extends Reduction {
  /** divides by n - correction: 1, PyTorch's default, or 0, as layer normalization does */
  correction?: number
  /** PyTorch's former name: true is correction 1, false is correction 0 */
  unbiased?: boolean
}

const VARIANCE_DEFAULTS: VarianceOptions = {
  dim: undefined,
  keepdim: false,
  correction: undefined,
  unbiased: undefined,
}

const DEFAULTS: Reduction = { dim: undefined, keepdim: false }

/** y = Σ x; dx = dy along the axis */
export function sum(x: Tensor, options?: Reduction): Tensor {
  const reduction = checkOptions(options, DEFAULTS)
  const y = reduceWith('gpt_sum', x, reduction)
  const { shape } = x
  return record(y, [x], (dy) => [spread(dy, shape, reduction)], [])
}

/** y = Σ x / n; dx = dy / n */
export function mean(x: Tensor, options?: Reduction): Tensor {
  const reduction = checkOptions(options, DEFAULTS)
  const y = reduceWith('gpt_mean', x, reduction)
  const { shape, size } = x
  return record(y, [x], (dy) => [spread(dy.div(size / y.size), shape, reduction)], [])
}

/** y = Σ (x - mean)² / (n - correction); dx = 2 · (x - mean) · dy / (n - correction) */
export function variance(x: Tensor, options?: VarianceOptions): Tensor {
  const given = checkOptions(options, VARIANCE_DEFAULTS)
  const { unbiased = true, correction = unbiased ? 1 : 0, ...reduction } = given
  if (given.unbiased !== undefined && given.correction !== undefined) {
    throw fail('VALUE', 'options', 'have correction or unbiased', 'both')
  }
  checkBoolean('unbiased', unbiased)
  checkNumber('correction', correction, 'a finite number', Number.isFinite)
  const y = reduceWith('gpt_var', x, reduction, correction === 1)
  const n = x.size / y.size
  const divisor = Math.max(0, n - correction)
  if (correction !== 0 && correction !== 1) y.data.set(y.data.map((value) => (value * n) / divisor))
  const backward = (dy: Tensor) => {
    const deviations = x.sub(spread(x.mean({ dim: reduction.dim }), x.shape, { dim: reduction.dim }))
    return [deviations.mul(spread(dy.mul(2 / divisor), x.shape, reduction))]
  }
  return record(y, [x], backward, [x])
}

/**
 * The gradient of a maximum goes to the element at its index. Without `dim` it is divided equally among all
 * elements that equal the maximum. Both as in PyTorch.
 */
export function max(x: Tensor, options?: Reduction): Tensor | { values: Tensor; indices: NestedArray } {
  const reduction = checkOptions(options, DEFAULTS)
  const { shape } = x
  const { dim } = reduction
  if (dim === undefined) {
    const values = reduceSome(x, reduction, (result, matrix, rows, cols) =>
      run('gpt_max', [result, null, matrix, rows, cols]),
    )
    const backward = (dy: Tensor) => {
      const [largest] = values.data
      const isLargest = (value: number) => Object.is(value, largest) || value === largest
      const share = dy.item() / x.data.filter(isLargest).length
      const dx = Tensor.empty(shape)
      dx.data.set(x.data.map((value) => (isLargest(value) ? share : 0)))
      return [dx]
    }
    return record(values, [x], backward, [x, values])
  }
  checkAxis('dim', dim, shape.length)
  const places = Tensor.empty(keptShape(shape, dim))
  const values = reduceSome(x, reduction, (result, matrix, rows, cols) =>
    run('gpt_max', [result, places, matrix, rows, cols]),
  )
  const backward = (dy: Tensor) => {
    const dx = Tensor.zeros(shape)
    const { size, inner } = axisOf(shape, dim)
    const [from, to] = [dy.data, dx.data]
    heap()
      .words(places.byteOffset, places.size)
      .forEach((index, i) => {
        to[(Math.floor(i / inner) * size + index) * inner + (i % inner)] = from[i]
      })
    return [dx]
  }
  record(values, [x], backward, [places])
  const indices = nest(heap().words(places.byteOffset, places.size), values.shape)
  if (values.step === null) places.dispose()
  return { values, indices }
}

export function argmax(x: Tensor, options?: Reduction): NestedArray {
  const reduction = checkOptions(options, DEFAULTS)
  const places = reduceSome(x, reduction, (result, matrix, rows, cols) =>
    run('gpt_max', [null, result, matrix, rows, cols]),
  )
  const indices = nest(heap().words(places.byteOffset, places.size), places.shape)
  places.dispose()
  return indices
}

/** @param rest the kernel's arguments after the sizes */
const reduceWith = (kernel: Kernel, x: Tensor, reduction: Reduction, ...rest: boolean[]): Tensor =>
  reduce(x, reduction, (result, matrix, rows, cols) => run(kernel, [result, matrix, rows, cols, ...rest]))

/** Writes the results of a matrix's rows. */
type RowKernel = (result: Tensor, matrix: Tensor, rows: number, cols: number) => void

/** As `reduce`, where no elements have no result. */
function reduceSome(x: Tensor, reduction: Reduction, kernel: RowKernel): Tensor {
  const { dim } = reduction
  const { shape } = x
  const count = dim === undefined ? x.size : shape[checkAxis('dim', dim, shape.length)]
  if (count === 0) {
    const elements = dim === undefined ? 'elements' : 'elements along dim'
    throw fail('SHAPE', 'the tensor', `have ${elements}`, shape)
  }
  return reduce(x, reduction, kernel)
}

/**
 * @param dim checked
 * @returns the axis from 0, its size, and the number of elements before and after it. The shape [] has one
 *   element, so its axis has size 1
 */
function axisOf(
  shape: readonly number[],
  dim: number,
): { axis: number; size: number; outer: number; inner: number } {
  const axis = dim < 0 ? dim + Math.max(shape.length, 1) : dim
  const [outer, inner] = [sizeOf(shape.slice(0, axis)), sizeOf(shape.slice(axis + 1))]
  return { axis, size: shape[axis] ?? 1, outer, inner }
}

/**
 * @param dim undefined: all axes
 * @returns the shape after a reduction with keepdim
 */
const keptShape = (shape: readonly number[], dim: number | undefined): number[] =>
  shape.map((size, i) => (dim === undefined || i === axisOf(shape, dim).axis ? 1 : size))

/**
 * The inverse of a reduction, for gradients.
 *
 * @param dy in the shape of the reduction's result
 * @param shape the shape of the reduction's input
 * @returns dy, repeated along the axes that were reduced
 */
const spread = (dy: Tensor, shape: readonly number[], { dim }: Reduction): Tensor =>
  repeat(dy.reshape(keptShape(shape, dim)), shape)

/**
 * Reduces one axis, or all elements, with a kernel that reduces the last axis of a matrix.
 *
 * @param reduction dim undefined: all elements
 */
function reduce(x: Tensor, { dim, keepdim }: Reduction, kernel: RowKernel): Tensor {
  checkBoolean('keepdim', keepdim)
  checkLive(x)
  const { shape } = x
  if (dim === undefined) {
    const result = Tensor.empty(keepdim ? shape.map(() => 1) : [])
    kernel(result, x, 1, x.size)
    return result
  }
  checkAxis('dim', dim, shape.length)
  const { axis, size, outer, inner } = axisOf(shape, dim)
  return temporary(() => {
    const result = Tensor.empty(keepdim ? keptShape(shape, dim) : shape.filter((_, i) => i !== axis))
    let matrix = x
    if (inner !== 1) {
      matrix = Tensor.empty([outer, inner, size])
      run('gpt_transpose', [matrix, x, outer, size, inner, 1])
    }
    kernel(result, matrix, outer * inner, size)
    return result
  })
}
