/** @import { KeyValueCache, LoadOptions, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertNear,
  assertRefuses,
  assertSame,
  collectGarbage,
  loadForTest,
  pack,
  shake,
  until,
  usedMemory,
} from './support.js'

const config = { vocabSize: 11, contextLength: 12, embDim: 12, nHeads: 3, nLayers: 2, qkvBias: true }
const gpt = await loadForTest()
const model = shake(gpt, new gpt.GPTModel(config)).eval()

/** The tokens of two sequences. */
const ids = [0, 1].map((b) => Array.from({ length: 12 }, (_, i) => (7 * i * i + 3 * b + i) % 11))

/** @param {number[][]} sequences @param {number} start @param {number} [end] */
const columns = (sequences, start, end) => sequences.map((row) => row.slice(start, end))

/**
 * Asserts that logits are those of some tokens of one pass, within 2e-6 of the largest logit.
 *
 * @param {Tensor} logits
 * @param {Tensor} whole the logits of one pass
 * @param {number} start the first token
 */
function assertLogits(logits, whole, start) {
  const expected = whole.slice(start, start + /** @type {number} */ (logits.shape.at(-2)), { dim: -2 })
  const scale = whole.data.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  const largest = expected.data.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  assertNear(logits, pack(expected.data, expected.shape), (2e-6 * scale) / largest)
}

for (const lengths of [[12], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [5, 1, 4, 2], [1, 11], [8, 3, 1]]) {
  test(`tokens appended to a cache ${lengths.join(' and ')} at a time have the logits of one pass`, () => {
    gpt.scope(() => {
      const whole = model.forward(ids)
      const cache = model.newCache({ batchSize: 2 })
      for (const length of lengths) {
        const start = cache.length
        assertLogits(model.forward(columns(ids, start, start + length), { cache }), whole, start)
        assert.equal(cache.length, start + length)
      }
    })
  })
}

for (const int8 of [false, true]) {
  test(`a listener changes no bit of a forward with a cache, with ${int8 ? 'int8' : 'float32'} weights`, () => {
    gpt.scope(() => {
      const own = shake(gpt, new gpt.GPTModel({ ...config, hiddenDim: 20, approximate: 'none' })).eval()
      // Inputs of very different sizes get factors.
      own.trfBlocks[0].ff.layers[0].weight.data.forEach(
        (value, i, data) => (data[i] = i % 12 ? value : 99 * value),
      )
      if (int8) own.quantize()
      for (const [batchSize, tokens] of [
        [1, 1],
        [1, 3],
        [1, 8],
        [2, 4],
        [3, 3],
      ]) {
        const cache = own.newCache({ batchSize })
        const prompt = Array(batchSize).fill([1, 2])
        const next = Array.from({ length: batchSize }, (_, b) => ids[b % 2].slice(0, tokens))
        own.forward(prompt, { cache })
        const expected = own.forward(next, { cache })
        cache.truncate(2)
        let calls = 0
        const stop = own.onForward(() => void calls++)
        assertSame(own.forward(next, { cache }), pack(expected.data, expected.shape))
        stop()
        assert.ok(calls > 20)
      }
    })
  })
}

test('layers inside a block that are one’s own or in training mode run with a cache, too', () => {
  class Doubled extends gpt.LayerNorm {
    /** @override @param {Tensor} x */
    forward(x) {
      return super.forward(x).mul(2)
    }
  }
  gpt.scope(() => {
    const own = shake(gpt, new gpt.GPTModel({ ...config, dropRate: 0.5 })).eval()
    const [block] = own.trfBlocks
    const logits = () => own.forward([1, 2, 3], { cache: own.newCache() }).toArray()
    const found = [logits()]
    for (const change of [
      () => Reflect.set(block, 'norm1', new Doubled(config.embDim).eval()),
      () => Reflect.set(block.ff.layers, 1, new gpt.ReLU().eval()),
      () => block.dropout.train(),
    ]) {
      change()
      found.push(logits())
      assert.notDeepEqual(found.at(-1), found.at(-2), String(change))
    }
  })
})

test('lastOnly gives the logits of the last token, with and without a cache', () => {
  gpt.scope(() => {
    const whole = model.forward(ids)
    const last = model.forward(ids, { lastOnly: true })
    assert.deepEqual(last.shape, [2, 1, 11])
    assertLogits(last, whole, 11)
    assert.deepEqual(model.forward(ids[0], { lastOnly: true }).shape, [1, 11])
    assert.deepEqual(model.forward([ids], { lastOnly: true }).shape, [1, 2, 1, 11])
    assert.deepEqual(model.forward(ids, { lastOnly: false }).shape, [2, 12, 11])
    const cache = model.newCache({ batchSize: 2 })
    assertLogits(model.forward(columns(ids, 0, 7), { cache, lastOnly: true }), whole, 6)
    assertLogits(model.forward(columns(ids, 7, 8), { cache, lastOnly: true }), whole, 7)
    assert.equal(cache.length, 8)
  })
})

test('a cache that is truncated continues from the tokens that it keeps', () => {
  gpt.scope(() => {
    const cache = model.newCache({ batchSize: 2 })
    model.forward(ids, { cache })
    const edited = ids.map((row) => [...row.slice(0, 4), 10, 9, 8])
    const whole = model.forward(edited)
    cache.truncate(4)
    assert.equal(cache.length, 4)
    assertLogits(model.forward(columns(edited, 4), { cache }), whole, 4)
    cache.truncate(cache.length)
    assert.equal(cache.length, 7)
    cache.truncate(0)
    assertLogits(model.forward(edited, { cache }), whole, 0)
  })
})

/** The other loads give the same bits: by each way to multiply int8, on one thread and on two. */
for (const options of /** @type {LoadOptions[]} */ ([
  { threads: 2 },
  { threads: 2, int8Kernel: 'int16' },
  ...(gpt.build === 'relaxed' ? [{ int8Kernel: 'dot' }, { threads: 2, int8Kernel: 'dot' }] : []),
])) {
  const title = JSON.stringify(options)
  test(`with int8 weights and cache the bits are the same at once, in pieces and with ${title}`, async () => {
    const two = await loadForTest(options)
    gpt.scope(() => {
      const wide = { ...config, contextLength: 160, embDim: 256, nHeads: 4, nLayers: 1 }
      const own = shake(gpt, new gpt.GPTModel(wide)).eval()
      const twin = new two.GPTModel(wide).eval()
      twin.loadStateDict(two.loadSafetensors(gpt.saveSafetensors(own, { names: 'ours' })))
      const text = [0, 1].map((b) => Array.from({ length: 160 }, (_, i) => (7 * i * i + 3 * b + i) % 11))
      /** The last token's logits. The cache has held the whole text before. @param {typeof own} of @param {number[]} lengths */
      const logits = (of, lengths) => {
        const cache = of.newCache({ batchSize: 2, dtype: 'int8' })
        let last = of.forward(text, { cache, lastOnly: true })
        cache.truncate(0)
        for (const length of lengths) {
          last = of.forward(columns(text, cache.length, cache.length + length), { cache, lastOnly: true })
        }
        return last.toArray()
      }
      for (const quantized of [own, twin]) quantized.quantize()
      const expected = logits(own, [160])
      for (const of of [own, twin]) assert.deepEqual(logits(of, [3, 97, 5, 1, 47, 4, 3]), expected)
      assert.deepEqual(logits(twin, [160]), expected)
    })
    two.dispose()
  })
}

test('a cache is float32, unless dtype says int8', () => {
  gpt.scope(() => {
    const own = shake(gpt, new gpt.GPTModel({ ...config, contextLength: 64, embDim: 96 })).eval()
    /** @param {KeyValueCache} cache */
    const bytes = (cache) => {
      const before = usedMemory(gpt)
      cache.dispose()
      return before - usedMemory(gpt)
    }
    assert.equal(own.newCache().dtype, 'float32')
    assert.equal(own.newCache({ dtype: 'int8' }).dtype, 'int8')
    assert.ok(bytes(own.newCache({ dtype: 'int8' })) < 0.3 * bytes(own.newCache()))
    own.trfBlocks[1].ff.quantize()
    assert.equal(own.newCache().dtype, 'float32')
  })
})

test('a cache has its sizes, and room for the keys and values of its tokens', () => {
  const before = usedMemory(gpt)
  const cache = model.newCache()
  assert.deepEqual([cache.length, cache.maxTokens, cache.batchSize, cache.disposed], [0, 12, 1, false])
  const bytes = usedMemory(gpt) - before
  const { nLayers, embDim, contextLength } = config
  assert.ok(bytes >= 4 * 2 * nLayers * embDim * contextLength, `${bytes}`)
  const two = model.newCache({ batchSize: 2, maxTokens: 3 })
  assert.deepEqual([two.length, two.maxTokens, two.batchSize], [0, 3, 2])
  const ofTwo = usedMemory(gpt) - before - bytes
  const one = model.newCache({ maxTokens: 3 })
  assert.equal(usedMemory(gpt) - before - bytes - ofTwo, ofTwo / 2)
  for (const made of [cache, two, one, one]) made.dispose()
  assert.equal(usedMemory(gpt), before)
  assert.ok(cache.disposed)
  const bare = new gpt.GPTModel({ ...config, nLayers: 1 })
  bare.trfBlocks.pop()
  const empty = bare.newCache()
  empty.dispose()
  assert.ok(empty.disposed)
})

test('a scope frees a cache, unless it returns it', () => {
  const before = usedMemory(gpt)
  /** @type {KeyValueCache[]} */
  const caches = []
  gpt.scope(() => void caches.push(model.newCache()))
  assert.ok(caches[0].disposed)
  assert.equal(usedMemory(gpt), before)
  const { inside } = gpt.scope(() => ({ inside: model.newCache() }))
  gpt.scope(() => model.forward([1], { cache: inside }).data)
  assert.equal(inside.length, 1)
  inside.dispose()
})

test('a cache that nobody holds is freed by the garbage collector', async () => {
  const before = usedMemory(gpt)
  void model.newCache().length
  await until(() => {
    collectGarbage()
    return usedMemory(gpt) <= before
  }, 'the cache is freed')
})

test('a forward that fails leaves the cache as it was', () => {
  gpt.scope(() => {
    const cache = model.newCache()
    const whole = model.forward(ids[0])
    model.forward(ids[0].slice(0, 5), { cache })
    const refused = (/** @type {() => unknown} */ fn) => {
      assert.throws(fn)
      assert.equal(cache.length, 5)
    }
    refused(() => model.forward([11], { cache }))
    refused(() => model.forward([[1], [2]], { cache }))
    refused(() => model.forward([1], { cache, returnWeights: true }))
    for (const name of ['trf_blocks.1.attn', 'out_head']) {
      const stop = model.onForward((event) => {
        if (event.name === name) throw new Error(name)
      })
      refused(() => model.forward([3, 4], { cache }))
      stop()
    }
    assertLogits(model.forward(ids[0].slice(5), { cache }), whole, 5)
  })
})

test('a cache is used by one forward at a time', () => {
  gpt.scope(() => {
    const cache = model.newCache()
    for (const [name, attempt] of /** @type {const} */ ([
      ['GPTModel.forward', () => model.forward([1], { cache })],
      ['KeyValueCache.truncate', () => cache.truncate(0)],
    ])) {
      const stop = model.onForward(({ name }) => {
        if (name === 'trf_blocks.0.attn') attempt()
      })
      const message = `${name}: cache should be used by one forward at a time, got one that a forward is using`
      assertRefuses(() => model.forward([1, 2], { cache }), 'VALUE', message)
      stop()
      assert.equal(cache.length, 0)
    }
    const stop = model.onForward(({ name }) => {
      if (name === 'trf_blocks.0.norm1') cache.dispose()
    })
    assertRefuses(
      () => model.forward([1, 2], { cache }),
      'DISPOSED',
      'Attention.forward: cache should be live, got one that was disposed',
    )
    stop()
  })
})

test('layers of one’s own get the context, and a replaced Attention needs a new cache', () => {
  gpt.scope(() => {
    const own = new gpt.GPTModel(config).eval()
    /** @type {unknown[]} */
    const seen = []
    class Block extends gpt.Module {
      /** @override @param {Tensor} x @param {Record<string, unknown>} [context] */
      forward(x, context) {
        seen.push(context)
        return x.mul(2)
      }
    }
    const blocks = [own.trfBlocks[0], new Block().eval()]
    Reflect.set(own, 'trfBlocks', blocks)
    const whole = own.forward(ids[0])
    const cache = own.newCache()
    assertLogits(own.forward(ids[0].slice(0, 5), { cache, lastOnly: true }), whole, 4)
    assertLogits(own.forward(ids[0].slice(5), { cache }), whole, 5)
    assert.deepEqual(seen, [undefined, { cache }, { cache }])
    Reflect.set(blocks[0], 'attn', new gpt.Attention(config).eval())
    cache.truncate(0)
    const message =
      'Attention.forward: cache should know each Attention of its model, got one that is newer than the cache'
    assertRefuses(() => own.forward([1], { cache }), 'VALUE', message)
    assert.equal(own.forward([1], { cache: own.newCache() }).size, 11)
  })
})

test('an Attention in two blocks cannot use a cache', () => {
  gpt.scope(() => {
    const own = new gpt.GPTModel(config).eval()
    Reflect.set(own.trfBlocks[1], 'attn', own.trfBlocks[0].attn)
    const cache = own.newCache()
    const message =
      'Attention.forward: cache should be used by an Attention once in a forward, got the same layer a second time'
    assertRefuses(() => own.forward([1], { cache }), 'UNSUPPORTED', message)
  })
})

test('a cache has room for no more tokens than each Attention can see', () => {
  gpt.scope(() => {
    const own = new gpt.GPTModel(config).eval()
    Reflect.set(own.trfBlocks[1], 'attn', new gpt.Attention({ ...config, contextLength: 3 }).eval())
    const cache = own.newCache()
    assert.equal(cache.maxTokens, 3)
    own.forward([1, 2], { cache })
    const full = 'GPTModel.forward: ids should end in at most 1 tokens (the cache has 2 of 3), got shape [2]'
    assertRefuses(() => own.forward([1, 2], { cache }), 'SHAPE', full)
    const most = 'GPTModel.newCache: maxTokens should be an integer from 1 to 3 (contextLength), got 4'
    assertRefuses(() => own.newCache({ maxTokens: 4 }), 'VALUE', most)
  })
})
