// Operations on each element, and their gradients.

import { checkNumber, checkOptions, sameShape } from '../check.ts'
import { fail } from '../errors.ts'
import { type FunctionName, run } from '../runtime/runtime.ts'
import { checkLive, checkOperand } from './check.ts'
import { broadcast, eachIndex, mergedAxes, sizeOf } from './shape.ts'
import { record, recordKernel } from './tape.ts'
import { Tensor } from './tensor.ts'

/**
 * How dx is computed from dy, for y = f(x): with x, with y, or by a kernel `(dx, dy, x, n, ...scalars)`.
 * Whichever of x and y it needs is kept until `backward`.
 */
type Gradient =
  | { fromX: (dy: Tensor, x: Tensor) => Tensor }
  | { fromY: (dy: Tensor, y: Tensor) => Tensor }
  | { kernel: FunctionName }

/**
 * y = f(x) for each element.
 *
 * @param kernel `(y, x, n, ...scalars)`
 */
export function unary(x: Tensor, kernel: FunctionName, gradient: Gradient, ...scalars: number[]): Tensor {
  checkLive(x)
  const y = Tensor.empty(x.shape)
  run(kernel, [y, x, x.size, ...scalars])
  if ('fromY' in gradient) return record(y, [x], (dy) => [gradient.fromY(dy, y)], [y])
  if ('fromX' in gradient) return record(y, [x], (dy) => [gradient.fromX(dy, x)], [x])
  return recordKernel(y, {
    inputs: [x],
    saved: [x],
    backward: (dy, dx) => run(gradient.kernel, [dx, dy, x, x.size, ...scalars]),
  })
}

/** y = max(0, x) */
export const relu = (x: Tensor): Tensor => unary(x, 'gpt_relu_forward', { kernel: 'gpt_relu_backward' })

/** gpt_gelu_kind in c/gpt_layers.h, by PyTorch's names. */
export const GELU_KINDS = { tanh: 0, none: 1 }

export interface GELUOptions {
  /**
   * 'tanh', the default, is GPT-2's and the notebook's 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))); 'none'
   * is the exact 0.5·x·(1 + erf(x/√2)), PyTorch's default
   */
  approximate?: 'tanh' | 'none'
}

/** y = x · Φ(x) */
export const gelu = (x: Tensor, approximate: keyof typeof GELU_KINDS): Tensor =>
  unary(x, 'gpt_gelu_forward', { kernel: 'gpt_gelu_backward' }, GELU_KINDS[approximate])

/** y = 1 / x; dx = -dy · y² */
export const reciprocal = (x: Tensor): Tensor =>
  unary(x, 'gpt_pow', { fromY: (dy, y) => dy.mul(y.mul(y)).neg() }, -1)

/** y = 1 / √x; dx = -dy · y³ / 2 */
export const rsqrt = (x: Tensor): Tensor =>
  unary(x, 'gpt_pow', { fromY: (dy, y) => dy.mul(y.pow(3)).mul(-0.5) }, -0.5)

/** y = σ(x) = 1 / (1 + e^-x); dx = dy · (1 - y) · y */
export const sigmoid = (x: Tensor): Tensor =>
  unary(x, 'gpt_sigmoid', { fromY: (dy, y) => dy.mul(y.neg().add(1)).mul(y) })

/** y = x · σ(x); dx = dy · σ(x) · (1 + x · (1 - σ(x))) */
export const silu = (x: Tensor): Tensor => unary(x, 'gpt_silu_forward', { kernel: 'gpt_silu_backward' })

/** dx = dy · cos x */
export const sin = (x: Tensor): Tensor => unary(x, 'gpt_sin', { fromX: (dy, x) => dy.mul(cos(x)) })

/** dx = -dy · sin x */
export const cos = (x: Tensor): Tensor => unary(x, 'gpt_cos', { fromX: (dy, x) => dy.mul(sin(x)).neg() })

/**
 * y = x^exponent; dx = dy · exponent · x^(exponent - 1). That of the exponent 0 is 0: 0 · 0^-1 would be NaN.
 * That of a square is dy · 2x.
 */
export function pow(x: Tensor, exponent: number): Tensor {
  const fromX = (dy: Tensor, x: Tensor) =>
    exponent === 0 ? Tensor.zeros(x.shape) : dy.mul((exponent === 2 ? x : x.pow(exponent - 1)).mul(exponent))
  return unary(x, 'gpt_pow', { fromX }, exponent)
}

export interface ClampOptions {
  /** what is below becomes min; -Infinity by default */
  min?: number
  /** what is above becomes max, also where min is larger; Infinity by default */
  max?: number
}

/** dx = dy where min ≤ x ≤ max, otherwise 0 */
export function clamp(x: Tensor, options?: ClampOptions): Tensor {
  const given = checkOptions<ClampOptions>(options, { min: undefined, max: undefined })
  if (given.min === undefined && given.max === undefined) {
    throw fail('VALUE', 'options', 'have min, max or both', 'neither')
  }
  const { min = -Infinity, max = Infinity } = given
  checkNumber('min', min, 'a number', () => true)
  checkNumber('max', max, 'a number', () => true)
  return unary(x, 'gpt_clamp', { kernel: 'gpt_clamp_backward' }, min, max)
}

/** An operation on two tensors, y = a ∘ b, before the gradients are summed where a or b was broadcast. */
interface Binary {
  kernel: FunctionName
  da: (dy: Tensor, a: Tensor, b: Tensor | number, y: Tensor) => Tensor
  /** without its sign, which `isMinus` has */
  db: (dy: Tensor, a: Tensor, b: Tensor, y: Tensor) => Tensor
  isMinus: boolean
  /** what `da` reads of a, b and y, and what `db` reads */
  reads: { da: ('a' | 'b' | 'y')[]; db: ('a' | 'b' | 'y')[] }
}

const same = (dy: Tensor): Tensor => dy

const BINARY: Record<'add' | 'sub' | 'mul' | 'div', Binary> = {
  add: { kernel: 'gpt_add', da: same, db: same, isMinus: false, reads: { da: [], db: [] } },
  sub: { kernel: 'gpt_sub', da: same, db: same, isMinus: true, reads: { da: [], db: [] } },
  mul: {
    kernel: 'gpt_mul',
    da: (dy, _a, b) => dy.mul(b),
    db: (dy, a) => dy.mul(a),
    isMinus: false,
    reads: { da: ['b'], db: ['a'] },
  },
  // dy/da = 1 / b, dy/db = -y / b
  div: {
    kernel: 'gpt_div',
    da: (dy, _a, b) => dy.div(b),
    db: (dy, _a, b, y) => dy.div(b).mul(y),
    isMinus: true,
    reads: { da: ['b'], db: ['b', 'y'] },
  },
}

/** @param other broadcast as in PyTorch; not yet checked */
export function binary(name: keyof typeof BINARY, a: Tensor, other: unknown): Tensor {
  checkLive(a)
  const { kernel, da, db, isMinus, reads } = BINARY[name]
  const b = operand('other', other)
  const y = elementwise(kernel, [a, b], broadcast(a.shape, shapeOf(b)))
  if (typeof b === 'number') return record(y, [a], (dy) => [da(dy, a, b, y)], [])
  const [shapeA, shapeB] = [a.shape, b.shape]
  const read = new Set([...(a.requiresGrad ? reads.da : []), ...(b.requiresGrad ? reads.db : [])])
  const saved = { a, b, y }
  return record(
    y,
    [a, b],
    (dy, [toA, toB]) => {
      const sumB = toB ? sumTo(db(dy, a, b, y), shapeB) : null
      return [toA ? sumTo(da(dy, a, b, y), shapeA) : null, sumB && isMinus ? sumB.neg() : sumB]
    },
    [...read].map((one) => saved[one]),
  )
}

/**
 * The inverse of broadcasting, for gradients.
 *
 * @param shape that broadcasts to dy's
 * @returns dy, summed over the axes along which a tensor of this shape was repeated
 */
export function sumTo(dy: Tensor, shape: readonly number[]): Tensor {
  if (sameShape(dy.shape, shape)) return dy
  const axes = mergedAxes(dy.shape, shape)
  const sizes = axes.map((axis) => axis.size)
  let sum = dy
  axes.forEach(({ size, steps: [step] }, i) => {
    if (step !== 0) return
    const [outer, inner] = [sizeOf(sizes.slice(0, i)), sizeOf(sizes.slice(i + 1))]
    const y = Tensor.empty([outer, inner])
    if (inner === 1) run('gpt_sum', [y, sum, outer, size])
    else run('gpt_sum_columns', [y, sum, outer, size, inner])
    sizes[i] = 1
    sum = y
  })
  return sum.reshape(shape)
}

/**
 * The tensor, repeated along the axes that broadcast.
 *
 * @param shape that x's broadcasts to
 * @returns a copy; x itself where it has this shape
 */
export function repeat(x: Tensor, shape: readonly number[]): Tensor {
  if (sameShape(x.shape, shape)) return x
  const y = elementwise('gpt_add', [x, -0], shape) // x + -0 is x, also where x is -0
  const { shape: before } = x
  return record(y, [x], (dy) => [sumTo(dy, before)], [])
}

/** What an elementwise operation takes beside a tensor: a number is every element of a tensor. */
export type Operand = Tensor | number

/** @returns a live tensor, or a number */
export const operand = (name: string, value: unknown): Operand =>
  typeof value === 'number' ? value : checkOperand(name, 'a Tensor or a number', value)

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
  const numbers: Tensor[] = []
  try {
    const tensors = operands.map((one) => {
      if (typeof one !== 'number') return one
      const number = Tensor.empty([])
      numbers.push(number)
      number.data[0] = one
      return number
    })
    const y = Tensor.empty(shape)
    if (y.size > 0) broadcastInto(kernel, y, tensors)
    return y
  } finally {
    for (const number of numbers) number.dispose()
  }
}

function broadcastInto(kernel: FunctionName, y: Tensor, operands: readonly Tensor[]): void {
  const { shape } = y
  if (operands.every((one) => one.size === 1 || sameShape(one.shape, shape))) {
    run(kernel, [y, ...operands, 1, y.size, ...operands.flatMap((one) => [0, Number(one.size > 1)])])
    return
  }
  const axes = mergedAxes(shape, ...operands.map(shapeOf))
  const repeated = { size: 1, steps: operands.map(() => 0) }
  const cols = axes.pop() ?? repeated
  const rows = axes.pop() ?? repeated
  const matrix = rows.size * cols.size
  const steps = operands.flatMap((_, i) => [rows.steps[i], cols.steps[i]])
  eachIndex(axes, operands.length, (index, begins) => {
    const pointers = operands.map((one, i) => one.pointerTo(begins[i]))
    run(kernel, [y.pointerTo(index * matrix), ...pointers, rows.size, cols.size, ...steps])
  })
}
