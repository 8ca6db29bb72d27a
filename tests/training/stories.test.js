// The stories of web/examples/stories/: the grammar, and the model that was trained on them.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as gpt from 'gpt-layers'
import {
  END,
  randomFrom,
  readStory,
  splitWords,
  vocabulary,
  writeStory,
} from '../../web/examples/stories/grammar.js'
import { continueTraining, heldOut, newTraining, trainStep } from '../../web/examples/stories/train.js'

/** @param {number} count @param {number} seed */
function storiesFrom(count, seed) {
  const random = randomFrom(seed)
  return Array.from({ length: count }, () => writeStory(random))
}

test('the grammar writes each story in one way only, and knows its cost', () => {
  for (const { text, cost } of storiesFrom(50, 2_000_000)) {
    const readings = readStory(text)
    assert.equal(readings.length, 1, text)
    assert.equal(readings[0].complete, true)
    assert.ok(Math.abs(readings[0].cost - cost) < 1e-9, text)
  }
})

test('the grammar reads the beginning of a story, and nothing else', () => {
  const [{ text }] = storiesFrom(1, 2_000_001)
  for (const length of [1, 20, 100, 300, text.length - 1]) {
    const readings = readStory(text.slice(0, length))
    assert.ok(readings.length > 0 && !readings[0].complete, text.slice(0, length))
  }
  assert.deepEqual(readStory(`${text} The end.`), [])
  const start = 'Once upon a time, there were two shy foxes named Yuki and Omar. '
  assert.ok(readStory(`${start}They lived`).length > 0)
  for (const wrong of ['She lived', 'They was', 'They live in', 'they lived']) {
    assert.deepEqual(readStory(start + wrong), [], wrong)
  }
})

/** How many kinds of heroes the grammar knows, and how many kinds of places. */
const [HEROES, PLACES] = [32, 19]
/** Beginnings, and out of how many stories one begins so. */
const BEGINNINGS = /** @type {const} */ ([
  ['Once upon a time', 21 / 5],
  ['Once upon a time there was', 7 * 4],
  ['Long ago', 6],
  ['There was a', 7 * 4],
  ['There were two', 7 * 4],
  ['A dragon', 7 * 3 * 2 * HEROES],
  ['Two little pigs', 7 * 3 * 2 * 15 * HEROES],
  ['In a green valley', 7 * PLACES],
  ['The fox', 7 * 2 * HEROES],
  ['The old woman', 7 * 2 * 15 * HEROES],
  ['One day', 7 * 2],
])

for (const [start, stories] of BEGINNINGS) {
  test(`a story may begin with "${start}", and the grammar knows how often it does`, () => {
    const readings = readStory(start)
    const probability = readings.reduce((sum, { cost }) => sum + Math.exp(-cost), 0)
    assert.ok(Math.abs(probability * stories - 1) < 1e-9, `${1 / probability} stories, not ${stories}`)
    assert.ok(readings.every(({ complete }) => !complete))
  })
}

test('a story stays with its characters and its wish', () => {
  for (const { text } of storiesFrom(300, 2_000_002)) {
    const [, wish] = /(?:wanted to|wish was to|wish: to) ([\w ]+)\./.exec(text) ?? []
    assert.ok(wish, text)
    assert.ok(text.indexOf(wish.split(' ').slice(1).join(' '), text.indexOf(wish) + wish.length) > 0, text)
    const names = new Set(
      [...text.matchAll(/(?<=named )[A-Z]\w+(?: and [A-Z]\w+)?/g)].join(' and ').split(' and '),
    )
    const [, hero] = /named ([A-Z]\w+)/.exec(text) ?? []
    assert.ok(names.size === 2 || names.size === 3, text)
    assert.ok(text.slice(-100).includes(hero), text)
  }
})

test('the grammar knows more than 10,000 sentences, in fewer than 600 words', () => {
  const sentences = new Set(
    storiesFrom(2000, 2_000_003).flatMap(({ text }) => text.match(/[^.!?]+[.!?]+/g) ?? []),
  )
  assert.ok(sentences.size > 10_000, `${sentences.size} sentences`)
  assert.ok(vocabulary().length < 600)
})

test('tokens joined are the text again, and all are in the vocabulary', () => {
  const words = new Set(vocabulary())
  for (const { text } of storiesFrom(300, 2_000_004)) {
    const tokens = splitWords(text)
    assert.equal(tokens.join(''), text)
    assert.ok(tokens.length < 192, `${tokens.length} tokens`)
    assert.deepEqual(
      tokens.filter((token) => !words.has(token)),
      [],
    )
  }
})

const folder = new URL('../../web/examples/stories/', import.meta.url)
const read = (/** @type {string} */ name) => readFileSync(new URL(name, folder))
const results = JSON.parse(read('loss.json').toString())
/** @type {string[]} */
const words = JSON.parse(read('words.json').toString())
const bytes = read('model.safetensors')
await gpt.load({ build: 'simd' })
const model = await gpt.GPTModel.fromPretrained(bytes, { dtype: 'int8' })

/**
 * @param {string} start
 * @param {gpt.GenerateOptions} options
 * @returns {string} a text that begins so
 */
function writeText(start, options) {
  const ids = [END, ...splitWords(start)].map((word) => words.indexOf(word))
  for (const { token } of model.generate(ids, { ...options, stopTokens: [0] })) ids.push(token)
  return ids
    .map((id) => words[id])
    .join('')
    .trim()
}

test('the stories’ model is at most 500 kB, and its words are the grammar’s', () => {
  assert.ok(bytes.length <= 500_000, `${bytes.length} bytes`)
  assert.equal(bytes.length, results.bytes)
  assert.deepEqual(words, vocabulary())
  assert.equal(words[0], END)
  assert.equal(model.vocabSize, words.length)
})

const isStory = (/** @type {string} */ text) => readStory(text)[0]?.complete === true

/** @param {string} start @param {number} count @returns {string[]} different texts at temperature 0.8 */
function textsFrom(start, count, seed = 123) {
  gpt.manualSeed(seed)
  const texts = Array.from({ length: count }, () => writeText(start, { temperature: 0.8 }))
  assert.equal(new Set(texts).size, count)
  return texts
}

for (const start of ['', ...BEGINNINGS.map(([start]) => start)]) {
  test(`the most probable text after "${start}" is a story with either cache, and so are 8 of 10 at temperature 0.8`, () => {
    for (const dtype of /** @type {const} */ (['float32', 'int8'])) {
      const cache = model.newCache({ dtype })
      const text = writeText(start, { temperature: 0, cache })
      cache.dispose()
      assert.ok(splitWords(text).length > 60, text)
      assert.ok(isStory(text), text)
    }
    const others = textsFrom(start, 10).filter((text) => !isStory(text))
    assert.ok(others.length <= 2, others.join('\n'))
  })
}

test('97 of 100 texts at temperature 0.8 are stories: of 600, at least 582', () => {
  const texts = [1, 2, 3, 4, 5, 6].flatMap((seed) => textsFrom('', 100, seed))
  const others = texts.filter((text) => !isStory(text))
  assert.ok(others.length <= 18, others.join('\n'))
})

test('held-out stories cost the model at most 1.1 times what they cost the grammar', () => {
  const { loss, entropy } = heldOut(model, 50)
  assert.ok(loss <= 1.1 * entropy, `${loss} and ${entropy} nats per token`)
  assert.ok(results.heldOut.int8 <= 1.1 * results.heldOut.entropy)
})

test('an int8 cache changes the logits of stories by at most 0.5 % (l2), and what they cost by 0.2 %', () => {
  let [difference, sum, costs] = [0, 0, [0, 0]]
  for (const { text } of storiesFrom(20, 2_000_005)) {
    const ids = [END, ...splitWords(text)].map((word) => words.indexOf(word))
    gpt.scope(() => {
      const [exact, int8] = /** @type {const} */ (['float32', 'int8']).map((dtype, i) => {
        const logits = model.forward(ids.slice(0, -1), { cache: model.newCache({ dtype }) })
        costs[i] += gpt.crossEntropy(logits, ids.slice(1)).item()
        return logits.data.slice()
      })
      exact.forEach((value, i) => {
        difference += (value - int8[i]) ** 2
        sum += value ** 2
      })
    })
  }
  assert.ok(difference > 0 && Math.sqrt(difference / sum) <= 0.005, `${Math.sqrt(difference / sum)}`)
  assert.ok(Math.abs(costs[1] / costs[0] - 1) <= 0.002, `${costs}`)
})

/** @param {number[]} losses @param {number[]} expected */
const assertLosses = (losses, expected) =>
  losses.forEach((loss, i) => assert.ok(Math.abs(loss - expected[i]) <= 1e-4, `${losses}, not ${expected}`))

test('train.js begins with the losses that it has recorded', () => {
  const training = newTraining()
  assertLosses(
    [0, 1, 2].map((step) => trainStep(training, step)),
    results.firstLosses,
  )
})

test('training the model further gives the losses that train.js has recorded', async () => {
  assertLosses(await continueTraining(bytes), results.continuedLosses)
})
