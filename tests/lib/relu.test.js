import { before, test } from 'node:test'
import { assertGradients, assertRefuses, assertSame, golden, loadForTest, unpack } from './support.js'

const { special } = golden('layers')
const cases = golden('relu')
let gpt
before(async () => {
  gpt = await loadForTest()
})

test('ReLU is PyTorch’s, for NaN, infinities and both zeros as well', () => {
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

test('backward wants a forward in training mode before it, and a gradient of its shape', () => {
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

test('an empty batch goes forward and backward', () => {
  const layer = new gpt.ReLU()
  const y = layer.forward(gpt.zeros([0, 3]))
  if (String(layer.backward(y).shape) !== '0,3') throw new Error(String(y.shape))
})

test('in training a layer keeps its input beyond the scope it was made in; in evaluation nothing', () => {
  const layer = new gpt.ReLU()
  gpt.scope(() => layer.forward(gpt.tensor([-1, 2])))
  const dx = layer.backward(gpt.tensor([3, 4]))
  if (String(dx) !== 'tensor([0., 4.])') throw new Error(String(dx))
})
