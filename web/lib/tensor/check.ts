// Checks of tensor arguments. Each takes the argument's name, for the error message.

import { checkSameShape, describe } from '../check.ts'
import { fail } from '../errors.ts'
import { leading, sizeOf } from './shape.ts'
import { Tensor } from './tensor.ts'

/** @param expected in words: `a Tensor or a number` */
export function checkTensor(name: string, value: unknown, expected: string = 'a Tensor'): Tensor {
  if (!(value instanceof Tensor)) throw fail('TYPE', name, `be ${expected}`, describe(value))
  if (value.disposed) throw fail('DISPOSED', name, 'be a live Tensor', value.fate)
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
export function checkRowsOf(x: unknown, sizes: readonly number[], name: string): number {
  const { shape, size } = checkTensor('x', x)
  let features = 1
  for (let i = 1; i <= sizes.length; i++) {
    if (shape.at(-i) !== sizes.at(-i)) throw fail('SHAPE', 'x', `end in ${sizes.join(', ')} (${name})`, shape)
    features *= sizes[sizes.length - i]
  }
  return size / features
}

/**
 * @param features the size of x's last axis
 * @param featuresName the layer's name for it
 * @returns the number of vectors of this size in x
 */
export function checkRows(x: unknown, features: number, featuresName: string): number {
  const { shape } = checkTensor('x', x)
  if (shape.at(-1) === features) return sizeOf(leading(shape, 1)) // also where there are no features
  throw fail('SHAPE', 'x', `end in ${features} (${featuresName})`, shape)
}
