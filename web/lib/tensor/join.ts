import { checkArray, checkOptions, named } from '../check.ts'
import { fail } from '../errors.ts'
import { unsqueeze } from './reshape.ts'
import { temporary } from '../runtime/scope.ts'
import { checkAxis, checkSameShape } from './shape.ts'
import { type AxisOptions, copy, eachBlock, piece } from './slice.ts'
import { record } from './tape.ts'
import { checkTensor, Tensor } from './tensor.ts'

/**
 * Tensors one after the other along an axis, as torch.cat.
 *
 * @param tensors one or more, of the same shape except for the size of this axis. As in PyTorch, one of shape
 *   [0] goes with any other
 * @returns a copy
 * @throws {GptLayersError} SHAPE where a tensor has shape [], or another shape than the first
 * @example gpt.cat([gpt.zeros([2, 1]), gpt.ones([2, 2])], { dim: 1 }).toArray() // [[0, 1, 1], [0, 1, 1]]
 */
export const cat = /* @__PURE__ */ named(
  'cat',
  (tensors: readonly Tensor[], options?: AxisOptions): Tensor => {
    const given = checkTensors(tensors)
    const { dim } = checkOptions(options, { dim: 0 })
    given.forEach(({ shape }, i) => {
      if (shape.length === 0) throw fail('SHAPE', `tensors[${i}]`, 'have 1 axis or more', shape)
    })
    const isEmpty = ({ shape }: Tensor) => shape.length === 1 && shape[0] === 0
    const first = given.find((tensor) => !isEmpty(tensor)) ?? given[0]
    const axis = checkAxis('dim', dim, first.shape.length)
    given.forEach(({ shape }, i) => {
      if (isEmpty(given[i])) return
      const expected = first.shape.map((size, j) => (j === axis ? (shape[j] ?? size) : size))
      checkSameShape(`tensors[${i}]`, shape, expected)
    })
    return join(given, first.shape, axis)
  },
)

/**
 * Tensors of the same shape beside each other along a new axis, as torch.stack.
 *
 * @param tensors one or more
 * @param options dim: where the new axis is in the result
 * @returns a copy, with one axis more
 * @example gpt.stack([gpt.zeros([2]), gpt.ones([2])], { dim: 1 }).toArray() // [[0, 1], [0, 1]]
 */
export const stack = /* @__PURE__ */ named(
  'stack',
  (tensors: readonly Tensor[], options?: AxisOptions): Tensor => {
    const given = checkTensors(tensors)
    const { dim } = checkOptions(options, { dim: 0 })
    const { shape } = given[0]
    const axis = checkAxis('dim', dim, shape.length + 1)
    given.forEach((tensor, i) => checkSameShape(`tensors[${i}]`, tensor.shape, shape))
    return temporary(() => {
      const parts = given.map((tensor) => unsqueeze(tensor, axis))
      return join(parts, parts[0].shape, axis)
    })
  },
)

function checkTensors(value: unknown): Tensor[] {
  checkArray('tensors', value, 'an array of tensors')
  if (value.length === 0) throw fail('VALUE', 'tensors', 'have 1 tensor or more', '[]')
  return Array.from(value, (tensor, i) => checkTensor(`tensors[${i}]`, tensor))
}

/** @param shape of the first with elements; the others differ along the axis, or have shape [0] */
function join(tensors: readonly Tensor[], shape: readonly number[], axis: number): Tensor {
  const sizes = tensors.map((tensor) => (tensor.shape.length === shape.length ? tensor.shape[axis] : 0))
  const begins: number[] = []
  let whole = 0
  for (const size of sizes) {
    begins.push(whole)
    whole += size
  }
  const y = Tensor.empty(shape.map((size, i) => (i === axis ? whole : size)))
  const to = y.data
  tensors.forEach(({ data }, i) => {
    eachBlock(y.shape, axis, begins[i], sizes[i], (inWhole, inPiece, size) =>
      copy(to, inWhole, data, inPiece, size),
    )
  })
  const shapes = tensors.map((tensor) => tensor.shape)
  const backward = (dy: Tensor, wanted: readonly boolean[]) =>
    shapes.map((own, i) => (wanted[i] ? piece(dy, axis, begins[i], sizes[i]).reshape(own) : null))
  return record(y, tensors, backward, [])
}
