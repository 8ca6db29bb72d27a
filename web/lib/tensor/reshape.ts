// Other shapes of the same elements. None but `expand` copies.

import { checkArray, checkShape } from '../check.ts'
import { fail } from '../errors.ts'
import { checkLive } from './check.ts'
import { repeat } from './elementwise.ts'
import { checkAxis, checkElements, sizeOf } from './shape.ts'
import { record } from './tape.ts'
import { Tensor } from './tensor.ts'

export function reshape(x: Tensor, shape: readonly number[]): Tensor {
  checkLive(x)
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

export function unsqueeze(x: Tensor, dim: number): Tensor {
  const axis = checkAxis('dim', dim, x.shape.length + 1)
  return reshape(x, [...x.shape.slice(0, axis), 1, ...x.shape.slice(axis)])
}

/** @param dim undefined: all axes */
export function squeeze(x: Tensor, dim?: number): Tensor {
  const { shape } = x
  const axis = dim === undefined ? undefined : checkAxis('dim', dim, shape.length)
  return reshape(
    x,
    shape.filter((size, i) => size !== 1 || (axis !== undefined && i !== axis)),
  )
}

export function flatten(x: Tensor, startDim?: number, endDim?: number): Tensor {
  const { shape } = x
  const first = checkAxis('startDim', startDim === undefined ? 0 : startDim, shape.length)
  const last = checkAxis('endDim', endDim === undefined ? -1 : endDim, shape.length)
  if (first > last) throw fail('VALUE', 'endDim', `be startDim (${startDim}) or an axis after it`, endDim)
  const merged = sizeOf(shape.slice(first, last + 1))
  return reshape(x, [...shape.slice(0, first), merged, ...shape.slice(last + 1)])
}

export function expand(x: Tensor, shape: readonly number[]): Tensor {
  checkLive(x)
  checkArray('shape', shape, 'an array of sizes')
  const added = shape.length - x.shape.length
  const full = checkShape(shape.map((size, i) => (size === -1 && i >= added ? x.shape[i - added] : size)))
  if (added < 0 || x.shape.some((size, i) => size !== 1 && size !== full[added + i])) {
    const expected = `be one that shape [${x.shape.join(', ')}] broadcasts to`
    throw fail('SHAPE', 'shape', expected, `[${shape.join(', ')}]`)
  }
  const y = repeat(x, full)
  return y === x ? x.clone() : y
}
