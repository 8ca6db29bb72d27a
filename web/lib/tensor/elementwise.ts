// Operations on each element, and their gradients.

import { checkNumber, checkOptions, sameShape } from '../check.ts'
import { fail } from '../errors.ts'
import { type FunctionName, run } from '../runtime/runtime.ts'
import { checkLive, checkOperand } from './check.ts'
import { temporary } from './scope.ts'
import { broadcast, mergedAxes } from './shape.ts'
import { record, recordKernel, withoutTape } from './tape.ts'
import { Tensor } from './tensor.ts'
import { chosen } from './where.ts'

/**
 * How dx is computed from dy, for y = f(x): with x, with y, or by a kernel `(dx, dy, x, n, ...scalars)`.
 * Whichever of x and y it needs is kept until `backward`.
 */
type Gradient = GradientFrom | { kernel: FunctionName }
type GradientFrom =
  { fromX: (dy: Tensor, x: Tensor) => Tensor } | { fromY: (dy: Tensor, y: Tensor) => Tensor }

/**
 * y = f(x) for each element.
 *
 * @param kernel `(y, x, n, ...scalars)`
 */
export function unary(x: Tensor, kernel: FunctionName, gradient: Gradient, ...scalars: number[]): Tensor {
  checkLive(x)
  const y = Tensor.empty(x.shape)
  run(kernel, [y, x, x.size, ...scalars])
  if (!('kernel' in gradient)) return recordFrom(x, y, gradient)
  return recordKernel(y, {
    inputs: [x],
    saved: [x],
    backward: (dy, dx) => run(gradient.kernel, [dx, dy, x, x.size, ...scalars]),
  })
}

/** As `unary`, for what other operations compute: `compute` runs without the tape. */
function composed(x: Tensor, compute: (x: Tensor) => Tensor, gradient: GradientFrom): Tensor {
  checkLive(x)
  return recordFrom(
    x,
    temporary(() => withoutTape(() => compute(x))),
    gradient,
  )
}

/** As `unary`, for a function of JavaScript. */
function mapped(x: Tensor, f: (value: number) => number, gradient: GradientFrom): Tensor {
  checkLive(x)
  const y = Tensor.empty(x.shape)
  const [from, to] = [x.data, y.data]
  for (let i = 0; i < to.length; i++) to[i] = f(from[i])
  return recordFrom(x, y, gradient)
}

const recordFrom = (x: Tensor, y: Tensor, gradient: GradientFrom): Tensor =>
  'fromY' in gradient
    ? record(y, [x], (dy) => [gradient.fromY(dy, y)], [y])
    : record(y, [x], (dy) => [gradient.fromX(dy, x)], [x])

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
  composed(x, (x) => reciprocal(x.sqrt()), { fromY: (dy, y) => dy.mul(y.mul(y).mul(y)).mul(-0.5) })

/** y = σ(x) = 1 / (1 + e^-x); dx = dy · (1 - y) · y */
export const sigmoid = (x: Tensor): Tensor =>
  composed(x, (x) => reciprocal(x.neg().exp().add(1)), { fromY: (dy, y) => dy.mul(y.neg().add(1)).mul(y) })

/** y = x / (1 + e^-x); dx = dy · σ(x) · (1 + x · (1 - σ(x))) */
export const silu = (x: Tensor): Tensor =>
  composed(x, (x) => x.div(x.neg().exp().add(1)), {
    fromX: (dy, x) => {
      const s = sigmoid(x)
      return dy.mul(s.mul(s.neg().add(1).mul(x).add(1)))
    },
  })

/** dx = dy · cos x */
export const sin = (x: Tensor): Tensor => mapped(x, Math.sin, { fromX: (dy, x) => dy.mul(cos(x)) })

/** dx = -dy · sin x */
export const cos = (x: Tensor): Tensor => mapped(x, Math.cos, { fromX: (dy, x) => dy.mul(sin(x)).neg() })

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
  checkLive(x)
  const y = Tensor.empty(x.shape)
  const [from, to] = [x.data, y.data]
  for (let i = 0; i < to.length; i++) to[i] = Math.min(Math.max(from[i], min), max)
  return recordFrom(x, y, {
    fromX: (dy, x) => chosen(dy.shape, x.ge(min).mul(x.le(max)), dy, 0),
  })
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
  if (typeof other === 'number') {
    const y = withNumber(kernel, a, other)
    return record(y, [a], (dy) => [da(dy, a, other, y)], [])
  }
  const b = checkOperand('other', 'a Tensor or a number', other)
  const y = broadcastWith(kernel, a, b)
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
  const added = dy.shape.length - shape.length
  let sum = dy
  dy.shape.forEach((size, axis) => {
    const isRepeated = axis < added || (shape[axis - added] === 1 && size !== 1)
    if (isRepeated) sum = sum.sum({ dim: axis, keepdim: true })
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
  const y = withNumber('gpt_add', x, -0, shape) // x + -0 is x, also where x is -0
  const { shape: before } = x
  return record(y, [x], (dy) => [sumTo(dy, before)], [])
}

/**
 * a ∘ b, broadcast as in PyTorch. The kernel broadcasts two axes; a loop here runs over the others.
 *
 * @param shape of the result, where that is more than a and b together have
 */
function broadcastWith(
  kernel: FunctionName,
  a: Tensor,
  b: Tensor,
  shape: readonly number[] = broadcast(a.shape, b.shape),
): Tensor {
  const y = Tensor.empty(shape)
  if (y.size === 0) return y
  if (sameShape(a.shape, b.shape) && sameShape(a.shape, shape)) {
    run(kernel, [y, a, b, 1, y.size, 0, 1, 0, 1])
    return y
  }
  const axes = mergedAxes(shape, a.shape, b.shape)
  const cols = axes.pop() ?? { size: 1, steps: [0, 0] }
  const rows = axes.pop() ?? { size: 1, steps: [0, 0] }
  const [rowA, rowB] = rows.steps
  const [colA, colB] = cols.steps
  const matrix = rows.size * cols.size
  const walk = (axis: number, matrixIndex: number, indexA: number, indexB: number): void => {
    if (axis === axes.length) {
      const [yi, ai, bi] = [y.pointerTo(matrixIndex * matrix), a.pointerTo(indexA), b.pointerTo(indexB)]
      run(kernel, [yi, ai, bi, rows.size, cols.size, rowA, colA, rowB, colB])
      return
    }
    const { size, steps } = axes[axis]
    for (let i = 0; i < size; i++) {
      walk(axis + 1, matrixIndex * size + i, indexA + i * steps[0], indexB + i * steps[1])
    }
  }
  walk(0, 0, 0, 0)
  return y
}

/**
 * a ∘ number
 *
 * @param shape that a's broadcasts to
 */
function withNumber(
  kernel: FunctionName,
  a: Tensor,
  number: number,
  shape: readonly number[] = a.shape,
): Tensor {
  const b = Tensor.empty([])
  b.data[0] = number
  try {
    return broadcastWith(kernel, a, b, shape)
  } finally {
    b.dispose()
  }
}
