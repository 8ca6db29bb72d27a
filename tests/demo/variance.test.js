// Section 2: the two divisors, over n.

import assert from 'node:assert/strict'
import { load } from 'gpt-layers'
import { estimate, layerRow } from '../../web/demo/src/sections/variance/compute.js'
import { golden } from '../lib/support.js'
import {
  after,
  assertInFrame,
  assertOnScreen,
  before,
  launch,
  open,
  press,
  SCREENS,
  serve,
  test,
} from './browser.js'

let server, browser
before(async () => {
  server = await serve()
  browser = await launch()
})
after(async () => {
  await browser?.close()
  server?.stop()
})

const show = (query = '', options = {}) =>
  open(browser, `${server.url}?embed=variance${query}`, { ready: '.predict', ...options })
const said = (page) => page.$eval('#variance', (section) => section.textContent.replace(/\s+/g, ' '))
const n = (page) => page.$eval('input[aria-label="n"]', (input) => Number(input.ariaValueNow))
const formulas = (page) =>
  page.$$eval('#variance dd', (all) => all.map((one) => one.textContent.replace(/[\s⁡]/g, '')))

test('both variances, and what they average over many samples, are PyTorch’s', async () => {
  const gpt = await load()
  const close = (a, b) => assert.ok(Math.abs(a - b) <= 1e-6, `${a}, expected ${b}`)
  for (const expected of golden('page_variance')) {
    const row = layerRow(gpt, 123, expected.n)
    const estimates = estimate(gpt, 123, expected.n)
    assert.equal(row.values.length, expected.n)
    assert.equal(estimates.samples, expected.samples)
    for (const divisor of ['unbiased', 'biased']) {
      close(row[divisor], expected[divisor])
      close(estimates[divisor].average, expected.averages[divisor])
      close(
        estimates[divisor].shares.reduce((sum, share) => sum + share, 0),
        1,
      )
    }
  }
})

test('the notebook’s 0.0231 is divided by 5, LayerNorm’s 0.0192 by 6, and the formulas say so with the numbers in', async () => {
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

test('n is dragged along the axis, as one step to undo, and the address follows', async () => {
  const { page, complaints } = await show()
  const box = await (await page.$('#variance .slider')).boundingBox()
  const y = box.y + box.height / 2
  await page.mouse.move(box.x + 300, y)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width / 2, y, { steps: 5 })
  await page.mouse.up()
  assert.ok(Math.abs((await n(page)) - Math.sqrt(2 * 4096)) <= 1, `${await n(page)}`)
  await page.waitForFunction(() => /variance\.n=9\d/.test(location.search))
  await press(page, 'Control', 'z')
  assert.equal(await n(page), 6)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a finger drags n along the axis', async () => {
  const { page } = await show('', { width: 360, height: 780 })
  const slider = await page.$('#variance .slider')
  await slider.scrollIntoView()
  const { x, y, width, height } = await slider.boundingBox()
  const finger = await page.touchscreen.touchStart(x + width / 4, y + height / 2)
  for (let i = 1; i <= 4; i++) await finger.move(x + (width * (1 + i / 4)) / 4, y + height / 2)
  await finger.end()
  assert.ok(Math.abs((await n(page)) - Math.sqrt(2 * 4096)) <= 1, `${await n(page)}`)
  assert.equal(await page.evaluate(() => scrollX), 0)
  await page.close()
})

test('arrow keys move n along the axis, a doubling with shift, one by one with alt, and to its ends', async () => {
  const { page } = await show()
  await (await page.$('#variance .slider')).focus()
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
    await page.$eval('#variance .slider', (slider) => slider.ariaValueText),
    /n is 2: divided by n .* 50 percent too small/,
  )
  await page.close()
})

test('n is typed, or set to GPT-2’s, where the two are the same to a thousandth', async () => {
  const { page } = await show()
  await (await page.$('input[aria-label="n"]')).focus()
  await page.keyboard.type('12')
  assert.match((await formulas(page))[2], /1211=1\.0909$/)
  await (await page.waitForSelector('#variance ::-p-text(768, as GPT-2)')).click()
  const [unbiased, biased, ratio] = await formulas(page)
  assert.match(unbiased, /768−1=0\.0568$/)
  assert.match(biased, /768=0\.0567$/)
  assert.match(ratio, /768767=1\.0013$/)
  await (await page.$('input[aria-label="n"]')).focus()
  await page.keyboard.type('1')
  await page.keyboard.press('Enter')
  assert.match(
    await page.$eval('.problems', (element) => element.textContent),
    /“1” cannot stand for n, which stays 768/,
  )
  await page.close()
})

test('the address restores n and the seed, a row without any spread is no division by 0, and nonsense is refused', async () => {
  const { page } = await show('&variance.n=40&variance.seed=7')
  assert.equal(await n(page), 40)
  assert.match(await said(page), /1638 samples of 40 numbers/)
  await page.close()
  const gpt = await load()
  const seed = Array.from({ length: 100 }, (_, i) => i).find((seed) => layerRow(gpt, seed, 2).biased === 0)
  const flat = await show(`&variance.n=2&variance.seed=${seed}`)
  assert.match(await said(flat.page), /all of them are the same, so both variances are 0/)
  assert.doesNotMatch(await said(flat.page), /NaN|∞/)
  await flat.page.close()
  const bad = await show('&variance.n=1&variance.seed=-1')
  assert.match(
    await bad.page.$eval('.problems', (element) => element.textContent),
    /variance\.n=1, variance\.seed=-1, which means nothing/,
  )
  assert.equal(await n(bad.page), 6)
  await bad.page.close()
})

test('an update at the largest n fits into a frame', async () => {
  const { page } = await open(browser, `${server.url}?variance.n=4096#variance`, {
    ready: '#variance .slider',
  })
  await (await page.$('#variance .slider')).focus()
  await assertInFrame(page, (i) => page.keyboard.press(i % 2 ? 'ArrowUp' : 'ArrowDown'))
  await page.close()
})

for (const [width, height] of SCREENS) {
  test(`${width} wide: a screen of its own, no sideways scrolling, a clean console`, async () => {
    const opened = await show('&variance.n=4096', { width, height })
    const { page } = opened
    await (await page.waitForSelector('.predict button')).click()
    assert.match(await page.$eval('.answer', (element) => element.textContent), /768 \/ 767 = 1\.0013/)
    await assertOnScreen(opened, 'variance', width, height)
    await page.close()
  })
}
