// Operations along one axis or several: sums, statistics, the largest and the smallest elements.

import { checkBoolean, checkNumber, checkOptions } from '../check.ts'
import { fail } from '../errors.ts'
import { type FunctionName, heap, run } from '../runtime/runtime.ts'
import { checkLive } from './check.ts'
import { repeat } from './elementwise.ts'
import { pick, placesOf } from './pick.ts'
import { temporary } from '../runtime/scope.ts'
import { axisOf, checkAxes, checkAxis, checkIndexed, rowBegin, sizeOf } from './shape.ts'
import { record } from './tape.ts'
import { Tensor } from './tensor.ts'

export interface Reduction {
  /** the axis or several axes, negative from the end; by default, and for `[]`, all elements */
  dim?: number | readonly number[]
  /** whether to keep the axis or axes, with size 1; false by default */
  keepdim?: boolean
}

export interface AxisReduction extends Reduction {
  /** the axis, negative from the end; by default all elements */
  dim?: number
}

export interface VarianceOptions extends Reduction {
  /** divides by n - correction: 1, PyTorch's default, or 0, as layer normalization does */
  correction?: number
  /** PyTorch's former name: true is correction 1, false is correction 0 */
  unbiased?: boolean
}

export interface CumsumOptions {
  /** the axis, negative from the end */
  dim: number
}

const DEFAULTS = { dim: [], keepdim: false }

/** y = Σ x; dx = dy along the axes */
export function sum(x: Tensor, options?: Reduction): Tensor {
  const along = checkReduction(x, options)
  const { shape } = x
  return record(reduceWith('gpt_sum', x, along), [x], (dy) => [spread(dy, shape, along)], [])
}

/** y = Σ x / n; dx = dy / n */
export function mean(x: Tensor, options?: Reduction): Tensor {
  const along = checkReduction(x, options)
  const y = reduceWith('gpt_mean', x, along)
  const { shape, size } = x
  return record(y, [x], (dy) => [spread(dy.div(size / y.size), shape, along)], [])
}

/** y = Σ (x - mean)² / (n - correction); dx = 2 · (x - mean) · dy / (n - correction) */
export function variance(x: Tensor, options?: VarianceOptions): Tensor {
  const { y, gradient } = varianceOf(x, options)
  return record(y, [x], (dy) => [gradient(dy)], [x])
}

/** y = √var; dx = dvar / 2y, and 0 where y is 0 */
export function std(x: Tensor, options?: VarianceOptions): Tensor {
  const { y, gradient } = varianceOf(x, options)
  y.data.set(y.data.map(Math.sqrt))
  return record(y, [x], (dy) => [gradient(dy.div(y.mul(2)).maskedFill(y.eq(0), 0))], [x, y])
}

/** @returns y, not recorded, and dx for dy */
function varianceOf(
  x: Tensor,
  options: VarianceOptions | undefined,
): { y: Tensor; gradient: (dy: Tensor) => Tensor } {
  const none = { ...DEFAULTS, correction: undefined, unbiased: undefined }
  const given = checkOptions<VarianceOptions>(options, none)
  const { unbiased = true, correction = unbiased ? 1 : 0, ...reduction } = given
  if (given.unbiased !== undefined && given.correction !== undefined) {
    throw fail('VALUE', 'options', 'have correction or unbiased', 'both')
  }
  checkBoolean('unbiased', unbiased)
  checkNumber('correction', correction, 'a finite number', Number.isFinite)
  const along = checkReduction(x, reduction)
  const y = reduceWith('gpt_var', x, along, correction === 1)
  const n = x.size / y.size
  const divisor = Math.max(0, n - correction)
  if (correction !== 0 && correction !== 1) y.data.set(y.data.map((value) => (value * n) / divisor))
  const gradient = (dy: Tensor) => {
    const deviations = x.sub(x.mean({ dim: along.axes, keepdim: true }))
    return deviations.mul(dy.mul(2 / divisor).reshape(keptShape(x.shape, along.axes)))
  }
  return { y, gradient }
}

/** y_i = x_0 + ... + x_i; dx_i = dy_i + ... + dy_n. Added in float64, as PyTorch does on the CPU. */
export function cumsum(x: Tensor, options: CumsumOptions): Tensor {
  const { dim } = checkOptions<Partial<CumsumOptions>>(options, { dim: undefined })
  checkLive(x)
  const { size, outer, inner } = axisOf(x.shape, checkAxis('dim', dim, x.shape.length))
  const added = (whole: Tensor, isFromEnd: boolean) => {
    const y = Tensor.empty(whole.shape)
    const [from, to] = [whole.data, y.data]
    const step = isFromEnd ? -inner : inner
    for (let row = 0; row < outer * inner; row++) {
      const first = rowBegin(row, size, inner)
      let sum = 0
      let at = isFromEnd ? first + (size - 1) * inner : first
      for (let i = 0; i < size; i++, at += step) {
        sum += from[at]
        to[at] = sum
      }
    }
    return y
  }
  return record(added(x, false), [x], (dy) => [added(dy, true)], [])
}

/** y = √Σ x²; dx = dy · x / y, and 0 where y is 0 */
export function norm(x: Tensor, options?: Reduction): Tensor {
  // dim comes last: the first argument of PyTorch's norm is p, which is no option here.
  const along = checkReduction(x, options, { keepdim: false, dim: undefined })
  const y = reduceRows(x, along, (row) => Math.sqrt(row.reduce((sum, value) => sum + value * value, 0)))
  const backward = (dy: Tensor) => {
    const scale = dy.div(y).maskedFill(y.eq(0), 0)
    return [x.mul(scale.reshape(keptShape(x.shape, along.axes)))]
  }
  return record(y, [x], backward, [x, y])
}

/** y = log Σ e^x = m + log Σ e^(x - m) with the largest element m; dx = dy · e^(x - y) */
export function logsumexp(x: Tensor, options?: Reduction): Tensor {
  const along = checkReduction(x, options)
  const y = reduceRows(x, along, (row) => {
    const largest = row.reduce((most, value) => Math.max(most, value), -Infinity)
    const sum = row.reduce((sum, value) => sum + Math.exp(value - largest), 0)
    return Math.abs(largest) === Infinity ? largest : largest + Math.log(sum)
  })
  const backward = (dy: Tensor) => {
    const [kept, given] = [y, dy].map((one) => one.reshape(keptShape(x.shape, along.axes)))
    return [x.sub(kept).exp().mul(given)]
  }
  return record(y, [x], backward, [x, y])
}

export interface Extremes {
  values: Tensor
  /** of each value, along the axis */
  indices: Tensor
}

/** Which of the elements a reduction takes. */
type Extreme = 'largest' | 'smallest'

/** As PyTorch's max and min: y = x at the index, or, without `dim`, the largest of all elements. */
export function extreme(which: Extreme, x: Tensor, options?: AxisReduction): Tensor | Extremes {
  const along = checkOne(x, options)
  if (along.isAll) return extremeOfAll(which, x, along)
  const { axes } = along
  const indices = indicesOf(which, x, along)
  const places = placesOf(x.shape, axes[0] ?? 0, indices.data, keptShape(x.shape, axes))
  return { values: pick(x, places, indices.shape), indices }
}

/** The gradient is divided equally among all elements that equal y, as in PyTorch. */
function extremeOfAll(which: Extreme, x: Tensor, along: AlongOne): Tensor {
  const y = wordsOf(which, x, along)
  const value = x.data[heap().words(y.byteOffset, 1)[0]]
  y.data[0] = value
  const { shape } = x
  const backward = (dy: Tensor) => {
    const isEqual = (one: number) => Object.is(one, value) || one === value
    const share = dy.item() / x.data.filter(isEqual).length
    const dx = Tensor.empty(shape)
    dx.data.set(x.data.map((one) => (isEqual(one) ? share : 0)))
    return [dx]
  }
  return record(y, [x], backward, [x])
}

/** As PyTorch's argmax and argmin; without options a number. */
export function argExtreme(which: Extreme, x: Tensor, options?: AxisReduction): Tensor | number {
  const along = checkOne(x, options)
  if (options !== undefined) return indicesOf(which, x, along)
  const index = wordsOf(which, x, along)
  const [found] = heap().words(index.byteOffset, 1)
  index.dispose()
  return found
}

/** @returns the indices of the largest or smallest elements. NaN is both; otherwise the first counts */
function indicesOf(which: Extreme, x: Tensor, along: AlongOne): Tensor {
  checkIndexed(sizeAlong(x, along), x.shape)
  const indices = wordsOf(which, x, along)
  indices.data.set(heap().words(indices.byteOffset, indices.size))
  return indices
}

/** @returns as `indicesOf`, but the memory holds int32 values */
function wordsOf(which: Extreme, x: Tensor, along: AlongOne): Tensor {
  if (sizeAlong(x, along) === 0) {
    throw fail('SHAPE', 'the tensor', `have elements${along.isAll ? '' : ' along dim'}`, x.shape)
  }
  // The smallest is the largest of -x.
  return temporary(() =>
    reduce(which === 'largest' ? x : x.detach().neg(), along, (result, matrix, rows, cols) =>
      run('gpt_max', [null, result, matrix, rows, cols]),
    ),
  )
}

/** The axes, checked: ascending, none for a tensor of shape []. */
interface Along {
  axes: readonly number[]
  keepdim: boolean
}

/** One axis, or all. */
interface AlongOne extends Along {
  isAll: boolean
}

/** @param options as the user gave them */
function checkOne(x: Tensor, options: AxisReduction | undefined): AlongOne {
  const given = checkOptions<AxisReduction>(options, { ...DEFAULTS, dim: undefined })
  const { dim } = given
  if (dim !== undefined) checkAxis('dim', dim, x.shape.length)
  return { ...checkReduction(x, given), isAll: dim === undefined }
}

/** @param options as the user gave them */
function checkReduction(x: Tensor, options: Reduction | undefined, defaults: Reduction = DEFAULTS): Along {
  const { dim, keepdim } = checkOptions<Reduction>(options, defaults)
  checkBoolean('keepdim', keepdim)
  checkLive(x)
  return { axes: checkAxes('dim', dim, x.shape.length), keepdim }
}

/** @returns how many elements become one */
const sizeAlong = (x: Tensor, { axes }: Along): number => sizeOf(axes.map((axis) => x.shape[axis]))

/** @returns the shape after a reduction with keepdim */
const keptShape = (shape: readonly number[], axes: readonly number[]): number[] =>
  shape.map((size, axis) => (axes.includes(axis) ? 1 : size))

const resultShape = (shape: readonly number[], { axes, keepdim }: Along): number[] =>
  keepdim ? keptShape(shape, axes) : shape.filter((_, axis) => !axes.includes(axis))

/**
 * The inverse of a reduction, for gradients.
 *
 * @param dy in the shape of the reduction's result
 * @param shape the shape of the reduction's input
 * @returns dy, repeated along the axes that were reduced
 */
const spread = (dy: Tensor, shape: readonly number[], { axes }: Along): Tensor =>
  repeat(dy.reshape(keptShape(shape, axes)), shape)

/** Writes the results of a matrix's rows. */
type RowKernel = (result: Tensor, matrix: Tensor, rows: number, cols: number) => void

/** @param rest the kernel's arguments after the sizes */
const reduceWith = (kernel: FunctionName, x: Tensor, along: Along, ...rest: boolean[]): Tensor =>
  reduce(x, along, (result, matrix, rows, cols) => run(kernel, [result, matrix, rows, cols, ...rest]))

/** Reduces axes with a kernel that reduces the last axis of a matrix. */
function reduce(x: Tensor, along: Along, kernel: RowKernel): Tensor {
  return temporary(() => {
    const result = Tensor.empty(resultShape(x.shape, along))
    kernel(result, withLast(x, along.axes), result.size, sizeAlong(x, along))
    return result
  })
}

/** Reduces axes with a function of the elements that become one, in float64. */
const reduceRows = (x: Tensor, along: Along, ofRow: (row: Float32Array) => number): Tensor =>
  reduce(x, along, (result, matrix, rows, cols) => {
    const [from, to] = [matrix.data, result.data]
    for (let row = 0; row < rows; row++) to[row] = ofRow(from.subarray(row * cols, (row + 1) * cols))
  })

/** @returns the elements with these axes after the others: x itself where they are, otherwise a copy */
function withLast(x: Tensor, axes: readonly number[]): Tensor {
  // Neighbors of one kind are one axis, so that few axes are moved.
  const blocks: { size: number; isReduced: boolean }[] = []
  x.shape.forEach((size, axis) => {
    const isReduced = axes.includes(axis)
    const last = blocks.at(-1)
    if (size === 1) return
    if (last?.isReduced === isReduced) last.size *= size
    else blocks.push({ size, isReduced })
  })
  const isLast = blocks.every(({ isReduced }, i) => !isReduced || i === blocks.length - 1)
  if (isLast) return x
  const order = blocks
    .map((_, i) => i)
    .sort((a, b) => Number(blocks[a].isReduced) - Number(blocks[b].isReduced))
  return x
    .detach()
    .reshape(blocks.map(({ size }) => size))
    .permute(order)
}
