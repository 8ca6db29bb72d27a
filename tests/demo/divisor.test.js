// The two divisors of the variance.

/** @import { Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { describe, drawRow, estimate, inPrint } from '../../build/demo/sections/divisor/compute.js'
import { click, drag, focus, near, press, test, text, untilAddressHas, useSite } from './browser.js'

const site = useSite()

const N = '#divisor input[type=range]'
const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=divisor${query}`, {
    ready: N,
    ...options,
    features: { 'prefers-reduced-motion': 'reduce', ...options.features },
  })
const n = (/** @type {Page} */ page) => text(page, '#divisor output').then(Number)
/** Both formulas, without spaces. @param {Page} page */
const formulas = (page) =>
  page.$$eval('#divisor dd', (all) => all.map((one) => one.textContent.replace(/[\s⁡]/g, '')))
/** The numbers of the row's dots. @param {Page} page */
const dots = (page) =>
  page.$$eval('#divisor [role=slider]', (all) => all.map((one) => Number(one.ariaValueNow)))
/** @param {Page} page @param {string} name of a button */
const pressButton = (page, name) => click(page, `#divisor ::-p-xpath(.//button[normalize-space()="${name}"])`)

testInNode('the variances are the sum of squared distances by n − 1 and by n, also on average', async () => {
  const gpt = await load()
  for (const n of [2, 6, 768, 4096]) {
    const values = drawRow(gpt, 123, n)
    const mean = values.reduce((sum, value) => sum + value) / n
    const sum = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
    const row = describe(gpt, values)
    near(row.sum, sum, 1e-6 * n)
    near(row.unbiased, sum / (n - 1), 1e-6)
    near(row.biased, sum / n, 1e-6)
    const { samples, unbiased, biased } = estimate(gpt, 123, n)
    near(unbiased.average, 1, 4 * Math.sqrt(2 / (samples * (n - 1))), `on average, of ${n}`)
    near(biased.average, (unbiased.average * (n - 1)) / n, 1e-6)
    for (const { shares } of [unbiased, biased])
      near(
        shares.reduce((sum, share) => sum + share),
        1,
        1e-6,
      )
  }
})

testInNode('what the formulas print follows from what they print, from 2 numbers to 4096', async () => {
  const gpt = await load()
  for (const n of [2, 3, 4, 5, 6, 8, 12, 100, 768, 4096])
    for (let seed = 0; seed < (n < 100 ? 200 : 20); seed++) {
      const row = describe(gpt, drawRow(gpt, seed, n))
      const { sum, unbiased, biased } = inPrint(row, n)
      const [, decimals = ''] = biased.split('.')
      const what = `${sum} of ${n} numbers, seed ${seed}`
      const half = 0.5 * 10 ** -decimals.length
      near(Number(sum) / (n - 1), Number(unbiased), 0.9999 * half, what)
      near(Number(sum) / n, Number(biased), 0.9999 * half, what)
      near(row.biased, Number(biased), 1.001 * half, what)
      if (n === 2 && row.biased > 0) assert.notEqual(unbiased, biased, what)
    }
})

test('two numbers: the formulas print two variances', async () => {
  const { page } = await show('&divisor.n=2')
  assert.deepEqual(
    (await formulas(page)).map((formula) => formula.split('=').at(-1)),
    ['0.000103', '0.000051'],
  )
  await page.close()
})

test('the formulas show PyTorch’s 0.0231, divided by 5, and LayerNorm’s 0.0192, divided by 6', async () => {
  const { page, complaints } = await show()
  const gpt = await load()
  const expected = { ...describe(gpt, drawRow(gpt, 123, 6)), averages: estimate(gpt, 123, 6) }
  const [byFive, bySix] = await formulas(page)
  assert.match(byFive, /0\.11536−1=0\.0231$/)
  assert.match(bySix, /0\.11536=0\.0192$/)
  assert.match(
    await text(page, '#divisor figcaption'),
    /Its variance is 0\.0231 with n − 1, 0\.0192 with n\./,
  )
  const charts = await page.$$eval('#divisor svg', (all) => all.map((one) => one.ariaLabel ?? ''))
  const [byLess, byAll] = [expected.unbiased, expected.biased].map((one) => Math.sqrt(one).toFixed(4))
  const row = `deviation is ${byLess} divided by n minus 1, and ${byAll} divided by n`
  assert.ok(charts[0].includes(row), `the row’s sentence: ${charts[0]}, expected ${row}`)
  const { unbiased, biased } = expected.averages
  const averages = `average ${unbiased.average.toFixed(4)}, those divided by n ${biased.average.toFixed(4)}`
  assert.ok(charts[1].includes(averages), `the samples’ sentence: ${charts[1]}, expected ${averages}`)
  assert.match(await text(page, '#divisor .text'), /torch\.var divides by n − 1 unless you say correction=0/)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a guess is answered with 768 / 767, and 768 numbers are shown', async () => {
  const { page } = await show()
  assert.doesNotMatch(await page.$eval('#divisor', (section) => section.textContent), /1\.0013/)
  await pressButton(page, '0.13%')
  assert.match(await text(page, '#divisor .answer'), /^Yes: 0\.13%\. 768 \/ 767 = 1\.0013\./)
  assert.equal(await n(page), 768)
  const [byLess, byAll] = await formulas(page)
  assert.match(byLess, /768−1=0\.0568$/)
  assert.match(byAll, /768=0\.0567$/)
  await press(page, 'Control', 'z')
  assert.equal(await n(page), 6)
  await page.close()
})

test('without reduced motion n runs from 6 to 768, and rests there', async () => {
  const { page, complaints } = await show('', {
    features: { 'prefers-reduced-motion': 'no-preference' },
    byFrames: true,
  })
  // From now on: the n of each frame.
  await page.evaluate(() => {
    /** @type {number[]} */
    const shown = []
    const look = () => {
      shown.push(Number(document.querySelector('#divisor output')?.textContent))
      requestAnimationFrame(look)
    }
    look()
    Object.assign(window, { shown })
  })
  await pressButton(page, '768, GPT-2')
  await page.waitForFunction('shown.at(-1) === 768')
  const shown = /** @type {number[]} */ (await page.evaluate('shown'))
  assert.deepEqual([shown[0], shown.at(-1)], [6, 768])
  assert.deepEqual(
    shown,
    shown.toSorted((a, b) => a - b),
  )
  assert.ok(new Set(shown).size > 30, `n should run through the numbers between, and shows ${shown}`)
  assert.match((await formulas(page))[1], /768=0\.0567$/)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a dot that is dragged changes the row, both variances and the address, and can be undone', async () => {
  const { page, complaints } = await show()
  const before = await dots(page)
  assert.equal(before.length, 6)
  await drag(page, '#divisor [role=slider]:nth-of-type(2)', 120)
  const after = await dots(page)
  const moved = after.findIndex((value, i) => value !== before[i])
  assert.ok(after[moved] > before[moved] + 0.1)
  assert.deepEqual(after.toSpliced(moved, 1), before.toSpliced(moved, 1))
  // The package's own variance of these numbers.
  const gpt = await load()
  const { unbiased, biased } = describe(gpt, after)
  const [byLess, byAll] = await formulas(page)
  near(Number(byLess.split('=').at(-1)), unbiased, 1e-4)
  near(Number(byAll.split('=').at(-1)), biased, 1e-4)
  await untilAddressHas(page, 'divisor.x', after)
  await page.reload()
  await page.waitForSelector(N)
  assert.deepEqual(await dots(page), after)
  await pressButton(page, '768, GPT-2')
  await pressButton(page, '6, the example')
  assert.deepEqual(await dots(page), before)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('n moves by keys from 2 to 4096; rows of equal numbers have a variance of 0', async () => {
  const { page, complaints } = await show()
  await focus(page, N)
  for (const [key, expected] of /** @type {const} */ ([
    ['ArrowRight', 7],
    ['ArrowLeft', 6],
    ['End', 4096],
    ['Home', 2],
  ])) {
    await page.keyboard.press(key)
    assert.equal(await n(page), expected, key)
  }
  await page.waitForFunction(() => /divisor\.n=2(&|$)/.test(location.search))
  await page.close()
  const flat = await show('&divisor.n=3&divisor.x=0.25,0.25,0.25')
  for (const formula of await formulas(flat.page)) assert.match(formula, /=0\.0000$/)
  assert.doesNotMatch(await flat.page.$eval('#divisor', (section) => section.outerHTML), /NaN|Infinity/)
  assert.deepEqual([...complaints, ...flat.complaints], [])
  await flat.page.close()
})

test('a dot that has the focus may go, as its row gets shorter', async () => {
  const { page, complaints } = await show()
  await focus(page, N)
  await press(page, 'ArrowRight')
  await page.waitForFunction(() => location.search.includes('divisor.n=7'))
  await focus(page, '#divisor [role=slider]')
  await press(page, 'ArrowUp') // from the first dot to the last
  await press(page, 'Control', 'z')
  await page.waitForFunction(() => !location.search.includes('divisor.n=7'))
  assert.deepEqual(complaints, [])
  assert.equal(await n(page), 6)
  assert.equal((await dots(page)).length, 6)
  assert.equal((await page.$$('#divisor [role=slider][tabindex="0"]')).length, 1) // Tab reaches the row
  await page.close()
})

test('the address restores n and the seed; invalid values are named', async () => {
  const { page } = await show('&divisor.n=40&divisor.seed=7')
  assert.equal(await n(page), 40)
  assert.match(await text(page, '#divisor .figure'), /1638 samples of 40 numbers/)
  await page.close()
  const bad = await show('&divisor.n=1&divisor.seed=-1&divisor.x=5')
  assert.match(
    await text(bad.page, '.problems'),
    /divisor\.n=1, divisor\.seed=-1, divisor\.x=5, which means nothing/,
  )
  assert.equal(await n(bad.page), 6)
  await bad.page.close()
})
