/** @import { Module, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GPT_CONFIG_124M } from 'gpt-layers'
import { assertRefuses, biasOf, heapSize, loadForTest, untyped } from './support.js'

const gpt = await loadForTest()

test('in noGrad the fused kernel gives the bits that the three layers give in turn', () => {
  const layer = new gpt.FeedForward({ embDim: 33 })
  const x = gpt.randn([20, 33])
  const stepwise = new gpt.Sequential(...layer.layers).forward(x)
  assert.deepEqual([...gpt.noGrad(() => layer.forward(x)).data], [...stepwise.data])
})

test('FeedForward takes GPT_CONFIG_124M as its config: 768 to 3072 to 768', () => {
  const layer = new gpt.FeedForward(GPT_CONFIG_124M)
  assert.deepEqual(
    layer.namedParameters().map(([name, { shape }]) => `${name} ${shape.join('x')}`),
    ['layers.0.weight 3072x768', 'layers.0.bias 3072', 'layers.2.weight 768x3072', 'layers.2.bias 768'],
  )
  // dropRate is ignored: the notebook's class has no dropout.
  const x = gpt.rand([2, 3, 768])
  const y = layer.forward(x)
  assert.deepEqual([...gpt.noGrad(() => layer.forward(x)).data], [...y.data])
  layer.dispose()
})

test('1024 tokens in noGrad need 2 MiB besides weights, input and output', async () => {
  const own = await loadForTest()
  const layer = new own.FeedForward(GPT_CONFIG_124M)
  const x = own.zeros([1024, 768])
  own.noGrad(() => layer.forward(x))
  // Each further thread needs a block of hidden values, 0.94 MiB, and a stack.
  const bytes = 4 * (4_722_432 + 2 * 1024 * 768) + (1 + own.threads) * 2 ** 20
  assert.ok(heapSize(own) <= bytes, `${heapSize(own)} of ${bytes} bytes`)
})

test('GPT-2’s c_fc and c_proj load from their Conv1D layout, all or nothing', () => {
  const [fc, proj] = [new gpt.Conv1D(33, 17), new gpt.Conv1D(17, 33)]
  const dict = { 'c_fc.weight': fc.weight, 'c_fc.bias': gpt.randn([33]), 'c_proj.weight': proj.weight }
  const layer = new gpt.FeedForward({ embDim: 17, hiddenDim: 33 })
  const before = layer.parameters().map((parameter) => parameter.toArray())
  const load = (/** @type {Record<string, Tensor>} */ dict) => () => layer.loadStateDict(dict)
  assertRefuses(load(dict), 'VALUE', /^FeedForward.loadStateDict: dict should have layers.2.bias/)
  const wrong = { ...dict, 'c_proj.bias': gpt.zeros([33]) }
  assertRefuses(load(wrong), 'SHAPE', /^FeedForward.loadStateDict: c_proj.bias should have shape \[17\]/)
  const turned = { ...dict, 'c_proj.bias': gpt.zeros([17]), 'c_fc.weight': proj.weight }
  assertRefuses(load(turned), 'SHAPE', /c_proj.weight should have shape \[17, 33\], got \[33, 17\]$/)
  assert.deepEqual(
    layer.parameters().map((parameter) => parameter.toArray()),
    before,
  )
  layer.loadStateDict({ ...dict, 'c_proj.bias': gpt.randn([17]) })
  biasOf(fc).data.set(dict['c_fc.bias'].data)
  biasOf(proj).data.set(biasOf(layer.layers[2]).data)
  const x = gpt.randn([2, 5, 17])
  const expected = proj.forward(new gpt.GELU().forward(fc.forward(x)))
  layer
    .forward(x)
    .data.forEach((value, i) => assert.ok(Math.abs(value - expected.data[i]) < 1e-6, `element ${i}`))
})

test('a replaced layer counts in evaluation mode as in training mode', () => {
  const x = gpt.randn([3, 6])
  class Doubled extends gpt.GELU {
    /** @override @param {Tensor} x */
    forward(x) {
      return super.forward(x).mul(2)
    }
  }
  const own = new gpt.GELU()
  own.forward = () => gpt.zeros([3, 24])
  /** @type {[number, Module][]} */
  const replacements = [
    [1, new gpt.ReLU()],
    [1, new gpt.GELU({ approximate: 'none' })],
    [1, new Doubled()],
    [1, own],
    [0, new gpt.Sequential(new gpt.Linear(6, 24))],
    [2, new gpt.Conv1D(6, 24)],
    [2, new gpt.Linear(24, 6, { bias: false })],
  ]
  for (const [index, layer] of replacements) {
    const ff = new gpt.FeedForward({ embDim: 6 })
    const original = ff.eval().forward(x).toArray()
    untyped(ff.layers)[index] = layer
    const trained = ff.train().forward(x).toArray()
    assert.deepEqual(ff.eval().forward(x).toArray(), trained)
    assert.notDeepEqual(trained, original)
  }
  const wider = new gpt.FeedForward({ embDim: 6 })
  wider.layers[0] = new gpt.Linear(6, 40)
  wider.layers[2] = new gpt.Linear(40, 6)
  const trained = wider.forward(x).toArray()
  assert.deepEqual(wider.eval().forward(x).toArray(), trained)
  wider.layers[2] = new gpt.Linear(41, 6)
  assertRefuses(() => wider.forward(x), 'SHAPE', /^Linear.forward: x should end in 41/)
})
