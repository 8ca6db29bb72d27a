// The section on half precision: its arithmetic to the bit, and each sentence about the row and the texts.

/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test as testInNode } from 'node:test'
import * as gpt from 'gpt-layers'
import { float16, layerNorm } from '../../build/demo/float16.js'
import { scaleRoot } from '../../build/demo/scales.js'
import { FACTORS, LOST, STORY, WORDS } from '../../build/demo/sections/half-precision/slice.js'
import story, { TEMPERATURE } from '../../build/demo/sections/story/slice.js'
import { tokenizerOf } from '../../build/demo/words.js'
import { Engine } from '../../build/demo/writer/engine.js'
import { golden, unpack } from '../lib/support.js'
import { says } from './says.js'
import { click, eventually, focus, near, press, test, text, useSite, WHOLE_SECTION } from './browser.js'

const site = useSite()
await gpt.load()
const stories = new URL('../../web/examples/stories/', import.meta.url)
const tokenizer = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', stories), 'utf8')))
const model = await gpt.GPTModel.fromPretrained(readFileSync(new URL('model.safetensors', stories)))

testInNode('the axis is squeezed as the figure says', () => {
  const x = scaleRoot([-1024, 1024], [-1000, 1000])
  near(x(100), x(400) / 2, 0.01)
  says('The axis is squeezed: 100 stands half as far out as 400.')
})

testInNode('every float16 is itself, and what lies between two becomes the nearer or the even one', () => {
  for (let bits = 0, one = 0, next = 0; bits < 0x7c00; bits++, one = next) {
    next += 2 ** (Math.max(1, bits >> 10) - 25)
    const above = next === 65536 ? Infinity : next
    const middle = (one + next) / 2
    const wanted = [one, one, bits % 2 ? above : one, above]
    const values = [one, middle * (1 - 2 ** -53), middle, middle * (1 + 2 ** -52)]
    for (const sign of [1, -1])
      values.forEach((value, i) => {
        const rounded = float16(sign * value)
        if (!Object.is(rounded, sign * wanted[i])) assert.fail(`${sign * value} became ${rounded}`)
      })
  }
  assert.ok(Number.isNaN(float16(NaN)))
})

testInNode('layer norm in float16 is that of PyTorch’s float16 tensors, bit for bit', () => {
  for (const { seed, shape, factor, variance, y } of golden('page_half')) {
    const [rows, size] = shape
    gpt.manualSeed(seed)
    const x = Array.from(gpt.randn(shape).data, (value) => Math.fround(value * factor))
    const [scale, shift] = [gpt.randn([size]), gpt.randn([size])]
    const parameters = { scale: scale.data, shift: shift.data }
    const row = (/** @type {number} */ r) => x.slice(r * size, (r + 1) * size)
    const got = Array.from({ length: rows }, (_, r) => layerNorm(float16, row(r), parameters))
    assert.deepEqual(got.map((one) => one.variance), Array.from(unpack(variance))) // prettier-ignore
    assert.deepEqual(got.flatMap((one) => one.y), Array.from(unpack(y))) // prettier-ignore
  }
})

testInNode('from |x − μ| = 256 on a square is ∞, their sum sooner; then β is left, never a NaN', () => {
  const least = Array.from({ length: 4096 }, (_, i) => i / 8).find((one) => float16(one ** 2) === Infinity)
  const most = float16(65519)
  says(`It ends at ${most.toLocaleString('en')}: where |x − μ| is ${least} or more, its square is too large`)
  says(`80 squares may add up to ${most.toLocaleString('en')}. How large may σ be?`)
  says(`σ² is their mean: σ may be √(${most.toLocaleString('en')} / 80).`)
  gpt.manualSeed(1)
  const first = [-165, -150, -130, -115, -95, -80, -65, 800]
  const [scale, shift] = [Array(8).fill(1), [0.4, -0.3, 0.2, -0.5, 0.1, 0.6, -0.2, 0.3]]
  const any = () => Array.from(gpt.rand([8]).data, (x) => 1400 * x - 400)
  const rows = Array.from({ length: 2000 }, (_, i) => (i <= 1400 ? first.with(7, i - 400) : any()))
  const sooner = rows.filter((row) => {
    const { squares, variance, centered, y } = layerNorm(float16, row, { scale, shift })
    assert.ok(y.every(Number.isFinite), String(y))
    if (centered.some((value) => Math.abs(value) >= 256)) assert.equal(variance, Infinity)
    assert.equal(String(y) === String(shift.map(float16)), variance === Infinity)
    return variance === Infinity && squares.every(Number.isFinite)
  })
  assert.notEqual(sooner.length, 0)
})

/** The row at an engine's final norm. @param {Engine['with']} run */
function rowOf({ step }) {
  const { width, norms } = { width: model.embDim, norms: 9 }
  return Array.from(step.rows.subarray(2 * (norms - 1) * width).subarray(0, width))
}
const normOf = (/** @type {number[]} */ row, factor = 1, round = float16) =>
  layerNorm(
    round,
    row.map((value) => value * factor),
    { scale: row.map(() => 1), shift: row.map(() => 0) },
  )

const LAST = Array.from({ length: 9 }, (_, i) => i === 8)

/** @param {number} factor @param {number} [words] */
function texts(factor, words = WORDS) {
  const engine = new Engine({ model, tokenizer })
  let lost = 0 // words at which the variance is ∞
  engine.set({ ...STORY, off: LAST, replacement: 'half', factor })
  for (let word = 0; word < words; word++) {
    const { without } = engine
    if (without && normOf(rowOf(without), factor).variance === Infinity) {
      assert.deepEqual(tokenizer.texts([without.next]), [' and'])
      lost++
    }
    engine.step()
  }
  const report = engine.report()
  const [one, other] = [report.with, report.without ?? report.with].map(({ texts }) => texts.join(''))
  return { with: one.trim(), without: other.trim(), lost }
}

testInNode(
  '80 squares fit into float16 until σ is 28.6: every row of a story is lost at × 20, none at × 1',
  () => {
    const { seed, ...settings } = story.defaults()
    for (let i = 0; i < 4; i++) {
      const engine = new Engine({ model, tokenizer })
      engine.set({
        ...settings,
        seed: seed + i,
        temperature: TEMPERATURE,
        off: LAST.map(() => false),
      })
      for (let word = 0; word < 60 && !engine.ended; word++, engine.step()) {
        const row = rowOf(engine.with)
        assert.equal(normOf(row, LOST).variance, Infinity)
        const { deviation, normalized } = normOf(row)
        assert.ok(Number.isFinite(deviation))
        for (const value of normalized) assert.ok(Math.abs(value) < 9) // the figure’s axis
        // Lost from a σ of 28.6 on, and not before, but for what float16 rounds.
        assert.ok(Number.isFinite(normOf(row, 28.5 / deviation).variance))
        assert.equal(normOf(row, 28.75 / deviation).variance, Infinity)
      }
    }
  },
)

testInNode('× 1 writes float32’s words, × 2 loses some, × 20 all: “and” follows; float32 loses none', () => {
  const { with: words, without, lost } = texts(1)
  assert.deepEqual([without, lost], [words, 0])
  assert.ok(texts(2).lost > 0 && texts(2).lost < WORDS / 2)
  const most = texts(LOST, 120)
  assert.equal(most.lost, 120)
  assert.match(most.without, /^Once upon a time( and)+$/)
  const { finalNorm } = model
  for (const factor of [FACTORS.min, 2, 8, FACTORS.max]) {
    const stop = finalNorm.onForward(({ input }) =>
      gpt.LayerNorm.prototype.forward.call(finalNorm, /** @type {Tensor} */ (input).mul(factor)),
    )
    assert.equal(texts(1).with, words)
    stop()
  }
})

/** @param {import('puppeteer-core').Page} page */
const steps = (page) => page.$$eval('#half-precision dd', (all) => all.map((one) => one.textContent ?? ''))
/** @param {import('puppeteer-core').Page} page @param {string} kind */
const written = async (page, kind) => (await text(page, `#half-precision .run.${kind}`)).trim()

test('the row is the story’s at its final norm; a guess computes in float16: ∞, until the factor is small enough', async () => {
  const { page, complaints, foreign } = await site.open('?embed=half-precision&story.seed=4', {
    ready: WHOLE_SECTION,
    features: { 'prefers-reduced-motion': 'reduce' },
  })
  const engine = new Engine({ model, tokenizer })
  engine.set({
    ...story.defaults(),
    seed: 4,
    temperature: TEMPERATURE,
    off: LAST.map(() => false),
  })
  while (!engine.ended) engine.step()
  const word = engine.report().with.texts[engine.with.at].trim()
  await eventually(async () => (await text(page, '#half-precision .figure')).includes(`“${word}” × 20`), word)
  const wanted = normOf(rowOf(engine.with), LOST, Math.fround)
  const shown = (await steps(page)).map((one) => Number(one.replace('−', '-').replaceAll(',', '')))
  near(shown[6], wanted.deviation, 0.006 * shown[6]) // two builds round differently
  near(-shown[7], Math.max(...wanted.normalized.map(Math.abs)), 0.02) // below the mean: in float16 no −0
  await click(page, '#half-precision .guess button ::-p-text(NaN)')
  assert.deepEqual((await steps(page)).slice(4), ['∞', '∞', '∞', '0'])
  await eventually(async () => (await written(page, 'without')) === texts(LOST).without, 'no “and”')
  await focus(page, '#half-precision input[type=range]')
  await press(page, 'Home')
  assert.doesNotMatch(String(await steps(page)), /∞/)
  await eventually(async () => (await written(page, 'without')) === texts(1).without, 'no story')
  assert.equal(await written(page, 'with'), texts(1).with)
  assert.match(await text(page, '#half-precision [role=status]'), /the words are the same/)
  assert.match(await text(page, '#half-precision .figure'), /final norm in float16, rows × 1 Once/)
  assert.deepEqual([...complaints, ...foreign], [])
  await page.close()
})
