// Every @example of a docstring runs, and gives the value in the comment after it.

/** @import { Gpt } from './support.js' */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { formatTensor } from '../../build/lib/tensor/print.js'
import { exponential, fixed, pythonNumber } from '../../build/lib/tensor/pyformat.js'
import { loadForTest } from './support.js'

const folder = new URL('../../web/lib/', import.meta.url)
const examples = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
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
 * @param {string} file the example's file
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
  const torchFile = readFileSync(new URL('../golden/pretrained/model.pth', import.meta.url))
  const linear = new gpt.Linear(5, 6)
  return {
    ...gpt,
    gpt,
    model,
    layer:
      file === 'layers/attention.ts' ? new gpt.Attention({ embDim: 5, nHeads: 1, contextLength: 2 }) : linear,
    linear,
    norm: new gpt.LayerNorm(6),
    x: gpt.randn([2, 5]),
    tokens,
    targets,
    formatTensor,
    fixed,
    exponential,
    pythonNumber,
    readFileSync: (/** @type {string} */ name) => (name.endsWith('.pth') ? torchFile : saved),
    fetch: async () => new Response(new Uint8Array(saved)),
    writeFileSync: () => {},
    console: { log: () => {} },
  }
}

/** What a comment begins with if it states a value. Other comments explain. */
const VALUE = /^(\[|\{|'|"|-?\d|true\b|false\b|null\b|undefined\b|NaN\b)/

/**
 * The value that a comment states, alone or before an explanation: `[2, 5]: the logits`.
 *
 * @param {string} comment
 * @returns {unknown}
 */
function statedValue(comment) {
  const ends = [...comment.matchAll(/[:,] |$/g)].map(({ index }) => index).reverse()
  for (const end of ends) {
    try {
      return new Function(`return (${comment.slice(0, end)})`)()
    } catch {
      // a part of the value, or more than it
    }
  }
  return assert.fail(`should begin with a value: ${comment}`)
}

/**
 * An example with the values that its comments state.
 *
 * @param {string} code
 * @returns {{ source: string, values: { line: string, value: unknown }[] }} source: calls `found(i, value)`
 *   with the value of each of these lines
 */
function withValues(code) {
  /** @type {{ line: string, value: unknown }[]} */
  const values = []
  const lines = code.split('\n').map((line) => {
    const [, expression, comment = ''] = /^(.*?)(?:\s*\/\/ (.*))?$/.exec(line) ?? []
    if (!VALUE.test(comment)) return line
    const index = values.push({ line, value: statedValue(comment) }) - 1
    return `found(${index}, await (${expression}))`
  })
  return { source: lines.join('\n'), values }
}

const gpt = await loadForTest()

/** A copy of the package that is not loaded, for the examples that load it. @returns {Promise<Gpt>} */
const newCopy = () => import(`${import.meta.resolve('gpt-layers')}?example`)

test('there are examples, and most state a value', () => {
  assert.ok(examples.length >= 60, `${examples.length}`)
  const stating = examples.filter(({ code }) => withValues(code).values.length > 0)
  assert.ok(stating.length >= 45, `${stating.length}`)
})

for (const { file, name, code } of examples) {
  test(`${name}: ${code.split('\n')[0]}`, async () => {
    const { source, values } = withValues(code)
    const reached = new Set()
    const found = (/** @type {number} */ index, /** @type {unknown} */ value) => {
      assert.deepEqual(value, values[index].value, values[index].line)
      reached.add(index)
    }
    const copy = /\bload\(/.test(code) ? await newCopy() : null
    /** @type {Record<string, unknown>} */
    const all = { ...(copy ? { ...copy, gpt: copy } : setting(gpt, file)), found }
    const { var: _var, ...names } = all // no name of a variable
    await new Function(...Object.keys(names), `return (async () => { ${source}\n })()`)(
      ...Object.values(names),
    )
    copy?.dispose()
    assert.equal(reached.size, values.length, 'every line that states a value should run')
  })
}
