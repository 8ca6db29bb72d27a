// The section on GELU: its curve beside ReLU's, at a cursor.

/** @import { KeyInput, Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { load } from 'gpt-layers'
import { activate } from '../../build/demo/sections/gelu/compute.js'
import { click, focus, hold, near, parse, press, test, text, useSite } from './browser.js'

const site = useSite({ saves: true })

const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=gelu${query}`, { ready: '#gelu .figure', ...options })
const CURSOR = '#gelu [aria-label="x, on the curves"]'
/** x, GELU, its slope, ReLU and its slope, as they stand above the curves. */
const readings = (/** @type {Page} */ page) =>
  page.$$eval('#gelu .exact', (all) => all.map((one) => one.textContent)).then((all) => all.map(parse))
const x = async (/** @type {Page} */ page) => (await readings(page))[0]

/** Asserts that the page shows GELU, ReLU and their slopes at x. @param {Page} page @param {number} x */
async function assertShows(page, x) {
  const { gelu, relu } = activate(await load(), [x])
  const wanted = [x, gelu.y[0], gelu.dy[0], relu.y[0], relu.dy[0]]
  ;(await readings(page)).forEach((shown, i) => near(shown, wanted[i], 0.5001e-2, `${i} at ${x}:`))
}

test('a number shows its full float32 while it has the focus', async () => {
  const { page } = await show('&gelu.x=1')
  const [, first] = await page.$$('#gelu .exact')
  assert.equal(await first.evaluate((span) => span.textContent), '0.84')
  await first.focus()
  assert.match(await first.evaluate((span) => span.textContent), /^0\.841\d{4,}$/)
  await page.close()
})

test('one drag of the cursor is one step to undo, and the address restores x', async () => {
  const { page, complaints } = await show()
  assert.equal(await x(page), -0.3)
  assert.match(await text(page, '#gelu .text'), /off by 0\.0005 at most/)
  const { y, box } = await hold(page, CURSOR)
  await page.mouse.move(box.left + box.width * (2 / 7), y, { steps: 8 })
  await page.mouse.up()
  near(await x(page), -2, 0.02)
  near((await readings(page))[1], -0.05, 0.01)
  await page.waitForFunction(() => /gelu\.x=-(2|1\.9)/.test(location.search))
  await press(page, 'Control', 'z')
  assert.equal(await x(page), -0.3)
  assert.deepEqual(complaints, [])
  await page.close()
  const bad = await show('&gelu.x=9')
  assert.match(await text(bad.page, '.problems'), /gelu\.x=9, which means nothing/)
  assert.equal(await x(bad.page), -0.3)
  await bad.page.close()
})

test('arrow keys move the cursor by 0.1, by 1 with shift, by 0.01 with alt, and Home to the end', async () => {
  const { page } = await show()
  await focus(page, CURSOR)
  /** @type {[KeyInput[], number][]} */
  const steps = [
    [['ArrowUp'], -0.2],
    [['Shift', 'ArrowDown'], -1.2],
    [['Alt', 'ArrowUp'], -1.19],
    [['Home'], -4],
    [['ArrowLeft'], -4],
    [['End'], 3],
  ]
  for (const [keys, place] of steps) {
    await press(page, ...keys)
    near(await x(page), place, 1e-6)
    await assertShows(page, place)
  }
  await page.waitForFunction(() => /gelu\.x=3/.test(location.search))
  await page.close()
})

test('a guess moves the cursor to the bottom of the dip, and the answer says where it is', async () => {
  const { page } = await show()
  assert.doesNotMatch(await text(page, '#gelu'), /−0\.75, the bottom/)
  await click(page, `#gelu .guess button ::-p-text(nowhere)`)
  assert.match(
    await text(page, '#gelu .answer'),
    /^Not quite: at one x\. At −0\.75, the bottom of the dip, where GELU is −0\.17/,
  )
  assert.deepEqual((await readings(page)).slice(0, 3), [-0.75, -0.17, 0])
  await page.close()
})

test('the saved chart has the curves’ names', async () => {
  const { page, complaints } = await show()
  await click(page, '#gelu .menu button')
  const svg = await site.saved('gelu.svg', () => click(page, '#gelu button ::-p-text(Save as SVG)'))
  assert.match(String(svg), /<text [^>]*paint-order="stroke[^>]*>\s*ReLU/)
  assert.deepEqual(complaints, [])
  await page.close()
})
