// Elements at given indices: gather and indexSelect.

import { checkOptions } from '../check.ts'
import { fail } from '../errors.ts'
import { type Indices, checkIndices } from './indices.ts'
import { operation } from './operation.ts'
import { axisOf, checkAxis, eachIndex, sizeOf } from './shape.ts'
import { part } from './slice.ts'
import type { Tensor } from './tensor.ts'

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
