// The section on GELU: its curve at a cursor, and a row of numbers before and after it.

/** @import { KeyInput, Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { activate, extremes } from '../../build/demo/sections/gelu/compute.js'
import { golden } from '../lib/support.js'
import { click, focus, get, hold, near, parse, press, test, text, type, useSite, value } from './browser.js'

const site = useSite({ saves: true })

/** @typedef {{ y: number, dy: number }} Values */
/**
 * @type {{
 *   places: { x: number, tanh: Values, none: Values, relu: Values }[],
 *   lowest: { x: number, value: number }, difference: { x: number, value: number }
 * }}
 */
const expected = golden('page_gelu')
const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=gelu${query}`, { ready: '#gelu .figure', ...options })
const x = (/** @type {Page} */ page) => value(page, 'x')
const CURSOR = '#gelu [aria-label="x, on the curves"]'
/** GELU, its slope, ReLU and its slope, as they stand beside the curves. */
const readings = (/** @type {Page} */ page) =>
  page.$$eval('#gelu .exact', (all) => all.map((one) => one.textContent)).then((all) => all.map(parse))
/** The numbers under the dots: eight before GELU, eight after it. */
const dots = (/** @type {Page} */ page) =>
  page.$$eval('#gelu .value', (all) => all.map((one) => one.textContent)).then((all) => all.map(parse))

testInNode('the activations, their slopes and how far GELU’s forms are apart are PyTorch’s', async () => {
  const gpt = await load()
  const found = activate(
    gpt,
    expected.places.map(({ x }) => x),
  )
  expected.places.forEach((place, i) => {
    for (const name of /** @type {const} */ (['tanh', 'none', 'relu'])) {
      near(found[name].y[i], place[name].y, 1e-6)
      near(found[name].dy[i], place[name].dy, 1e-6)
    }
  })
  const { lowest, apart } = extremes(gpt, 'tanh')
  near(lowest.y, expected.lowest.value, 1e-6)
  near(lowest.x, expected.lowest.x, 0.01)
  near(apart, expected.difference.value, 1e-6)
})

test('at each x the page shows PyTorch’s values and slopes, in either form', async () => {
  const { page, complaints } = await show()
  for (const [name, form] of /** @type {const} */ ([
    ['by tanh', 'tanh'],
    ['exact', 'none'],
  ])) {
    await click(page, `#gelu .text button ::-p-text(${name})`)
    for (const place of expected.places.filter(({ x }) => x <= 3)) {
      await type(page, 'x', String(place.x))
      const wanted = [place[form].y, place[form].dy, place.relu.y, place.relu.dy]
      ;(await readings(page)).forEach((shown, i) => near(shown, wanted[i], 0.5001e-2))
    }
  }
  assert.match(await text(page, '#gelu .text'), /differ by 0\.0005 at most/)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a number shows its full float32 while it has the focus', async () => {
  const { page } = await show('&gelu.row=1,2,0,0,0,0,0,0&gelu.chosen=0')
  const first = await get(page, '#gelu .exact')
  assert.equal(await first.evaluate((span) => span.textContent), '0.84')
  await first.focus()
  assert.match(await first.evaluate((span) => span.textContent), /^0\.8413\d{3,}$/)
  await page.close()
})

test('the cursor is a number of the row: either moves the other, and one drag is one step to undo', async () => {
  const { page, complaints } = await show()
  assert.equal(await x(page), 1.5)
  const { y, box } = await hold(page, CURSOR)
  await page.mouse.move(box.left + box.width * (2 / 7), y, { steps: 8 })
  await page.mouse.up()
  near(await x(page), -2, 0.02)
  const moved = await dots(page)
  near(moved[6], -2, 0.02)
  near(moved[14], -0.05, 0.01)
  await press(page, 'Control', 'z')
  assert.equal(await x(page), 1.5)
  const before = await dots(page)
  await focus(page, '#gelu [aria-label="number 1"]')
  await press(page, 'Shift', 'ArrowRight')
  assert.equal(await x(page), -2)
  const after = await dots(page)
  near(after[8], -0.05, 0.01)
  assert.deepEqual([...after.slice(1, 8), ...after.slice(9)], [...before.slice(1, 8), ...before.slice(9)])
  assert.deepEqual(complaints, [])
  await page.close()
})

test('arrow keys move the cursor by 0.1, by 1 with shift, by 0.01 with alt, and Home to the end', async () => {
  const { page } = await show()
  await focus(page, CURSOR)
  /** @type {[KeyInput[], number][]} */
  const steps = [
    [['ArrowUp'], 1.6],
    [['Shift', 'ArrowDown'], 0.6],
    [['Alt', 'ArrowUp'], 0.61],
    [['Home'], -4],
    [['ArrowLeft'], -4],
    [['End'], 3],
  ]
  for (const [keys, place] of steps) {
    await press(page, ...keys)
    near(await x(page), place, 1e-6)
  }
  await page.waitForFunction(() => /gelu\.row=.*%2C3%2C3/.test(location.search))
  await page.close()
})

test('the address restores the row; a number beyond the curves is refused beside its field', async () => {
  const { page } = await show('&gelu.row=-0.75,0,0,0,0,0,0,0&gelu.chosen=0&gelu.form=tanh')
  assert.equal(await x(page), -0.75)
  await type(page, 'x', '9')
  assert.match(await text(page, '#gelu .refused'), /“9” is not a number from −4 to 3\. x stays −0\.75/)
  assert.equal(await x(page), -0.75)
  await page.close()
  const bad = await show('&gelu.row=9,0,0,0,0,0,0,0')
  assert.match(await text(bad.page, '.problems'), /gelu\.row=9,0,0,0,0,0,0,0, which means nothing/)
  assert.equal(await x(bad.page), 1.5)
  await bad.page.close()
})

test('the guess is answered, right and wrong; the section fits a laptop’s screen', async () => {
  const { page, complaints, foreign } = await show('', { width: 1280, height: 720 })
  assert.doesNotMatch(await text(page, '#gelu'), /−0\.75, the bottom/)
  for (const [option, answer] of [
    ['everywhere', /^Not quite: at one x\. Only at −0\.75, the bottom of the dip, where GELU is −0\.17/],
    ['nowhere', /^Not quite: at one x\. Only/],
    ['at one x', /^Yes: at one x\. Only at −0\.75/],
  ]) {
    await click(page, `#gelu .guess button ::-p-text(${option})`)
    assert.match(await text(page, '#gelu .answer'), /** @type {RegExp} */ (answer))
  }
  const tall = await page.evaluate(() => document.documentElement.scrollHeight)
  assert.ok(tall <= 720, `${tall} pixels tall`)
  assert.deepEqual([...complaints, ...foreign], [])
  await page.close()
})

test('the saved chart has the curves’ names', async () => {
  const { page, complaints } = await show()
  await click(page, '#gelu button[aria-label="More: gelu"]')
  const svg = await site.saved('gelu.svg', () => click(page, '#gelu button ::-p-text(Save as SVG)'))
  assert.match(String(svg), /<text [^>]*paint-order="stroke[^>]*>\s*ReLU/)
  assert.deepEqual(complaints, [])
  await page.close()
})
