/** @import { TestContext } from 'node:test' */
// Addresses from 2 GiB to 4 GiB do not fit into a signed integer of 32 bits. Everything computes the same
// bits there as in low memory.

/** @import { Tensor } from 'gpt-layers' */
/** @import { Gpt } from './support.js' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GptLayersError } from 'gpt-layers'
import { LAYERS, LOSSES, OPTIMIZERS, resultsOf, TENSOR_OPERATIONS } from '../layers.js'
import { gradientOf, loadForTest, memoryOf } from './support.js'

const GIB = 2 ** 30
const ROOM = 24 * 2 ** 20 // bytes; more than `everything` uses

/** Rows for the kernels of a few rows, and for those of many. */
const SIZES = [3, 70].map((rows) => ({ rows, cols: 66, heads: 3 }))

/**
 * A forward and a backward of every layer, loss and operation of tensors, a step of every optimizer, int8
 * weights, and caches.
 *
 * @param {Gpt} gpt
 * @returns {Record<string, Float32Array>} results by name
 */
function everything(gpt) {
  gpt.manualSeed(5)
  /** @type {Record<string, Float32Array>} */
  const results = {}
  const keep = (/** @type {string} */ name, /** @type {Tensor} */ tensor) => {
    results[name] = tensor.data.slice()
  }
  for (const sizes of SIZES) {
    for (const [name, make] of Object.entries(LAYERS)) {
      gpt.scope(() => {
        const made = make(gpt, sizes)
        const [layer, input] = made
        for (const [what, values] of Object.entries(resultsOf(gpt, made)))
          results[`${name} of ${sizes.rows} rows: ${what}`] = values
        layer.eval().quantize({ groupSize: 22 })
        layer.loadStateDict(gpt.loadSafetensors(gpt.saveSafetensors(layer, { names: 'ours' })))
        keep(
          `int8 ${name} of ${sizes.rows} rows`,
          gpt.noGrad(() => layer.forward(input)),
        )
        for (const [parameter, { int8Weight }] of Object.entries(layer.stateDict()))
          if (int8Weight) keep(`int8 ${name} of ${sizes.rows} rows: ${parameter}`, int8Weight.dequantize())
      })
    }
  }
  const [, sizes] = SIZES
  gpt.scope(() => {
    const x = gpt.parameter(gpt.randn([sizes.rows, sizes.cols]))
    for (const [name, loss] of Object.entries(LOSSES)) {
      const y = loss(gpt, x)
      y.backward()
      keep(name, y)
      keep(`${name}: gradient`, gradientOf(x))
      x.grad = null
    }
    const { weights } = LAYERS.Attention(gpt, sizes)[0].forward(x, { returnWeights: true })
    keep('the weights of Attention', weights)
    LOSSES.mse(gpt, x).backward()
    gpt.clipGradNorm([x], 0.1)
    for (const [name, make] of Object.entries(OPTIMIZERS)) {
      make(gpt, [x]).step()
      keep(name, x)
    }
    for (const [name, operation] of Object.entries(TENSOR_OPERATIONS)) {
      const [x, y, z] = [70, 70, 66].map((rows) => gpt.parameter(gpt.rand([rows, 66])))
      const result = operation(x, y, z, gpt)
      keep(name, result)
      result.mul(result).sum().backward()
      keep(`${name}: gradient`, gradientOf(x))
    }
    keep('argmax', x.argmax({ dim: 0 }))
    keep('multinomial', gpt.multinomial(x.detach().abs(), 3, { replacement: true }))
    keep('randint', gpt.randint(0, 9, [70, 66]))
    keep('loadSafetensors', gpt.loadSafetensors(gpt.saveSafetensors({ x })).x)
  })
  gpt.scope(() => {
    const [model, tokens] = LAYERS.GPTModel(gpt, sizes)
    model.eval()
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
  return results
}

/**
 * Takes the heap up to an address, without touching it.
 *
 * @param {Gpt} gpt
 * @param {number} end
 */
function fillTo(gpt, end) {
  const memory = memoryOf(gpt)
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
 * @param {TestContext} t
 * @param {() => Promise<Gpt>} load
 * @returns {Promise<{ gpt: Gpt, called: Set<string> }>} called: the kernels that are called from here on
 */
async function watchKernels(t, load) {
  /** @type {Set<string>} */
  const called = new Set()
  const { instantiate } = WebAssembly
  const mock = t.mock.method(WebAssembly, 'instantiate', async (/** @type {any[]} */ ...args) => {
    const { exports } = await Reflect.apply(instantiate, WebAssembly, args)
    const watched = Object.entries(exports).map(([name, value]) => {
      if (typeof value !== 'function') return [name, value]
      const watched = (/** @type {number[]} */ ...args) => called.add(name) && value(...args)
      return [name, Object.defineProperty(watched, 'length', { value: value.length })]
    })
    return { exports: Object.fromEntries(watched) }
  })
  const gpt = await load()
  mock.mock.restore()
  return { gpt, called }
}

/** What the header has beside kernels: functions that read and write no tensor. */
const NO_KERNEL = /_size$|^gpt_(is_relaxed|dot_is_fast|stack_set|status_text)$/

for (const threads of [1, 2]) {
  test(`every kernel computes the same bits above 2 GiB and up to 4 GiB, with ${threads} thread(s)`, async (t) => {
    const { gpt: low, called } = await watchKernels(t, () => loadForTest({ threads }))
    const expected = everything(low)
    const kernels = Object.keys(low.exports).filter((name) => /^gpt_/.test(name) && !NO_KERNEL.test(name))
    // Workers call the others' parts.
    const missing = threads > 1 ? [] : kernels.filter((name) => !called.has(name))
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
