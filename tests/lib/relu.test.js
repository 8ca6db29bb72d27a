import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertGradients,
  assertSame,
  backwardThrough,
  golden,
  gradientOf,
  loadForTest,
  unpack,
} from './support.js'

const { special } = golden('layers')
const cases = golden('relu')
const gpt = await loadForTest()

test('ReLU of NaN, infinities and zeros of both signs is PyTorch’s', () => {
  assertSame(new gpt.ReLU().forward(gpt.tensor(unpack(special.x))), special.relu)
})

test('ReLU’s gradient is autograd’s at odd sizes', () => {
  for (const { seed, shape, ...expected } of cases) {
    gpt.manualSeed(seed)
    assertGradients(new gpt.ReLU(), gpt.randn(shape), gpt.randn(shape), expected, {
      forward: 0,
      backward: 2e-7,
    })
  }
})

test('ReLU takes an empty batch, forward and backward', () => {
  const layer = new gpt.ReLU()
  assert.deepEqual(backwardThrough(layer, gpt.zeros([0, 3]), gpt.zeros([0, 3])).shape, [0, 3])
})

test('the input is kept beyond the scope that made it, until backward', () => {
  const layer = new gpt.ReLU()
  const x = gpt.parameter(gpt.tensor([-1, 2]))
  const y = gpt.scope(() => layer.forward(x.mul(2)))
  y.backward(gpt.tensor([3, 4]))
  assert.deepEqual(gradientOf(x).toArray(), [0, 8])
})
