// What valid calls should return, computed by plain JavaScript: shapes, and values where that is cheap.

/** @import { Tensor } from 'gpt-layers' */
/** @import { World } from './world.js' */

import { Finding } from './witness.js'

/** @param {unknown} actual @param {unknown} expected @param {string} what */
function same(actual, expected, what) {
  const [a, b] = [actual, expected].map((value) => (Array.isArray(value) ? `[${value}]` : String(value)))
  if (a !== b) throw new Finding(`${what} is ${a} instead of ${b}`)
}

/** @param {readonly number[]} shape */
const sizeOf = (shape) => shape.reduce((product, n) => product * n, 1)

/**
 * @param {Tensor} tensor
 * @param {readonly number[]} expected its shape
 * @param {(i: number) => number} value of element i
 */
function holds({ shape, data }, expected, value) {
  same([...shape], [...expected], 'the shape')
  for (let i = 0; i < data.length; i++) {
    const wanted = Math.fround(value(i))
    if (!Object.is(data[i], wanted)) throw new Finding(`element ${i} is ${data[i]} instead of ${wanted}`)
  }
}

/** @param {readonly number[]} a @param {readonly number[]} b @returns {number[]} their shape, broadcast */
function broadcast(a, b) {
  const rank = Math.max(a.length, b.length)
  return Array.from({ length: rank }, (_, i) => {
    const [x, y] = [a.at(i - rank) ?? 1, b.at(i - rank) ?? 1]
    if (x !== y && x !== 1 && y !== 1) throw new Finding(`[${a}] and [${b}] were broadcast`)
    return x === 1 ? y : x
  })
}

/**
 * @param {number} index of an element of a broadcast shape
 * @param {readonly number[]} shape
 * @param {readonly number[]} own an operand's
 * @returns {number} the index of the operand's element
 */
function operandIndex(index, shape, own) {
  let result = 0
  let stride = 1
  for (let axis = 1; axis <= shape.length; axis++) {
    const size = shape[shape.length - axis]
    const ownSize = own[own.length - axis] ?? 1
    if (ownSize > 1) result += (index % size) * stride
    stride *= ownSize
    index = Math.floor(index / size)
  }
  return result
}

/** @param {(a: number, b: number) => number} operation */
const binary =
  (operation) =>
  (
    /** @type {World} */ _,
    /** @type {Tensor} */ a,
    /** @type {any[]} */ [other],
    /** @type {Tensor} */ y,
  ) => {
    const b = typeof other === 'number' ? { shape: [], data: [Math.fround(other)] } : other
    const shape = broadcast(a.shape, b.shape)
    holds(y, shape, (i) =>
      operation(a.data[operandIndex(i, shape, a.shape)], b.data[operandIndex(i, shape, b.shape)]),
    )
  }

/**
 * By operation: checks what a call without an error returned.
 *
 * @type {Record<string, (world: World, receiver: any, args: any[], result: any) => void>}
 */
export const CHECKS = {
  'gpt.zeros': (_, __, [shape], y) => holds(y, shape, () => 0),
  'gpt.ones': (_, __, [shape], y) => holds(y, shape, () => 1),
  'gpt.randn': (_, __, [shape], y) => same([...y.shape], [...shape], 'the shape'),
  'gpt.rand': (_, __, [shape], y) => same([...y.shape], [...shape], 'the shape'),
  'gpt.tensor': (_, __, [values, shape], y) => {
    if (typeof values === 'number') return holds(y, shape ?? [], () => values)
    const flat = ArrayBuffer.isView(values)
      ? Array.from(/** @type {any} */ (values))
      : [...values].flat(Infinity)
    if (shape !== undefined) same([...y.shape], [...shape], 'the shape')
    holds(y, y.shape, (i) => flat[i])
  },
  'tensor.add': binary((a, b) => a + b),
  'tensor.sub': binary((a, b) => a - b),
  'tensor.mul': binary((a, b) => a * b),
  'tensor.div': binary((a, b) => a / b),
  'tensor.sqrt': (_, x, __, y) => holds(y, x.shape, (i) => Math.sqrt(x.data[i])),
  'tensor.clone': (_, x, __, y) => holds(y, x.shape, (i) => x.data[i]),
  'tensor.reshape': (_, x, [shape], y) => {
    const rest = x.size / sizeOf(shape.filter((/** @type {number} */ n) => n !== -1))
    holds(
      y,
      shape.map((/** @type {number} */ n) => (n === -1 ? rest : n)),
      (i) => x.data[i],
    )
  },
  'tensor.item': (_, x, __, value) => same(value, x.data[0], 'the item'),
  'tensor.toArray': (_, x, __, values) => same([values].flat(Infinity), [...x.data], 'the array'),
  'tensor.matmul': (_, x, [other], y) => {
    const last = [...x.shape.slice(-2, -1), ...(other.shape.length > 1 ? other.shape.slice(-1) : [])]
    same([...y.shape.slice(y.shape.length - last.length)], last, 'the last axes')
  },
  'tensor.permute': (_, x, [dims], y) => {
    const axes = [...dims].map((dim) => (dim < 0 ? dim + x.shape.length : dim))
    const strides = x.shape.map((/** @type {number} */ _, /** @type {number} */ i) =>
      sizeOf(x.shape.slice(i + 1)),
    )
    const shape = axes.map((axis) => x.shape[axis])
    holds(y, shape, (i) => {
      let index = 0
      for (let axis = axes.length - 1, rest = i; axis >= 0; rest = Math.floor(rest / shape[axis--])) {
        index += (rest % shape[axis]) * strides[axes[axis]]
      }
      return x.data[index]
    })
  },
  'tensor.split': (_, x, __, pieces) =>
    same(
      pieces.reduce((/** @type {number} */ sum, /** @type {Tensor} */ { size }) => sum + size, 0),
      x.size,
      'the size',
    ),
  'tensor.grad=': (_, x, [gradient]) => {
    if (gradient !== null) same([...x.grad.shape], [...x.shape], 'the shape')
  },
  'module.forward': (_, layer, [x], y) => {
    const output = y?.output ?? y
    const last = layer.outFeatures ?? layer.nf ?? layer.embeddingDim ?? layer.vocabSize
    if (last !== undefined) same(output.shape.at(-1), last, 'the last axis')
    else if (Array.isArray(x?.shape) && layer.layers === undefined)
      same([...output.shape], [...x.shape], 'the shape')
  },
  'tensor.backward': (world) => {
    for (const { grad, shape } of world.reachable()) {
      if (grad) same([...grad.shape], [...shape], "a gradient's shape")
    }
  },
}
