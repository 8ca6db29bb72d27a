import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertClose, backwardThrough, golden, loadForTest, unpack } from './support.js'

const { special } = golden('layers')
const gpt = await loadForTest()

test('softmax of NaN, infinities and huge values is PyTorch’s', () => {
  const { logits, softmax } = special
  assertClose(new gpt.Softmax().forward(gpt.tensor(unpack(logits), logits.shape)), softmax, 1e-6)
  assert.equal(String(new gpt.Softmax({ dim: 1 })), 'Softmax(dim=1)')
})

test('softmax takes axes without elements, forward and backward', () => {
  for (const [dim, ...shape] of [
    [-1, 0, 3],
    [-1, 3, 0],
    [0, 0, 3],
    [0, 3, 0],
    [1, 2, 0, 3],
  ]) {
    const layer = new gpt.Softmax({ dim })
    assert.deepEqual(backwardThrough(layer, gpt.zeros(shape), gpt.zeros(shape)).shape, shape)
  }
})
