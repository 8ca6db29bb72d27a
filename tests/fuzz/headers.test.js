// The work of reading a header, counted in steps of the package's code.

import { countSteps } from './steps.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { GptLayersError } from 'gpt-layers'
import { PATIENCE, load } from '../lib/support.js'

/**
 * Headers of n characters or so that could take a reader long.
 *
 * @type {Record<string, (n: number) => string>}
 */
const LONG = {
  'a long string': (n) => `{"${'x'.repeat(n)}":0}`,
  'a string of escapes': (n) => `{"__metadata__":{"${'\\\\'.repeat(n / 2)}":"${'\\"'.repeat(n / 2)}"}}`,
  'nested arrays': (n) => `{"x":${'['.repeat(n / 2)}${']'.repeat(n / 2)}}`,
  'nested objects': (n) => `{"x":${'{"a":'.repeat(n / 6)}1${'}'.repeat(n / 6)}}`,
  'many objects': (n) => `{"x":[${'{},'.repeat(n / 3)}{}]}`,
  'many names': (n) => `{"__metadata__":{${Array.from({ length: n / 10 }, (_, i) => `"${i}":""`)}}}`,
  'the same name again and again': (n) => `{${'"x":0,'.repeat(n / 6)}"x":0}`,
  'many tensors': (n) =>
    `{${Array.from({ length: n / 60 }, (_, i) => `"${i}":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`)}}`,
  'long shapes': (n) => `{"x":{"dtype":"F32","shape":[0${',1'.repeat(n / 2)}],"data_offsets":[0,0]}}`,
  'quotes without an end': (n) => `{"x":"${'\\"'.repeat(n / 2)}`,
  spaces: (n) => `{}${' '.repeat(n)}`,
}

/** @param {string} header @returns {Buffer} a file without data */
function fileOf(header) {
  const text = Buffer.from(header)
  const file = Buffer.concat([Buffer.alloc(8), text])
  file.writeBigUInt64LE(BigInt(text.length))
  return file
}

for (const [name, header] of Object.entries(LONG)) {
  test(`the work for a header grows no faster than its length: ${name}`, async () => {
    const gpt = await load()
    const read = (/** @type {number} */ n) => {
      const file = fileOf(header(n))
      return () => {
        try {
          gpt.loadSafetensors(file)
        } catch (error) {
          assert.ok(error instanceof GptLayersError, String(error))
        }
      }
    }
    // 16 times the length. Where the work grew with its square, this would be 256 times the steps.
    const steps = [6000, 96_000].map((n) => countSteps(read(n)))
    assert.ok(steps[0] > 0)
    assert.ok(steps[1] < 20 * steps[0], `${steps[0]} steps for 6 kB, ${steps[1]} for 96 kB`)
    // The engine's own code, such as a regular expression, has no steps to count: it would be busy for hours.
    runInNewContext('read()', { read: read(500_000) }, { timeout: PATIENCE })
  })
}

test('the work of matching names grows with names plus layers, not with names times layers', async () => {
  const gpt = await load()
  const steps = [40, 640].map((count) => {
    const layer = new gpt.Sequential(...Array.from({ length: count }, () => new gpt.Linear(1, 1)))
    const entries = Array.from({ length: count }, (_, i) =>
      ['weight', 'bias'].map((name) => `"${i}.${name}":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`),
    )
    const file = fileOf(`{${entries.flat()}}`)
    const dict = Object.fromEntries(Object.entries(layer.stateDict()).reverse())
    return countSteps(() => {
      layer.loadStateDict(dict)
      assert.throws(() => layer.loadStateDict(gpt.loadSafetensors(file)), { code: 'SHAPE' })
    })
  })
  assert.ok(steps[1] < 20 * steps[0], `${steps[0]} steps for 40 layers, ${steps[1]} for 640`)
})
