import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gradientOf, loadForTest } from './support.js'

const gpt = await loadForTest()

test('the losses of reduction none have the targets’ shape', () => {
  const logits = gpt.randn([2, 3, 7])
  const targets = [
    [1, 2, 3],
    [4, -100, 6],
  ]
  const losses = gpt.crossEntropy(logits, targets, { reduction: 'none' })
  assert.deepEqual(losses.shape, [2, 3])
  assert.equal(losses.data[4], 0)
  const flat = gpt.crossEntropy(logits, targets.flat(), { reduction: 'none' })
  assert.deepEqual(flat.toArray(), [...losses.data])
  assert.deepEqual(gpt.crossEntropy(gpt.randn([7]), 3, { reduction: 'none' }).shape, [])
})

test('targets may be nested arrays, a typed array, flat or not, or a tensor', () => {
  const logits = gpt.randn([2, 3, 7])
  const expected = gpt
    .crossEntropy(logits, [
      [1, 2, 3],
      [4, 5, -100],
    ])
    .item()
  for (const targets of [
    Int32Array.of(1, 2, 3, 4, 5, -100),
    [1, 2, 3, 4, 5, -100],
    gpt.tensor([
      [1, 2, 3],
      [4, 5, -100],
    ]),
  ]) {
    assert.equal(gpt.crossEntropy(logits, targets).item(), expected)
  }
  assert.ok(gpt.crossEntropy(gpt.randn([7]), 3).item() > 0)
})

test('cross entropy without a target that counts is NaN, as in PyTorch, and its gradient is 0', () => {
  const logits = gpt.parameter(gpt.randn([2, 3]))
  const loss = gpt.crossEntropy(logits, [-100, -100])
  assert.ok(Number.isNaN(loss.item()))
  loss.backward()
  assert.deepEqual([...gradientOf(logits).data], Array(6).fill(0))
  assert.ok(Number.isNaN(gpt.crossEntropy(gpt.zeros([0, 3]), []).item()))
  for (const shape of [
    [0, 3],
    [3, 0],
  ])
    assert.ok(Number.isNaN(gpt.mse(gpt.zeros(shape), gpt.zeros(shape)).item()), `the mean of ${shape}`)
})

test('cross entropy over GPT-2’s vocabulary works, on any number of threads', () => {
  gpt.scope(() => {
    const logits = gpt.parameter(gpt.zeros([16, 50257]))
    const loss = gpt.crossEntropy(
      logits,
      Array.from({ length: 16 }, (_, i) => 3000 * i),
    )
    assert.ok(Math.abs(loss.item() - Math.log(50257)) <= 1e-5)
    loss.backward()
    const { data } = gradientOf(logits)
    const sum = data.reduce((sum, value) => sum + value, 0)
    assert.ok(Math.abs(sum) <= 1e-6, `the sum of all logits’ gradients should be 0, got ${sum}`)
  })
})
