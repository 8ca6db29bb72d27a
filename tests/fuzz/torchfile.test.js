import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzz } from './torchfile.js'

test('no changed file of torch.save breaks a promise', async () => {
  const { count: read, finding } = await fuzz(1, 600)
  assert.equal(finding, null)
  assert.ok(read > 20, `only ${read} of the files were read`)
})
