// Operations on each element, and their gradients.

import { sameShape } from '../check.ts'
import { type FunctionName, run } from '../runtime/runtime.ts'
import { checkLive, checkOperand } from './check.ts'
import { broadcast, mergedAxes } from './shape.ts'
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

/** An operation on two tensors, y = a ∘ b, before the gradients are summed where a or b was broadcast. */
interface Binary {
  kernel: FunctionName
  da: (dy: Tensor, a: Tensor, b: Tensor | number, y: Tensor) => Tensor
  /** with the sign of the next property */
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
function sumTo(dy: Tensor, shape: readonly number[]): Tensor {
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
  const cols = axes.pop() ?? { size: 1, a: 0, b: 0 }
  const rows = axes.pop() ?? { size: 1, a: 0, b: 0 }
  const matrix = rows.size * cols.size
  const walk = (axis: number, matrixIndex: number, indexA: number, indexB: number): void => {
    if (axis === axes.length) {
      const [yi, ai, bi] = [y.pointerTo(matrixIndex * matrix), a.pointerTo(indexA), b.pointerTo(indexB)]
      run(kernel, [yi, ai, bi, rows.size, cols.size, rows.a, cols.a, rows.b, cols.b])
      return
    }
    const { size, a: strideA, b: strideB } = axes[axis]
    for (let i = 0; i < size; i++) {
      walk(axis + 1, matrixIndex * size + i, indexA + i * strideA, indexB + i * strideB)
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
