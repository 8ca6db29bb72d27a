import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { end, fuzz } from './allocations.js'

after(end)

test('when any allocation fails, the error is MEMORY, and the same call gives the same bits later', async () => {
  const { count, findings } = await fuzz(2, 1)
  assert.deepEqual(findings, [])
  assert.ok(count > 900, `${count} allocations`)
})

test('the same with two threads', async () => {
  const shared = /^(Linear|Attention|FeedForward|crossEntropy|AdamW|a training step)/
  const { count, findings } = await fuzz(3, 2, (name) => shared.test(name))
  assert.deepEqual(findings, [])
  assert.ok(count > 150, `${count} allocations`)
})
