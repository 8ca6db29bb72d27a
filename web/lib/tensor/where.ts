// Choosing elements: comparisons, maximum and minimum, where, maskedFill, tril and triu.

import { checkInteger, checkNumber, checkOptions, named } from '../check.ts'
import { fail } from '../errors.ts'
import { type FunctionName } from '../runtime/runtime.ts'
import { checkLive, checkTensor } from './check.ts'
import { type Operand, elementwise, operand, shapeOf, sumTo } from './elementwise.ts'
import { temporary } from '../runtime/scope.ts'
import { broadcast } from './shape.ts'
import { record } from './tape.ts'
import { Tensor } from './tensor.ts'

export type Comparison = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge'

/** a > b is b < a, also of NaN. */
const COMPARISONS: Record<Comparison, { kernel: FunctionName; isSwapped: boolean }> = {
  eq: { kernel: 'gpt_eq', isSwapped: false },
  ne: { kernel: 'gpt_ne', isSwapped: false },
  lt: { kernel: 'gpt_lt', isSwapped: false },
  le: { kernel: 'gpt_le', isSwapped: false },
  gt: { kernel: 'gpt_lt', isSwapped: true },
  ge: { kernel: 'gpt_le', isSwapped: true },
}

/** a ∘ b for each element: 1 where it holds, otherwise 0. It has no gradient. */
export function compare(name: Comparison, a: Tensor, other: unknown): Tensor {
  checkLive(a)
  const b = operand('other', other)
  const { kernel, isSwapped } = COMPARISONS[name]
  return elementwise(kernel, isSwapped ? [b, a] : [a, b], broadcast(a.shape, shapeOf(b)))
}

/**
 * The larger one of x and y, for each element, as torch.maximum: NaN where one of them is NaN. Where both are
 * equal, each gets half of the gradient.
 *
 * @param y a tensor or a number; x and y broadcast as in PyTorch
 * @example gpt.maximum(gpt.tensor([1, 5]), gpt.tensor([3, 4])).toArray() // [3, 5]
 */
export function maximum(x: Tensor, y: Tensor | number): Tensor {
  return named('maximum', arguments, 2, () => extreme('gpt_maximum', x, y))
}

/**
 * The smaller one of x and y, for each element, as torch.minimum: NaN where one of them is NaN. Where both are
 * equal, each gets half of the gradient.
 *
 * @param y a tensor or a number; x and y broadcast as in PyTorch
 * @example gpt.minimum(gpt.tensor([1, 5]), gpt.tensor([3, 4])).toArray() // [1, 4]
 */
export function minimum(x: Tensor, y: Tensor | number): Tensor {
  return named('minimum', arguments, 2, () => extreme('gpt_minimum', x, y))
}

function extreme(kernel: 'gpt_maximum' | 'gpt_minimum', x: Tensor, y: unknown): Tensor {
  checkTensor('x', x)
  const b = operand('y', y)
  const result = elementwise(kernel, [x, b], broadcast(x.shape, shapeOf(b), 'y'))
  const inputs = [x, typeof b === 'number' ? null : b]
  const gradients = (dy: Tensor, wanted: readonly boolean[]) =>
    temporary(() => {
      const half = chosen(dy.shape, elementwise('gpt_eq', [x, b], dy.shape), dy.mul(0.5), dy)
      return inputs.map((input, i) => {
        if (input === null || !wanted[i]) return null
        // 0 where the other one is the result
        const isLess = kernel === 'gpt_maximum' ? i === 0 : i === 1
        const loses = elementwise('gpt_lt', isLess ? [x, b] : [b, x], dy.shape)
        return sumTo(chosen(dy.shape, loses, 0, half), input.shape)
      })
    })
  const kept = inputs.filter((input) => input !== null)
  return record(result, inputs, gradients, kept)
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
  return choose(broadcast(x.shape, mask.shape, 'mask'), mask, value, x)
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
const chosen = (shape: readonly number[], condition: Tensor, a: Operand, b: Operand): Tensor =>
  elementwise('gpt_where', [condition, a, b], shape)

export interface TriangleOptions {
  /** 0, the default, is the main diagonal; 1 the one above it, -1 the one below */
  diagonal?: number
}

/** @param isLower tril, otherwise triu */
export function triangle(x: Tensor, options: TriangleOptions | undefined, isLower: boolean): Tensor {
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
