// Operations on each element, and their gradients.

import type { Tensor } from './tensor.ts'
import { sameShape } from '../check.ts'
import { record } from '../runtime/tape.ts'
import { broadcast, mergedAxes } from './shape.ts'

type BinaryKernel = 'gpt_add' | 'gpt_sub' | 'gpt_mul' | 'gpt_div'
type UnaryKernel = 'gpt_exp' | 'gpt_sqrt' | 'gpt_log' | 'gpt_tanh' | 'gpt_abs'

/** a + b */
export function add(a: Tensor, b: Tensor | number): Tensor {
  if (typeof b === 'number') return record(withNumber('add', a, b), [a], (dy) => [dy], [])
  const [shapeA, shapeB] = [a.shape, b.shape]
  return record(
    binary('gpt_add', a, b),
    [a, b],
    (dy, [toA, toB]) => [toA ? sumTo(dy, shapeA) : null, toB ? sumTo(dy, shapeB) : null],
    [],
  )
}

/** a - b */
export function sub(a: Tensor, b: Tensor | number): Tensor {
  if (typeof b === 'number') return record(withNumber('sub', a, b), [a], (dy) => [dy], [])
  const [shapeA, shapeB] = [a.shape, b.shape]
  return record(
    binary('gpt_sub', a, b),
    [a, b],
    (dy, [toA, toB]) => [toA ? sumTo(dy, shapeA) : null, toB ? sumTo(dy, shapeB).neg() : null],
    [],
  )
}

/** a · b */
export function mul(a: Tensor, b: Tensor | number): Tensor {
  if (typeof b === 'number') return record(withNumber('mul', a, b), [a], (dy) => [dy.mul(b)], [])
  const [shapeA, shapeB] = [a.shape, b.shape]
  const saved = [...(a.requiresGrad ? [b] : []), ...(b.requiresGrad ? [a] : [])]
  return record(
    binary('gpt_mul', a, b),
    [a, b],
    (dy, [toA, toB]) => [toA ? sumTo(dy.mul(b), shapeA) : null, toB ? sumTo(dy.mul(a), shapeB) : null],
    saved,
  )
}

/** y = a / b; dy/da = 1 / b, dy/db = -y / b */
export function div(a: Tensor, b: Tensor | number): Tensor {
  if (typeof b === 'number') return record(withNumber('div', a, b), [a], (dy) => [dy.div(b)], [])
  const [shapeA, shapeB] = [a.shape, b.shape]
  const y = binary('gpt_div', a, b)
  return record(
    y,
    [a, b],
    (dy, [toA, toB]) => {
      const da = dy.div(b)
      return [toA ? sumTo(da, shapeA) : null, toB ? sumTo(da.mul(y), shapeB).neg() : null]
    },
    b.requiresGrad ? [b, y] : [b],
  )
}

/** y = e^x; dy/dx = y */
export function exp(x: Tensor): Tensor {
  const y = unary('gpt_exp', x)
  return record(y, [x], (dy) => [dy.mul(y)], [y])
}

/** y = log(x); dy/dx = 1 / x */
export const log = (x: Tensor): Tensor => record(unary('gpt_log', x), [x], (dy) => [dy.div(x)], [x])

/** y = √x; dy/dx = 1 / (2y) */
export function sqrt(x: Tensor): Tensor {
  const y = unary('gpt_sqrt', x)
  return record(y, [x], (dy) => [dy.div(y.mul(2))], [y])
}

/** y = tanh(x); dy/dx = 1 - y² */
export function tanh(x: Tensor): Tensor {
  const y = unary('gpt_tanh', x)
  return record(y, [x], (dy) => [dy.sub(dy.mul(y.mul(y)))], [y])
}

/** |x|; its gradient is sign(x) */
export function abs(x: Tensor): Tensor {
  const backward = (dy: Tensor) => {
    const dx = x.empty(x.shape)
    x.runtime.run('gpt_abs_backward', [dx, dy, x, x.size])
    return [dx]
  }
  return record(unary('gpt_abs', x), [x], backward, [x])
}

/** -x */
export const neg = (x: Tensor): Tensor => x.mul(-1)

/** y = x^p; dy/dx = p · x^(p - 1) */
export function pow(x: Tensor, exponent: number): Tensor {
  const y = x.empty(x.shape)
  x.runtime.run('gpt_pow', [y, x, x.size, exponent])
  // 0 · 0^-1 would be NaN.
  const backward = (dy: Tensor) => [
    exponent === 0 ? x.zeroed(x.shape) : dy.mul(x.pow(exponent - 1).mul(exponent)),
  ]
  return record(y, [x], backward, [x])
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

/** a ∘ b, broadcast as in PyTorch. The kernel broadcasts two axes; a loop here runs over the others. */
function binary(kernel: BinaryKernel, a: Tensor, b: Tensor): Tensor {
  const shape = broadcast(a.shape, b.shape)
  const y = a.empty(shape)
  if (y.size === 0) return y
  if (sameShape(a.shape, b.shape)) {
    a.runtime.run(kernel, [y, a, b, 1, y.size, 0, 1, 0, 1])
    return y
  }
  const axes = mergedAxes(shape, a.shape, b.shape)
  const cols = axes.pop() ?? { size: 1, a: 0, b: 0 }
  const rows = axes.pop() ?? { size: 1, a: 0, b: 0 }
  const matrix = rows.size * cols.size
  const walk = (axis: number, matrixIndex: number, indexA: number, indexB: number): void => {
    if (axis === axes.length) {
      const [yi, ai, bi] = [y.pointerTo(matrixIndex * matrix), a.pointerTo(indexA), b.pointerTo(indexB)]
      a.runtime.run(kernel, [yi, ai, bi, rows.size, cols.size, rows.a, cols.a, rows.b, cols.b])
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

/** a ∘ number */
function withNumber(operation: 'add' | 'sub' | 'mul' | 'div', a: Tensor, number: number): Tensor {
  const b = a.empty([])
  b.data[0] = number
  try {
    return binary(`gpt_${operation}`, a, b)
  } finally {
    b.dispose()
  }
}

function unary(kernel: UnaryKernel, x: Tensor): Tensor {
  const y = x.empty(x.shape)
  x.runtime.run(kernel, [y, x, x.size])
  return y
}
