// How operations on each element are computed, and their gradients; operations.ts has the operations.

import { type FunctionName, heap, run } from '../runtime/runtime.ts'
import { operation } from './operation.ts'
import { axisOf, broadcast, eachIndex, mergedAxes, sameShape } from './shape.ts'
import { type Gradients, record, recordKernel, records } from './tape.ts'
import { checkTensor, Tensor } from './tensor.ts'

export type Unary = (x: Tensor) => Tensor

/**
 * How dx is computed from dy, for y = f(x): with x, with y, or by a kernel `(dx, dy, x, n, ...scalars)`.
 * Whichever of x and y it needs is kept until `backward`.
 */
type Gradient = (
  | { fromX: (dy: Tensor, x: Tensor) => Tensor }
  | { fromY: (dy: Tensor, y: Tensor) => Tensor }
  | { kernel: FunctionName }
) & {
  /** nanoseconds an element on one thread, roughly: 1 by default. They decide whether threads share a call */
  cost?: number
}

export const unary = (kernel: FunctionName, gradient: Gradient, ...scalars: number[]): Unary =>
  operation((x: Tensor) => map(x, kernel, gradient, ...scalars))

/**
 * y = f(x) for each element, on the tape.
 *
 * @param kernel `(y, x, n, ...scalars)`
 */
export function map(x: Tensor, kernel: FunctionName, gradient: Gradient, ...scalars: number[]): Tensor {
  const cost = x.size * (gradient.cost ?? 1)
  const y = Tensor.empty(x.shape)
  run(kernel, [y, x, x.size, ...scalars], cost)
  if ('fromY' in gradient) return record(y, [x], (dy) => [gradient.fromY(dy, y)], [y])
  if ('fromX' in gradient) return record(y, [x], (dy) => [gradient.fromX(dy, x)], [x])
  return recordKernel(y, {
    inputs: [x],
    saved: [x],
    backward: (dy, dx) => run(gradient.kernel, [dx, dy, x, x.size, ...scalars], cost),
  })
}

export type Binary = (x: Tensor, other: Tensor | number) => Tensor

/** The gradients of y = x ∘ other, before they are summed where x or other was broadcast. */
interface BinaryGradients {
  dx: (dy: Tensor, values: { x: Tensor; other: Tensor | number; y: Tensor }) => Tensor
  /** without its sign, which `isMinus` has */
  dother: (dy: Tensor, values: { x: Tensor; other: Tensor; y: Tensor }) => Tensor
  isMinus?: boolean
  /** what `dx` reads of the values, and what `dother` reads; nothing by default */
  reads?: Record<'dx' | 'dother', ('x' | 'other' | 'y')[]>
}

export const binary = (
  kernel: FunctionName,
  { dx, dother, isMinus = false, reads = { dx: [], dother: [] } }: BinaryGradients,
): Binary =>
  operation((x: Tensor, given: Tensor | number) => {
    const other = operand('other', given)
    const y = elementwise(kernel, [x, other], broadcast(x.shape, shapeOf(other)))
    if (typeof other === 'number') return record(y, [x], (dy) => [dx(dy, { x, other, y })], [])
    if (!records(x, other)) return y
    const [shape, shapeOfOther] = [x.shape, other.shape]
    const values = { x, other, y }
    const gradients: Gradients = (dy, [toX, toOther]) => {
      const sum = toOther ? sumTo(dother(dy, values), shapeOfOther) : null
      return [toX ? sumTo(dx(dy, values), shape) : null, sum && isMinus ? sum.neg() : sum]
    }
    const read = [...(x.requiresGrad ? reads.dx : []), ...(other.requiresGrad ? reads.dother : [])]
    const saved = read.map((value) => values[value])
    return record(y, [x, other], gradients, saved)
  })

/**
 * The operation x ∘ other: 1 where it holds, otherwise 0. It has no gradient.
 *
 * @param isSwapped whether the kernel gets the operands in the other order: x > other is other < x, also of NaN
 */
export const comparison = (kernel: FunctionName, { isSwapped = false } = {}): Binary =>
  operation((x: Tensor, given: Tensor | number) => {
    const other = operand('other', given)
    return elementwise(kernel, isSwapped ? [other, x] : [x, other], broadcast(x.shape, shapeOf(other)))
  })

/** The inverse of broadcasting: dy, summed over the axes along which a tensor of this shape was repeated. */
export function sumTo(dy: Tensor, shape: readonly number[]): Tensor {
  if (sameShape(dy.shape, shape)) return dy
  const axes = mergedAxes(dy.shape, shape)
  const sizes = axes.map((axis) => axis.size)
  let sum = dy
  axes.forEach(({ size, steps: [step] }, i) => {
    if (step !== 0) return
    const { outer, inner } = axisOf(sizes, i)
    const y = Tensor.empty([outer, inner])
    if (inner === 1) run('gpt_sum', [y, sum, outer, size])
    else run('gpt_sum_columns', [y, sum, outer, size, inner])
    sizes[i] = 1
    sum = y
  })
  return sum.reshape(shape)
}

/** The tensor, repeated to a shape that its own broadcasts to: a copy, or x itself where it has this shape. */
export function repeat(x: Tensor, shape: readonly number[]): Tensor {
  if (sameShape(x.shape, shape)) return x
  const y = elementwise('gpt_add', [x, -0], shape) // x + -0 is x, also where x is -0
  const { shape: before } = x
  return record(y, [x], (dy) => [sumTo(dy, before)], [])
}

export type Operand = Tensor | number

export const operand = (name: string, value: unknown): Operand =>
  typeof value === 'number' ? value : checkTensor(name, value, 'a Tensor or a number')

export const shapeOf = (one: Operand): readonly number[] => (typeof one === 'number' ? [] : one.shape)

/**
 * Runs a kernel `(y, ...operands, rows, cols, row and col of each operand)` on operands that are broadcast, as
 * in PyTorch. The kernel broadcasts two axes; a loop here runs over the others.
 *
 * @param shape of the result; the operands' shapes broadcast to it
 */
export function elementwise(
  kernel: FunctionName,
  operands: readonly Operand[],
  shape: readonly number[],
): Tensor {
  const y = Tensor.empty(shape)
  if (y.size > 0) broadcastInto(kernel, y, operands.map(placeOf))
  return y
}

/** What a kernel reads: a tensor, or a number that is in the heap for one call. */
type Place = Pick<Tensor, 'byteOffset' | 'shape' | 'size'>

function placeOf(one: Operand, i: number): Place {
  if (typeof one !== 'number') return one
  const memory = heap()
  const byteOffset = memory.numbers + 4 * i
  memory.floats(byteOffset, 1)[0] = one
  return { byteOffset, shape: [], size: 1 }
}

function broadcastInto(kernel: FunctionName, y: Tensor, operands: readonly Place[]): void {
  const { shape } = y
  const steps: number[] = []
  let isFlat = true
  for (const one of operands) {
    steps.push(0, Number(one.size > 1))
    isFlat &&= one.size === 1 || sameShape(one.shape, shape)
  }
  if (isFlat) {
    run(kernel, [y, ...operands, 1, y.size, ...steps])
    return
  }
  const axes = mergedAxes(shape, ...operands.map((one) => one.shape))
  const repeated = { size: 1, steps: operands.map(() => 0) }
  const cols = axes.pop() ?? repeated
  const rows = axes.pop() ?? repeated
  const matrix = rows.size * cols.size
  const stepsOfBoth = operands.flatMap((_, i) => [rows.steps[i], cols.steps[i]])
  eachIndex(axes, operands.length, (index, begins) => {
    const pointers = operands.map((one, i) => ({ byteOffset: one.byteOffset + 4 * begins[i] }))
    run(kernel, [y.pointerTo(index * matrix), ...pointers, rows.size, cols.size, ...stepsOfBoth])
  })
}
