import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadForTest } from './support.js'

const gpt = await loadForTest()

test('a weight written through .data takes effect in the next forward', () => {
  const layer = new gpt.Linear(2, 1, { bias: false })
  layer.weight.data.set([2, 3])
  assert.equal(layer.forward(gpt.tensor([10, 100])).item(), 320)
})
