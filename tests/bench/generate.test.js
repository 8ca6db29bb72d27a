// What `bench generate` relies on, without the other libraries: its command line, the model's files, and its
// goals.

/** @import { Row } from './generate/contest.js' */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { load } from '../../dist/index.js'
import { checkAgreement, contest } from './generate/contest.js'
import { dequantizeQ8, gguf, quantizeQ8 } from './generate/gguf.js'
import { goals, isMet } from './generate/goals.js'
import { graph } from './generate/graph.js'
import { ENGINES, OWN_WEIGHTS } from './generate/labels.js'
import { draw, GPT2, parameters, pieces, sizeOf } from './generate/model.js'
import { openOurs } from './generate/ours.js'

const TINY = { vocabSize: 300, contextLength: 1024, embDim: 32, nHeads: 2, nLayers: 1 }

/** @param {string} script @param {...string} args */
function run(script, ...args) {
  const file = fileURLToPath(new URL(script, import.meta.url))
  return spawnSync(process.execPath, [file, ...args], { encoding: 'utf8' })
}

for (const script of ['bench.js', 'browser.js']) {
  test(`${script} and ${script} generate have a help text, and refuse an unknown option`, () => {
    for (const words of [[], ['generate']]) {
      const help = run(script, ...words, '--help')
      assert.equal(help.status, 0, help.stderr)
      assert.match(help.stdout, /^usage: .*bench/)
      const wrong = run(script, ...words, '--nonsense')
      assert.equal(wrong.status, 2)
      assert.match(wrong.stderr, /--nonsense[^]*usage: /)
    }
  })
}

test('the random model has the size of GPT-2 124M, and the numbers that its description says', () => {
  const all = parameters(GPT2)
  assert.equal(
    all.reduce((sum, { shape }) => sum + sizeOf(shape), 0),
    124_439_808,
  )
  const projection = all.find(({ name }) => name === 'h.3.attn.c_proj.weight')
  assert.ok(projection)
  const values = draw(projection)
  const mean = values.reduce((sum, x) => sum + x, 0) / values.length
  const variance = values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length
  assert.ok(Math.abs(mean) < 1e-4, `${mean}`)
  assert.ok(Math.abs(Math.sqrt(variance) / (0.02 / Math.sqrt(24)) - 1) < 0.02, `${variance}`)
})

test('a parameter has the same values in pieces and whole', () => {
  const [, parameter] = parameters(TINY)
  const whole = draw(parameter)
  assert.deepEqual([...pieces(parameter, 1000)].map((piece) => [...piece]).flat(), [...whole])
})

test('a block of Q8_0 keeps its numbers to half a step, and to what float16 keeps of the step', () => {
  for (const largest of [1000, 1, 1e-3]) {
    const values = Float32Array.from({ length: 64 }, (_, i) => largest * Math.sin(i))
    const allowed = largest / 127 / 2 + largest / 2048 + 127 * 2 ** -25
    dequantizeQ8(quantizeQ8(values)).forEach((value, i) => {
      assert.ok(Math.abs(value - values[i]) <= allowed, `${value} for ${values[i]}`)
    })
  }
  assert.deepEqual(dequantizeQ8(quantizeQ8(new Float32Array(32))), new Float32Array(32))
})

test('a GGUF file with Q8_0 is smaller than one with float32 by what the blocks save', () => {
  const bytes = (/** @type {'float32' | 'Q8_0'} */ format) =>
    [...gguf(TINY, format)].reduce((sum, { length }) => sum + length, 0)
  const matrices = parameters(TINY).filter(({ name, shape }) => shape.length === 2 && name !== 'wpe.weight')
  const saved = matrices.reduce((sum, { shape }) => sum + sizeOf(shape) * (4 - 34 / 32), 0)
  assert.ok(Math.abs(bytes('float32') - bytes('Q8_0') - saved) < 32 * matrices.length)
})

test('an ONNX graph holds the weights once, and as int8 in less than half the bytes', () => {
  const config = { ...TINY, embDim: 64, contextLength: 32 }
  const floats = parameters(config).reduce((sum, { shape }) => sum + sizeOf(shape), 0)
  const whole = graph(config, 'float32').length
  assert.ok(whole > 4 * floats && whole < 4 * floats + 20_000, `${whole} bytes for ${floats} numbers`)
  assert.ok(graph(config, 'int8').length < whole / 2)
})

test('our contestants agree and get their times; one that cannot start is told of and left out', async () => {
  const gpt = await load({ build: 'simd', threads: 1 })
  const label = { engine: ENGINES.ours, build: 'simd', threads: 1, rest: 0 }
  const ours = OWN_WEIGHTS.map((weights) => ({
    ...label,
    weights,
    open: async () => (await openOurs(gpt, TINY, weights)).writer,
  }))
  const broken = { ...label, weights: 'none', open: () => Promise.reject(new Error('no weights')) }
  /** @type {Row[]} */
  const rows = []
  /** @type {string[]} */
  const notes = []
  await contest(
    { threads: 1, only: '', effort: { seconds: 0, rounds: 1, sample: 0, patience: Infinity } },
    [...ours, broken],
    (row) => rows.push(row),
    (note) => notes.push(note),
  )
  gpt.dispose()
  assert.deepEqual(
    rows.map(({ weights, seconds }) => [weights, Object.keys(seconds)]),
    OWN_WEIGHTS.map((weights) => [weights, ['prompt', 'at32', 'at512']]),
  )
  assert.deepEqual(notes, ['Not run: gpt-layers none simd: Error: no weights'])
})

test('a contestant whose probabilities differ is an error that names it', () => {
  const label = { engine: 'other', weights: 'float32', build: '', threads: 1 }
  const expected = new Map([
    [0, -1],
    [1, -0.5],
  ])
  checkAgreement(label, new Map([[1, -0.5001]]), expected)
  for (const wrong of [-0.51, NaN]) {
    assert.throws(() => checkAgreement(label, new Map([[1, wrong]]), expected), /other float32 .* at token 1/)
  }
  assert.throws(() => checkAgreement(label, new Map(), expected), /other float32/)
})

test('a goal is the ratio of the rates in one run, against the best of the peer where it says so', () => {
  const row = (
    /** @type {string} */ engine,
    /** @type {string} */ weights,
    /** @type {number} */ seconds,
  ) => {
    const build = engine === ENGINES.ours ? 'simd' : ''
    return { engine, weights, build, threads: 1, run: 1, seconds: { at32: seconds } }
  }
  const rows = [
    row(ENGINES.ours, 'int8, cache too', 0.01),
    row(ENGINES.onnxruntime, 'float32', 0.03),
    row(ENGINES.onnxruntime, 'int8', 0.05),
  ]
  const [goal, ...others] = goals({ rows, shares: [], layers: [] })
  assert.deepEqual(others, [])
  assert.match(goal.against, /the best of/)
  assert.ok(Math.abs((goal.measured.simd ?? NaN) - 3) < 1e-12)
  assert.equal(isMet({ ...goal, bound: 2.9 }), true)
  assert.equal(isMet({ ...goal, bound: 3.1 }), false)
  assert.equal(isMet({ ...goal, bound: 3.1, atMost: true }), true)
})
