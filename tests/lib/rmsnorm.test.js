import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backwardThrough, gradientOf, loadForTest, redraw } from './support.js'

const gpt = await loadForTest()

test('RMSNorm over two axes has the bits of one over an axis of their elements', () => {
  const results = [[3, 5], 15].map((size) => {
    gpt.manualSeed(1)
    const norm = new gpt.RMSNorm(size)
    redraw(gpt, norm.scale)
    const shape = [2, ...norm.normalizedShape]
    const dx = backwardThrough(norm, gpt.randn([2, 15]).reshape(shape), gpt.randn([2, 15]).reshape(shape))
    assert.deepEqual(dx.shape, shape)
    return [...dx.data, ...gradientOf(norm.scale).data]
  })
  assert.deepEqual(results[0], results[1])
})

test('RMSNorm of zeros is zeros, not NaN', () => {
  assert.deepEqual(new gpt.RMSNorm(5).forward(gpt.zeros([1, 5])).toArray(), [[0, 0, 0, 0, 0]])
})

test('the gradient of RMSNorm’s scale sums over rows, on any threads', () => {
  const norm = new gpt.RMSNorm(97)
  const x = gpt.randn([999, 97])
  const y = norm.forward(x)
  y.sum().backward()
  const sums = new Float64Array(97)
  y.data.forEach((value, i) => (sums[i % 97] += value)) // With scale 1 and dy 1, scale’s gradient is Σ y.
  gradientOf(norm.scale).data.forEach((gradient, c) =>
    assert.ok(Math.abs(gradient - sums[c]) <= 1e-4, `column ${c}: expected ${sums[c]}, got ${gradient}`),
  )
})
