/** @import { GeneratedToken, GenerateOptions, GPTModel, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { largest } from '../../build/lib/tensor/topk.js'
import { assertRefuses, load, loadForTest, memoryOf, shake, usedMemory } from './support.js'

const config = { vocabSize: 23, contextLength: 16, embDim: 12, nHeads: 3, nLayers: 2 }
const gpt = await loadForTest()

test('the largest values are found beside any number of NaN', () => {
  const values = Float32Array.of(NaN, 3, NaN, 1, 2, NaN)
  assert.deepEqual([...largest(values, 5)], [1, 4, 3])
  assert.deepEqual([...largest(values, 2)], [1, 4])
  assert.deepEqual([...largest(Float32Array.of(NaN), 5)], [])
  // The unused end of the heap holds index 0. Its value is the smallest here, so a wrong heap would return it.
  assert.deepEqual([...largest(Float32Array.of(1, NaN, 5, NaN, 7, NaN), 6)], [4, 2, 0])
})
const model = shake(gpt, new gpt.GPTModel(config)).eval()

/** @param {Iterable<GeneratedToken>} generated @returns {number[]} */
const tokensOf = (generated) => Array.from(generated, ({ token }) => token)

/** @param {number[]} ids @param {GenerateOptions} options @returns {number[]} */
const write = (ids, options) => tokensOf(model.generate(ids, options))

/** @param {number[]} text @param {GPTModel} [of] @returns {number[]} the next token's logits, without a cache */
const logitsAfter = (text, of = model) => gpt.scope(() => [...of.forward(text, { lastOnly: true }).data])

/** @param {number[]} text @param {GPTModel} [of] @returns {number} the most probable next token, by `forward` */
function best(text, of = model) {
  const logits = logitsAfter(text, of)
  return logits.indexOf(Math.max(...logits))
}

/** A model whose most probable tokens vary: attention's matrices are 50 times as large as the initial ones. */
function lively() {
  gpt.manualSeed(2)
  const made = new gpt.GPTModel(config).eval()
  for (const { attn } of made.trfBlocks)
    for (const { weight } of [attn.cAttn, attn.cProj]) weight.data.forEach((x, i, all) => (all[i] = 50 * x))
  return made
}

/**
 * The distribution as transformers' logits processors define it, in float64.
 *
 * @param {readonly number[]} logits
 * @param {readonly number[]} text
 * @param {Record<string, number | undefined>} options
 * @returns {{ token: number, probability: number }[]} the tokens that can be drawn, the best first
 */
function distribution(logits, text, { temperature = 1, topK = Infinity, topP = 1, repetitionPenalty = 1 }) {
  const scores = logits.map((logit, token) => {
    const penalized = logit < 0 ? logit * repetitionPenalty : logit / repetitionPenalty
    return (text.includes(token) ? penalized : logit) / (temperature || 1)
  })
  const largest = Math.max(...scores)
  const normalized = (/** @type {{ token: number, probability: number }[]} */ list) => {
    const total = list.reduce((sum, { probability }) => sum + probability, 0)
    return list.map(({ token, probability }) => ({ token, probability: probability / total }))
  }
  const all = scores.map((score, token) => ({ token, probability: Math.exp(score - largest) }))
  all.sort((a, b) => b.probability - a.probability || a.token - b.token)
  const least = all[Math.min(topK, all.length) - 1].probability
  const best = normalized(all.filter(({ probability }) => probability >= least))
  let before = 0
  return normalized(
    best.filter(({ probability }) => {
      const keeps = before < topP
      before += probability
      return keeps
    }),
  )
}

/** @param {number} actual @param {number} expected */
const assertProbability = (actual, expected) =>
  assert.ok(Math.abs(actual - expected) <= 2e-5 * expected + 1e-9, `${actual}, expected ${expected}`)

/**
 * Asserts that a token is one of those that can be drawn, with its probability, and that `top` has the best.
 *
 * @param {GeneratedToken} drawn
 * @param {{ token: number, probability: number }[]} expected of `distribution`
 */
function assertDrawn({ token, probability, top }, expected) {
  const drawn = expected.find((candidate) => candidate.token === token)
  assert.ok(drawn, `token ${token} can be drawn`)
  assertProbability(probability, drawn.probability)
  const best = expected.slice(0, 10)
  assert.deepEqual(
    top.map((candidate) => candidate.token),
    best.map((candidate) => candidate.token),
  )
  top.forEach((candidate, i) => assertProbability(candidate.probability, best[i].probability))
}

/** A model whose logits a test chooses. */
class Fixed extends gpt.GPTModel {
  /** @type {ArrayLike<number>} */ #logits

  /** @param {ArrayLike<number>} logits */
  constructor(logits) {
    super({ vocabSize: logits.length, contextLength: 4, embDim: 1, nHeads: 1, nLayers: 1 })
    this.#logits = logits
    this.eval()
  }

  /** @override @returns {Tensor} */
  forward() {
    return gpt.tensor(Float32Array.from(this.#logits), [1, this.#logits.length])
  }
}

/** @param {ArrayLike<number>} logits @param {GenerateOptions} [options] @returns {GeneratedToken} */
function drawFrom(logits, options) {
  return gpt.scope(() => {
    const [drawn] = new Fixed(logits).generate([0], { maxNewTokens: 1, ...options })
    return drawn
  })
}

test('temperature 0 writes the most probable tokens, and draws no number', () => {
  const text = [3, 1, 4]
  gpt.manualSeed(1)
  const generated = [...model.generate(text, { maxNewTokens: 9, temperature: 0 })]
  assert.equal(generated.length, 9)
  for (const drawn of generated) {
    assertDrawn(drawn, distribution(logitsAfter(text), text, {}))
    assert.equal(drawn.token, best(text))
    text.push(drawn.token)
  }
  const next = gpt.rand([]).item()
  gpt.manualSeed(1)
  assert.equal(next, gpt.rand([]).item())
})

test('a seed gives one text, and each token takes one number of the generator', () => {
  const options = { maxNewTokens: 10 }
  gpt.manualSeed(5)
  const text = write([2], options)
  const next = gpt.rand([]).item()
  gpt.manualSeed(5)
  assert.deepEqual(write([2], options), text)
  gpt.manualSeed(6)
  assert.notDeepEqual(write([2], options), text)
  gpt.manualSeed(5)
  gpt.rand([10])
  assert.equal(gpt.rand([]).item(), next)
})

const samplings = [
  { temperature: 0.5 },
  { temperature: 3, topK: 4 },
  { topP: 0.6 },
  { topP: 0.999 },
  { topP: 1e-9 },
  { topK: 5, topP: 0.7, temperature: 2 },
  { topK: 1 },
  { topK: 100 },
  { repetitionPenalty: 1.7 },
  { repetitionPenalty: 0.4, topK: 6, topP: 0.9, temperature: 0.7 },
  { temperature: 0, topK: 3, repetitionPenalty: 2 },
]
for (const sampling of samplings) {
  test(`the probabilities with ${JSON.stringify(sampling)} are those of transformers’ definitions`, () => {
    gpt.manualSeed(3)
    const text = [3, 1, 4, 1, 5]
    for (const drawn of model.generate(text, { maxNewTokens: 8, ...sampling })) {
      assertDrawn(drawn, distribution(logitsAfter(text), text, sampling))
      text.push(drawn.token)
    }
    assert.equal(text.length, 13)
  })
}

/** Logits with ties, with none, with nothing to draw, and of a vocabulary as large as GPT-2’s. */
const LOGITS = {
  'a positive logit of a token in the text': [1, 2, -0.5],
  'a negative one': [-1, 2, -0.5],
  'ties at the top': [1, 1, 1, 0],
  'ties below the top': [0, 1, 2, 1, 1],
  'ties in the middle': [3, 1, 2, 1, 0],
  '-Infinity': [1, -Infinity, -Infinity],
  '4 equal tokens': new Array(4).fill(0),
  '256 equal tokens': new Array(256).fill(0),
  '50257 tokens': Array.from({ length: 50257 }, (_, i) => 8 * Math.sin(i * i) + 4 * Math.cos(3 * i)),
}
for (const [what, logits] of Object.entries(LOGITS)) {
  test(`of ${what} those can be drawn that transformers keeps, of equal ones the lowest`, () => {
    for (const sampling of /** @type {{ temperature?: number }[]} */ ([
      ...[{}, { repetitionPenalty: 2 }, { temperature: 0 }, { topP: 0.9 }, { topP: 0.99, temperature: 5 }],
      ...[{ topP: 0.5 }, { topK: 30, topP: 0.51 }, { topP: 0.5, topK: 99 }],
      ...[1, 2, 3, 4, 20, 3000].map((topK) => ({ topK })),
    ])) {
      const kept = distribution(logits, [0], sampling).filter(({ probability }) => probability > 0)
      for (let i = 0; i < 4; i++) {
        const drawn = drawFrom(logits, sampling)
        assertDrawn(drawn, kept)
        if (sampling.temperature === 0) assert.equal(drawn.token, kept[0].token)
      }
    }
  })
}

test('tokens are drawn as often as their probabilities say', () => {
  gpt.manualSeed(7)
  const fixed = new Fixed([1, 0, 2, -Infinity, 0.5, -1])
  const counts = [0, 0, 0, 0, 0, 0]
  const n = 3000
  for (let i = 0; i < n; i++) {
    for (const { token } of fixed.generate([0], { maxNewTokens: 1 })) counts[token]++
  }
  fixed.dispose()
  assert.equal(counts[3], 0)
  let chiSquare = 0
  for (const { token, probability } of distribution([1, 0, 2, -Infinity, 0.5, -1], [], {})) {
    if (probability > 0) chiSquare += (counts[token] - n * probability) ** 2 / (n * probability)
  }
  assert.ok(chiSquare < 18.5, `${chiSquare}: once in 1000 seeds with 4 degrees of freedom`)
})

test('extreme temperatures and logits are no overflow', () => {
  const logits = [-3e38, 2e38, 3e38, -Infinity]
  for (const temperature of [1e-60, 1e-45, 1e-20, 0.01, 1, 1e30]) {
    const { token, probability } = drawFrom(logits, { temperature })
    assert.ok(token < 3)
    assert.ok(probability > 0 && probability <= 1)
  }
  assert.equal(drawFrom(logits, { temperature: 1e-45 }).token, 2)
  for (const broken of [
    [NaN, 1],
    [1, NaN, 2],
    [Infinity, 0],
    [-Infinity, -Infinity],
    [NaN, NaN],
  ]) {
    for (const options of [{}, { topK: 1 }, { topP: 0.5 }, { temperature: 0 }, { temperature: 0.5 }]) {
      const message =
        "Fixed.generate: the model's logits should be finite numbers or -Infinity, and not all -Infinity"
      assert.throws(() => drawFrom(broken, options), { code: 'VALUE', message })
    }
  }
})

test('the text ends after maxNewTokens, with a stop token, or one token after contextLength', () => {
  const whole = write([1, 2, 3], { temperature: 0 })
  assert.equal(whole.length, 14, '16 tokens are read, and one more is written')
  assert.equal(whole[13], best([1, 2, 3, ...whole.slice(0, 13)]))
  assert.deepEqual(write([1, 2, 3], { temperature: 0, maxNewTokens: 5 }), whole.slice(0, 5))
  assert.deepEqual(write([1, 2, 3], { temperature: 0, maxNewTokens: 14 }), whole)
  const end = whole[6]
  assert.deepEqual(
    write([1, 2, 3], { temperature: 0, stopTokens: [end] }),
    whole.slice(0, whole.indexOf(end) + 1),
    'the stop token is the last one',
  )
  for (const options of [{}, { maxNewTokens: 1 }]) {
    const full = Array(16).fill(1)
    assert.deepEqual(write(full, { temperature: 0, ...options }), [best(full)])
  }
})

test('a suppressed token is never written, and is no candidate', () => {
  const first = write([1, 2, 3], { temperature: 0, maxNewTokens: 1 })[0]
  const rest = Array.from({ length: 23 }, (_, token) => token).filter((token) => token > 1)
  assert.notEqual(write([1, 2, 3], { temperature: 0, maxNewTokens: 1, suppressTokens: [first] })[0], first)
  for (const options of [{}, { topK: 5 }, { topP: 0.9 }, { repetitionPenalty: 2 }])
    for (const { token, top } of model.generate([1, 2, 3], { ...options, suppressTokens: rest }))
      for (const one of [token, ...top.map(({ token }) => token)]) assert.ok(one < 2, String(one))
  const logits = [-Infinity, 0, 5, NaN, Infinity]
  assert.deepEqual(drawFrom(logits, { suppressTokens: [3, 4], temperature: 0.01 }).top, [
    { token: 2, probability: 1 },
  ])
  const message = /^(Fixed|GPTModel).generate: suppressTokens should leave a token that can be drawn$/
  for (const options of [{}, { temperature: 0 }, { topK: 1 }, { topP: 0.5 }]) {
    assertRefuses(() => write([1], { ...options, suppressTokens: [0, 1, ...rest] }), 'VALUE', message)
    assertRefuses(() => drawFrom([-Infinity, 0], { ...options, suppressTokens: [1] }), 'VALUE', message)
    const none = () => drawFrom([-Infinity, -Infinity], { ...options, suppressTokens: [1] })
    assertRefuses(
      none,
      'VALUE',
      "Fixed.generate: the model's logits should be finite numbers or -Infinity, and not all -Infinity",
    )
  }
  const repetitionPenalty = 1e-300
  assertRefuses(
    () => drawFrom([1, 2], { repetitionPenalty }),
    'VALUE',
    'Fixed.generate: repetitionPenalty and suppressTokens should leave a token that can be drawn',
  )
})

test('null is no option, topK 0 is no limit, and topP 0 keeps one token, as in transformers', () => {
  const written = (/** @type {GenerateOptions} */ options) => {
    gpt.manualSeed(5)
    return [...model.generate([1, 2, 3], { repetitionPenalty: 1.5, ...options })]
  }
  const expected = written({})
  assert.equal(new Set(expected.map(({ token }) => token)).size > 3, true)
  assert.deepEqual(written({ topK: 0 }), expected)
  const names = ['maxNewTokens', 'temperature', 'topK', 'topP', 'stopTokens', 'suppressTokens']
  for (const name of [...names, 'slidingWindow', 'cache', 'signal'])
    assert.deepEqual(written({ [name]: null }), expected, name)
  assert.deepEqual(written({ repetitionPenalty: null }), written({ repetitionPenalty: 1 }))
  const best = written({ topK: 1 })
  assert.deepEqual(written({ topP: 0 }), best)
  assert.deepEqual(written({ topP: 0, topK: 5 }), best)
})

test('an abort ends the text: next throws the signal’s reason', () => {
  const before = usedMemory(gpt)
  const reason = new Error('the client has gone')
  const thrown = (/** @type {() => unknown} */ fn) => assert.throws(fn, (error) => error === reason)
  const controller = new AbortController()
  const { signal } = controller
  assert.equal(write([1, 2], { maxNewTokens: 3, signal }).length, 3)
  const texts = [1, 2, 3].map((maxNewTokens) => model.generate([1, 2], { maxNewTokens, signal }))
  for (const text of texts) assert.equal(text.next().done, false)
  texts[2].next()
  texts[2].return()
  const untouched = model.generate([1, 2], { signal })
  controller.abort(reason)
  assert.deepEqual(texts[0].next(), { value: undefined, done: true }, 'this text was at its end')
  thrown(() => texts[1].next())
  assert.deepEqual(texts[1].next(), { value: undefined, done: true })
  assert.deepEqual(texts[2].next(), { value: undefined, done: true })
  thrown(() => untouched.next())
  const cache = model.newCache()
  thrown(() => write([1], { signal, cache }))
  assert.equal(cache.length, 0)
  cache.dispose()
  assert.equal(getEventListeners(signal, 'abort').length, 0)
  assert.equal(usedMemory(gpt), before)
})

test('a cache continues a text, and keeps it', () => {
  const options = { temperature: 0, repetitionPenalty: 1.3 }
  const whole = write([1, 2, 3], { ...options, maxNewTokens: 10 })
  const cache = model.newCache()
  const first = write([1, 2, 3], { ...options, maxNewTokens: 4, cache })
  assert.equal(cache.length, 3 + 4 - 1, 'all but the last token')
  const rest = write(first.slice(-1), { ...options, maxNewTokens: 6, cache })
  assert.deepEqual([...first, ...rest], whole)
  cache.truncate(3)
  assert.deepEqual(write([whole[0]], { ...options, maxNewTokens: 9, cache }), whole.slice(1))
  assert.ok(!cache.disposed)
  cache.dispose()
  const small = model.newCache({ maxTokens: 5 })
  const written = write([1, 2], { temperature: 0, cache: small })
  assert.equal(written.length, 4, 'as many as the cache has room for, and one more')
  assert.equal(written[3], best([1, 2, ...written.slice(0, 3)]))
  assert.equal(small.length, 5)
  small.truncate(4)
  assertRefuses(
    () => model.generate([1, 2], { cache: small }),
    'SHAPE',
    'GPTModel.generate: ids should have at most 1 tokens (the cache has 4 of 5 (maxTokens)), got 2',
  )
  small.dispose()
})

test('generate takes no memory per token, and leaves none behind', () => {
  const before = usedMemory(gpt)
  const during = []
  for (const _ of model.generate([1, 2, 3], { topP: 0.9 })) during.push(usedMemory(gpt))
  assert.deepEqual(new Set(during).size, 1, `${during}`)
  assert.equal(usedMemory(gpt), before)
  for (const _ of model.generate([1, 2, 3])) break
  assert.equal(usedMemory(gpt), before, 'after a break')
  const unused = model.generate([1])
  assert.equal(usedMemory(gpt), before, 'before the first token')
  unused.return()
  assert.throws(() => {
    for (const _ of model.generate([1, 2, 3])) throw new Error('of the loop')
  }, /of the loop/)
  assert.equal(usedMemory(gpt), before, 'after an error in the loop')
  const stop = model.onForward(() => {
    throw new Error('of the listener')
  })
  assert.throws(() => write([1], {}), /of the listener/)
  stop()
  assert.equal(usedMemory(gpt), before, 'after an error in forward')
})

test('generate works in a scope, across scopes, and two at a time', () => {
  const before = usedMemory(gpt)
  const options = { temperature: 0, maxNewTokens: 6 }
  const [first, second] = [write([1, 2], options), write([7], options)]
  assert.deepEqual(
    gpt.scope(() => write([1, 2], options)),
    first,
  )
  const generators = [model.generate([1, 2], options), model.generate([7], options)]
  /** @type {(number | undefined)[][]} */
  const written = [[], []]
  for (let i = 0; i < 6; i++) {
    generators.forEach((generator, g) =>
      written[g].push(gpt.scope(() => /** @type {GeneratedToken} */ (generator.next().value).token)),
    )
  }
  assert.deepEqual(written, [first, second])
  generators.forEach((generator) => assert.ok(generator.next().done))
  assert.equal(usedMemory(gpt), before)
})

test('a token that cannot be drawn is refused, and leaks nothing', () => {
  const broken = new gpt.GPTModel(config).eval()
  const cache = broken.newCache()
  broken.outHead.weight.data.fill(NaN)
  const before = usedMemory(gpt)
  assertRefuses(
    () => [...broken.generate([1, 2], { cache })],
    'VALUE',
    "GPTModel.generate: the model's logits should be finite numbers or -Infinity, and not all -Infinity",
  )
  assert.equal(usedMemory(gpt), before)
  for (const object of [broken, cache]) object.dispose()
})

test('a model that has gone into training mode writes no more', () => {
  const before = usedMemory(gpt)
  const generator = model.generate([1])
  model.train()
  assertRefuses(
    () => generator.next(),
    'VALUE',
    'GPTModel.forward: lastOnly should be used in evaluation mode; call eval() first, got training mode',
  )
  model.eval()
  assert.ok(generator.next().done)
  assert.equal(usedMemory(gpt), before)
})

test('ids may be nested, typed or a tensor', () => {
  const options = { temperature: 0, maxNewTokens: 3 }
  const expected = write([1, 2], options)
  for (const ids of [[[1, 2]], Int32Array.of(1, 2), gpt.tensor([1, 2]), gpt.tensor([[1, 2]])]) {
    assert.deepEqual(tokensOf(model.generate(ids, options)), expected)
  }
})

test('a text is refused whose cache something else has changed since the call or the last token', () => {
  const cache = model.newCache()
  const message =
    'GPTModel.generate: cache should be used by one text at a time, got one that something else has changed'
  const changes = [
    () => model.generate([3], { cache }).next(),
    () => model.forward([3], { cache }),
    () => cache.truncate(0),
  ]
  for (const change of changes) {
    const begun = model.generate([1, 2], { cache })
    begun.next()
    const texts = [begun, model.generate([1, 2], { cache }), model.generate([1], { cache, slidingWindow: 9 })]
    change()
    for (const text of texts) assert.throws(() => text.next(), { code: 'VALUE', message })
  }
  assert.equal(model.generate([1, 2], { cache }).next().done, false)
  cache.dispose()
})

test('what was given to generate may change before the first token', () => {
  const [ids, stopTokens, suppressTokens] = [Int32Array.of(1, 2), [0], [5]]
  const options = { maxNewTokens: 6, temperature: 0, stopTokens, suppressTokens }
  const expected = write([1, 2], { ...options, stopTokens: [0], suppressTokens: [5] })
  const text = model.generate(ids, options)
  ids.fill(9)
  stopTokens[0] = expected[0]
  suppressTokens[0] = expected[1]
  Object.assign(options, { maxNewTokens: 1, temperature: 5 })
  assert.deepEqual(tokensOf(text), expected)
})

test('the penalty changes a copy of the logits, not the tensor that a head returned', () => {
  const kept = new gpt.GPTModel(config).eval()
  const logits = gpt.tensor(
    Array.from({ length: 23 }, (_, token) => token + 1),
    [1, 23],
  )
  const before = [...logits.data]
  Object.assign(kept.outHead, { forward: () => logits })
  const [{ token }] = kept.generate([22, 5], { maxNewTokens: 1, repetitionPenalty: 2, temperature: 0 })
  assert.equal(token, 21)
  assert.deepEqual([...logits.data], before)
  kept.dispose()
})

/**
 * Asserts that a text goes on with the best tokens, where the model reads it until it is full, and then the last
 * tokens again.
 *
 * @param {GPTModel} of
 * @param {number[]} prompt
 * @param {number[]} written
 * @param {number} capacity how many tokens are read at once
 * @param {number} slidingWindow how many are read again
 */
function assertWindowed(of, prompt, written, capacity, slidingWindow) {
  const text = [...prompt]
  let read = [...prompt]
  for (const token of written) {
    if (read.length > capacity) read = text.slice(-slidingWindow)
    assert.equal(token, best(read, of))
    text.push(token)
    read.push(token)
  }
}

test('with a sliding window the model reads until it is full, then the last tokens again', () => {
  const varied = lively()
  for (const [slidingWindow, maxNewTokens, lengths] of /** @type {const} */ ([
    [16, 25, [1, 15, 16, 17, 40]],
    [5, 40, [2, 16, 20]],
  ])) {
    for (const length of lengths) {
      const text = Array.from({ length }, (_, i) => (7 * i) % 23)
      const written = tokensOf(varied.generate(text, { maxNewTokens, temperature: 0, slidingWindow }))
      assert.equal(written.length, maxNewTokens)
      assertWindowed(varied, text, written, 16, slidingWindow)
      assert.ok(new Set(written).size > 5, `the tokens should vary, they are ${written}`)
    }
  }
  varied.dispose()
})

test('with a sliding window a cache is filled again and again, and its text can be continued', () => {
  const varied = lively()
  for (const slidingWindow of [6, 4]) {
    const cache = varied.newCache({ maxTokens: 6 })
    const options = { temperature: 0, slidingWindow, cache }
    const text = [1, 2, 3]
    const first = tokensOf(varied.generate(text, { ...options, maxNewTokens: 9 }))
    const second = tokensOf(varied.generate(first.slice(-1), { ...options, maxNewTokens: 8 }))
    assertWindowed(varied, text, [...first, ...second], 6, slidingWindow)
    cache.dispose()
  }
  varied.dispose()
})

test('the heap may move when the generator draws its first number', async () => {
  const file = gpt.saveSafetensors(model)
  const fresh = await load({ build: gpt.build })
  const loaded = await fresh.GPTModel.fromPretrained(file) // draws no number
  const memory = memoryOf(fresh)
  const { allocate } = memory
  memory.allocate = (/** @type {number} */ bytes) => {
    fresh.exports.memory.grow(0) // empties all views, as when the heap grows
    return allocate.call(memory, bytes)
  }
  const [{ token, probability }] = loaded.generate([1, 2], { maxNewTokens: 1 })
  assert.ok(token < config.vocabSize && probability > 0 && probability < 1, `${token}, ${probability}`)
  fresh.dispose()
})
