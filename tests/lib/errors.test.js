// Errors: what they are, and what they show of the value that came. arguments.test.js has those of each function.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { runInNewContext } from 'node:vm'
import { GptLayersError } from 'gpt-layers'
import { load, loadForTest, untyped } from './support.js'

const gpt = untyped(await loadForTest())
const x = gpt.ones([2, 5])
const three = gpt.ones([3])
const norm = new gpt.LayerNorm(6)

test('options may come from another realm, without a prototype, or frozen', () => {
  const given = [
    runInNewContext('({ dim: 0 })'),
    Object.assign(Object.create(null), { dim: 0 }),
    Object.freeze({ dim: 0 }),
  ]
  for (const options of given) assert.deepEqual(x.sum(options).toArray(), [2, 2, 2, 2, 2])
})

test('a Tensor’s text stands where a text is needed', () => {
  const text = 'tensor([1., 1., 1.])'
  assert.deepEqual([String(three), `${three}`, [three].join(), inspect(three)], Array(4).fill(text))
})

test('an error shows the value that came: a short one whole, a long one cut or by its length', () => {
  const letters = 'a'.repeat(40)
  /** @type {[unknown, string][]} */
  const shown = [
    [undefined, 'undefined'],
    [null, 'null'],
    [false, 'false'],
    [-0, '-0'],
    [0.5, '0.5'],
    [letters, `"${letters}"`],
    [`${letters}b`, `"${letters}…"`],
    [10n ** 40n, `1${'0'.repeat(39)}…n`],
    [Symbol(letters), `Symbol(${'a'.repeat(33)}…`],
    [[], '[]'],
    [[1, 2, 3, 4, 5, 6, 7, 8], '[1, 2, 3, 4, 5, 6, 7, 8]'],
    [[1, 2, 3, 4, 5, 6, 7, 8, 9], 'an array of 9'],
    [[1, '2'], 'an array of 2'],
    [{}, 'an object'],
    [Object.create(null), 'an object'],
    [Object.create({ constructor: undefined }), 'an object'],
    [new Error(), 'an Error'],
    [new Map(), 'a Map'],
    [new (class {})(), 'an object'],
    [
      new (class {
        static name = 5
      })(),
      'an object',
    ],
    [function named() {}, 'function named'],
    [() => {}, 'function (anonymous)'],
    [
      class {
        static name = 5
      },
      'function (anonymous)',
    ],
  ]
  for (const [value, text] of shown) {
    assert.throws(() => new gpt.Sequential(value), {
      message: `Sequential: modules[0] should be a layer, got ${text}`,
    })
  }
})

test('an option or a field of a configuration that is undefined has its default', () => {
  assert.equal(new gpt.RMSNorm(4, { eps: undefined }).eps, new gpt.RMSNorm(4).eps)
  assert.equal(new gpt.FeedForward({ embDim: 4, hiddenDim: undefined }).hiddenDim, 16)
})

test('a tensor without elements may have sizes whose product, 0 counted as 1, is 2 ** 29 - 32', () => {
  assert.deepEqual(gpt.zeros([0, 2 ** 29 - 32]).shape, [0, 2 ** 29 - 32])
})

test('what Node prints of an error has the name of the function once', () => {
  const first = 'GptLayersError: LayerNorm.forward: x should end in 6 (embDim), got shape [3]'
  assert.throws(
    () => norm.forward(three),
    ({ stack }) => stack.split('\n')[0] === first,
  )
})

test('a class of one’s own, made first of all, names what it refuses, in methods of ours, too', async () => {
  const fresh = await load()
  class Own extends fresh.Linear {}
  assert.throws(() => new Own(2, 2).forward(fresh.ones([3])), {
    message: 'Own.forward: x should end in 2 (inFeatures), got shape [3]',
  })
  fresh.dispose()
})

test('a GptLayersError is an Error with a name and a code', () => {
  const error = new GptLayersError('VALUE', 'why')
  assert.ok(error instanceof Error)
  assert.equal(String(error), 'GptLayersError: why')
  assert.equal(error.code, 'VALUE')
})
