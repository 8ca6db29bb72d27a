// Choosing elements: comparisons, where, maskedFill, tril and triu.

import { checkInteger, checkNumber, checkOptions, named } from '../check.ts'
import { fail } from '../errors.ts'
import { checkLive, checkOperand, checkTensor } from './check.ts'
import { sumTo } from './elementwise.ts'
import { temporary } from './scope.ts'
import { broadcast, mergedAxes, sizeOf } from './shape.ts'
import { record } from './tape.ts'
import { Tensor } from './tensor.ts'

export type Comparison = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge'

/** a ∘ b for each element: 1 where it holds, otherwise 0. It has no gradient. */
export function compare(name: Comparison, a: Tensor, other: unknown): Tensor {
  checkLive(a)
  const b = operand('other', other)
  // a > b is b < a, also of NaN.
  const isSwapped = name === 'gt' || name === 'ge'
  const [left, right] = isSwapped ? [b, a] : [a, b]
  const y = Tensor.empty(broadcast(a.shape, shapeOf(b)))
  const [to, p, q] = [y.data, dataOf(left), dataOf(right)]
  eachRow(y.shape, [left, right], (begin, size, [i, j], [di, dj]) =>
    compareRow(name, to, begin, size, p, i, di, q, j, dj),
  )
  return y
}

/**
 * A function of its own, so that the engine compiles its loops well. `Number` takes no branch, where `? 1 : 0`
 * would take one that nobody can predict.
 *
 * @param di how far a step moves in p: 0 or 1; dj in q
 */
function compareRow(
  name: Comparison,
  to: Float32Array,
  begin: number,
  size: number,
  p: Float32Array,
  i: number,
  di: number,
  q: Float32Array,
  j: number,
  dj: number,
): void {
  const end = begin + size
  if (name === 'eq') {
    for (let n = begin; n < end; n++, i += di, j += dj) to[n] = Number(p[i] === q[j])
  } else if (name === 'ne') {
    for (let n = begin; n < end; n++, i += di, j += dj) to[n] = Number(p[i] !== q[j])
  } else if (name === 'lt' || name === 'gt') {
    for (let n = begin; n < end; n++, i += di, j += dj) to[n] = Number(p[i] < q[j])
  } else {
    for (let n = begin; n < end; n++, i += di, j += dj) to[n] = Number(p[i] <= q[j])
  }
}

/**
 * x where the condition holds, otherwise y, for each element, as torch.where.
 *
 * @param condition holds where it is not 0, such as the result of a comparison. It has no gradient
 * @param x a tensor or a number; the three broadcast as in PyTorch
 * @param y as x
 * @example
 * const x = gpt.tensor([-1, 2])
 * gpt.where(x.gt(0), x, 0).toArray() // [0, 2]
 */
export function where(condition: Tensor, x: Tensor | number, y: Tensor | number): Tensor {
  return named('where', arguments, 3, () => {
    checkTensor('condition', condition)
    const [a, b] = [operand('x', x), operand('y', y)]
    return choose(broadcast(broadcast(condition.shape, shapeOf(a), 'x'), shapeOf(b), 'y'), condition, a, b)
  })
}

export function maskedFill(x: Tensor, mask: Tensor, value: number): Tensor {
  checkLive(x)
  checkTensor('mask', mask)
  checkNumber('value', value, 'a number', () => true)
  return choose(broadcast(x.shape, mask.shape, 'mask'), mask, Math.fround(value), x)
}

/** `chosen`, on the tape. */
function choose(shape: readonly number[], condition: Tensor, a: Operand, b: Operand): Tensor {
  const [shapeA, shapeB] = [shapeOf(a), shapeOf(b)]
  const y = chosen(shape, condition, a, b)
  const inputs = [a, b].map((one) => (typeof one === 'number' ? null : one))
  return record(
    y,
    inputs,
    (dy, [toA, toB]) => [
      toA ? temporary(() => sumTo(chosen(dy.shape, condition, dy, 0), shapeA)) : null,
      toB ? temporary(() => sumTo(chosen(dy.shape, condition, 0, dy), shapeB)) : null,
    ],
    [condition],
  )
}

/** The elements of a where the condition is not 0, otherwise those of b. */
export function chosen(shape: readonly number[], condition: Tensor, a: Operand, b: Operand): Tensor {
  const y = Tensor.empty(shape)
  const [to, c, p, q] = [y.data, condition.data, dataOf(a), dataOf(b)]
  eachRow(shape, [condition, a, b], (begin, size, [k, i, j], [dk, di, dj]) =>
    chooseRow(to, begin, size, c, k, dk, p, i, di, q, j, dj),
  )
  return y
}

/** A function of its own, as `compareRow`. */
function chooseRow(
  to: Float32Array,
  begin: number,
  size: number,
  c: Float32Array,
  k: number,
  dk: number,
  p: Float32Array,
  i: number,
  di: number,
  q: Float32Array,
  j: number,
  dj: number,
): void {
  const end = begin + size
  for (let n = begin; n < end; n++, k += dk, i += di, j += dj) to[n] = c[k] === 0 ? q[j] : p[i]
}

export interface TriangleOptions {
  /** 0, the default, is the main diagonal; 1 the one above it, -1 the one below */
  diagonal?: number
}

/** The elements on and below a diagonal of each matrix, and zeros above. */
export const tril = (x: Tensor, options?: TriangleOptions): Tensor => triangle(x, options, true)

/** The elements on and above a diagonal of each matrix, and zeros below. */
export const triu = (x: Tensor, options?: TriangleOptions): Tensor => triangle(x, options, false)

function triangle(x: Tensor, options: TriangleOptions | undefined, isLower: boolean): Tensor {
  const { diagonal } = checkOptions<Required<TriangleOptions>>(options, { diagonal: 0 })
  checkInteger('diagonal', diagonal, -(2 ** 31), 2 ** 31)
  checkLive(x)
  if (x.shape.length < 2) throw fail('SHAPE', 'the tensor', 'have 2 axes or more', x.shape)
  const part = (whole: Tensor) => {
    const y = Tensor.zeros(whole.shape)
    const [rows, cols] = whole.shape.slice(-2)
    const [from, to] = [whole.data, y.data]
    for (let row = 0; row * cols < whole.size; row++) {
      const on = Math.min(Math.max((row % rows) + diagonal + (isLower ? 1 : 0), 0), cols)
      const [begin, end] = isLower ? [0, on] : [on, cols]
      to.set(from.subarray(row * cols + begin, row * cols + end), row * cols + begin)
    }
    return y
  }
  return record(part(x), [x], (dy) => [part(dy)], [])
}

type Operand = Tensor | number

/** @returns a live tensor, or a number as float32 */
const operand = (name: string, value: unknown): Operand =>
  typeof value === 'number' ? Math.fround(value) : checkOperand(name, 'a Tensor or a number', value)

const shapeOf = (one: Operand): readonly number[] => (typeof one === 'number' ? [] : one.shape)

const dataOf = (one: Operand): Float32Array => (typeof one === 'number' ? Float32Array.of(one) : one.data)

/**
 * Visits the rows of a broadcast result. Without broadcasting, all elements are one row.
 *
 * @param visit gets where the row begins in the result, its size, where it begins in each operand, and how
 *   far a step along it moves in each: 1, or 0 where an element is repeated
 */
function eachRow(
  shape: readonly number[],
  operands: readonly Operand[],
  visit: (begin: number, size: number, begins: readonly number[], steps: readonly number[]) => void,
): void {
  if (sizeOf(shape) === 0) return
  const axes = mergedAxes(shape, ...operands.map(shapeOf))
  const { size, steps } = axes.pop() ?? { size: 1, steps: operands.map(() => 0) }
  const walk = (axis: number, row: number, begins: readonly number[]): void => {
    if (axis === axes.length) return visit(row * size, size, begins, steps)
    const along = axes[axis]
    for (let i = 0; i < along.size; i++) {
      walk(
        axis + 1,
        row * along.size + i,
        begins.map((begin, operand) => begin + i * along.steps[operand]),
      )
    }
  }
  walk(
    0,
    0,
    operands.map(() => 0),
  )
}
