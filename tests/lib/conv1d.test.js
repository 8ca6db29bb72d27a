import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefuses, biasOf, loadForTest, transpose } from './support.js'

const gpt = await loadForTest()

test('a new Conv1D has a weight of [in, out] and a bias of zeros, or none', () => {
  const { weight, bias } = new gpt.Conv1D(6, 5)
  assert.deepEqual([weight.shape, bias?.toArray()], [[5, 6], Array(6).fill(0)])
  assert.equal(new gpt.Conv1D(3, 5, { bias: false }).bias, null)
})

test('Conv1D with a transposed weight is Linear', () => {
  const linear = new gpt.Linear(65, 33)
  const layer = new gpt.Conv1D(33, 65)
  layer.loadStateDict({ weight: transpose(gpt, linear.weight), bias: biasOf(linear) })
  const x = gpt.randn([2, 9, 65])
  const [a, b] = [layer.forward(x), linear.forward(x)]
  assert.deepEqual(a.shape, [2, 9, 33])
  a.data.forEach((value, i) => assert.ok(Math.abs(value - b.data[i]) < 1e-6, `element ${i}: ${value}`))
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
