// The work of reading a header or a pickle, counted in steps of the package's code.

import { countSteps } from './steps.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { GptLayersError } from 'gpt-layers'
import { PATIENCE, load } from '../lib/support.js'
import { json } from '../lib/tensorfile.js'

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

for (const [name, header] of Object.entries(LONG)) {
  test(`the work for a header grows no faster than its length: ${name}`, async () => {
    const gpt = await load()
    const read = (/** @type {number} */ n) => {
      const file = json(header(n))
      return () => {
        try {
          gpt.loadSafetensors(file)
        } catch (error) {
          assert.ok(error instanceof GptLayersError, String(error))
        }
      }
    }
    // 16 times the length. Where the work grew with its square, this would be 256 times the steps.
    const steps = [await countSteps(read(6000)), await countSteps(read(96_000))]
    assert.ok(steps[0] > 0)
    assert.ok(steps[1] < 20 * steps[0], `${steps[0]} steps for 6 kB, ${steps[1]} for 96 kB`)
    // The engine's own code, such as a regular expression, has no steps to count: it would be busy for hours.
    runInNewContext('read()', { read: read(500_000) }, { timeout: PATIENCE })
  })
}

test('the work of matching names grows with names plus layers, not with names times layers', async () => {
  const gpt = await load()
  const count = (/** @type {number} */ count) => {
    const layer = new gpt.Sequential(...Array.from({ length: count }, () => new gpt.Linear(1, 1)))
    const entries = Array.from({ length: count }, (_, i) =>
      ['weight', 'bias'].map((name) => `"${i}.${name}":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`),
    )
    const file = json(`{${entries.flat()}}`)
    const dict = Object.fromEntries(Object.entries(layer.stateDict()).reverse())
    return countSteps(() => {
      layer.loadStateDict(dict)
      assert.throws(() => layer.loadStateDict(gpt.loadSafetensors(file)), { code: 'SHAPE' })
    })
  }
  const steps = [await count(40), await count(640)]
  assert.ok(steps[1] < 20 * steps[0], `${steps[0]} steps for 40 layers, ${steps[1]} for 640`)
})

/**
 * A file of torch.save: an archive whose entries have their length in front.
 *
 * @param {(string | Uint8Array)[]} pickle
 * @param {Uint8Array} data of the storage
 */
function torchFile(pickle, data) {
  const content = Buffer.concat(pickle.map((part) => Buffer.from(/** @type {any} */ (part), 'latin1')))
  const entries = /** @type {const} */ ([
    ['a/data.pkl', content],
    ['a/data/0', data],
  ])
  const header = (/** @type {number} */ length) => Buffer.alloc(length)
  const parts = entries.flatMap(([name, bytes]) => {
    const local = header(30)
    local.write('PK\x03\x04', 'latin1')
    local.writeUInt32LE(bytes.length, 22)
    local.writeUInt16LE(name.length, 26)
    return [local, Buffer.from(name), bytes]
  })
  const end = header(22)
  end.write('PK\x05\x06', 'latin1')
  const directory = entries.flatMap(([name]) => {
    const central = header(46)
    central.write('PK\x01\x02', 'latin1')
    central.writeUInt16LE(name.length, 28)
    return [central, Buffer.from(name)]
  })
  return new Uint8Array(Buffer.concat([...parts, ...directory, end]))
}

/** The four bytes of a number. @param {number} value */
const word = (value) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

test('the work for many views of one storage grows with views plus values, not with views times values', async () => {
  const gpt = await load()
  const read = async (/** @type {number} */ count) => {
    const head = ['\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x000(X\x07\0\0\0storagectorch\nHalfStorage\n']
    const storage = ['X\x01\0\0\x000X\x03\0\0\0cpuJ', word(count), 'tQq\x010]']
    const views = Array.from({ length: count }, (_, i) => ['h\0(h\x01J', word(i), '))\x89NtRa']).flat()
    const data = new Uint8Array(Uint16Array.from({ length: count }, (_, i) => 0x3c00 + i).buffer)
    const tensors = await gpt.loadTorch(torchFile([...head, ...storage, ...views, '.'], data))
    assert.deepEqual(Object.keys(tensors).length, count)
    assert.deepEqual([tensors[0].item(), tensors[count - 1].item()], [1, 1 + (count - 1) / 1024])
  }
  await read(1) // imports the reader
  const steps = [await countSteps(() => read(60)), await countSteps(() => read(960))]
  assert.ok(steps[1] < 20 * steps[0], `${steps[0]} steps for 60 views, ${steps[1]} for 960`)
})
