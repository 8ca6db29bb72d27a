/** @import { Module, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GPT_CONFIG_124M } from 'gpt-layers'
import { assertRefuses, heapSize, loadForTest, untyped } from './support.js'

const gpt = await loadForTest()

test('in noGrad the fused kernel gives the bits that the three layers give in turn', () => {
  const layer = new gpt.FeedForward({ embDim: 33 })
  const x = gpt.randn([20, 33])
  const stepwise = new gpt.Sequential(...layer.layers).forward(x)
  assert.deepEqual([...gpt.noGrad(() => layer.forward(x)).data], [...stepwise.data])
})

test('each parameter alone is enough for backward to reach it', () => {
  const layer = new gpt.FeedForward({ embDim: 3 }).requiresGrad(false)
  for (const [name, parameter] of layer.namedParameters()) {
    parameter.requiresGrad = true
    assert.ok(layer.forward(gpt.ones([2, 3])).requiresGrad, name)
    parameter.requiresGrad = false
  }
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

test('a replaced layer counts in noGrad as outside it', () => {
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
    const original = ff.forward(x).toArray()
    untyped(ff.layers)[index] = layer
    const trained = ff.forward(x).toArray()
    assert.deepEqual(gpt.noGrad(() => ff.forward(x)).toArray(), trained)
    assert.notDeepEqual(trained, original)
  }
  const wider = new gpt.FeedForward({ embDim: 6 })
  wider.layers[0] = new gpt.Linear(6, 40)
  wider.layers[2] = new gpt.Linear(40, 6)
  const trained = wider.forward(x).toArray()
  assert.deepEqual(gpt.noGrad(() => wider.forward(x)).toArray(), trained)
  wider.layers[2] = new gpt.Linear(41, 6)
  assertRefuses(
    () => gpt.noGrad(() => wider.forward(x)),
    'SHAPE',
    'Linear.forward: x should end in 41 (inFeatures), got shape [3, 40]',
  )
})
