// Operations along one axis or several: sums, statistics, the largest and the smallest elements.

import { checkBoolean, checkFinite, checkOptions } from '../check.ts'
import { fail } from '../errors.ts'
import { type FunctionName, heap, run } from '../runtime/runtime.ts'
import { temporary } from '../runtime/scope.ts'
import { repeat } from './elementwise.ts'
import { operation } from './operation.ts'
import { axisOf, checkAxes, checkAxis, checkIndexed, sizeOf } from './shape.ts'
import { pick } from './slice.ts'
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

type Defaults = Reduction & { keepdim: boolean }

const DEFAULTS: Defaults = { dim: [], keepdim: false }

/**
 * The sum along an axis or several, or of all elements, as torch.sum.
 *
 * @returns 0 for a sum of no elements
 * @example gpt.tensor([[1, 2], [3, 5]]).sum({ dim: -1 }).toArray() // [3, 8]
 * @example gpt.ones([2, 3, 5]).sum({ dim: [0, 2] }).toArray() // [10, 10, 10]
 */
export const sum = /* @__PURE__ */ operation((x: Tensor, options?: Reduction): Tensor => {
  const along = checkReduction(x, options)
  const { shape } = x
  const y = reduceWith('gpt_sum', x, along)
  return record(y, [x], (dy) => [repeat(dy.reshape(along.kept), shape)], [])
}, 'dim keepdim')

/**
 * The mean along an axis or several, or of all elements, as torch.mean.
 *
 * @returns NaN for a mean of no elements
 * @example gpt.tensor([[1, 2], [3, 5]]).mean({ dim: -1 }).toArray() // [1.5, 4]
 */
export const mean = /* @__PURE__ */ operation((x: Tensor, options?: Reduction): Tensor => {
  const along = checkReduction(x, options)
  const { shape } = x
  const y = reduceWith('gpt_mean', x, along)
  return record(y, [x], (dy) => [repeat(dy.div(along.count).reshape(along.kept), shape)], [])
}, 'dim keepdim')

/**
 * The variance along an axis or several, or of all elements, as torch.var: Σ (x - mean)² / (n - correction).
 *
 * @returns NaN where n is 0, or 1 without `correction: 0`
 * @example gpt.tensor([1, 3]).var({ correction: 0 }).item() // 1
 */
const variance = /* @__PURE__ */ operation((x: Tensor, options?: VarianceOptions): Tensor => {
  const { y, gradient } = varianceOf(x, options)
  return record(y, [x], (dy) => [gradient(dy)], [x])
}, 'dim unbiased keepdim')
export { variance as var }

/**
 * The standard deviation along an axis or several, or of all elements, as torch.std: the square root of `var`. Its
 * gradient where it is 0 is 0, as PyTorch's.
 *
 * @returns NaN where n is 0, or 1 without `correction: 0`
 * @example gpt.tensor([1, 5]).std({ correction: 0 }).item() // 2
 */
export const std = /* @__PURE__ */ operation((x: Tensor, options?: VarianceOptions): Tensor => {
  const { y, gradient } = varianceOf(x, options)
  y.data.set(y.data.map(Math.sqrt))
  return record(y, [x], (dy) => [gradient(dy.div(y.mul(2)).maskedFill(y.eq(0), 0))], [x, y])
}, 'dim unbiased keepdim')

/** @returns y, not recorded, and dx = 2 · (x - mean) · dy / (n - correction) */
function varianceOf(
  x: Tensor,
  options: VarianceOptions | undefined,
): { y: Tensor; gradient: (dy: Tensor) => Tensor } {
  const none = { ...DEFAULTS, correction: undefined, unbiased: undefined }
  const checks = { correction: checkFinite, unbiased: checkBoolean }
  const given = checkOptions<VarianceOptions>(options, none, checks)
  const { unbiased = true, correction = unbiased ? 1 : 0, ...reduction } = given
  if (given.unbiased !== undefined && given.correction !== undefined) {
    throw fail('VALUE', 'options', 'have correction or unbiased', 'both')
  }
  const along = checkReduction(x, reduction)
  const y = reduceWith('gpt_var', x, along, correction === 1)
  const divisor = Math.max(0, along.count - correction)
  if (correction !== 0 && correction !== 1) y.data.set(y.data.map((value) => (value * along.count) / divisor))
  const gradient = (dy: Tensor) => {
    const deviations = x.sub(x.mean({ dim: along.axes, keepdim: true }))
    return deviations.mul(dy.mul(2 / divisor).reshape(along.kept))
  }
  return { y, gradient }
}

/**
 * The sums of the elements up to each one along an axis, as torch.cumsum: added in float64, with the bits of PyTorch
 * on the CPU.
 *
 * @returns a tensor of x's shape
 * @example gpt.tensor([1, 2, 3]).cumsum({ dim: 0 }).toArray() // [1, 3, 6]
 */
export const cumsum = /* @__PURE__ */ operation((x: Tensor, options: CumsumOptions): Tensor => {
  const { dim } = checkOptions<Partial<CumsumOptions>>(options, { dim: undefined })
  const { size, outer, inner } = axisOf(x.shape, checkAxis('dim', dim, x.shape.length))
  const added = (whole: Tensor, isFromEnd: boolean) => {
    const y = Tensor.empty(whole.shape)
    const [from, to] = [whole.data, y.data]
    const sums = new Float64Array(inner)
    for (let k = 0; k < outer; k++) {
      sums.fill(0)
      for (let i = 0; i < size; i++) {
        const at = (k * size + (isFromEnd ? size - 1 - i : i)) * inner
        for (let j = 0; j < inner; j++) to[at + j] = sums[j] += from[at + j]
      }
    }
    return y
  }
  return record(added(x, false), [x], (dy) => [added(dy, true)], [])
})

/**
 * The Euclidean norm √Σ x² along an axis or several, or of all elements, as torch.norm. Its gradient where it
 * is 0 is 0, as PyTorch's.
 *
 * @returns 0 for no elements
 * @example gpt.tensor([[3, 4], [0, 0]]).norm({ dim: -1 }).toArray() // [5, 0]
 */
export const norm = /* @__PURE__ */ operation((x: Tensor, options?: Reduction): Tensor => {
  // dim comes last: the first argument of PyTorch's norm is p, which is no option here.
  const along = checkReduction(x, options, { keepdim: false, dim: undefined })
  const y = reduceRows(x, along, (row) => Math.sqrt(row.reduce((sum, value) => sum + value * value, 0)))
  const backward = (dy: Tensor) => {
    const scale = dy.div(y).maskedFill(y.eq(0), 0)
    return [x.mul(scale.reshape(along.kept))]
  }
  return record(y, [x], backward, [x, y])
})

/**
 * log Σ e^x along an axis or several, or of all elements, as torch.logsumexp. The largest element of each sum
 * is subtracted first, so that no power of e is infinite.
 *
 * @returns -Infinity for no elements
 * @example String(gpt.tensor([200, 200]).logsumexp()) // 'tensor(200.6931)'
 */
export const logsumexp = /* @__PURE__ */ operation((x: Tensor, options?: Reduction): Tensor => {
  const along = checkReduction(x, options)
  const y = reduceRows(x, along, (row) => {
    const largest = row.reduce((most, value) => Math.max(most, value), -Infinity)
    const sum = row.reduce((sum, value) => sum + Math.exp(value - largest), 0)
    return Math.abs(largest) === Infinity ? largest : largest + Math.log(sum)
  })
  const backward = (dy: Tensor) => [x.sub(y.reshape(along.kept)).exp().mul(dy.reshape(along.kept))]
  return record(y, [x], backward, [x, y])
})

export interface Extremes {
  values: Tensor
  /** of each value, along the axis */
  indices: Tensor
}

type Extreme = 'largest' | 'smallest'

export interface ExtremeFunction {
  /**
   * The largest or the smallest element, a tensor of shape `[]`, as torch.max and torch.min. NaN where there is a
   * NaN, as in PyTorch. The gradient is divided equally among all elements that equal it.
   *
   * @throws {GptLayersError} SHAPE where there are no elements
   * @example gpt.tensor([[1, 7], [3, 5]]).max().item() // 7
   * @example gpt.tensor([[1, 7], [3, 5]]).min().item() // 1
   */
  (x: Tensor): Tensor
  /**
   * The largest or the smallest elements along an axis, and the index of each along that axis. The first index where
   * several elements are; that of the first NaN where there is one. The element at the index gets the gradient, as
   * in PyTorch.
   *
   * @returns two tensors of the same shape. Embedding, crossEntropy and gather take the indices as they are
   * @throws {GptLayersError} SHAPE where the axis has size 0, or more than 2^24 elements
   * @example gpt.tensor([[1, 7], [3, 5]]).max({ dim: 1 }).indices.toArray() // [1, 1]
   * @example gpt.tensor([[1, 7], [5, 3]]).min({ dim: 1 }).indices.toArray() // [0, 1]
   */
  (x: Tensor, options: AxisReduction & { dim: number }): Extremes
  (x: Tensor, options?: AxisReduction): Tensor | Extremes
}

export interface ArgExtremeFunction {
  /**
   * The index of the largest or the smallest element, among all elements in row-major order, as torch.argmax and
   * torch.argmin.
   *
   * @throws {GptLayersError} SHAPE where there are no elements
   * @example gpt.tensor([[1, 7], [3, 5]]).argmax() // 1
   * @example gpt.tensor([[1, 7], [0, 5]]).argmin() // 2
   */
  (x: Tensor): number
  /**
   * The index of the largest or the smallest element along an axis, such as the most probable token at each
   * position; see `max`. Without `dim` that of all elements.
   *
   * @returns a tensor, which has no gradient
   * @throws {GptLayersError} SHAPE where the axis has size 0, or more than 2^24 elements
   * @example gpt.tensor([[1, 7], [5, 3]]).argmax({ dim: -1 }).toArray() // [1, 0]
   * @example gpt.tensor([[1, 7], [5, 3]]).argmin({ dim: -1 }).toArray() // [0, 1]
   */
  (x: Tensor, options: AxisReduction): Tensor
}

const extremal = <F>(compute: typeof extreme | typeof argExtreme, which: Extreme): F =>
  operation((x: Tensor, options?: AxisReduction) => compute(which, x, options), 'dim keepdim') as F

export const max: ExtremeFunction = /* @__PURE__ */ extremal(extreme, 'largest')
export const min: ExtremeFunction = /* @__PURE__ */ extremal(extreme, 'smallest')
export const argmax: ArgExtremeFunction = /* @__PURE__ */ extremal(argExtreme, 'largest')
export const argmin: ArgExtremeFunction = /* @__PURE__ */ extremal(argExtreme, 'smallest')

/** y = x at the index, or, without `dim`, the largest of all elements. */
function extreme(which: Extreme, x: Tensor, options?: AxisReduction): Tensor | Extremes {
  const along = checkOne(x, options)
  if (along.isAll) return extremeOfAll(x, indicesOf(which, x, along)[0])
  const indices = indexTensor(which, x, along)
  return { values: pick(x, along.axes[0] ?? 0, indices.data.slice(), along.kept, along.shape), indices }
}

function extremeOfAll(x: Tensor, index: number): Tensor {
  const value = x.data[index]
  const { shape } = x
  const backward = (dy: Tensor) => {
    const isEqual = (one: number) => Object.is(one, value) || one === value
    const share = dy.item() / x.data.filter(isEqual).length
    const dx = Tensor.empty(shape)
    dx.data.set(x.data.map((one) => (isEqual(one) ? share : 0)))
    return [dx]
  }
  return record(Tensor.full([], value), [x], backward, [x])
}

function argExtreme(which: Extreme, x: Tensor, options?: AxisReduction): Tensor | number {
  const along = checkOne(x, options)
  return options === undefined ? indicesOf(which, x, along)[0] : indexTensor(which, x, along)
}

function indexTensor(which: Extreme, x: Tensor, along: AlongOne): Tensor {
  checkIndexed(along.count, x.shape)
  const indices = indicesOf(which, x, along)
  const tensor = Tensor.empty(along.shape)
  tensor.data.set(indices)
  return tensor
}

/** @returns the indices of the largest or smallest elements. NaN is both; otherwise the first counts */
function indicesOf(which: Extreme, x: Tensor, along: AlongOne): Int32Array {
  if (along.count === 0) {
    throw fail('SHAPE', 'the tensor', `have elements${along.isAll ? '' : ' along dim'}`, x.shape)
  }
  return temporary(() => {
    // The smallest is the largest of -x.
    const of = which === 'largest' ? x : x.detach().neg()
    const found = reduce(of, along, (result, matrix, rows, cols) =>
      run('gpt_max', [null, result, matrix, rows, cols]),
    )
    return heap().words(found.byteOffset, found.size).slice()
  })
}

/** The axes that a reduction goes along. */
interface Along {
  /** ascending; none for a tensor of shape [] */
  axes: readonly number[]
  /** the input's shape, where these axes have size 1 */
  kept: readonly number[]
  /** the result's shape */
  shape: readonly number[]
  /** how many elements become one */
  count: number
}

function checkReduction(x: Tensor, options: Reduction | undefined, defaults: Defaults = DEFAULTS): Along {
  const { dim, keepdim } = checkOptions(options, defaults)
  const axes = checkAxes(dim, x.shape.length)
  const kept = x.shape.map((size, axis) => (axes.includes(axis) ? 1 : size))
  const shape = keepdim ? kept : x.shape.filter((_, axis) => !axes.includes(axis))
  return { axes, kept, shape, count: sizeOf(axes.map((axis) => x.shape[axis])) }
}

/** Along one axis, or all of them. */
type AlongOne = Along & { isAll: boolean }

function checkOne(x: Tensor, options: AxisReduction | undefined): AlongOne {
  const given = checkOptions<AxisReduction>(options, { ...DEFAULTS, dim: undefined })
  const { dim } = given
  if (dim !== undefined) checkAxis('dim', dim, x.shape.length)
  return { ...checkReduction(x, given), isAll: dim === undefined }
}

type RowKernel = (result: Tensor, matrix: Tensor, rows: number, cols: number) => void

/** @param rest the kernel's arguments after the sizes */
const reduceWith = (kernel: FunctionName, x: Tensor, along: Along, ...rest: boolean[]): Tensor =>
  reduce(x, along, (result, matrix, rows, cols) => run(kernel, [result, matrix, rows, cols, ...rest]))

const reduce = (x: Tensor, { axes, shape, count }: Along, kernel: RowKernel): Tensor =>
  temporary(() => {
    const result = Tensor.empty(shape)
    kernel(result, withLast(x, axes), result.size, count)
    return result
  })

/** Reduces axes with a function of the elements that become one, in float64. */
const reduceRows = (x: Tensor, along: Along, ofRow: (row: Float32Array) => number): Tensor =>
  reduce(x, along, (result, matrix, rows, cols) => {
    const [from, to] = [matrix.data, result.data]
    for (let row = 0; row < rows; row++) to[row] = ofRow(from.subarray(row * cols, (row + 1) * cols))
  })

/** @returns the elements with these axes after the others: x itself where they are, otherwise a copy */
function withLast(x: Tensor, axes: readonly number[]): Tensor {
  const first = axes.find((axis) => x.shape[axis] !== 1) ?? x.shape.length
  const others = x.shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis))
  const areLast = others.every((axis) => axis < first || x.shape[axis] === 1)
  return areLast ? x : x.detach().permute([...others, ...axes])
}
