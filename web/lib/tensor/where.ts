// Choosing elements: maximum and minimum, where, maskedFill, tril and triu.

import { checkNumber, checkOptions, integer, named } from '../check.ts'
import { fail } from '../errors.ts'
import { temporary } from '../runtime/scope.ts'
import { type Operand, elementwise, operand, shapeOf, sumTo } from './elementwise.ts'
import { operation } from './operation.ts'
import { broadcast } from './shape.ts'
import { record } from './tape.ts'
import { checkTensor, Tensor } from './tensor.ts'

/**
 * The larger one of x and y, for each element, as torch.maximum: NaN where one of them is NaN. Both broadcast as in
 * PyTorch. Where they are equal, each gets half of the gradient.
 *
 * @example gpt.maximum(gpt.tensor([1, 5]), gpt.tensor([3, 4])).toArray() // [3, 5]
 */
export const maximum = /* @__PURE__ */ named('maximum', (x: Tensor, y: Tensor | number) =>
  maximumOrMinimum('gpt_maximum', x, y),
)

/**
 * The smaller one of x and y, for each element, as torch.minimum: NaN where one of them is NaN. Both broadcast as in
 * PyTorch. Where they are equal, each gets half of the gradient.
 *
 * @example gpt.minimum(gpt.tensor([1, 5]), gpt.tensor([3, 4])).toArray() // [1, 4]
 */
export const minimum = /* @__PURE__ */ named('minimum', (x: Tensor, y: Tensor | number) =>
  maximumOrMinimum('gpt_minimum', x, y),
)

function maximumOrMinimum(kernel: 'gpt_maximum' | 'gpt_minimum', x: Tensor, y: unknown): Tensor {
  checkTensor('x', x)
  const b = operand('y', y)
  const result = elementwise(kernel, [x, b], broadcast(x.shape, shapeOf(b), 'y'))
  const inputs = [x, typeof b === 'number' ? null : b]
  const gradients = (dy: Tensor, wanted: readonly boolean[]) => {
    const half = chosen(dy.shape, elementwise('gpt_eq', [x, b], dy.shape), dy.mul(0.5), dy)
    return inputs.map((input, i) => {
      if (input === null || !wanted[i]) return null
      // 0 where the other one is the result
      const isLess = kernel === 'gpt_maximum' ? i === 0 : i === 1
      const loses = elementwise('gpt_lt', isLess ? [x, b] : [b, x], dy.shape)
      return sumTo(chosen(dy.shape, loses, 0, half), input.shape)
    })
  }
  const kept = inputs.filter((input) => input !== null)
  return record(result, inputs, gradients, kept)
}

/**
 * x where the condition holds, otherwise y, for each element, as torch.where. The three broadcast as in PyTorch.
 *
 * @param condition holds where it is not 0, such as the result of a comparison. It has no gradient
 * @example
 * const x = gpt.tensor([-1, 2])
 * gpt.where(x.gt(0), x, 0).toArray() // [0, 2]
 */
export const where = /* @__PURE__ */ named(
  'where',
  (condition: Tensor, x: Tensor | number, y: Tensor | number): Tensor => {
    checkTensor('condition', condition)
    const [a, b] = [operand('x', x), operand('y', y)]
    return choose(broadcast(broadcast(condition.shape, shapeOf(a), 'x'), shapeOf(b), 'y'), condition, a, b)
  },
)

/**
 * Replaces each element by `value` where the mask is not 0, as torch.masked_fill. Attention's mask does so.
 *
 * @param mask broadcast as in PyTorch. It has no gradient
 * @param value may be -Infinity
 * @example gpt.ones([2, 2]).maskedFill(gpt.ones([2, 2]).triu({ diagonal: 1 }), 5).toArray() // [[1, 5], [1, 1]]
 */
export const maskedFill = /* @__PURE__ */ operation((x: Tensor, mask: Tensor, value: number): Tensor => {
  checkTensor('mask', mask)
  checkNumber('value', value)
  return choose(broadcast(x.shape, mask.shape, 'mask'), mask, value, x)
})

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

/**
 * A copy of the lower triangle of each matrix: zeros above a diagonal, as torch.tril.
 *
 * @throws {GptLayersError} SHAPE for a tensor of less than 2 axes
 * @example gpt.ones([2, 2]).tril().toArray() // [[1, 0], [1, 1]]
 */
export const tril = /* @__PURE__ */ triangle({ isLower: true })

/**
 * A copy of the upper triangle of each matrix: zeros below a diagonal, as torch.triu.
 *
 * @throws {GptLayersError} SHAPE for a tensor of less than 2 axes
 * @example gpt.ones([2, 2]).triu({ diagonal: 1 }).toArray() // [[0, 1], [0, 0]]
 */
export const triu = /* @__PURE__ */ triangle({ isLower: false })

function triangle({ isLower }: { isLower: boolean }): (x: Tensor, options?: TriangleOptions) => Tensor {
  return operation((x: Tensor, options?: TriangleOptions) => {
    const checks = { diagonal: integer(-(2 ** 31), 2 ** 31) }
    const { diagonal } = checkOptions<Required<TriangleOptions>>(options, { diagonal: 0 }, checks)
    if (x.shape.length < 2) throw fail('SHAPE', 'the tensor', 'have 2 axes or more', x.shape)
    const triangleOf = (whole: Tensor) => {
      const y = Tensor.full(whole.shape, 0)
      const [rows, cols] = whole.shape.slice(-2)
      const [from, to] = [whole.data, y.data]
      for (let row = 0; row * cols < whole.size; row++) {
        const on = Math.min(Math.max((row % rows) + diagonal + (isLower ? 1 : 0), 0), cols)
        const [begin, end] = isLower ? [0, on] : [on, cols]
        to.set(from.subarray(row * cols + begin, row * cols + end), row * cols + begin)
      }
      return y
    }
    return record(triangleOf(x), [x], (dy) => [triangleOf(dy)], [])
  })
}
