// The words of the stories model, as the page reads and writes them.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { tokenizerOf } from '../../build/demo/words.js'
import { randomFrom, writeStory } from '../../web/examples/stories/grammar.js'

const file = new URL('../../web/examples/stories/words.json', import.meta.url)
/** @type {string[]} */
const words = JSON.parse(readFileSync(file, 'utf8'))
const { encode, texts } = tokenizerOf(words)

test('any story becomes tokens, and these the story again', () => {
  const random = randomFrom(7)
  for (let i = 0; i < 20; i++) {
    const { text } = writeStory(random)
    assert.equal(texts(encode(text)).join(''), text)
  }
})

test('a prompt may begin with any word, and its spaces do not matter', () => {
  assert.deepEqual(
    encode('  fox\n said').map((id) => words[id]),
    [' fox', ' said'],
  )
  assert.deepEqual(encode(' '), [])
})

test('a word that the model has not learned is refused by its name', () => {
  assert.throws(() => encode('Once upon a spaceship'), {
    message:
      'The model does not know “spaceship”. It learned 532 words for its stories, such as fox, dragon, bridge and balloon.',
  })
})
