import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertSame, golden, gradientOf, loadForTest, unpack } from './support.js'

const { special } = golden('layers')
const gpt = await loadForTest()

test('ReLU of NaN, infinities and zeros of both signs is PyTorch’s', () => {
  assertSame(new gpt.ReLU().forward(gpt.tensor(unpack(special.x))), special.relu)
})

test('the input is kept beyond the scope that made it, until backward', () => {
  const layer = new gpt.ReLU()
  const x = gpt.parameter(gpt.tensor([-1, 2]))
  const y = gpt.scope(() => layer.forward(x.mul(2)))
  y.backward(gpt.tensor([3, 4]))
  assert.deepEqual(gradientOf(x).toArray(), [0, 8])
})
