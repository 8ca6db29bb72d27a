// The section on half precision: its arithmetic to the bit, and each sentence about the row and the texts.

/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test as testInNode } from 'node:test'
import * as gpt from 'gpt-layers'
import { float16, layerNorm } from '../../build/demo/float16.js'
import slice, { FACTORS, SHIFT, STORY, WORDS } from '../../build/demo/sections/half-precision/slice.js'
import { tokenizerOf } from '../../build/demo/words.js'
import { Engine } from '../../build/demo/writer/engine.js'
import { golden, unpack } from '../lib/support.js'
import { click, focus, press, test, text, useSite, waitInPage, WHOLE_SECTION } from './browser.js'

const site = useSite()
await gpt.load()
const stories = new URL('../../web/examples/stories/', import.meta.url)
const tokenizer = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', stories), 'utf8')))
const model = await gpt.GPTModel.fromPretrained(readFileSync(new URL('model.safetensors', stories)))

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
  assert.deepEqual([float16(255.875 ** 2), float16(256 ** 2)], [65472, Infinity])
  gpt.manualSeed(1)
  const { row: initial } = slice.defaults()
  const ones = SHIFT.map(() => 1)
  const any = () => Array.from(gpt.rand([8]).data, (x) => 1400 * x - 400)
  const rows = Array.from({ length: 2000 }, (_, i) => (i <= 1400 ? initial.with(7, i - 400) : any()))
  const sooner = rows.filter((row) => {
    const { squares, variance, centered, y } = layerNorm(float16, row, { scale: ones, shift: SHIFT })
    assert.ok(y.every(Number.isFinite), String(y))
    if (centered.some((value) => Math.abs(value) >= 256)) assert.equal(variance, Infinity)
    assert.equal(String(y) === String(SHIFT.map(float16)), variance === Infinity)
    return variance === Infinity && squares.every(Number.isFinite)
  })
  assert.notEqual(sooner.length, 0)
})

/** @param {number} factor @param {number} [words] */
function texts(factor, words = WORDS) {
  const engine = new Engine({ model, tokenizer })
  const { width, norms } = engine.model
  let lost = 0 // words at which the variance is ∞
  engine.set({ ...STORY, factor })
  for (let word = 0; word < words; word++) {
    const { rows = [], next } = engine.without?.step ?? {}
    const row = Array.from(rows.slice(2 * (norms - 1) * width).slice(0, width), (value) => value * factor)
    if (layerNorm(float16, row, { scale: row, shift: row }).variance === Infinity) {
      assert.deepEqual(tokenizer.texts([next ?? 0]), [' and'])
      lost++
    }
    engine.step()
  }
  const [one, other] = [engine.with, engine.without ?? engine.with].map((run) => engine.texts(run).join(''))
  return { with: one.trim(), without: other.trim(), lost }
}

testInNode('× 1 writes float32’s words, × 2 loses some, × 8 all: “and” follows; float32 loses none', () => {
  const { with: words, without, lost } = texts(1)
  assert.deepEqual([without, lost], [words, 0])
  assert.ok(texts(2).lost > 0 && texts(2).lost < WORDS / 2)
  const most = texts(8, 120)
  assert.equal(most.lost, 120)
  assert.match(most.without, /^Once upon a time( and)+$/)
  const { finalNorm } = model
  for (const factor of FACTORS) {
    finalNorm.forward = (/** @type {Tensor} */ x) => {
      return gpt.LayerNorm.prototype.forward.call(finalNorm, x.mul(factor))
    }
    assert.equal(texts(1).with, words)
  }
  Reflect.deleteProperty(finalNorm, 'forward')
})

test('a guess computes in float16: ∞ where it arises; a smaller number is normalized again; both texts', async () => {
  const query = '?embed=half-precision&half-precision.factor=2'
  const { page, complaints, foreign } = await site.open(query, { ready: WHOLE_SECTION })
  const steps = () => page.$$eval('#half-precision dd', (all) => all.map((one) => one.textContent))
  assert.deepEqual((await steps()).slice(0, 5), ['800', '0', '800', '640,000', '92,437.5'])
  await click(page, '#half-precision .guess button ::-p-text(NaN)')
  assert.deepEqual(await steps(), ['800', '0', '800', '∞', '∞', '∞', '0', '0.3'])
  await focus(page, '#half-precision [aria-label*="x₈"]')
  for (let i = 0; i < 66; i++) await press(page, 'PageDown') // to 140
  assert.doesNotMatch(String(await steps()), /∞/)
  const wanted = texts(2)
  for (const kind of /** @type {const} */ (['with', 'without'])) {
    const run = `#half-precision .run.${kind}`
    await waitInPage(page, `document.querySelector('${run}')?.innerText.trim().length > 0`)
    assert.equal((await text(page, run)).trim(), wanted[kind])
  }
  assert.deepEqual([...complaints, ...foreign], [])
  await page.close()
})
