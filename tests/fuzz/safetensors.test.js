import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { draw, examine, fuzz } from './safetensors.js'

test('no mutated file breaks a promise', async () => {
  const { read, finding } = await fuzz(1, 4000)
  assert.equal(
    finding,
    null,
    finding ? `${finding.message}: ${Buffer.from(finding.file).toString('base64')}` : '',
  )
  assert.ok(read > 400, `only ${read} of the files were valid`)
})

test('the same seed draws the same file', () => {
  for (let seed = 0; seed < 100; seed++) assert.deepEqual(draw(seed), draw(seed))
})

const corpus = new URL('corpus/safetensors/', import.meta.url)
for (const name of readdirSync(corpus)) {
  test(`past finding: ${name.replace('.safetensors', '').replaceAll('-', ' ')}`, async () => {
    assert.equal(await examine(readFileSync(new URL(name, corpus))), null)
  })
}
