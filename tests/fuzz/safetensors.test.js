import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { check, fuzz } from './safetensors.js'

test('no mutated file breaks a promise', async () => {
  const { count: read, finding } = await fuzz(1, 4000)
  assert.equal(finding, null)
  assert.ok(read > 400, `only ${read} of the files were valid`)
})

const corpus = new URL('corpus/safetensors/', import.meta.url)
for (const name of readdirSync(corpus)) {
  test(`past finding: ${name.replace('.safetensors', '').replaceAll('-', ' ')}`, async () => {
    await check({ base: 'layer', file: readFileSync(new URL(name, corpus)), chunks: [100] })
  })
}
