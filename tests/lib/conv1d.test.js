import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefuses, biasOf, loadForTest } from './support.js'

const gpt = await loadForTest()

test('a new Conv1D has a weight of [in, out] and a bias of zeros, or none', () => {
  const { weight, bias } = new gpt.Conv1D(6, 5)
  assert.deepEqual([weight.shape, bias?.toArray()], [[5, 6], Array(6).fill(0)])
  assert.equal(new gpt.Conv1D(3, 5, { bias: false }).bias, null)
})

test('a backward after Conv1D’s weight was disposed is refused, and changes no gradient', () => {
  const layer = new gpt.Conv1D(3, 5)
  const x = gpt.parameter(gpt.ones([2, 5]))
  const loss = layer.forward(x).sum()
  layer.weight.dispose()
  const message = /^backward: a tensor of shape \[5, 3\] should be live, .* got one that was disposed$/
  assertRefuses(() => loss.backward(), 'DISPOSED', message)
  assert.deepEqual([biasOf(layer).grad, x.grad], [null, null])
})
