// GPT-2 in the page: its tokens as text, and which files are read.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { load } from 'gpt-layers'
import { readCheckpoint } from '../../web/demo/src/sections/writing/checkpoint.js'
import { gpt2Tokens } from '../../web/demo/src/sections/writing/gpt2tokens.js'
import { fileOf, gpt2Entries } from '../lib/gpt2file.js'
import { shake } from '../lib/support.js'

/** GPT-2's tokens, but small. */
const CONFIG = { contextLength: 64, embDim: 64, nHeads: 1, nLayers: 2, tieWeights: true }

const gpt = await load()
after(() => gpt.dispose())

const model = shake(gpt, new gpt.GPTModel({ ...CONFIG, vocabSize: 50257 })).eval()
const file = fileOf(gpt2Entries(model))

test('the texts of tokens join to the text, with characters of several tokens', () => {
  const text = 'Once upon a time 😀 naïve 日本 \u{feff}<|endoftext|>'
  const ids = gpt2Tokens.encode(text)
  assert.equal(gpt2Tokens.texts(ids).join(''), text)
  assert.equal(gpt2Tokens.decode(ids), text)
  assert.deepEqual(gpt2Tokens.encode('日'), [33768, 98])
  assert.deepEqual(gpt2Tokens.texts([33768, 98]), ['', '日'])
})

test('a token with a part of a character shows its bytes, and changes no other token', () => {
  const [space, rest] = gpt2Tokens.encode(' 😀')
  assert.equal(gpt2Tokens.decode([space]), ' \\xf0\\x9f\\x98')
  assert.equal(gpt2Tokens.decode([rest]), '\\x80')
  assert.equal(gpt2Tokens.decode([257]), ' a')
  assert.deepEqual(gpt2Tokens.texts([space, 257]), [' ', '� a'])
  assert.equal(gpt2Tokens.decode([gpt2Tokens.stop]), '<|endoftext|>')
})

test('a GPT-2’s file, and our own of int8 weights, are read to the same int8 model', async () => {
  const read = await readCheckpoint(gpt, new Blob([file]))
  const saved = read.saveSafetensors()
  assert.deepEqual(saved, model.quantize().saveSafetensors())
  const again = await readCheckpoint(gpt, new Blob([new Uint8Array(saved)]))
  assert.deepEqual(again.saveSafetensors(), saved)
  for (const { dispose } of [read, again]) dispose.call(read)
})

test('a file that is no GPT-2 is refused in a sentence', async () => {
  const other = new gpt.GPTModel({ ...CONFIG, vocabSize: 19 })
  for (const [bytes, sentence] of /** @type {const} */ ([
    [file.slice(0, 9e6), 'A part of the file is missing: it has 9.0 MB of 13 MB. Download it again.'],
    [
      new TextEncoder().encode('<!doctype html><p>'),
      /^This is not a safetensors file, but one that starts with "<!doctype html><p>"\.$/,
    ],
    [new Uint8Array(0), 'This is not a safetensors file, but 0 bytes.'],
    [
      new gpt.Linear(2, 3).saveSafetensors(),
      /^This is not a GPT-2: source should have wte\.weight .* got bias, weight\.$/,
    ],
    [fileOf(gpt2Entries(other)), 'This model has 19 tokens instead of GPT-2’s 50257.'],
  ])) {
    await assert.rejects(readCheckpoint(gpt, new Blob([new Uint8Array(bytes)])), ({ message }) => {
      if (typeof sentence === 'string') assert.equal(message, sentence)
      else assert.match(message, sentence)
      return true
    })
  }
})
