// Longer training runs, on one build.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GPT_CONFIG_124M } from 'gpt-layers'
import { loadForTest } from '../lib/support.js'
import { learn } from './learn.js'

test('a small GPT learns a passage by heart and repeats it', async () => {
  const gpt = await loadForTest()
  /** @type {number[]} */
  const losses = []
  const { loss, text, say } = learn(gpt, {
    steps: 400,
    batch: 4,
    length: 48,
    lr: 6e-3,
    characters: 300,
    onStep: ({ loss }) => losses.push(loss),
  })
  assert.equal(losses.length, 400)
  assert.ok(losses[0] > 3.5, `the first loss is ${losses[0]}`)
  assert.ok(loss < 0.2, `the last loss is ${loss}`)
  assert.equal(say(text.slice(0, 40), 60), text.slice(0, 100))
})

test('a GPTModel of GPT_CONFIG_124M gives finite logits', async () => {
  const gpt = await loadForTest()
  const model = new gpt.GPTModel(GPT_CONFIG_124M).eval()
  const logits = model.forward([[15496, 11, 995]])
  assert.deepEqual(logits.shape, [1, 3, 50257])
  assert.ok(logits.data.every(Number.isFinite))
  gpt.dispose()
})
