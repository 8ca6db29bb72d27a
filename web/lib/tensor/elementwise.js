/** @import { Pointer, Runtime } from '../runtime/runtime.js' */
/** @import { Tensor } from './tensor.js' */

import { sameShape } from '../check.js'
import { broadcast, mergedAxes } from './shape.js'

/** @typedef {'gpt_add' | 'gpt_sub' | 'gpt_mul' | 'gpt_div'} BinaryKernel */

/**
 * a ∘ b, broadcast as in PyTorch. The kernel broadcasts two axes; a loop here runs over the others.
 *
 * @param {string} where
 * @param {BinaryKernel} kernel
 * @param {Tensor} a
 * @param {Tensor} b
 * @returns {Tensor}
 */
export function binary(where, kernel, a, b) {
  const shape = broadcast(where, a.shape, b.shape)
  const y = a.empty(where, shape)
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
 * @param {string} where
 * @param {'gpt_exp' | 'gpt_sqrt'} kernel
 * @param {Tensor} x
 * @returns {Tensor}
 */
export function unary(where, kernel, x) {
  const y = x.empty(where, x.shape)
  x.runtime.run(kernel, [y, x, x.size])
  return y
}

/**
 * The kernel of y = a + b alone.
 *
 * @param {Runtime} runtime
 * @param {Pointer} y
 * @param {Pointer} a
 * @param {Pointer} b
 * @param {number} size of each
 */
export const add = (runtime, y, a, b, size) => runtime.run('gpt_add', [y, a, b, 1, size, 0, 1, 0, 1])
