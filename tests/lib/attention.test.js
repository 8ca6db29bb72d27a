/** @import { Attention, Tensor } from 'gpt-layers' */
/** @import { Packed } from './support.js' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GPT_CONFIG_124M } from 'gpt-layers'
import {
  assertClose,
  assertGradients,
  assertNear,
  assertSame,
  backwardThrough,
  golden,
  gradientOf,
  heapSize,
  loadForTest,
  redraw,
  untyped,
} from './support.js'

const { drawn, whole, some } = golden('attention')
const gpt = await loadForTest()

/**
 * The layer, x and dy of a case, drawn as tests/golden/attention.py draws them.
 *
 * @param {{ seed: number, shape: number[], heads: number, qkvBias: boolean, times: number }} case
 */
function draw({ seed, shape, heads, qkvBias, times }) {
  gpt.manualSeed(seed)
  const layer = new gpt.Attention({ embDim: shape[2], nHeads: heads, contextLength: shape[1], qkvBias })
  for (const { bias } of [layer.cAttn, layer.cProj]) if (bias) redraw(gpt, bias)
  const [x, dy] = [gpt.randn(shape), gpt.randn(shape)]
  scaleWeights(layer, times)
  return { layer, x, dy }
}

/** @param {Attention} layer @param {number} times */
function scaleWeights(layer, times) {
  for (const { weight } of [layer.cAttn, layer.cProj])
    weight.data.set(weight.data.map((value) => times * value))
}

/**
 * Asserts the same bits from one element to another.
 *
 * @param {Tensor} tensor
 * @param {Tensor} expected
 * @param {number} [from]
 * @param {number} [end]
 */
const assertValues = (tensor, expected, from = 0, end = tensor.size) =>
  assert.deepEqual(tensor.data.slice(from, end), expected.data.slice(from, end))

test('a new Attention has the weights that PyTorch draws, bit for bit, under GPT-2’s names', () => {
  gpt.manualSeed(123)
  const layer = new gpt.Attention({ embDim: 6, nHeads: 2, contextLength: 9 })
  assertSame(layer.cAttn.weight, drawn.cAttn)
  assertSame(layer.cProj.weight, drawn.cProj)
  assert.deepEqual(
    Object.entries(layer.stateDict()).map(([name, { shape }]) => `${name} ${shape.join('x')}`),
    ['c_attn.weight 6x18', 'c_attn.bias 18', 'c_proj.weight 6x6', 'c_proj.bias 6'],
  )
})

test('Attention and its gradients are PyTorch’s at odd sizes, with or without qkvBias', () => {
  for (const expected of whole) {
    const { layer, x, dy } = draw(expected)
    assertGradients(layer, x, dy, expected)
  }
})

test('Attention and its gradients are PyTorch’s with heads of 64, and at GPT-2’s width', () => {
  for (const { out, dx, grads, ...rest } of some) {
    const { layer, x, dy } = draw(rest)
    const part = (
      /** @type {Tensor} */ tensor,
      /** @type {Packed} */ { shape },
      /** @type {number} */ from,
    ) => {
      const size = shape.reduce((product, n) => product * n, 1)
      return gpt.tensor(tensor.data.slice(from * size, from * size + size || undefined), shape)
    }
    x.requiresGrad = true
    const y = layer.forward(x)
    assertClose(part(y, out, -1), out, 1e-5)
    y.backward(dy)
    assertNear(part(gradientOf(x), dx, 0), dx, 2e-5, 'dx')
    for (const [name, parameter] of layer.namedParameters())
      assertNear(part(gradientOf(parameter), grads[name], 0), grads[name], 2e-5, name)
  }
})

test('returnWeights also returns PyTorch’s attention weights, and the same output', () => {
  for (const expected of [...whole, ...some].filter(({ weights }) => weights)) {
    const { layer, x } = draw(expected)
    const { output, weights } = layer.forward(x, { returnWeights: true })
    assertClose(weights, expected.weights, 3e-6)
    assertValues(layer.forward(x), output)
    assertValues(layer.eval().forward(x, { returnWeights: true }).weights, weights)
  }
})

test('a batch gives each sequence the bits it gets alone', () => {
  const layer = new gpt.Attention({ embDim: 24, nHeads: 3, contextLength: 70 })
  const x = gpt.randn([2, 2, 70, 24])
  const y = layer.forward(x, { returnWeights: true })
  assert.deepEqual(y.weights.shape, [2, 2, 3, 70, 70])
  for (let b = 0; b < 4; b++) {
    const one = layer.forward(gpt.tensor(x.data.slice(b * 1680, (b + 1) * 1680), [70, 24]), {
      returnWeights: true,
    })
    assert.deepEqual(one.output.shape, [70, 24])
    assert.deepEqual(one.weights.shape, [3, 70, 70])
    assert.deepEqual(one.output.data, y.output.data.slice(b * 1680, (b + 1) * 1680))
    assert.deepEqual(one.weights.data, y.weights.data.slice(b * 14700, (b + 1) * 14700))
  }
})

test('scores far below a mask of -1e4 do not reach later tokens', () => {
  // huggingface/transformers#3181
  const layer = new gpt.Attention({ embDim: 1, nHeads: 1, contextLength: 3 })
  layer.cAttn.weight.data.set([1e3, -1e3, 1]) // q, k, v
  layer.cAttn.bias?.data.fill(0)
  const { weights } = layer.forward(gpt.tensor([[1], [2], [3]]), { returnWeights: true })
  assert.deepEqual([...weights.data], [1, 0, 0, 1, 0, 0, 1, 0, 0])
})

test('an infinite value of a later token is not read: 0 · ∞ would be NaN', () => {
  const layer = new gpt.Attention({ embDim: 1, nHeads: 1, contextLength: 20 })
  layer.cAttn.weight.data.set([0, 0, 10]) // q, k, v
  layer.cAttn.bias?.data.fill(0)
  layer.cProj.weight.data.fill(1)
  layer.cProj.bias?.data.fill(0)
  const x = gpt.ones([20, 1])
  x.data[17] = 3e38
  const { output } = layer.forward(x, { returnWeights: true })
  output.data.forEach((value, i) =>
    assert.ok(i < 17 ? Math.abs(value - 10) <= 1e-5 : value === Infinity, `${value}`),
  )
})

test('dropout acts in training mode only, is reproducible, and backward uses its masks', () => {
  const config = { embDim: 12, nHeads: 3, contextLength: 33, dropRate: 0.4 }
  gpt.manualSeed(5)
  const layer = new gpt.Attention(config)
  const plain = new gpt.Attention({ ...config, dropRate: 0 })
  plain.loadStateDict(layer.stateDict())
  const x = gpt.randn([33, 12])
  const seeded = () => (gpt.manualSeed(1), layer.forward(x))
  const [first, other, again] = [seeded(), layer.forward(x), seeded()]
  assertValues(again, first)
  assert.notDeepEqual(other.data, first.data)
  const zeros = first.data.filter((value) => value === 0).length / first.size
  assert.ok(Math.abs(zeros - 0.4) < 0.13, `${zeros}`) // five standard deviations
  assertValues(layer.eval().forward(x), plain.forward(x))

  // With one seed and without dropout of the outputs, forward is a smooth function of x.
  layer.train()
  untyped(layer).residDropout = new gpt.Dropout(0)
  scaleWeights(layer, 16)
  const dy = gpt.randn([33, 12])
  const loss = () => (
    gpt.manualSeed(1),
    gpt.scope(() => layer.forward(x).data.reduce((sum, y, i) => sum + y * dy.data[i], 0))
  )
  gpt.manualSeed(1)
  const dx = backwardThrough(layer, x, dy)
  const direction = gpt.randn([33, 12]).data.slice()
  const original = x.data.slice()
  const along = (/** @type {number} */ step) => (
    x.data.set(original.map((value, i) => value + step * direction[i])),
    loss()
  )
  const slope = (along(0.01) - along(-0.01)) / 0.02
  const expected = direction.reduce((sum, value, i) => sum + value * dx.data[i], 0)
  const scale = Math.sqrt(dx.data.reduce((sum, value) => sum + value * value, 0))
  assert.ok(
    Math.abs(slope - expected) <= 2e-3 * scale,
    `difference quotient ${slope}, gradient ${expected}, scale ${scale}`,
  )
})

test('Attention takes an empty sequence and an empty batch', () => {
  const layer = new gpt.Attention({ embDim: 6, nHeads: 2, contextLength: 3 })
  for (const shape of [
    [0, 6],
    [0, 3, 6],
    [2, 0, 6],
  ]) {
    assert.deepEqual(backwardThrough(layer, gpt.zeros(shape), gpt.zeros(shape)).shape, shape)
  }
})

test('1024 tokens need 2 MiB besides weights, input, output, q, k and v: no [tokens, tokens] matrix at most', async () => {
  const own = await loadForTest()
  const layer = new own.Attention(GPT_CONFIG_124M).eval()
  const x = own.zeros([1024, 768])
  own.noGrad(() => layer.forward(x))
  // Each further thread needs its own tiles and rows, 0.24 MiB, and a stack.
  const bytes = 4 * (4 * 768 * 768 + 768 + 5 * 1024 * 768) + (1 + own.threads) * 2 ** 20
  assert.ok(heapSize(own) <= bytes, `${heapSize(own)} of ${bytes} bytes`)
})
