import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertSame, golden, gradientOf, loadForTest, unpack } from './support.js'

const { special } = golden('layers')
const gpt = await loadForTest()

test('Linear of NaN and infinities is PyTorch’s', () => {
  const layer = new gpt.Linear(5, 2, { bias: false })
  layer.weight.data.set(unpack(special.weight))
  assertSame(layer.forward(gpt.tensor(unpack(special.rows), special.rows.shape)), special.linear)
})

test('a weight written through .data takes effect in the next forward', () => {
  const layer = new gpt.Linear(2, 1, { bias: false })
  layer.weight.data.set([2, 3])
  assert.equal(layer.forward(gpt.tensor([10, 100])).item(), 320)
})

test('Linear without bias has a gradient for its weight only', () => {
  const layer = new gpt.Linear(5, 3, { bias: false })
  layer
    .forward(gpt.ones([530, 5]))
    .sum()
    .backward()
  assert.deepEqual(gradientOf(layer.weight).toArray(), Array(3).fill(Array(5).fill(530)))
})
