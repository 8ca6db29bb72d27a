// Shapes: their checks, and the arithmetic of axes.

import { checkArray, checkAxisSize, checkNumber, checkSize, describe } from '../check.ts'
import { fail, GptLayersError } from '../errors.ts'

/** The most axes of a tensor, as in most of PyTorch's operations. It also ends the walk of a cyclic array. */
export const MAX_AXES = 64

/**
 * The size of the last axis, or the sizes of the last axes, as PyTorch's normalized_shape.
 *
 * @returns a copy
 */
export function checkSizes(name: string, value: unknown): number[] {
  if (!Array.isArray(value)) {
    checkSize(name, value)
    return [value]
  }
  if (value.length === 0 || value.length > MAX_AXES) {
    throw fail('VALUE', name, `have 1 to ${MAX_AXES} sizes`, value.length)
  }
  return Array.from(value, (size, i) => {
    checkSize(`${name}[${i}]`, size)
    return size
  })
}

/**
 * A shape: an array of at most 64 sizes, each an integer >= 0. The shape of a single value is `[]`.
 *
 * @returns a copy
 */
export function checkShape(shape: unknown): number[] {
  checkArray('shape', shape, 'an array of sizes')
  if (shape.length > MAX_AXES) {
    throw fail('VALUE', 'shape', `have at most ${MAX_AXES} elements`, shape.length)
  }
  return Array.from(shape, (size, i) => {
    checkAxisSize(`shape[${i}]`, size)
    return size
  })
}

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

export function checkSameShape(name: string, shape: readonly number[], expected: readonly number[]): void {
  if (sameShape(shape, expected)) return
  throw fail('SHAPE', name, `have shape [${expected.join(', ')}]`, `[${shape.join(', ')}]`)
}

export function sizeOf(shape: readonly number[]): number {
  let product = 1
  for (let i = 0; i < shape.length; i++) product *= shape[i]
  return product
}

/** The sizes before the last ones. Copies the shape first: `slice` of a frozen array takes 0.7 µs in V8. */
export const leading = (shape: readonly number[], last: number): number[] => [...shape].slice(0, -last)

/** The most elements of a tensor: GPT_MAX_FLOATS in c/sizes.h, 2 GiB less 128 bytes. */
const MAX_ELEMENTS = 2 ** 29 - 32

/**
 * A tensor of this shape can be made. It has at most MAX_AXES axes, each size is an integer >= 0, and kernels
 * can count its elements and those of every matrix in it: of a tensor without elements, too, where a size of
 * 0 counts as 1.
 *
 * @returns the number of elements
 */
export function checkElements(shape: readonly number[]): number {
  if (shape.length > MAX_AXES)
    throw fail('SHAPE', 'the result', `have at most ${MAX_AXES} axes`, shape.length)
  let elements = 1
  let counted = 1
  let areSizes = true
  for (let i = 0; i < shape.length; i++) {
    const size = shape[i]
    // The faster test first: it is false above 2^32, too.
    areSizes &&= size >>> 0 === size || (Number.isSafeInteger(size) && size > 0)
    elements *= size
    counted *= size || 1
  }
  if (!areSizes) throw fail('VALUE', 'the result', 'have sizes that are integers >= 0', describe(shape))
  if (counted <= MAX_ELEMENTS) return elements
  const zero = shape.includes(0) ? ', where 0 counts as 1' : ''
  throw new GptLayersError(
    'MEMORY',
    `needs ${4 * counted} bytes for shape [${shape.join(', ')}]${zero}, and a tensor may have ` +
      `${4 * MAX_ELEMENTS}`,
  )
}

/** @returns the axis, from 0 */
export function checkAxis(name: string, dim: unknown, rank: number): number {
  const axes = Math.max(rank, 1)
  const exists = (axis: number) => Number.isInteger(axis) && axis >= -axes && axis < axes
  checkNumber(name, dim, `an axis from ${-axes} to ${axes - 1}`, exists)
  return dim < 0 ? dim + axes : dim
}

/**
 * @param dim an axis, several, or undefined; as in PyTorch, `[]` means all, as undefined does
 * @returns the axes from 0, ascending; none for the shape []
 */
export function checkAxes(dim: unknown, rank: number): number[] {
  const all = Array.from({ length: rank }, (_, axis) => axis)
  if (!Array.isArray(dim)) {
    const axis = dim === undefined ? undefined : checkAxis('dim', dim, rank)
    return axis === undefined ? all : all.filter((one) => one === axis)
  }
  if (dim.length === 0) return all
  const axes = Array.from(dim, (one, i) => checkAxis(`dim[${i}]`, one, rank))
  if (new Set(axes).size < axes.length) throw fail('VALUE', 'dim', 'name each axis once', describe(dim))
  return all.filter((axis) => axes.includes(axis))
}

/**
 * @param axis from 0
 * @returns the axis's size, and the number of elements before and after it. The shape [] has one element, so
 *   its axis has size 1
 */
export function axisOf(
  shape: readonly number[],
  axis: number,
): { size: number; outer: number; inner: number } {
  let [outer, inner] = [1, 1]
  for (let i = 0; i < axis; i++) outer *= shape[i]
  for (let i = axis + 1; i < shape.length; i++) inner *= shape[i]
  return { size: shape[axis] ?? 1, outer, inner }
}

/**
 * The place of a row's first element among all elements.
 *
 * @param row the number of a row along an axis, in row-major order of the other axes
 * @param inner how many elements are after the axis, and so how far a step along it moves
 */
export const rowBegin = (row: number, size: number, inner: number): number =>
  (row - (row % inner)) * size + (row % inner)

/** Float32 holds all integers up to this one. */
export const MAX_INTEGER = 2 ** 24

export function checkIndexed(count: number, shape: readonly number[]): void {
  if (count <= MAX_INTEGER) return
  throw fail('SHAPE', 'the tensor', `have at most ${MAX_INTEGER} elements whose indices are asked for`, shape)
}

/**
 * The shape two tensors broadcast to: aligned at the last axis, each pair of sizes is equal or one of them is
 * 1.
 *
 * @param name of b, for the error message
 */
export function broadcast(
  a: readonly number[],
  b: readonly number[],
  name: string = 'other',
): readonly number[] {
  if (b.length === 0 || sameShape(a, b)) return a
  const rank = Math.max(a.length, b.length)
  return Array.from({ length: rank }, (_, i) => {
    const sizeA = a[a.length - rank + i] ?? 1
    const sizeB = b[b.length - rank + i] ?? 1
    if (sizeA !== sizeB && sizeA !== 1 && sizeB !== 1) {
      throw fail('SHAPE', name, `broadcast with shape [${a.join(', ')}]`, b)
    }
    return sizeA === 1 ? sizeB : sizeA
  })
}

/**
 * An axis of a broadcast result: its size, and how far a step along it moves in each operand; 0 repeats an
 * element.
 */
interface Axis {
  size: number
  steps: number[]
}

/**
 * The axes of a broadcast result, as few as possible: without axes of size 1, and with two neighbors merged
 * where all operands are contiguous across them.
 *
 * @param shape the result's
 * @param shapes the operands'
 */
export function mergedAxes(shape: readonly number[], ...shapes: readonly (readonly number[])[]): Axis[] {
  const axes: Axis[] = []
  const strides: number[] = []
  for (let operand = 0; operand < shapes.length; operand++) strides.push(1)
  for (let i = 1; i <= shape.length; i++) {
    const size = shape[shape.length - i]
    const inner = axes[0]
    const steps: number[] = []
    let isContiguous = inner !== undefined
    for (let operand = 0; operand < shapes.length; operand++) {
      const own = shapes[operand][shapes[operand].length - i] ?? 1
      const step = own === 1 ? 0 : strides[operand]
      steps.push(step)
      if (isContiguous && step !== inner.steps[operand] * inner.size) isContiguous = false
      strides[operand] *= own
    }
    if (size === 1) continue
    if (isContiguous) inner.size *= size
    else axes.unshift({ size, steps })
  }
  return axes
}

/**
 * Visits every index of some axes, in row-major order.
 *
 * @param visit gets the number of the index, and where it lies in each operand
 */
export function eachIndex(
  axes: readonly Axis[],
  operands: number,
  visit: (index: number, begins: readonly number[]) => void,
): void {
  const count = sizeOf(axes.map(({ size }) => size))
  const begins: number[] = Array.from({ length: operands }, () => 0)
  const at = axes.map(() => 0)
  for (let index = 0; index < count; index++) {
    visit(index, begins)
    // one step along the last axis, or back to its beginning and one step along the axis before
    for (let axis = axes.length - 1; axis >= 0; axis--) {
      const { size, steps } = axes[axis]
      const isEnd = ++at[axis] === size
      for (let operand = 0; operand < operands; operand++) {
        begins[operand] += isEnd ? steps[operand] * (1 - size) : steps[operand]
      }
      if (!isEnd) break
      at[axis] = 0
    }
  }
}
