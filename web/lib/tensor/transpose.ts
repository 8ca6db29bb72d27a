import { checkArray, describe } from '../check.ts'
import { fail } from '../errors.ts'
import { run } from '../runtime/runtime.ts'
import { checkLive } from './check.ts'
import { temporary } from '../runtime/scope.ts'
import { checkAxis, sizeOf } from './shape.ts'
import { record } from './tape.ts'
import { Tensor } from './tensor.ts'

export function permute(x: Tensor, dims: readonly number[]): Tensor {
  const rank = x.shape.length
  checkArray('dims', dims, 'an array of axes')
  const order = dims.map((dim) => (typeof dim !== 'number' ? NaN : dim < 0 ? dim + rank : dim))
  if (order.length !== rank || !x.shape.every((_, axis) => order.includes(axis))) {
    throw fail('VALUE', 'dims', `name each of ${rank} axes once`, describe(dims))
  }
  return reorder(x, order)
}

export function transpose(x: Tensor, dim0: number, dim1: number): Tensor {
  const { length: rank } = x.shape
  const a = checkAxis('dim0', dim0, rank)
  const b = checkAxis('dim1', dim1, rank)
  return reorder(
    x,
    x.shape.map((_, axis) => (axis === a ? b : axis === b ? a : axis)),
  )
}

/**
 * @param order each axis once
 * @returns a copy with the axes in this order
 */
function reorder(x: Tensor, order: readonly number[]): Tensor {
  checkLive(x)
  const rank = order.length
  const y = temporary(() => {
    let moved = x
    let axes = x.shape.map((_, axis) => axis) // of x, in the order in which `moved` has them
    order.forEach((axis, to) => {
      // Move the axis to its place: swap it with the axes from `to` up to it.
      const from = axes.indexOf(axis)
      if (from === to) return
      const size = (begin: number, end: number) => sizeOf(axes.slice(begin, end).map((i) => x.shape[i]))
      const y = Tensor.empty(moved.shape)
      const sizes = [size(0, to), size(to, from), size(from, from + 1), size(from + 1, rank)]
      run('gpt_transpose', [y, moved, ...sizes])
      moved = y
      axes = [...axes.slice(0, to), axis, ...axes.slice(to, from), ...axes.slice(from + 1)]
    })
    return moved === x ? x.detach().clone() : moved.reshape(axes.map((axis) => x.shape[axis]))
  })
  const inverse = order.map((_, axis) => order.indexOf(axis))
  return record(y, [x], (dy) => [dy.permute(inverse)], [])
}
