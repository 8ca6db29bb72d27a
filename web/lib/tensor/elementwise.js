// Operations on each element, and their gradients.

/** @import { Tensor } from './tensor.js' */

import { sameShape } from '../check.js'
import { record } from '../runtime/tape.js'
import { broadcast, mergedAxes } from './shape.js'

/** @typedef {'gpt_add' | 'gpt_sub' | 'gpt_mul' | 'gpt_div'} BinaryKernel */
/** @typedef {'gpt_exp' | 'gpt_sqrt' | 'gpt_log' | 'gpt_tanh' | 'gpt_abs'} UnaryKernel */

/** @param {Tensor} a @param {Tensor | number} b @returns {Tensor} a + b */
export function add(a, b) {
  if (typeof b === 'number') return record(withNumber('add', a, b), [a], (dy) => [dy], [])
  const [shapeA, shapeB] = [a.shape, b.shape]
  return record(
    binary('gpt_add', a, b),
    [a, b],
    (dy, [toA, toB]) => [toA ? sumTo(dy, shapeA) : null, toB ? sumTo(dy, shapeB) : null],
    [],
  )
}

/** @param {Tensor} a @param {Tensor | number} b @returns {Tensor} a - b */
export function sub(a, b) {
  if (typeof b === 'number') return record(withNumber('sub', a, b), [a], (dy) => [dy], [])
  const [shapeA, shapeB] = [a.shape, b.shape]
  return record(
    binary('gpt_sub', a, b),
    [a, b],
    (dy, [toA, toB]) => [toA ? sumTo(dy, shapeA) : null, toB ? sumTo(dy, shapeB).neg() : null],
    [],
  )
}

/** @param {Tensor} a @param {Tensor | number} b @returns {Tensor} a · b */
export function mul(a, b) {
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

/** @param {Tensor} a @param {Tensor | number} b @returns {Tensor} y = a / b; dy/da = 1 / b, dy/db = -y / b */
export function div(a, b) {
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

/** @param {Tensor} x @returns {Tensor} y = e^x; dy/dx = y */
export function exp(x) {
  const y = unary('gpt_exp', x)
  return record(y, [x], (dy) => [dy.mul(y)], [y])
}

/** @param {Tensor} x @returns {Tensor} y = log(x); dy/dx = 1 / x */
export const log = (x) => record(unary('gpt_log', x), [x], (dy) => [dy.div(x)], [x])

/** @param {Tensor} x @returns {Tensor} y = √x; dy/dx = 1 / (2y) */
export function sqrt(x) {
  const y = unary('gpt_sqrt', x)
  return record(y, [x], (dy) => [dy.div(y.mul(2))], [y])
}

/** @param {Tensor} x @returns {Tensor} y = tanh(x); dy/dx = 1 - y² */
export function tanh(x) {
  const y = unary('gpt_tanh', x)
  return record(y, [x], (dy) => [dy.sub(dy.mul(y.mul(y)))], [y])
}

/** @param {Tensor} x @returns {Tensor} |x|; its gradient is sign(x) */
export function abs(x) {
  const backward = (/** @type {Tensor} */ dy) => {
    const dx = x.empty(x.shape)
    x.runtime.run('gpt_abs_backward', [dx, dy, x, x.size])
    return [dx]
  }
  return record(unary('gpt_abs', x), [x], backward, [x])
}

/** @param {Tensor} x @returns {Tensor} -x */
export const neg = (x) => x.mul(-1)

/** @param {Tensor} x @param {number} exponent @returns {Tensor} y = x^p; dy/dx = p · x^(p - 1) */
export function pow(x, exponent) {
  const y = x.empty(x.shape)
  x.runtime.run('gpt_pow', [y, x, x.size, exponent])
  const backward = (/** @type {Tensor} */ dy) => {
    if (exponent !== 0) return [dy.mul(x.pow(exponent - 1).mul(exponent))]
    const dx = x.empty(x.shape)
    dx.data.fill(0) // 0 · 0^-1 would be NaN
    return [dx]
  }
  return record(y, [x], backward, [x])
}

/**
 * The inverse of broadcasting, for gradients.
 *
 * @param {Tensor} dy
 * @param {readonly number[]} shape that broadcasts to dy's
 * @returns {Tensor} dy, summed over the axes along which a tensor of this shape was repeated
 */
function sumTo(dy, shape) {
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
 * a ∘ b, broadcast as in PyTorch. The kernel broadcasts two axes; a loop here runs over the others.
 *
 * @param {BinaryKernel} kernel
 * @param {Tensor} a
 * @param {Tensor} b
 * @returns {Tensor}
 */
function binary(kernel, a, b) {
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
  /** @type {(axis: number, matrixIndex: number, indexA: number, indexB: number) => void} */
  const walk = (axis, matrixIndex, indexA, indexB) => {
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

/**
 * @param {'add' | 'sub' | 'mul' | 'div'} operation
 * @param {Tensor} a
 * @param {number} number
 * @returns {Tensor} a ∘ number
 */
function withNumber(operation, a, number) {
  const b = a.empty([])
  b.data[0] = number
  try {
    return binary(`gpt_${operation}`, a, b)
  } finally {
    b.dispose()
  }
}

/**
 * @param {UnaryKernel} kernel
 * @param {Tensor} x
 * @returns {Tensor}
 */
function unary(kernel, x) {
  const y = x.empty(x.shape)
  x.runtime.run(kernel, [y, x, x.size])
  return y
}
