// Elements at given indices: gather and indexSelect.

import { checkOptions } from '../check.ts'
import { fail } from '../errors.ts'
import { type Indices, checkIndices } from './indices.ts'
import { operation } from './operation.ts'
import { axisOf, checkAxis, sizeOf } from './shape.ts'
import { copy } from './slice.ts'
import { recordPart } from './tape.ts'
import { Tensor } from './tensor.ts'

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
  return pick(x, placesOf(sizes, axis, indices, own), shape)
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
  const eachBlock = (visit: (inWhole: number, inPiece: number) => void) => {
    for (let i = 0; i < outer; i++) {
      for (let j = 0; j < count; j++) visit((i * size + indices[j]) * inner, (i * count + j) * inner)
    }
  }
  const y = Tensor.empty(x.shape.map((size, i) => (i === axis ? count : size)))
  const [from, to] = [x.data, y.data]
  eachBlock((inWhole, inPiece) => copy(to, inPiece, from, inWhole, inner))
  return recordPart(y, x, (dx, dy) => {
    const [whole, part] = [dx.data, dy.data]
    eachBlock((inWhole, inPiece) => {
      for (let i = 0; i < inner; i++) whole[inWhole + i] += part[inPiece + i]
    })
  })
}, 'dim index')

function checkPick(
  x: Tensor,
  options: PickOptions,
): { axis: number; indices: Int32Array; shape: readonly number[] } {
  const given = checkOptions<Partial<PickOptions>>(options, { dim: undefined, index: undefined })
  const axis = checkAxis('dim', given.dim, x.shape.length)
  return { axis, ...checkIndices('index', given.index, axisOf(x.shape, axis).size) }
}

/**
 * @param indices along the axis, row-major
 * @param indexShape theirs: as many axes as the shape has, and at most its sizes except along the axis
 * @returns where the elements are among all
 */
export function placesOf(
  shape: readonly number[],
  axis: number,
  indices: ArrayLike<number>,
  indexShape: readonly number[],
): Uint32Array {
  const places = new Uint32Array(indices.length)
  const strides = shape.map((_, i) => sizeOf(shape.slice(i + 1)))
  const along = strides[axis] ?? 1
  const last = shape.length - 1
  let i = 0
  const walk = (depth: number, begin: number): void => {
    const step = depth === axis ? 0 : strides[depth]
    for (let j = 0; j < indexShape[depth]; j++) {
      if (depth < last) walk(depth + 1, begin + j * step)
      else {
        places[i] = begin + j * step + indices[i] * along
        i++
      }
    }
  }
  if (shape.length > 0) walk(0, 0)
  return places
}

/** @returns a tensor of this shape with the elements at these places; its gradient is added up there */
export function pick(x: Tensor, places: Uint32Array, shape: readonly number[]): Tensor {
  const y = Tensor.empty(shape)
  const [from, to] = [x.data, y.data]
  for (let i = 0; i < places.length; i++) to[i] = from[places[i]]
  return recordPart(y, x, (dx, dy) => {
    const [whole, part] = [dx.data, dy.data]
    for (let i = 0; i < places.length; i++) whole[places[i]] += part[i]
  })
}
