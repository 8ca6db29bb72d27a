// Addresses from 2 GiB to 4 GiB do not fit into a signed integer of 32 bits. Everything computes the same
// bits there as in low memory.

/** @import { Gpt, Module, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GptLayersError } from 'gpt-layers'
import { gradientOf, loadForTest, untyped } from './support.js'

const GIB = 2 ** 30
const ROOM = 24 * 2 ** 20 // bytes; more than `everything` uses

/**
 * A forward and a backward of every layer and loss, a step of every optimizer, the tensor's methods, int8
 * weights, and a cache.
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
  const modelOf = (/** @type {object} */ options) =>
    new gpt.GPTModel({ ...sizes, dropRate: 0, vocabSize: 37, nLayers: 2, ...options })
  /** @type {Record<string, () => [layer: Module, input: any]>} */
  const quantized = {
    'int8 Linear': () => [new Linear(33, 65), gpt.randn([3, 33])],
    'int8 Conv1D': () => [new Conv1D(65, 33), gpt.randn([70, 33])],
    'int8 GPTModel': () => [modelOf({ tieWeights: true }), tokens],
  }
  for (const [name, make] of Object.entries(quantized)) {
    gpt.scope(() => {
      const [layer, input] = make()
      layer.quantize({ groupSize: 22 })
      const forward = () => gpt.noGrad(() => layer.forward(input))
      keep(name, forward())
      layer.loadSafetensors(layer.saveSafetensors())
      keep(`${name}, saved and loaded`, forward())
      for (const [parameter, { int8Weight }] of Object.entries(layer.stateDict()))
        if (int8Weight) keep(`${name}: ${parameter}`, int8Weight.dequantize())
    })
  }
  gpt.scope(() => {
    const model = modelOf({}).eval()
    const lengths = [9, 1, 20] // of the pieces: a prompt, a token, and a prompt after tokens
    for (const dtype of /** @type {const} */ (['float32', 'int8'])) {
      const cache = model.newCache({ dtype })
      for (const length of lengths) {
        const { length: start } = cache
        const logits = gpt.noGrad(() => model.forward(tokens.slice(start, start + length), { cache }))
        keep(`${dtype} cache: ${length} tokens after ${start}`, logits)
      }
    }
    const written = [...model.generate(tokens.slice(0, 69), { maxNewTokens: 8, slidingWindow: 35 })]
    results.generate = Float32Array.from(written.flatMap(({ token, probability }) => [token, probability]))
  })
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
    keep('log', y.log())
    keep('pow', y.pow(1.5))
    keep('abs', x.abs())
    keep('tanh', x.tanh())
    x.abs().sum().backward()
    keep('abs: gradient', gradientOf(x))
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
  const start = memory.allocate(2 ** 21) // at the end of the heap: no free block is that large
  memory.allocate(end - start - 2 ** 21)
}

/**
 * @param {unknown} error of `fillTo`
 * @returns {boolean} whether the machine has no more memory: the engine has refused to grow the heap
 */
const isRefusal = (error) =>
  error instanceof GptLayersError && error.code === 'MEMORY' && error.cause instanceof RangeError

/**
 * @param {Gpt} gpt
 * @returns {Set<string>} the kernels that are called from here on
 */
function calledKernels(gpt) {
  const { runtime } = untyped(new gpt.ReLU())
  const called = new Set()
  for (const method of ['run', 'accepts']) {
    const original = runtime[method]
    runtime[method] = (/** @type {[string, unknown[]]} */ ...args) => {
      called.add(args[0])
      return original.apply(runtime, args)
    }
  }
  return called
}

/** What the header has beside kernels: functions that read and write no tensor. */
const NO_KERNEL = /_size$|^gpt_(is_relaxed|stack_set|status_text)$/

for (const threads of [1, 2]) {
  test(`every kernel computes the same bits above 2 GiB and up to 4 GiB, with ${threads} thread(s)`, async (t) => {
    const low = await loadForTest({ threads })
    const called = calledKernels(low)
    const expected = everything(low)
    const kernels = Object.keys(low.exports).filter((name) => /^gpt_/.test(name) && !NO_KERNEL.test(name))
    const missing = kernels.filter((name) => !called.has(name))
    assert.deepEqual(missing, [], `everything() should call each kernel, and does not call ${missing}`)
    low.dispose()
    const places = { 'across 2 GiB': 2 * GIB - 4096, 'up to 4 GiB': 4 * GIB - ROOM }
    for (const [place, address] of Object.entries(places)) {
      const gpt = await loadForTest({ threads, maxMemory: 4096 })
      try {
        fillTo(gpt, address)
      } catch (error) {
        if (!isRefusal(error)) throw error
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
