// Every @example of a docstring runs, and gives the value in the comment after it.

/** @import { Gpt } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as api from 'gpt-layers'
import { formatTensor } from '../../web/lib/tensor/print.js'
import { exponential, fixed, pythonNumber } from '../../web/lib/tensor/pyformat.js'
import { loadForTest } from './support.js'

const folder = new URL('../../web/lib/', import.meta.url)
const examples = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.js'))
  .flatMap((name) =>
    [
      ...readFileSync(new URL(name, folder), 'utf8').matchAll(
        /@example ?([\s\S]*?)(?=\n\s*\*\/|\*\/|\n\s*\* @)/g,
      ),
    ].map(([, text], i) => ({
      file: name,
      name: `${name}, example ${i + 1}`,
      code: text.replace(/^\s*\* ?/gm, '').trim(),
    })),
  )

/**
 * The names that an example may use, made anew for each example.
 *
 * @param {Gpt} gpt
 * @param {string} file of the example
 * @returns {Record<string, unknown>}
 */
function setting(gpt, file) {
  gpt.manualSeed(1)
  const model = new gpt.GPTModel({ vocabSize: 5, contextLength: 4, embDim: 8, nHeads: 2, nLayers: 1 })
  const tokens = [
    [0, 1, 2],
    [2, 3, 4],
  ]
  const targets = [
    [1, 2, 3],
    [3, 4, 0],
  ]
  gpt.crossEntropy(model.forward(tokens), targets).backward()
  const saved = gpt.saveSafetensors(model.stateDict())
  const linear = new gpt.Linear(5, 6)
  return {
    ...api,
    ...gpt,
    gpt,
    model,
    layer:
      file === 'layers/attention.js' ? new gpt.Attention({ embDim: 5, nHeads: 1, contextLength: 2 }) : linear,
    linear,
    norm: new gpt.LayerNorm(6),
    x: gpt.randn([2, 5]),
    tokens,
    targets,
    formatTensor,
    fixed,
    exponential,
    pythonNumber,
    readFileSync: () => saved,
    fetch: async () => new Response(new Uint8Array(saved)),
    writeFileSync: () => {},
    console: { log: () => {} },
  }
}

const gpt = await loadForTest()

test('there are examples', () => assert.ok(examples.length >= 20, `${examples.length}`))

for (const { file, name, code } of examples) {
  test(`${name}: ${code.split('\n')[0]}`, async () => {
    const names = setting(gpt, file)
    const [, body, last, comment] = /^([\s\S]*?\n)?(.*?)(?:\s*\/\/ (.*))?$/.exec(code) ?? []
    const isStatement = /^(const|let|for|if)\b|^\}/.test(last)
    const source = `${body ?? ''}${isStatement ? last : `return (${last.replace(/;$/, '')}\n)`}`
    const run = new Function(...Object.keys(names), `return (async () => { ${source} })()`)
    const result = await run(...Object.values(names))
    // A comment that begins with a value states the result. Other comments explain.
    if (comment === undefined) return
    let expected
    try {
      expected = new Function(`return (${comment.replace(/\], .*/, ']')})`)()
    } catch {
      return
    }
    assert.deepEqual(result, expected)
  })
}
