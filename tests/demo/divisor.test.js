// The two divisors of the variance.

/** @import { KeyInput, Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { estimate, layerRow } from '../../web/demo/src/sections/divisor/compute.js'
import { golden } from '../lib/support.js'
import {
  test,
  useSite,
  field,
  get,
  boxOf,
  click,
  focus,
  press,
  drag,
  text,
  problem,
  value,
  near,
  SCREENS,
  assertOnScreen,
} from './browser.js'

const site = useSite()

const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=divisor${query}`, { ready: '.predict', ...options })
const said = (/** @type {Page} */ page) =>
  page.$eval('#divisor', (section) => section.textContent.replace(/\s+/g, ' '))
const n = (/** @type {Page} */ page) => value(page, 'n')
const formulas = (/** @type {Page} */ page) =>
  page.$$eval('#divisor dd', (all) => all.map((one) => one.textContent.replace(/[\s⁡]/g, '')))

testInNode('both variances, and their averages over many samples, are PyTorch’s', async () => {
  const gpt = await load()
  for (const expected of golden('page_divisor')) {
    const row = layerRow(gpt, 123, expected.n)
    const estimates = estimate(gpt, 123, expected.n)
    assert.equal(row.values.length, expected.n)
    assert.equal(estimates.samples, expected.samples)
    for (const divisor of /** @type {const} */ (['unbiased', 'biased'])) {
      near(row[divisor], expected[divisor], 1e-6)
      near(estimates[divisor].average, expected.averages[divisor], 1e-6)
      const total = estimates[divisor].shares.reduce((sum, share) => sum + share, 0)
      near(total, 1, 1e-6)
    }
  }
})

test('the formulas show their numbers: the notebook’s 0.0231 is divided by 5, LayerNorm’s 0.0192 by 6', async () => {
  const { page, complaints } = await show()
  const [unbiased, biased, ratio] = await formulas(page)
  assert.match(unbiased, /0\.11536−1=0\.0231$/)
  assert.match(biased, /0\.11536=0\.0192$/)
  assert.match(ratio, /65=1\.2000$/)
  assert.match(
    await said(page),
    /the notebook’s first one, 0\.0231, is their sum divided by n − 1; LayerNorm divides by n, which gives 0\.0192/,
  )
  assert.match(
    await said(page),
    /average 1\.0000; over 0\.0231 they would average 0\.8333\. With its ε, LayerNorm makes that 0\.9995/,
  )
  assert.deepEqual(complaints, [])
  await page.close()
})

test('n can be dragged along the axis: one step to undo, and the address follows', async () => {
  const { page, complaints } = await show()
  const slider = await get(page, '#divisor .slider')
  await drag(page, slider, ({ x, width }) => ({ from: x + 300, to: x + width / 2 }))
  near(await n(page), Math.sqrt(2 * 4096), 1)
  await page.waitForFunction(() => /divisor\.n=9\d/.test(location.search))
  await press(page, 'Control', 'z')
  assert.equal(await n(page), 6)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('n can be dragged along the axis with a finger', async () => {
  const { page } = await show('', { width: 360, height: 780 })
  const slider = await get(page, '#divisor .slider')
  await slider.scrollIntoView()
  const { x, y, width, height } = await boxOf(slider)
  const finger = await page.touchscreen.touchStart(x + width / 4, y + height / 2)
  for (let i = 1; i <= 4; i++) await finger.move(x + (width * (1 + i / 4)) / 4, y + height / 2)
  await finger.end()
  near(await n(page), Math.sqrt(2 * 4096), 1)
  assert.equal(await page.evaluate(() => scrollX), 0)
  await page.close()
})

test('arrow keys move n: by a step, by a doubling with shift, by one with alt, and Home and End to the ends', async () => {
  const { page } = await show()
  await focus(page, '#divisor .slider')
  /** @type {[KeyInput[], number][]} */
  const steps = [
    [['Shift', 'ArrowRight'], 12],
    [['ArrowRight'], 13],
    [['Alt', 'ArrowLeft'], 12],
    [['End'], 4096],
    [['ArrowUp'], 4096],
    [['Home'], 2],
    [['ArrowDown'], 2],
  ]
  for (const [keys, expected] of steps) {
    await press(page, ...keys)
    assert.equal(await n(page), expected, keys.join('+'))
  }
  assert.match(
    await page.$eval('#divisor .slider', (slider) => slider.ariaValueText ?? ''),
    /n is 2: divided by n .* 50 percent too small/,
  )
  await page.close()
})

test('n can be typed or set to GPT-2’s 768, where the variances differ by a thousandth', async () => {
  const { page } = await show()
  await focus(page, field('n'))
  await page.keyboard.type('12')
  assert.match((await formulas(page))[2], /1211=1\.0909$/)
  await click(page, '#divisor ::-p-text(768, as GPT-2)')
  const [unbiased, biased, ratio] = await formulas(page)
  assert.match(unbiased, /768−1=0\.0568$/)
  assert.match(biased, /768=0\.0567$/)
  assert.match(ratio, /768767=1\.0013$/)
  await focus(page, field('n'))
  await page.keyboard.type('1')
  await page.keyboard.press('Enter')
  assert.match(await problem(page), /“1” cannot stand for n, which stays 768/)
  await page.close()
})

test('the address restores n and the seed; a row of equal numbers shows no NaN; invalid values are named', async () => {
  const { page } = await show('&divisor.n=40&divisor.seed=7')
  assert.equal(await n(page), 40)
  assert.match(await said(page), /1638 samples of 40 numbers/)
  await page.close()
  const gpt = await load()
  const seed = Array.from({ length: 100 }, (_, i) => i).find((seed) => layerRow(gpt, seed, 2).biased === 0)
  const flat = await show(`&divisor.n=2&divisor.seed=${seed}`)
  assert.match(await said(flat.page), /all of them are the same, so both variances are 0/)
  assert.doesNotMatch(await said(flat.page), /NaN|∞/)
  await flat.page.close()
  const bad = await show('&divisor.n=1&divisor.seed=-1')
  assert.match(await problem(bad.page), /divisor\.n=1, divisor\.seed=-1, which means nothing/)
  assert.equal(await n(bad.page), 6)
  await bad.page.close()
})

for (const [width, height] of SCREENS) {
  test(`at ${width} by ${height} the section fits the screen, and the console stays empty`, async () => {
    const opened = await show('&divisor.n=4096', { width, height })
    const { page } = opened
    await click(page, '.predict button')
    assert.match(await text(page, '.answer'), /768 \/ 767 = 1\.0013/)
    await assertOnScreen(opened, 'divisor', width, height)
    await page.close()
  })
}
