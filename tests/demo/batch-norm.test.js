// The page's section on batch norm: one batch, its rows normalized and its columns.

/** @import { Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { load } from 'gpt-layers'
import { draw, normalize } from '../../build/demo/sections/batch-norm/compute.js'
import {
  click,
  drawn as drawnInPage,
  focus,
  hold,
  hover,
  near,
  open,
  press,
  problem,
  test,
  text,
  type,
  useSite,
} from './browser.js'

const site = useSite()

const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=batch-norm${query}`, { ready: '.guess', ...options })
/** A table's numbers, row by row, as it says them: with two decimals. */
const numbers = async (/** @type {Page} */ page, /** @type {string} */ table) => {
  const said = await page.$eval(`#batch-norm [data-norm=${table}] svg`, (svg) => svg.ariaLabel ?? '')
  return [...said.matchAll(/Sample \d: ([^a-z]*)\./g)].map(([, row]) =>
    row.split(', ').map((one) => Number(one.replace('−', '-'))),
  )
}
/** Where a table's dots stand, and whether each is lit: [samples][5]. */
const dots = async (/** @type {Page} */ page, /** @type {string} */ table) => {
  const all = await page.$$eval(`#batch-norm [data-norm=${table}] circle`, (circles) =>
    circles.map((one) => ({ at: one.cx.baseVal.value, lit: one.matches('.lit') })),
  )
  return Array.from({ length: all.length / 5 }, (_, r) => all.slice(5 * r, 5 * r + 5))
}
const dot = (/** @type {number} */ sample, /** @type {number} */ feature) =>
  `[role=slider][aria-label="sample ${sample}, feature ${feature}"]`
const value = (/** @type {Page} */ page, /** @type {string} */ selector) =>
  page.$eval(selector, (slider) => Number(slider.ariaValueNow))

/** @typedef {Awaited<ReturnType<typeof dots>>} Dots */
/** The dots, as 'sample feature', that stand elsewhere. @param {Dots} now @param {Dots} before */
const moved = (now, before) =>
  now.flatMap((row, r) => row.flatMap(({ at }, c) => (at === before[r][c].at ? [] : `${r + 1} ${c + 1}`)))
const lit = (/** @type {Dots} */ now) =>
  now.flatMap((row, r) => row.flatMap((one, c) => (one.lit ? `${r + 1} ${c + 1}` : [])))
const ROW = [1, 2, 3, 4, 5].map((c) => `2 ${c}`)
const COLUMN = [1, 2, 3, 4].map((r) => `${r} 4`)

const gpt = await load()
const drawn = draw(gpt, 17)
/** What a table shows of the first samples. @param {number} samples @param {'layer' | 'rms' | 'batch'} norm */
const computed = (samples, norm, running = /** @type {typeof drawn | null} */ (null)) =>
  normalize(gpt, norm, drawn.x.slice(0, samples), running)

/** Asserts two decimals of each number. @param {number[][]} shown @param {number[][] | null} expected */
function assertNear(shown, expected) {
  assert.deepEqual(
    shown.map((row) => row.length),
    expected?.map((row) => row.length),
  )
  expected?.forEach((row, r) => row.forEach((value, c) => near(shown[r][c], value, 0.0051, `${r} ${c}`)))
}

test('a dragged dot moves its row in layer norm and its column in batch norm; both are lit', async () => {
  const { page, complaints } = await show()
  assertNear(await numbers(page, 'x'), drawn.x.slice(0, 4))
  assertNear(await numbers(page, 'layer'), computed(4, 'layer'))
  assertNear(await numbers(page, 'batch'), computed(4, 'batch'))
  const [x, layer, batch] = [await dots(page, 'x'), await dots(page, 'layer'), await dots(page, 'batch')]
  const before = await value(page, dot(2, 4))
  const { x: at, y } = await hold(page, dot(2, 4))
  await page.mouse.move(at - 12, y, { steps: 5 })
  assert.ok((await value(page, dot(2, 4))) < before - 0.5)
  assert.deepEqual(moved(await dots(page, 'x'), x), ['2 4'])
  assert.deepEqual(moved(await dots(page, 'layer'), layer), ROW)
  assert.deepEqual(moved(await dots(page, 'batch'), batch), COLUMN)
  assert.deepEqual(lit(await dots(page, 'layer')), ROW)
  assert.deepEqual(lit(await dots(page, 'batch')), COLUMN)
  assert.deepEqual(lit(await dots(page, 'x')), [...new Set([...ROW, ...COLUMN])].sort())
  await page.mouse.up()
  assert.deepEqual(complaints, [])
  await page.close()
})

test('keys move a dot within its limits, and the address restores what was moved', async () => {
  const { page } = await show()
  await focus(page, dot(1, 1))
  await press(page, 'End')
  assert.equal(await value(page, dot(1, 1)), 3)
  await press(page, 'ArrowLeft')
  assert.equal(await value(page, dot(1, 1)), Math.fround(2.95))
  await page.waitForFunction(() => /batch-norm\.edits=x11:2\.95/.test(location.search))
  const second = await open(site.browser, page.url(), { ready: '.guess' })
  assert.deepEqual(await numbers(second.page, 'layer'), await numbers(page, 'layer'))
  await second.page.close()
  await page.close()
  const bad = await show('&batch-norm.batch=9&batch-norm.row=group&batch-norm.edits=x71:1')
  assert.match(await problem(bad.page), /batch-norm\.batch=9, batch-norm\.row=group, batch-norm\.edits=x71:1/)
  assert.equal((await numbers(bad.page, 'layer')).length, 4)
  await bad.page.close()
})

test('one more sample moves nothing in layer norm and everything in batch norm', async () => {
  const { page } = await show()
  await click(page, '.guess button:nth-child(1)')
  assert.match(await text(page, '.answer'), /^Not quite: 4\. That feature of every sample/)
  const [layer, batch] = [await dots(page, 'layer'), await dots(page, 'batch')]
  await click(page, '#batch-norm ::-p-text(One more)')
  assert.deepEqual(moved((await dots(page, 'layer')).slice(0, 4), layer), [])
  assert.equal(moved((await dots(page, 'batch')).slice(0, 4), batch).length, 20)
  await click(page, '#batch-norm ::-p-text(One more)')
  assert.ok(await page.$eval('#batch-norm ::-p-text(One more)', (one) => one.matches(':disabled')))
  await page.close()
})

test('one sample: batch norm in training says why it has no result; in evaluation it has one', async () => {
  const { page, complaints } = await show('&batch-norm.batch=1')
  assert.match(
    await text(page, '#batch-norm'),
    /refuses: a column of one number is its own mean, and its variance is 0/,
  )
  assert.doesNotMatch(await text(page, '#batch-norm'), /NaN|∞|—/)
  assertNear(await numbers(page, 'layer'), computed(1, 'layer'))
  await click(page, '#batch-norm .table ::-p-text(evaluation)')
  assertNear(await numbers(page, 'batch'), computed(1, 'batch', drawn))
  assert.deepEqual(complaints, [])
  await page.close()
})

test('in evaluation a moved dot moves no other in batch norm', async () => {
  const { page } = await show('&batch-norm.mode=evaluation')
  const batch = await dots(page, 'batch')
  await focus(page, dot(2, 3))
  await press(page, 'ArrowRight')
  assert.deepEqual(moved(await dots(page, 'batch'), batch), ['2 3'])
  assert.deepEqual(lit(await dots(page, 'batch')), ['2 3'])
  await page.close()
})

test('RMSNorm takes the place of layer norm, and a new seed draws another batch', async () => {
  const { page } = await show()
  await click(page, '#batch-norm [aria-label^=More]')
  await click(page, '#batch-norm ::-p-text(RMSNorm instead)')
  assertNear(await numbers(page, 'rms'), computed(4, 'rms'))
  const before = await numbers(page, 'x')
  await type(page, 'seed of the batch', '9')
  assert.notDeepEqual(await numbers(page, 'x'), before)
  await page.close()
})

test('pointing at a dot says how it was computed, and lights what shares its statistics', async () => {
  const { page } = await show()
  const [, circle] = await page.$$('#batch-norm [data-norm=batch] circle')
  await hover(page, circle)
  const column = [1, 2, 3, 4].map((r) => `${r} 2`)
  assert.deepEqual(lit(await dots(page, 'batch')), column)
  const row = [1, 2, 3, 4, 5].map((c) => `1 ${c}`)
  assert.deepEqual(lit(await dots(page, 'layer')), row)
  assert.deepEqual(lit(await dots(page, 'x')), [...new Set([...row, ...column])].sort())
  const [, result] = /= ([−\d.]+)$/.exec(await text(page, '[data-norm=batch] .note')) ?? []
  near(Number(result.replace('−', '-')), computed(4, 'batch')?.[0][1] ?? NaN, 1e-5)
  await page.close()
})

test('keys go from dot to dot', async () => {
  const { page } = await show()
  await focus(page, dot(1, 5))
  const focused = () => page.evaluate(() => document.activeElement?.ariaLabel)
  await press(page, 'ArrowDown')
  assert.equal(await focused(), 'sample 2, feature 1')
  await press(page, 'ArrowUp')
  assert.equal(await focused(), 'sample 1, feature 5')
  assert.equal((await page.$$('#batch-norm .tables [tabindex="0"]')).length, 1)
  await page.close()
})

test('with one sample the section is no taller than with four; on a phone all tables are on one screen', async () => {
  const { page } = await show('', { width: 1280, height: 740 })
  const tall = (selector = '#batch-norm') => page.$eval(selector, (one) => one.getBoundingClientRect().height)
  const four = [await tall()]
  await page.setViewport({ width: 360, height: 740 })
  await page.evaluate(drawnInPage)
  assert.ok((await tall('#batch-norm .tables')) <= 740)
  four.push(await tall())
  for (let i = 0; i < 3; i++) await click(page, '#batch-norm ::-p-text(One less)')
  assert.match(await text(page, '#batch-norm'), /refuses/)
  assert.ok((await tall()) <= four[1], `${await tall()} and ${four[1]} pixels on a phone`)
  await page.setViewport({ width: 1280, height: 740 })
  await page.evaluate(drawnInPage)
  assert.ok((await tall()) <= four[0], `${await tall()} and ${four[0]} pixels on a laptop`)
  await page.close()
})
