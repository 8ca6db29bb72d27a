// For Vitest and Jest, which define `test` and `expect`.

import { writeFileSync } from 'node:fs'
import { TextDecoder, TextEncoder } from 'node:util'
import { load } from 'gpt-layers'
import { compute } from './compute.js'

Object.assign(globalThis, { TextDecoder, TextEncoder }) // Jest's jsdom lacks them

test('a layer loads its file from a Buffer', async () => {
  const gpt = await load()
  const norm = new gpt.LayerNorm(3)
  norm.loadSafetensors(Buffer.from(norm.saveSafetensors()))
  expect(norm.scale.toArray()).toEqual([1, 1, 1])
})

test('a model trains', async () => {
  writeFileSync('result.json', JSON.stringify(await compute()))
})
