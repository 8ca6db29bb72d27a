// Addresses from 2 GiB to 4 GiB do not fit into a signed integer of 32 bits. Everything computes the same
// bits there as in low memory.

/** @import { Gpt, Module, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gradientOf, loadForTest, untyped } from './support.js'

const GIB = 2 ** 30
const ROOM = 24 * 2 ** 20 // bytes; more than `everything` uses

/**
 * A forward and a backward of every layer and loss, a step of every optimizer, and the tensor's methods.
 *
 * @param {Gpt} gpt
 * @returns {Record<string, Float32Array>} results by name
 */
function everything(gpt) {
  gpt.manualSeed(5)
  const { Linear, Conv1D, ReLU, GELU, LayerNorm, BatchNorm, RMSNorm, Dropout, Softmax, FeedForward } = gpt
  const sizes = { embDim: 66, nHeads: 3, contextLength: 70, dropRate: 0.1 }
  const tokens = Int32Array.from({ length: 70 }, (_, i) => (i * 7) % 37)
  /** @type {Record<string, () => [layer: Module, input: any]>} */
  const layers = {
    'Linear of few rows': () => [new Linear(33, 65), gpt.randn([3, 33])],
    'Linear of many rows': () => [new Linear(33, 65), gpt.randn([70, 33])],
    'Conv1D of few rows': () => [new Conv1D(65, 33), gpt.randn([3, 33])],
    'Conv1D of many rows': () => [new Conv1D(65, 33), gpt.randn([70, 33])],
    ReLU: () => [new ReLU(), gpt.randn([1003])],
    'GELU, tanh': () => [new GELU(), gpt.randn([1003])],
    'GELU, erf': () => [new GELU({ approximate: 'none' }), gpt.randn([1003])],
    LayerNorm: () => [new LayerNorm(67), gpt.randn([70, 67])],
    BatchNorm: () => [new BatchNorm(67), gpt.randn([70, 67])],
    RMSNorm: () => [new RMSNorm(67), gpt.randn([70, 67])],
    Dropout: () => [new Dropout(0.3), gpt.randn([1003])],
    Softmax: () => [new Softmax(), gpt.randn([70, 67])],
    FeedForward: () => [new FeedForward(sizes), gpt.randn([70, 66])],
    'FeedForward in noGrad': () => [new FeedForward(sizes), gpt.randn([70, 66])],
    Attention: () => [new gpt.Attention(sizes), gpt.randn([2, 70, 66])],
    TransformerBlock: () => [new gpt.TransformerBlock(sizes), gpt.randn([70, 66])],
    Embedding: () => [new gpt.Embedding(37, 66), tokens],
    GPTModel: () => [new gpt.GPTModel({ ...sizes, vocabSize: 37, nLayers: 1, tieWeights: true }), tokens],
  }
  /** @type {Record<string, Float32Array>} */
  const results = {}
  const keep = (/** @type {string} */ name, /** @type {Tensor} */ tensor) => {
    results[name] = tensor.data.slice()
  }
  for (const [name, make] of Object.entries(layers)) {
    gpt.scope(() => {
      const [layer, input] = make()
      if (name === 'FeedForward in noGrad')
        return keep(
          name,
          gpt.noGrad(() => layer.forward(input)),
        )
      if (input !== tokens) input.requiresGrad = true
      const y = layer.forward(input)
      keep(name, y)
      y.backward(gpt.randn(y.shape))
      if (input !== tokens) keep(`${name}: dx`, gradientOf(input))
      for (const [parameter, { grad }] of layer.namedParameters()) {
        if (grad) keep(`${name}: gradient of ${parameter}`, grad)
      }
      const parameters = layer.parameters()
      if (parameters.length === 0) return
      gpt.clipGradNorm(parameters, 0.1)
      for (const optimizer of [
        new gpt.SGD(parameters, { lr: 0.1, momentum: 0.9 }),
        new gpt.AdamW(parameters, { lr: 0.1 }),
      ]) {
        optimizer.step()
        optimizer.dispose()
      }
      parameters.forEach((parameter, i) => keep(`${name}: parameter ${i} after two steps`, parameter))
    })
  }
  gpt.scope(() => {
    const sizes = { embDim: 66, nHeads: 3, contextLength: 70 }
    const { weights } = new gpt.Attention(sizes).forward(gpt.randn([70, 66]), { returnWeights: true })
    keep('the weights of Attention', weights)
    const [x, y] = [gpt.parameter(gpt.randn([70, 66])), gpt.rand([70, 66])]
    const losses = { crossEntropy: gpt.crossEntropy(x, tokens), mse: gpt.mse(x, y) }
    for (const [name, loss] of Object.entries(losses)) {
      results[name] = Float32Array.of(loss.item())
      loss.backward()
      keep(`${name}: gradient`, gradientOf(x))
      x.grad = null
    }
    keep('add', x.add(y.mean({ dim: 0 })))
    keep('div', x.div(y).sub(1.5).mul(y))
    keep('var', x.var({ dim: 0 }))
    keep('sum', x.sum({ dim: 1 }))
    keep('max', x.max())
    results.argmax = gpt.tensor(x.argmax({ dim: 0 })).data.slice()
    keep('exp', x.exp())
    keep('sqrt', y.sqrt())
    keep('matmul', x.matmul(y.permute([1, 0])))
    keep('split', x.split(50)[1])
    keep('loadSafetensors', gpt.loadSafetensors(gpt.saveSafetensors({ x })).x)
  })
  return results
}

/**
 * Takes the heap up to an address, without touching it.
 *
 * @param {Gpt} gpt
 * @param {number} end
 */
function fillTo(gpt, end) {
  const { memory } = untyped(new gpt.ReLU()).runtime
  const start = memory.allocate('test', 2 ** 21) // at the end of the heap: no free block is that large
  memory.allocate('test', end - start - 2 ** 21)
}

for (const threads of [1, 2]) {
  test(`every layer computes the same bits above 2 GiB and up to 4 GiB, with ${threads} thread(s)`, async (t) => {
    const low = await loadForTest({ threads })
    const expected = everything(low)
    low.dispose()
    const places = { 'across 2 GiB': 2 * GIB - 4096, 'up to 4 GiB': 4 * GIB - ROOM }
    for (const [place, address] of Object.entries(places)) {
      const gpt = await loadForTest({ threads, maxMemory: 4096 })
      try {
        fillTo(gpt, address)
      } catch (error) {
        t.skip(`this machine has no memory for it: ${error}`)
        return
      }
      assert.ok(gpt.scope(() => gpt.zeros([2 ** 18])).byteOffset >= address, place)
      const actual = everything(gpt)
      assert.deepEqual(Object.keys(actual), Object.keys(expected))
      for (const name of Object.keys(expected))
        assert.deepEqual(actual[name], expected[name], `${name} ${place}`)
      gpt.dispose()
    }
    const resident = process.memoryUsage.rss()
    assert.ok(resident < GIB, `${resident} bytes are resident, but most of the heap was never touched`)
  })
}
