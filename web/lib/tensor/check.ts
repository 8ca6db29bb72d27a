// Checks of tensor arguments. Each takes the argument's name, for the error message.

import type { Runtime } from '../runtime/runtime.ts'
import { checkSameShape } from '../check.ts'
import { fail } from '../errors.ts'
import { notTensor, Tensor } from './tensor.ts'

/** @returns a live tensor of this runtime */
export function checkTensor(runtime: Runtime, name: string, value: unknown): Tensor {
  const tensor = asTensor(name, value)
  tensor.checkUsable(runtime, name)
  return tensor
}

/** @returns a live tensor of any runtime */
export function checkLiveTensor(name: string, value: unknown): Tensor {
  const tensor = asTensor(name, value)
  tensor.checkUsable(tensor.runtime, name)
  return tensor
}

function asTensor(name: string, value: unknown): Tensor {
  if (value instanceof Tensor) return value
  throw notTensor(name, 'a Tensor', value)
}

/** @returns a live tensor of this runtime, of this shape */
export function checkTensorOf(
  runtime: Runtime,
  name: string,
  value: unknown,
  shape: readonly number[],
): Tensor {
  const tensor = checkTensor(runtime, name, value)
  checkSameShape(name, tensor.shape, shape)
  return tensor
}

/**
 * Checks the input of a layer whose last axes have fixed sizes.
 *
 * @param sizes of the last axes
 * @param name the layer's name for them
 * @returns rows: the number of tensors of this shape
 */
export function checkRowsOf(runtime: Runtime, x: unknown, sizes: readonly number[], name: string): number {
  const { shape, size } = checkTensor(runtime, 'x', x)
  let features = 1
  for (let i = 1; i <= sizes.length; i++) {
    if (shape.at(-i) !== sizes.at(-i)) throw fail('SHAPE', 'x', `end in ${sizes.join(', ')} (${name})`, shape)
    features *= sizes[sizes.length - i]
  }
  return size / features
}

/**
 * Checks the input of a layer whose last axis has a fixed size.
 *
 * @param features the size of the last axis
 * @param featuresName the layer's name for it
 * @returns rows: the number of vectors of `features` elements
 */
export function checkRows(runtime: Runtime, x: unknown, features: number, featuresName: string): number {
  const { shape, size } = checkTensor(runtime, 'x', x)
  if (shape.at(-1) === features) return size / features
  throw fail('SHAPE', 'x', `end in ${features} (${featuresName})`, shape)
}
