import { describe } from '../check.ts'
import { fail } from '../errors.ts'
import { checkMemory, isTyped } from '../typed.ts'
import { MAX_AXES, sameShape } from './shape.ts'

/** A number, or arrays of numbers nested to any depth. */
export type NestedArray = number | NestedList
type NestedList = readonly NestedArray[]

const SINGLE: readonly number[] = []

/**
 * @param data row-major
 * @returns the numbers, nested as the shape says; one number for shape `[]`
 */
export function toNested(data: ArrayLike<number>, shape: readonly number[]): NestedArray {
  let next = 0
  const from = (axis: number): NestedArray =>
    axis === shape.length ? data[next++] : Array.from({ length: shape[axis] }, () => from(axis + 1))
  return from(0)
}

/**
 * @param values a number, nested arrays of numbers, or a typed array
 * @returns the numbers in row-major order: a copy, or the typed array itself; and the shape of the nesting
 * @throws {GptLayersError} SHAPE where arrays of one level differ in shape; VALUE for more than 64 levels,
 *   such as those of an array that contains itself; VALUE for a typed array whose memory was transferred to a
 *   worker
 */
export function fromNested(
  name: string,
  values: unknown,
): { data: ArrayLike<number>; shape: readonly number[] } {
  if (isTyped(values)) {
    checkMemory(name, values)
    return { data: values, shape: [values.length] }
  }
  const data: number[] = []
  /** where the visited element is: an index for each level */
  const indices: number[] = []
  const place = () => name + indices.map((index) => `[${index}]`).join('')
  const visit = (value: unknown): readonly number[] => {
    if (typeof value === 'number') {
      data.push(value)
      return SINGLE
    }
    if (isTyped(value)) checkMemory(place(), value)
    else if (!Array.isArray(value)) throw fail('TYPE', place(), 'be a number or an array', describe(value))
    if (indices.length === MAX_AXES) {
      throw fail('VALUE', name, `have at most ${MAX_AXES} levels`, 'more')
    }
    let first: readonly number[] | undefined
    const { length } = value
    for (let i = 0; i < length; i++) {
      indices.push(i)
      const shape = visit(value[i])
      first ??= shape
      if (!sameShape(shape, first)) {
        indices.pop()
        const expected = `have shape [${first.join(', ')}] like ${place()}[0]`
        throw fail('SHAPE', `${place()}[${i}]`, expected, `[${shape.join(', ')}]`)
      }
      indices.pop()
    }
    return [length, ...(first ?? SINGLE)]
  }
  return { shape: visit(values), data }
}
