// For Vitest and Jest, which define `test` and `expect`.

import { writeFileSync } from 'node:fs'
import { TextDecoder, TextEncoder } from 'node:util'
import * as gpt from 'gpt-layers'
import { compute } from './compute.js'

Object.assign(globalThis, { TextDecoder, TextEncoder }) // Jest's jsdom lacks them

test('a layer loads its file from a Buffer', async () => {
  await gpt.load()
  const norm = new gpt.LayerNorm(3)
  norm.loadStateDict(gpt.loadSafetensors(Buffer.from(gpt.saveSafetensors(norm))))
  expect(norm.scale.toArray()).toEqual([1, 1, 1])
  gpt.dispose()
})

test('a model trains', async () => {
  writeFileSync('result.json', JSON.stringify(await compute()))
})
