import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { functionsOf, fuzz, OPERATIONS, replay } from './api.js'
import { World } from './world.js'

test('the fuzzer calls every public function', async () => {
  const functions = functionsOf(await World.make())
  World.discard()
  assert.ok(functions.length > 80, `${functions.length} functions`)
  const missing = functions.filter((name) => !(name in OPERATIONS))
  assert.deepEqual(missing, [], 'no arguments for these in OPERATIONS')
})

test('no call, however strange, breaks a promise', async () => {
  const { count, finding } = await fuzz(1, 300)
  assert.equal(finding, null, finding ? `${finding.message}\n${JSON.stringify(finding.input)}` : '')
  assert.ok(count > 2000, `${count} calls`)
})

const corpus = new URL('corpus/api/', import.meta.url)
for (const name of readdirSync(corpus)) {
  test(`past finding: ${name.replace('.json', '').replaceAll('-', ' ')}`, async () => {
    await replay(JSON.parse(readFileSync(new URL(name, corpus), 'utf8')))
  })
}
