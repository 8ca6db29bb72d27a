// The engine of the GPT that writes on the page: its texts are those of the package's `generate`, and what
// it sees of each norm is what PyTorch computes.

/** @import { Settings } from '../../build/demo/writer/engine.js' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as gpt from 'gpt-layers'
import { Engine } from '../../build/demo/writer/engine.js'
import { Text } from '../../build/demo/writer/text.js'
import { tokenizerOf } from '../../build/demo/words.js'
import { assertClose, golden, shake } from '../lib/support.js'

const folder = new URL('../../web/examples/stories/', import.meta.url)
await gpt.load()
const model = await gpt.GPTModel.fromPretrained(readFileSync(new URL('model.safetensors', folder)))
const tokenizer = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', folder), 'utf8')))
const NORMS = 9
const none = new Array(NORMS).fill(false)
const only = (/** @type {number[]} */ ...norms) => none.map((_, i) => norms.includes(i + 1))
/** @type {Settings} */
const settings = {
  seed: 5,
  temperature: 0.8,
  off: none,
  replacement: 'nothing',
  from: 0,
}
const START = [0, ...tokenizer.encode('Once upon a time')]
const engineOf = (/** @type {Partial<Settings>} */ changes = {}) => {
  const engine = new Engine({ model, tokenizer })
  engine.set({ ...settings, ...changes })
  return engine
}

/** @param {Engine} engine @param {number} tokens */
function write(engine, tokens) {
  for (let i = 0; i < tokens; i++) engine.step()
  return engine
}

/** What the package's `generate` writes. @param {number} [maxNewTokens] to the end by default */
function expected(maxNewTokens) {
  gpt.manualSeed(settings.seed)
  const options = { maxNewTokens, temperature: settings.temperature, stopTokens: [0] }
  return [...START, ...Array.from(model.generate(START, options), ({ token }) => token)]
}

test('a seed gives the text that generate writes, to its end', () => {
  const engine = write(engineOf(), 400)
  assert.deepEqual([...engine.with.ids, 0], expected())
  assert.deepEqual([engine.with.ended, engine.ended], [true, true])
  assert.ok(engine.with.ids.length < model.contextLength)
})

for (const { seed, replacement, off, ids, stats } of golden('page_writer')) {
  test(`norms ${off} replaced by ${replacement}: means and variances are PyTorch’s`, () => {
    gpt.manualSeed(seed)
    const config = { vocabSize: 17, contextLength: 11, embDim: 6, nHeads: 2, nLayers: 4, qkvBias: true }
    const small = shake(gpt, new gpt.GPTModel(config)).eval()
    const words = {
      encode: () => ids.slice(1),
      texts: () => [],
      start: ids[0],
      stop: -1,
    }
    const engine = new Engine({ model: small, tokenizer: words })
    const isOff = none.map((_, i) => off.includes(i))
    engine.set({ seed: 1, temperature: 1, off: isOff, replacement, from: 0 })
    assertClose(gpt.tensor(engine.without?.step.stats ?? []), stats, 1e-4)
  })
}

test('without a norm another text is written in step, from the same random numbers', () => {
  const engine = write(engineOf({ off: only(2) }), 20)
  const { ids } = engine.with
  assert.deepEqual(ids, expected(20))
  assert.ok(engine.without)
  assert.equal(engine.without.at, engine.with.at)
  assert.notDeepEqual(engine.without.ids, ids)
  const [{ norm2 }] = model.trfBlocks
  Object.assign(model.trfBlocks[0], { norm2: new gpt.Identity().eval() })
  try {
    assert.deepEqual(engine.without.ids, expected(20))
  } finally {
    Object.assign(model.trfBlocks[0], { norm2 })
  }
})

test('a norm switched off in the middle of a text changes what follows, not what stands', () => {
  const engine = write(engineOf(), 30)
  const { ids } = engine.with
  engine.set({ ...settings, off: only(7), from: 12 })
  assert.equal(engine.with.at, START.length - 1 + 12)
  write(engine, 18)
  assert.deepEqual(engine.with.ids, ids)
  const without = engine.without?.ids ?? []
  assert.deepEqual(without.slice(0, START.length + 12), ids.slice(0, START.length + 12))
  assert.notDeepEqual(without, ids)
  // A link has the settings only.
  const linked = write(engineOf({ off: only(7), from: 12 }), 18)
  assert.deepEqual(linked.without?.ids, without)
  // Whatever else changes, the text without the norm begins anew, as in a link.
  /** @type {Partial<Settings>[]} */
  const changes = [
    { from: 15 },
    { off: only(9) },
    { replacement: 'mean' },
    { replacement: 'half', factor: 1 },
    { factor: 20 },
    { seed: 6 },
  ]
  /** @type {Settings} */
  let changed = { ...settings, off: only(7), from: 12 }
  for (const change of changes) {
    changed = { ...changed, ...change }
    engine.set(changed)
    assert.equal(engine.without?.at, START.length - 1 + changed.from)
    assert.deepEqual(write(engine, 15).without?.ids, write(engineOf(changed), 15).without?.ids)
  }
  engine.set(settings)
  assert.equal(engine.without, null)
  assert.deepEqual(write(engine, 370).with.ids, expected().slice(0, -1))
})

test('a text ends where the cache is full', () => {
  const engine = write(engineOf({ off: only(1, 2, 3, 4, 5, 6, 7, 8, 9) }), 400)
  assert.equal(engine.without?.ended, true)
  assert.equal(engine.without?.ids.length, model.contextLength)
})

test('a story that has ended is followed by that of the next seed', { timeout: 120_000 }, async () => {
  /** @type {import('../../build/demo/writer/report.js').Report[]} */
  const reports = []
  await new Promise((resolve) => {
    const text = new Text({ model, tokenizer }, (report) => {
      if (reports.push(report) !== 2) return
      text.pause()
      resolve(null)
    })
    text.set(settings, Infinity)
    text.play()
  })
  assert.deepEqual([reports[0].seed, reports[0].with.ended], [settings.seed, true])
  assert.deepEqual([reports[1].seed, reports[1].with.at], [settings.seed + 1, START.length - 1])
})
