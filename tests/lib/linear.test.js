import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { assertClose, assertSame, golden, loadForTest, unpack } from './support.js'

const { linear, special } = golden('layers')
let gpt
before(async () => {
  gpt = await loadForTest()
})

test('Linear is PyTorch’s at odd sizes, on any leading shape', () => {
  for (const { seed, inFeatures, outFeatures, x, out } of linear) {
    gpt.manualSeed(seed)
    const layer = new gpt.Linear(inFeatures, outFeatures)
    assertClose(layer.forward(gpt.randn(x)), out, 1e-6)
  }
})

test('Linear propagates NaN and infinities as PyTorch does', () => {
  const layer = new gpt.Linear(5, 2, { bias: false })
  layer.weight.data.set(unpack(special.weight))
  assertSame(layer.forward(gpt.tensor(unpack(special.rows), special.rows.shape)), special.linear)
})

test('Linear takes a vector, and a batch of none', () => {
  const layer = new gpt.Linear(5, 6)
  assert.deepEqual(layer.forward(gpt.zeros([5])).shape, [6])
  assert.deepEqual([...layer.forward(gpt.zeros([5])).data], [...layer.bias.data])
  assert.deepEqual(layer.forward(gpt.zeros([0, 5])).shape, [0, 6])
})

test('a weight written through .data counts in the next forward', () => {
  const layer = new gpt.Linear(2, 1, { bias: false })
  layer.weight.data.set([2, 3])
  assert.equal(layer.forward(gpt.tensor([10, 100])).item(), 320)
})
