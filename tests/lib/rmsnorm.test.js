import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertGradients,
  backwardThrough,
  golden,
  gradientOf,
  loadForTest,
  redraw,
  rowsOf,
} from './support.js'

const cases = golden('rmsnorm')
const gpt = await loadForTest()

test('RMSNorm and its gradients are PyTorch’s at odd sizes and at 768, for small and large values', () => {
  for (const { seed, embDim, shape, deviation, ...expected } of cases) {
    gpt.manualSeed(seed)
    const norm = new gpt.RMSNorm(embDim)
    norm.loadStateDict({ scale: gpt.randn([embDim]) })
    const x = gpt.randn(shape).mul(deviation)
    assertGradients(norm, x, gpt.randn(shape), expected, { forward: 1e-6, backward: 2e-5 })
  }
})

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

test('RMSNorm’s eps may be 0: a row of zeros is then NaN, PyTorch’s 0/0', () => {
  const norm = new gpt.RMSNorm(2, { eps: 0 })
  const [whole, tiny, zeros] = rowsOf(
    norm.forward(
      gpt.tensor([
        [1, -1],
        [2 ** -24, -(2 ** -24)],
        [0, 0],
      ]),
    ),
  )
  assert.deepEqual(whole, [1, -1])
  assert.deepEqual(tiny, [1, -1])
  assert.ok(zeros.every(Number.isNaN))
})

test('each row of RMSNorm gets the bits it gets alone, and scale’s gradient sums over rows, on any threads', () => {
  const norm = new gpt.RMSNorm(97)
  const x = gpt.randn([999, 97])
  const y = norm.forward(x)
  y.sum().backward()
  const sums = new Float64Array(97)
  y.data.forEach((value, i) => (sums[i % 97] += value)) // With scale 1 and dy 1, scale’s gradient is Σ y.
  gradientOf(norm.scale).data.forEach((gradient, c) =>
    assert.ok(Math.abs(gradient - sums[c]) <= 1e-4, `column ${c}: expected ${sums[c]}, got ${gradient}`),
  )
  norm.eval()
  for (let r = 0; r < 999; r += 111) {
    const row = norm.forward(gpt.tensor(x.data.slice(97 * r, 97 * r + 97)))
    assert.deepEqual([...row.data], [...y.data.slice(97 * r, 97 * r + 97)])
  }
})

test('RMSNorm takes an empty batch, forward and backward', () => {
  const norm = new gpt.RMSNorm(3)
  assert.deepEqual(backwardThrough(norm, gpt.zeros([0, 3]), gpt.zeros([0, 3])).shape, [0, 3])
  assert.deepEqual([...gradientOf(norm.scale).data], [0, 0, 0])
})
