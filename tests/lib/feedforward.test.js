import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { GPT_CONFIG_124M } from 'gpt-layers'
import { assertClose, golden, loadForTest } from './support.js'

const { feedforward } = golden('layers')
let gpt
before(async () => {
  gpt = await loadForTest()
})

test('FeedForward is PyTorch’s at odd sizes, with either GELU', () => {
  for (const { seed, embDim, hiddenDim, approximate, x, out } of feedforward) {
    gpt.manualSeed(seed)
    const layer = new gpt.FeedForward({ embDim, hiddenDim, approximate })
    assertClose(layer.forward(gpt.randn(x)), out, 1e-5)
  }
})

test('the fused kernel gives what its three layers give one after the other', () => {
  const layer = new gpt.FeedForward({ embDim: 33 })
  const x = gpt.randn([20, 33])
  const stepwise = new gpt.Sequential(...layer.layers).forward(x)
  assert.deepEqual([...layer.forward(x).data], [...stepwise.data])
})

test('GPT_CONFIG_124M goes in as it is: 768 to 3072 and back', () => {
  const layer = new gpt.FeedForward(GPT_CONFIG_124M)
  assert.deepEqual(
    layer.namedParameters().map(([name, { shape }]) => `${name} ${shape.join('x')}`),
    ['layers.0.weight 3072x768', 'layers.0.bias 3072', 'layers.2.weight 768x3072', 'layers.2.bias 768'],
  )
  assert.equal(layer.dropRate, 0.1)
  layer.dispose()
})

test('hidden activations never exist whole: 1024 tokens of 768 need weights, input, output and 2 MiB at most', async () => {
  const own = await loadForTest()
  const layer = new own.FeedForward(GPT_CONFIG_124M)
  const x = own.zeros([1024, 768])
  layer.forward(x)
  // Every further thread has its own block of them, of 0.94 MiB, and a stack.
  const bytes = 4 * (4_722_432 + 2 * 1024 * 768) + (1 + own.threads) * 2 ** 20
  assert.ok(own.exports.memory.buffer.byteLength <= bytes, `${own.exports.memory.buffer.byteLength}`)
})
