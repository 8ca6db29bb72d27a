// How the opening and "How it is computed" normalize a row: right for every finite row, for both divisors and any ε.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { load, manualSeed, randn } from 'gpt-layers'
import { exampleOutputs } from '../../build/demo/example.js'
import { MAX_EPS } from '../../build/demo/example-slice.js'
import { between, normalize, solve } from '../../build/demo/norm.js'
import { cellText } from '../../build/demo/numbers.js'
import { differ, torchLayerNorm } from '../../build/demo/sections/worked-example/torch.js'
import { PRESETS, torchSays } from '../../build/demo/sections/worked-example/words.js'
import { golden, unpack } from '../lib/support.js'

await load()

const [FIRST, SECOND] = exampleOutputs()
const f = Math.fround

/** Rows that sliders, presets and fields can give: their ends, and numbers as large as float32 has. */
function* rows() {
  yield* [FIRST, SECOND, ...Object.values(PRESETS).map((change) => FIRST.map(change).map(f))]
  for (const end of [-2.5, 2.5]) for (let c = 0; c < 6; c++) yield FIRST.with(c, end)
  yield [2.5, -2.5, 2.5, -2.5, 2.5, -2.5]
  for (const huge of [1e15, 1e19, 1e30, 3.4e38]) {
    yield [f(huge), 0, 0, 0, 0, 0]
    yield [f(huge), f(-huge), f(huge), f(-huge), 0, 1]
  }
  yield [1e-30, 0, 2e-30, 0, 0, 0].map(f)
  yield [7, 7, 7, 7.0001, 7, 7].map(f)
  manualSeed(47)
  for (let power = -10; power <= 30; power += 2)
    for (const offset of [0, 1, 1000])
      yield Array.from(randn([6]).data, (value) => f(value * 10 ** power + offset * 10 ** power))
}

/** In float64. @param {readonly number[]} row @param {{ divisor: string, eps: number }} settings */
function expected(row, { divisor, eps }) {
  const n = row.length
  const mean = row.reduce((sum, value) => sum + value, 0) / n
  const centered = row.map((value) => value - mean)
  const squares = centered.reduce((sum, value) => sum + value ** 2, 0)
  const variance = squares / (divisor === 'n' ? n : n - 1)
  return { mean, variance, centered, divided: centered.map((value) => value / Math.sqrt(variance + eps)) }
}

/** @param {number} actual @param {number} wanted @param {number} unit what an error is measured by @param {string} what */
const close = (actual, wanted, unit, what) =>
  assert.ok(Math.abs(actual - wanted) <= 2e-5 * unit, `${what}: ${actual}, expected ${wanted}`)

for (const divisor of /** @type {const} */ (['n', 'n-1']))
  for (const eps of [1e-5, 0.01, MAX_EPS, 0])
    test(`mean, variance and norm of every finite row, divided by ${divisor}, with ε = ${eps}`, () => {
      for (const row of rows()) {
        const wanted = expected(row, { divisor, eps })
        const { before, centered, divided, scaled } = normalize(row, { divisor, eps })
        const what = row.join(', ')
        const size = Math.sqrt(wanted.variance)
        close(before.mean, wanted.mean, Math.max(size, Math.abs(wanted.mean) * 1e-4), `mean of ${what}`)
        close(before.variance, wanted.variance, wanted.variance, `variance of ${what}`)
        assert.equal(scaled, divided)
        if (before.variance === 0 && eps === 0) {
          assert.ok(divided.values.every(Number.isNaN), what)
          continue
        }
        row.forEach((_, c) => {
          close(centered.values[c], wanted.centered[c], size, `centered ${what}`)
          close(divided.values[c], wanted.divided[c], 1, `divided ${what}`)
        })
        close(divided.mean, 0, 1, `mean of the norm of ${what}`)
        close(
          divided.variance,
          wanted.variance / (wanted.variance + eps),
          1,
          `variance of the norm of ${what}`,
        )
      }
    })

test('scale and shift act on the normalized row', () => {
  const [scale, shift] = [
    [1, -2, 0.5, 1, 1, 1e10],
    [0, 1, 0, -3, 0.0001, 0],
  ]
  for (const divisor of /** @type {const} */ (['n', 'n-1'])) {
    const { divided, scaled } = normalize(FIRST, { divisor, eps: 1e-5 }, scale, shift)
    scaled.values.forEach((value, c) => {
      const wanted = divided.values[c] * scale[c] + shift[c]
      close(value, wanted, Math.max(1, Math.abs(wanted)), String(c))
    })
  }
})

test('on its way a row begins as it is, loses its mean, and ends normalized', () => {
  const settings = /** @type {const} */ ({ divisor: 'n', eps: 1e-5 })
  for (const row of [FIRST, SECOND]) {
    const all = normalize(row, settings)
    const slide = (/** @type {number} */ part) => between(all.before, all.centered, part, settings)
    const stretch = (/** @type {number} */ part) => between(all.centered, all.divided, part, settings)
    assert.deepEqual([slide(0), slide(1), stretch(1)], [all.before, all.centered, all.divided])
    row.forEach((value, c) => {
      close(slide(0.5).values[c], value - all.before.mean / 2, 1, 'half slid')
      const middle = (all.centered.values[c] + all.divided.values[c]) / 2
      close(stretch(0.5).values[c], middle, 1, 'half stretched')
    })
    close(
      stretch(0.5).variance,
      all.before.variance * ((1 + 1 / Math.sqrt(all.before.variance + 1e-5)) / 2) ** 2,
      1,
      'variance',
    )
  }
})

test('a number is found that the norm takes to where a dot is dragged, as far as a row can reach', () => {
  for (const divisor of /** @type {const} */ (['n', 'n-1']))
    for (const eps of [1e-5, 0.5])
      for (const row of [FIRST, SECOND, [3, 1, 4, 1, 5, 9], FIRST.map(() => 0.5)])
        for (const i of [0, 2, 5]) {
          for (const target of [-1.9, -0.3, 0, 0.7, 2]) {
            const moved = row.with(i, solve(row, i, target, { divisor, eps }))
            close(normalize(moved, { divisor, eps }).divided.values[i], target, 5, `${row} ${i} ${target}`)
          }
          const limit = divisor === 'n' ? Math.sqrt(5) : 5 / Math.sqrt(6)
          const far = row.with(i, solve(row, i, 100, { divisor, eps }))
          const reached = normalize(far, { divisor, eps }).divided.values[i]
          assert.ok(reached > 0.999 * limit && reached < limit, `${reached}, at most ${limit}`)
        }
})

test('nn.LayerNorm gives what the page says of it, to the fourth decimal, also NaN', () => {
  const found = { nan: 0, other: 0, same: 0 }
  for (const { row: packed, eps, y } of golden('page_layernorm')) {
    const row = Array.from(unpack(packed))
    const wanted = Array.from(unpack(y))
    const ours = torchLayerNorm(row, eps)
    const what = `${row} with ${eps}: ${ours}, expected ${wanted}`
    ours.forEach((value, c) =>
      assert.ok(Object.is(value, wanted[c]) || Math.abs(value - wanted[c]) < 5e-5, what),
    )
    const rows = [normalize(row, { divisor: 'n', eps })]
    const said = torchSays(rows, { divisor: 'n', eps })
    const differs = differ(wanted, rows[0].divided.values)
    assert.equal(said !== '', differs, `${what}; said: ${said}`)
    assert.equal(torchSays(rows, { divisor: 'n-1', eps }), '', 'it has no n - 1')
    const key = !differs ? 'same' : wanted.every(Number.isNaN) ? 'nan' : 'other'
    if (key === 'nan') assert.match(said, /gives only nan for row 1\./)
    if (key === 'other') assert.ok(said.includes(cellText(wanted[0])), `${said} ${what}`)
    found[key]++
  }
  assert.ok(found.nan >= 4 && found.other >= 8 && found.same >= 40, JSON.stringify(found))
})
