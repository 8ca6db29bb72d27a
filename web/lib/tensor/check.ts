// Checks of tensor arguments. Each takes the argument's name, for the error message.

import { describe } from '../check.ts'
import { fail } from '../errors.ts'
import { checkSameShape } from './shape.ts'
import { Tensor } from './tensor.ts'

/** @param expected in words: `a Tensor or a number` */
export function checkTensor(name: string, value: unknown, expected: string = 'a Tensor'): Tensor {
  if (!(value instanceof Tensor)) throw fail('TYPE', name, `be ${expected}`, describe(value))
  if (value.disposed) throw fail('DISPOSED', name, 'be a live Tensor', value.whyNotLive)
  return value
}

export function checkTensorOf(name: string, value: unknown, shape: readonly number[]): Tensor {
  const tensor = checkTensor(name, value)
  checkSameShape(name, tensor.shape, shape)
  return tensor
}

export const checkOptional = (name: string, value: unknown, shape: readonly number[]): Tensor | null =>
  value === null ? null : checkTensorOf(name, value, shape)

/**
 * @param sizes of x's last axes
 * @param name the layer's name for them
 * @returns the number of tensors of this shape in x
 */
export function checkRows(x: unknown, sizes: readonly number[], name: string): number {
  const { shape } = checkTensor('x', x)
  const before = shape.length - sizes.length
  for (let i = 0; i < sizes.length; i++) {
    if (shape[before + i] !== sizes[i])
      throw fail('SHAPE', 'x', `end in ${sizes.join(', ')} (${name})`, shape)
  }
  let rows = 1
  for (let i = 0; i < before; i++) rows *= shape[i]
  return rows
}
