// The programs of web/examples/book against PyTorch’s numbers.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import * as gpt from 'gpt-layers'
import { assertClose, golden } from './support.js'

/** A program as a module. It has no types that these tests could check. @param {string} name */
const example = (name) => import(new URL(`../../web/examples/${name}`, import.meta.url).href)
const ch03 = await example('book/ch03.mjs')
const { CONFIG, generateTextSimple, GPTModel } = await example('book/ch04.mjs')
const { generate, setting, textToTokenIds, trainModelSimple } = await example('book/ch05.mjs')

const expected = golden('book')

test('chapter 3: every attention gives PyTorch’s numbers', () => {
  gpt.manualSeed(123)
  const inputs = gpt.rand([6, 3])
  const batch = gpt.stack([inputs, inputs])
  const contextLength = 6
  const found = {
    simpleSelfAttention: ch03.simpleSelfAttention(inputs),
    SelfAttention_v1: new ch03.SelfAttention_v1(3, 2).forward(inputs),
    SelfAttention_v2: new ch03.SelfAttention_v2(3, 2).forward(inputs),
    CausalAttention: new ch03.CausalAttention(3, 2, { contextLength }).forward(batch),
    MultiHeadAttentionWrapper: new ch03.MultiHeadAttentionWrapper(3, 1, {
      contextLength,
      numHeads: 2,
    }).forward(batch),
    MultiHeadAttention: new ch03.MultiHeadAttention(3, 2, { contextLength, numHeads: 2 }).forward(batch),
  }
  assert.deepEqual(Object.keys(found), Object.keys(expected['chapter 3']))
  for (const [name, out] of Object.entries(found)) assertClose(out, expected['chapter 3'][name], 1e-6)
})

test('chapter 4: the GPT gives PyTorch’s logits and writes PyTorch’s text', () => {
  const { logits, written } = expected['chapter 4']
  gpt.manualSeed(123)
  const model = new GPTModel(CONFIG).eval()
  const idx = textToTokenIds('The time has come')
  assertClose(model.forward(idx).slice(0, 8, { dim: -1 }), logits, 1e-5)
  const options = { maxNewTokens: 6, contextSize: CONFIG.contextLength }
  assert.deepEqual(generateTextSimple(model, idx, options).at(0).toArray(), written)
})

test('chapter 5: the weights, the losses of 26 steps and the drawn text are PyTorch’s', (t) => {
  const { weights, losses, evaluations, drawn } = expected['chapter 5']
  const { model, ...training } = setting()
  const digests = Object.entries(model.stateDict()).map(([name, { data }]) => [
    name,
    createHash('sha256').update(data).digest('hex'),
  ])
  assert.deepEqual(Object.fromEntries(digests), weights)

  t.mock.method(console, 'log', () => {})
  const startContext = '"The time has come,"'
  const found = trainModelSimple(model, {
    ...training,
    numEpochs: 2,
    evalFreq: 10,
    evalIter: 1,
    startContext,
  })
  assert.equal(losses.length, 26)
  const isClose = (/** @type {number} */ a, /** @type {number} */ b) => Math.abs(a - b) <= 1e-5 * b
  assert.ok(
    losses.every((/** @type {number} */ loss, /** @type {number} */ i) => isClose(found.losses[i], loss)),
    `${found.losses}`,
  )
  for (const [i, { trainLoss, valLoss }] of found.evaluations.entries()) {
    assert.ok(isClose(trainLoss, evaluations[i].trainLoss), `${i}: ${trainLoss}`)
    assert.ok(isClose(valLoss, evaluations[i].valLoss), `${i}: ${valLoss}`)
  }
  assert.equal(found.evaluations.length, evaluations.length)

  gpt.manualSeed(123)
  const options = { maxNewTokens: 20, contextSize: CONFIG.contextLength, temperature: 1.4, topK: 25 }
  const ids = generate(model.eval(), textToTokenIds(startContext), options)
  assert.deepEqual(ids.at(0).toArray(), drawn)
})

test('the package’s own GPTModel reads what the book’s model wrote', async () => {
  gpt.manualSeed(1)
  const model = new GPTModel(CONFIG).eval()
  const config = { nHeads: CONFIG.nHeads }
  const own = await gpt.GPTModel.fromPretrained(gpt.saveSafetensors(model), { config })
  const idx = textToTokenIds('The Walrus and the Carpenter')
  assert.ok(own.forward(idx).sub(model.forward(idx)).abs().max().item() < 1e-5)
})
