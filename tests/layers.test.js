import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LAYERS, OPTIMIZERS } from './layers.js'
import { loadForTest, untyped } from './lib/support.js'

const gpt = await loadForTest()
/** @param {Function} Base @returns {string[]} the classes of the package that extend another one of it */
const classesFrom = (Base) =>
  Object.keys(gpt)
    .filter((name) => untyped(gpt)[name]?.prototype instanceof Base)
    .sort()

/** @param {Record<string, unknown>} table @returns {string[]} the names before a comma, each once */
const namesIn = (table) => [...new Set(Object.keys(table).map((name) => name.split(',')[0]))].sort()

test('the table of layers has every layer that the package exports, and each entry makes what it names', () => {
  const layers = classesFrom(gpt.Module).filter((name) => name !== 'ModuleList') // it has no forward
  assert.deepEqual(namesIn(LAYERS), layers)
  for (const [name, make] of Object.entries(LAYERS)) {
    const [layer] = make(gpt, { rows: 1, cols: 2, heads: 1 })
    assert.equal(layer.constructor.name, name.split(',')[0])
  }
})

test('the table of optimizers has every one that the package exports', () => {
  assert.deepEqual(namesIn(OPTIMIZERS), classesFrom(gpt.Optimizer))
})
