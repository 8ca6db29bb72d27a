/** @import { Tensor } from 'gpt-layers' */
/** @import { Gpt } from './lib/support.js' */

import assert from 'node:assert/strict'

/**
 * Compares the gradients of `backward` with central differences: for each element x of the inputs that require a
 * gradient, and each element y of what `fn` returns,
 *
 *     |dy/dx - slope| <= atol + rtol · |slope|,  slope = (y(x + eps) - y(x - eps)) / 2eps
 *
 * An input gets the same gradient where all others are frozen.
 *
 * A float32 y near 1 is rounded by 6e-8, so its slope by 1e-5 at eps = 5e-3, and the slope is off by eps² / 6 of
 * the third derivative. So choose inputs near 1, away from kinks such as relu's at 0.
 *
 * @param {Gpt} gpt
 * @param {() => Tensor} fn the same for the same inputs
 * @param {readonly Tensor[]} inputs leaves that `fn` reads
 */
export function gradcheck(gpt, fn, inputs, { eps = 5e-3, atol = 1e-3, rtol = 1e-2 } = {}) {
  const leaves = inputs.filter(({ requiresGrad }) => requiresGrad)
  const values = () => gpt.scope(() => fn().data.slice())
  /** By element of y: the gradients of the leaves. @param {readonly Tensor[]} trained the others are frozen */
  const gradientsOf = (trained) => {
    for (const leaf of leaves) leaf.requiresGrad = trained.includes(leaf)
    return gpt.scope(() => {
      const y = gpt.scope(fn) // frees what the steps do not own
      return Array.from({ length: y.size }, (_, k) => {
        for (const leaf of leaves) leaf.grad = null
        const dy = gpt.zeros(y.shape)
        dy.data[k] = 1
        if (y.requiresGrad) y.backward(dy, { retainGraph: true })
        return leaves.map(({ grad, size }) => grad?.data.slice() ?? new Float32Array(size))
      })
    })
  }
  leaves.forEach((leaf, i) => {
    const alone = gradientsOf([leaf]).map((ofLeaves) => ofLeaves[i])
    const amongAll = gradientsOf(leaves).map((ofLeaves) => ofLeaves[i])
    assert.deepEqual(alone, amongAll, `input ${i} should get the same gradient where the others are frozen`)
  })
  const gradients = gradientsOf(leaves)
  for (const leaf of leaves) leaf.grad = null
  leaves.forEach((leaf, i) => {
    for (let at = 0; at < leaf.size; at++) {
      const value = leaf.data[at]
      const [above, below] = [eps, -eps].map((step) => {
        leaf.data[at] = value + step
        return { x: leaf.data[at], y: values() } // x + eps was rounded
      })
      leaf.data[at] = value
      gradients.forEach((given, k) => {
        const slope = (above.y[k] - below.y[k]) / (above.x - below.x)
        const isNear = Math.abs(given[i][at] - slope) <= atol + rtol * Math.abs(slope) // false for a NaN
        assert.ok(isNear, `dy[${k}] by input ${i}[${at}] should be ${slope} (numerical), got ${given[i][at]}`)
      })
    }
  })
}
