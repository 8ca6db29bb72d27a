import { describe } from '../check.ts'
import { fail } from '../errors.ts'
import { heap } from '../runtime/runtime.ts'
import { type BigIntArray, type NumberArray, checkMemory, isBigInts, isTyped } from '../typed.ts'
import { type NestedArray, fromNested } from './nested.ts'
import { checkTensor, Tensor } from './tensor.ts'

/**
 * Integers such as tokens: one number, nested arrays, a typed array of numbers or of bigints, or a Tensor
 * whose elements are integers.
 */
export type Indices = number | NestedArray | NumberArray | BigIntArray | Tensor

/**
 * @param value Indices, each from 0 to count - 1; none of them where count is 0
 * @param exception one more value that is allowed
 * @returns a copy, row-major
 */
export function checkIndices(
  name: string,
  value: unknown,
  count: number,
  exception?: number,
): { indices: Int32Array; shape: readonly number[] } {
  const { data, shape } = dataOf(name, value)
  const indices = new Int32Array(data.length)
  for (let i = 0; i < data.length; i++) {
    const index = Number(data[i]) // bigints too large for an exact number are out of range
    const isAllowed = (Number.isInteger(index) && index >= 0 && index < count) || index === exception
    if (!isAllowed) {
      const element = name + subscript(i, shape)
      const alternative = exception === undefined ? '' : `, or ${exception}`
      const expected =
        count === 0
          ? `${exception ?? 'left out'}, as there is nothing to choose from`
          : `an integer from 0 to ${count - 1}${alternative}`
      throw fail('VALUE', element, `be ${expected}`, describe(data[i]))
    }
    indices[i] = index
  }
  return { indices, shape }
}

/**
 * Copies indices into the heap, for a kernel.
 *
 * @param checked from `checkIndices`
 * @returns its memory holds int32 values, so its `data` (a view of float32) has no meaning
 */
export function storeIndices({ indices, shape }: { indices: Int32Array; shape: readonly number[] }): Tensor {
  const tensor = Tensor.empty(shape)
  heap().words(tensor.byteOffset, tensor.size).set(indices)
  return tensor
}

function dataOf(
  name: string,
  value: unknown,
): { data: ArrayLike<number | bigint>; shape: readonly number[] } {
  if (isBigInts(value) || isTyped(value)) {
    checkMemory(name, value)
    return { data: value, shape: [value.length] }
  }
  if (typeof value === 'number' || Array.isArray(value)) return fromNested(name, value)
  if (value instanceof Tensor) return checkTensor(name, value)
  throw fail(
    'TYPE',
    name,
    'be integers (a number, nested arrays, a typed array or a Tensor)',
    describe(value),
  )
}

/** @returns such as `[1][2]`, for an error message */
function subscript(index: number, shape: readonly number[]): string {
  let text = ''
  let rest = index
  for (const size of [...shape].reverse()) {
    text = `[${rest % size}]${text}`
    rest = Math.floor(rest / size)
  }
  return text
}
