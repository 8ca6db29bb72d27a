// Which section an address names.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idOf } from '../../build/demo/anchors.js'

test('a hash names a section, and one that cannot be decoded names none', () => {
  assert.equal(idOf('#batch-norm'), 'batch-norm')
  assert.equal(idOf('#batch%2Dnorm'), 'batch-norm')
  for (const hash of ['', '#', '#100%', '#%E0%A4%A']) assert.equal(idOf(hash), '')
})
