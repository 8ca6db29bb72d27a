// Other shapes of the same elements. None but `expand` and `clone` copies.

import { checkArray } from '../check.ts'
import { fail } from '../errors.ts'
import { repeat } from './elementwise.ts'
import { operation } from './operation.ts'
import { checkAxis, checkElements, checkShape, sizeOf } from './shape.ts'
import { record } from './tape.ts'
import { Tensor } from './tensor.ts'

/**
 * The same elements in another shape, as torch.reshape. As in PyTorch, the two share their memory: writing to one
 * changes the other.
 *
 * @param shape has as many elements. One size may be -1; it is computed from the others
 * @throws {GptLayersError} SHAPE for another number of elements
 * @example gpt.zeros([2, 6]).reshape([3, -1]).shape // [3, 4]
 */
export const reshape = /* @__PURE__ */ operation(
  (x: Tensor, shape: readonly number[]) => reshaped(x, shape),
  '...',
)

/**
 * As `reshape`.
 *
 * @param shape has as many elements. One size may be -1
 */
export const view = /* @__PURE__ */ operation(
  (x: Tensor, shape: readonly number[]) => reshaped(x, shape),
  '...',
)

function reshaped(x: Tensor, shape: readonly number[]): Tensor {
  checkArray('shape', shape, 'an array of sizes')
  const open = shape.indexOf(-1)
  const known = checkShape(shape.map((size, i) => (i === open ? 1 : size)))
  const rest = x.size / sizeOf(known)
  const full = known.map((size, i) => (i === open ? rest : size))
  if ((open >= 0 && !Number.isInteger(rest)) || sizeOf(full) !== x.size) {
    throw fail('SHAPE', 'shape', `hold ${x.size} elements`, `[${shape.join(', ')}]`)
  }
  checkElements(full)
  const { shape: before } = x
  return record(Tensor.alias(x, full), [x], (dy) => [dy.reshape(before)], [])
}

/**
 * The same elements with an axis of size 1 more, as torch.unsqueeze. The two share their memory.
 *
 * @param dim where the new axis is in the result, negative from the end
 * @example gpt.zeros([2, 3]).unsqueeze(1).shape // [2, 1, 3]
 */
export const unsqueeze = /* @__PURE__ */ operation((x: Tensor, dim: number): Tensor => {
  const axis = checkAxis('dim', dim, x.shape.length + 1)
  return reshaped(x, [...x.shape.slice(0, axis), 1, ...x.shape.slice(axis)])
})

/**
 * The same elements without the axes of size 1, as torch.squeeze. The two share their memory.
 *
 * @param dim drops this axis only, where its size is 1; by default all
 * @example gpt.zeros([1, 2, 1]).squeeze().shape // [2]
 * @example gpt.zeros([1, 2, 1]).squeeze(-1).shape // [1, 2]
 */
export const squeeze = /* @__PURE__ */ operation((x: Tensor, dim?: number): Tensor => {
  const { shape } = x
  const axis = dim === undefined ? undefined : checkAxis('dim', dim, shape.length)
  return reshaped(
    x,
    shape.filter((size, i) => size !== 1 || (axis !== undefined && i !== axis)),
  )
})

/**
 * The same elements with some neighboring axes as one, as torch.flatten. The two share their memory.
 *
 * @param startDim the first of these axes, negative from the end; 0 by default
 * @param endDim the last one; -1 by default
 * @returns [1] for a tensor of shape `[]`
 * @throws {GptLayersError} VALUE where endDim is before startDim
 * @example gpt.zeros([2, 3, 5]).flatten(1).shape // [2, 15]
 */
export const flatten = /* @__PURE__ */ operation((x: Tensor, startDim?: number, endDim?: number): Tensor => {
  const { shape } = x
  const first = checkAxis('startDim', startDim === undefined ? 0 : startDim, shape.length)
  const last = checkAxis('endDim', endDim === undefined ? -1 : endDim, shape.length)
  if (first > last) throw fail('VALUE', 'endDim', `be startDim (${startDim}) or an axis after it`, endDim)
  const merged = sizeOf(shape.slice(first, last + 1))
  return reshaped(x, [...shape.slice(0, first), merged, ...shape.slice(last + 1)])
})

/**
 * The same elements, repeated along axes of size 1 and along new axes in front, as torch's expand. Unlike PyTorch's,
 * a copy. `add`, `mul` and the like broadcast by themselves, without a copy.
 *
 * @param shape that x's broadcasts to. -1 is the size that an axis has
 * @throws {GptLayersError} SHAPE where it does not
 * @example gpt.tensor([[1], [2]]).expand([-1, 3]).toArray() // [[1, 1, 1], [2, 2, 2]]
 */
export const expand = /* @__PURE__ */ operation((x: Tensor, shape: readonly number[]): Tensor => {
  checkArray('shape', shape, 'an array of sizes')
  const added = shape.length - x.shape.length
  const full = checkShape(shape.map((size, i) => (size === -1 && i >= added ? x.shape[i - added] : size)))
  if (added < 0 || x.shape.some((size, i) => size !== 1 && size !== full[added + i])) {
    const expected = `be one that shape [${x.shape.join(', ')}] broadcasts to`
    throw fail('SHAPE', 'shape', expected, `[${shape.join(', ')}]`)
  }
  const y = repeat(x, full)
  return y === x ? x.clone() : y
}, '...')

/** A second tensor with the same elements, for a layer that does nothing. The two share their memory. */
export const aliasOf = (x: Tensor): Tensor => record(Tensor.alias(x, x.shape), [x], (dy) => [dy], [])

/** A copy with its own memory, as torch.clone. As in PyTorch, its gradient goes on to x. */
export const clone = /* @__PURE__ */ operation((x: Tensor): Tensor => {
  const copy = Tensor.empty(x.shape)
  copy.data.set(x.data)
  return record(copy, [x], (dy) => [dy], [])
})

/**
 * The same memory, without what x was computed from, as torch.detach: `backward` stops here.
 *
 * @example gpt.parameter(gpt.ones([2])).detach().requiresGrad // false
 */
export const detach = /* @__PURE__ */ operation((x: Tensor): Tensor => Tensor.alias(x, x.shape))
