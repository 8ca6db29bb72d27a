import { checkArray, describe } from '../check.ts'
import { fail } from '../errors.ts'
import { run } from '../runtime/runtime.ts'
import { temporary } from '../runtime/scope.ts'
import { operation } from './operation.ts'
import { checkAxis, sizeOf } from './shape.ts'
import { record } from './tape.ts'
import { Tensor } from './tensor.ts'

/**
 * The same elements with the axes in another order, as torch.permute. Unlike PyTorch's, a copy.
 *
 * @param dims each axis once, negative from the end
 * @example gpt.zeros([2, 3, 5]).permute([0, 2, 1]).shape // [2, 5, 3]
 */
export const permute = /* @__PURE__ */ operation((x: Tensor, dims: readonly number[]): Tensor => {
  const rank = x.shape.length
  checkArray('dims', dims, 'an array of axes')
  const order = dims.map((dim) => (typeof dim !== 'number' ? NaN : dim < 0 ? dim + rank : dim))
  if (order.length !== rank || !x.shape.every((_, axis) => order.includes(axis))) {
    throw fail('VALUE', 'dims', `name each of ${rank} axes once`, describe(dims))
  }
  return reorder(x, order)
}, '...')

/**
 * The same elements with two axes swapped, as torch.transpose. Unlike PyTorch's, a copy.
 *
 * @param dim0 an axis, negative from the end
 * @example gpt.zeros([2, 3, 5]).transpose(1, 2).shape // [2, 5, 3]
 */
export const transpose = /* @__PURE__ */ operation((x: Tensor, dim0: number, dim1: number): Tensor => {
  const { length: rank } = x.shape
  const a = checkAxis('dim0', dim0, rank)
  const b = checkAxis('dim1', dim1, rank)
  return reorder(
    x,
    x.shape.map((_, axis) => (axis === a ? b : axis === b ? a : axis)),
  )
})

function reorder(x: Tensor, order: readonly number[]): Tensor {
  const y = temporary(() => {
    let moved = x
    let axes = x.shape.map((_, axis) => axis) // of x, in the order in which `moved` has them
    order.forEach((axis, to) => {
      // Axes that are neighbors before and after move together: they swap places with the axes from `to` on.
      const from = axes.indexOf(axis)
      if (from === to) return
      let end = from + 1
      while (end < axes.length && axes[end] === order[to + end - from]) end++
      const size = (first: number, end: number) => sizeOf(axes.slice(first, end).map((i) => x.shape[i]))
      const [rows, cols] = [size(to, from), size(from, end)]
      const sizes = [size(0, to), rows, cols, size(end, axes.length)]
      axes = [...axes.slice(0, to), ...axes.slice(from, end), ...axes.slice(to, from), ...axes.slice(end)]
      if (rows === 1 || cols === 1) return // the elements stay where they are
      const y = Tensor.empty(moved.shape)
      run('gpt_transpose', [y, moved, ...sizes])
      moved = y
    })
    return (moved === x ? x.detach().clone() : moved).reshape(axes.map((axis) => x.shape[axis]))
  })
  const inverse = order.map((_, axis) => order.indexOf(axis))
  return record(y, [x], (dy) => [dy.permute(inverse)], [])
}
