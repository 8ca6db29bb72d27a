/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GPT_CONFIG_124M } from 'gpt-layers'
import { heapSize, loadForTest } from './support.js'

const gpt = await loadForTest()

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

test('a new Attention has GPT-2’s names, and returnWeights changes no output', () => {
  const layer = new gpt.Attention({ embDim: 6, nHeads: 2, contextLength: 9 })
  assert.deepEqual(
    Object.entries(layer.stateDict()).map(([name, { shape }]) => `${name} ${shape.join('x')}`),
    ['c_attn.weight 6x18', 'c_attn.bias 18', 'c_proj.weight 6x6', 'c_proj.bias 6'],
  )
  const x = gpt.randn([2, 9, 6])
  const { output, weights } = layer.forward(x, { returnWeights: true })
  assertValues(layer.forward(x), output)
  assertValues(layer.eval().forward(x, { returnWeights: true }).weights, weights)
})

test('scores far below a mask of -1e4 do not reach later tokens', () => {
  // huggingface/transformers#3181
  const layer = new gpt.Attention({ embDim: 1, nHeads: 1, contextLength: 3 })
  layer.cAttn.weight.data.set([1e3, -1e3, 1]) // q, k, v
  layer.cAttn.bias?.data.fill(0)
  const { weights } = layer.forward(gpt.tensor([[1], [2], [3]]), { returnWeights: true })
  assert.deepEqual([...weights.data], [1, 0, 0, 1, 0, 0, 1, 0, 0])
})

test('dropout acts in training mode only, and is reproducible', () => {
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
