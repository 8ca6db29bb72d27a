import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertGradients, assertRefuses, assertSame, golden, loadForTest, unpack } from './support.js'

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

test('backward requires a forward in training mode and a gradient of its shape', () => {
  const layer = new gpt.ReLU()
  const x = gpt.ones([2, 3])
  assertRefuses(
    () => layer.backward(x),
    'VALUE',
    /ReLU.backward: should follow a forward in training mode; got none/,
  )
  layer.forward(x)
  assertRefuses(
    () => layer.backward(gpt.ones([3, 2])),
    'SHAPE',
    /ReLU.backward: dy should have shape \[2, 3\], got \[3, 2\]/,
  )
  layer.backward(x)
  assertRefuses(() => layer.backward(x), 'VALUE', /got none since the last backward/)
  layer.forward(x)
  layer.eval()
  assertRefuses(() => layer.backward(x), 'VALUE', /the layer is in evaluation mode/)
  layer.forward(x)
  assertRefuses(() => layer.backward(x), 'VALUE', /the layer is in evaluation mode/)
})

test('ReLU takes an empty batch, forward and backward', () => {
  const layer = new gpt.ReLU()
  const y = layer.forward(gpt.zeros([0, 3]))
  assert.deepEqual(layer.backward(y).shape, [0, 3])
})

test('in training mode a layer keeps its input beyond the scope that made it', () => {
  const layer = new gpt.ReLU()
  gpt.scope(() => layer.forward(gpt.tensor([-1, 2])))
  const dx = layer.backward(gpt.tensor([3, 4]))
  assert.deepEqual(dx.toArray(), [0, 4])
})
