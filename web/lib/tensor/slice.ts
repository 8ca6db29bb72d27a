// Parts of a tensor, as copies: slices, pieces, and the elements at indices.

import { checkInteger, checkNumber, checkOptions, checkSize } from '../check.ts'
import { fail } from '../errors.ts'
import { temporary } from '../runtime/scope.ts'
import { type Indices, checkIndices } from './indices.ts'
import { operation } from './operation.ts'
import { axisOf, checkAxis, eachIndex, sizeOf } from './shape.ts'
import { recordPart } from './tape.ts'
import { Tensor } from './tensor.ts'

export interface AxisOptions {
  /** the axis, negative from the end; 0 by default */
  dim?: number
}

/**
 * Pieces along an axis, as torch.split. Unlike PyTorch's, copies.
 *
 * @param size the size of each piece along the axis; the last one may be smaller
 * @example gpt.zeros([2, 6]).split(2, { dim: -1 }).length // 3
 */
export const split = /* @__PURE__ */ operation((x: Tensor, size: number, options?: AxisOptions) => {
  checkSize('size', size)
  const { dim } = checkOptions(options, { dim: 0 })
  return pieces(x, size, checkAxis('dim', dim, x.shape.length))
})

function pieces(x: Tensor, size: number, axis: number): Tensor[] {
  const whole = x.shape[axis] ?? 1
  const count = Math.max(1, Math.ceil(whole / size))
  return temporary(() =>
    Array.from({ length: count }, (_, i) => piece(x, axis, i * size, Math.min(size, whole - i * size))),
  )
}

/** The most pieces of an axis of size 0. */
const MAX_PIECES = 2 ** 16

/**
 * n pieces along an axis, as torch.chunk. Unlike PyTorch's, copies.
 *
 * @param n how many. Where it does not divide the axis, the last piece is smaller, and there may be fewer
 * @throws {GptLayersError} SHAPE for a tensor of shape `[]`
 * @example gpt.zeros([2, 6]).chunk(3, { dim: -1 })[0].shape // [2, 2]
 */
export const chunk = /* @__PURE__ */ operation((x: Tensor, n: number, options?: AxisOptions): Tensor[] => {
  checkSize('n', n)
  const { dim } = checkOptions(options, { dim: 0 })
  checkHasAxes(x)
  const axis = checkAxis('dim', dim, x.shape.length)
  const whole = x.shape[axis]
  if (whole > 0) return pieces(x, Math.ceil(whole / n), axis)
  checkInteger('n', n, 1, MAX_PIECES, ' for an axis of size 0')
  return temporary(() => Array.from({ length: n }, () => piece(x, axis, 0, 0)))
})

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
export const slice = /* @__PURE__ */ operation(
  (x: Tensor, start?: number, end?: number, options?: AxisOptions): Tensor => {
    const { dim } = checkOptions(options, { dim: 0 })
    checkHasAxes(x)
    const axis = checkAxis('dim', dim, x.shape.length)
    const whole = x.shape[axis]
    const place = (name: string, index: number) => {
      checkNumber(name, index, 'an integer', Number.isSafeInteger)
      return index < 0 ? Math.max(index + whole, 0) : Math.min(index, whole)
    }
    const begin = place('start', start === undefined ? 0 : start)
    const length = Math.max(place('end', end ?? whole) - begin, 0)
    return piece(x, axis, begin, length)
  },
)

/**
 * The elements at one index of the first axis, as PyTorch's `x[index]`: a tensor of the other axes. Unlike
 * PyTorch's, a copy.
 *
 * @param index negative from the end
 * @throws {GptLayersError} VALUE for an index out of range; SHAPE for a tensor of shape `[]`
 * @example gpt.tensor([[1, 2], [3, 4]]).at(-1).toArray() // [3, 4]
 */
export const at = /* @__PURE__ */ operation((x: Tensor, index: number): Tensor => {
  checkHasAxes(x)
  const [whole, ...rest] = x.shape
  if (whole === 0) throw fail('SHAPE', 'the tensor', 'have elements along its first axis', x.shape)
  checkInteger('index', index, -whole, whole - 1)
  return temporary(() => piece(x, 0, index < 0 ? index + whole : index, 1).reshape(rest))
})

export interface PickOptions {
  /** the axis, negative from the end */
  dim: number
  /** of the elements along the axis, from 0 */
  index: Indices
}

/**
 * An element along an axis for each index, as torch.gather: with `dim: 1`, y[i][j] = x[i][index[i][j]].
 *
 * @param options index: integers with as many axes as x, and at most its sizes except along `dim`
 * @returns a tensor of the shape of the indices. Its gradient adds up where an index is repeated
 * @throws {GptLayersError} VALUE for an index out of range; SHAPE for indices of another shape
 * @example gpt.tensor([[1, 2], [3, 4]]).gather({ dim: 1, index: [[1], [0]] }).toArray() // [[2], [3]]
 */
export const gather = /* @__PURE__ */ operation((x: Tensor, options: PickOptions): Tensor => {
  const { axis, indices, shape } = checkPick(x, options)
  const sizes = x.shape.length === 0 ? [1] : x.shape
  const own = shape.length === 0 ? [1] : shape
  if (own.length !== sizes.length || own.some((size, i) => i !== axis && size > sizes[i])) {
    const expected = `have ${sizes.length} axes, and at most the sizes of [${x.shape.join(', ')}] except along dim`
    throw fail('SHAPE', 'index', expected, shape)
  }
  return pick(x, axis, indices, shape)
}, 'dim index')

/**
 * The parts at some indices of an axis, as torch.index_select: with `dim: 1`, y[i][j] = x[i][index[j]].
 *
 * @param options index: integers, one axis of them; they may repeat
 * @returns a copy. Its gradient adds up where an index is repeated
 * @throws {GptLayersError} VALUE for an index out of range; SHAPE for indices of more axes
 * @example gpt.tensor([[1, 2], [3, 4]]).indexSelect({ dim: 1, index: [1, 1] }).toArray() // [[2, 2], [4, 4]]
 */
export const indexSelect = /* @__PURE__ */ operation((x: Tensor, options: PickOptions): Tensor => {
  const { axis, indices, shape } = checkPick(x, options)
  if (shape.length > 1) throw fail('SHAPE', 'index', 'have 1 axis', shape)
  const { size, outer, inner } = axisOf(x.shape, axis)
  const count = indices.length
  if (x.shape.length === 0 && count !== 1) throw fail('SHAPE', 'index', 'have 1 element', shape)
  const sizes = x.shape.map((size, i) => (i === axis ? count : size))
  return part(x, sizes, (visit) => {
    for (let i = 0; i < outer; i++) {
      for (let j = 0; j < count; j++) visit((i * size + indices[j]) * inner, (i * count + j) * inner, inner)
    }
  })
}, 'dim index')

function checkHasAxes({ shape }: Tensor): void {
  if (shape.length > 0) return
  throw fail('SHAPE', 'the tensor', 'have 1 axis or more', 'shape []')
}

/** @returns a copy of so many indices of the axis, from `begin` on */
export function piece(x: Tensor, axis: number, begin: number, length: number): Tensor {
  const { shape } = x
  const sizes = shape.map((size, i) => (i === axis ? length : size))
  return part(x, sizes, (visit) => eachBlock(shape, axis, begin, length, visit))
}

/** Gets where a block begins in the whole's elements and in the part's, and its size. */
type Visit = (inWhole: number, inPart: number, size: number) => void

/**
 * @param shape of the part
 * @param blocks visits the blocks of x that are the part; more than once, for the gradient
 * @returns a copy; its gradient is added up where the blocks lie
 */
export function part(x: Tensor, shape: readonly number[], blocks: (visit: Visit) => void): Tensor {
  const y = Tensor.empty(shape)
  const [from, to] = [x.data, y.data]
  blocks((inWhole, inPart, size) => copy(to, inPart, from, inWhole, size))
  return recordPart(y, x, (dx, dy) => {
    const [whole, own] = [dx.data, dy.data]
    blocks((inWhole, inPart, size) => {
      for (let i = 0; i < size; i++) whole[inWhole + i] += own[inPart + i]
    })
  })
}

export function copy(to: Float32Array, at: number, from: Float32Array, begin: number, size: number): void {
  // For a few numbers, making a view takes longer than copying them.
  if (size >= 16) to.set(from.subarray(begin, begin + size), at)
  else for (let i = 0; i < size; i++) to[at + i] = from[begin + i]
}

/**
 * Visits the blocks of a piece, each contiguous in the piece and in the whole.
 *
 * @param shape the whole's
 */
export function eachBlock(
  shape: readonly number[],
  axis: number,
  begin: number,
  length: number,
  visit: Visit,
): void {
  const { size: whole, outer, inner } = axisOf(shape, axis)
  const size = length * inner
  for (let i = 0; i < outer && size > 0; i++) visit((i * whole + begin) * inner, i * size, size)
}

function checkPick(
  x: Tensor,
  options: PickOptions,
): { axis: number; indices: Int32Array; shape: readonly number[] } {
  const given = checkOptions<Partial<PickOptions>>(options, { dim: undefined, index: undefined })
  const axis = checkAxis('dim', given.dim, x.shape.length)
  return { axis, ...checkIndices('index', given.index, axisOf(x.shape, axis).size) }
}

/**
 * @param indices along the axis, row-major; they stay as they are until `backward`
 * @param shape theirs: as many axes as x has, and at most its sizes except along the axis
 * @param result the shape of the result, with as many elements
 * @returns the elements; their gradient is added up at the indices
 */
export function pick(
  x: Tensor,
  axis: number,
  indices: ArrayLike<number>,
  shape: readonly number[],
  result: readonly number[] = shape,
): Tensor {
  const strides = x.shape.map((_, i) => sizeOf(x.shape.slice(i + 1)))
  const along = strides[axis] ?? 1
  const axes = shape.map((size, i) => ({ size, steps: [i === axis ? 0 : strides[i]] }))
  const { size, steps } = axes.pop() ?? { size: 1, steps: [0] }
  return part(x, result, (visit) =>
    eachIndex(axes, 1, (row, [begin]) => {
      for (let j = 0; j < size; j++) {
        const i = row * size + j
        visit(begin + j * steps[0] + indices[i] * along, i, 1)
      }
    }),
  )
}
