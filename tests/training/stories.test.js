// The stories of web/examples/stories/: the grammar.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  randomFrom,
  readStory,
  splitWords,
  vocabulary,
  writeStory,
} from '../../web/examples/stories/grammar.js'

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

test('the grammar knows more than 10,000 sentences, in fewer than 500 words', () => {
  const sentences = new Set(
    storiesFrom(2000, 2_000_003).flatMap(({ text }) => text.match(/[^.!?]+[.!?]+/g) ?? []),
  )
  assert.ok(sentences.size > 10_000, `${sentences.size} sentences`)
  assert.ok(vocabulary().length < 500)
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
