import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertGradients,
  assertNear,
  assertSame,
  backwardThrough,
  biasOf,
  golden,
  gradientOf,
  loadForTest,
  rowsOf,
  unpack,
} from './support.js'

const { special } = golden('layers')
const { odd, gpt2 } = golden('linear')
const gpt = await loadForTest()

test('Linear of NaN and infinities is PyTorch’s', () => {
  const layer = new gpt.Linear(5, 2, { bias: false })
  layer.weight.data.set(unpack(special.weight))
  assertSame(layer.forward(gpt.tensor(unpack(special.rows), special.rows.shape)), special.linear)
})

test('Linear takes a vector and an empty batch', () => {
  const layer = new gpt.Linear(5, 6)
  assert.deepEqual(layer.forward(gpt.zeros([5])).shape, [6])
  assert.deepEqual([...layer.forward(gpt.zeros([5])).data], [...(layer.bias?.data ?? [])])
  assert.deepEqual(layer.forward(gpt.zeros([0, 5])).shape, [0, 6])
})

test('a weight written through .data takes effect in the next forward', () => {
  const layer = new gpt.Linear(2, 1, { bias: false })
  layer.weight.data.set([2, 3])
  assert.equal(layer.forward(gpt.tensor([10, 100])).item(), 320)
})

test('Linear’s values and gradients are PyTorch’s at odd sizes', () => {
  for (const { seed, inFeatures, outFeatures, x, dy, ...expected } of odd) {
    gpt.manualSeed(seed)
    const layer = new gpt.Linear(inFeatures, outFeatures)
    assertGradients(layer, gpt.randn(x), gpt.randn(dy), expected, { forward: 1e-6 })
  }
})

test('Linear’s gradients are autograd’s at GPT-2’s sizes', () => {
  for (const { seed, inFeatures, outFeatures, x, dy, dx, dweight, dbias } of gpt2) {
    gpt.manualSeed(seed)
    const layer = new gpt.Linear(inFeatures, outFeatures)
    assertNear(backwardThrough(layer, gpt.randn(x), gpt.randn(dy)), dx, 2e-5, 'dx')
    assertNear(gradientOf(biasOf(layer)), dbias, 2e-5, 'dbias')
    const rows = rowsOf(gradientOf(layer.weight)).filter((_, row) => row % 1500 === 7)
    assertNear(gpt.tensor(rows), dweight, 2e-5, 'dweight')
    layer.dispose()
    layer.zeroGrad()
  }
})

test('Linear without bias has a gradient for its weight only, and an empty batch gives zeros', () => {
  const layer = new gpt.Linear(5, 3, { bias: false })
  layer
    .forward(gpt.ones([530, 5]))
    .sum()
    .backward()
  assert.deepEqual(gradientOf(layer.weight).toArray(), Array(3).fill(Array(5).fill(530)))
  layer.zeroGrad()
  assert.deepEqual(backwardThrough(layer, gpt.zeros([0, 5]), gpt.zeros([0, 3])).shape, [0, 5])
  assert.deepEqual(gradientOf(layer.weight).toArray(), Array(3).fill(Array(5).fill(0)))
})
