// The page as a reader sees it: in Chromium, from the demo's own server.

/** @import { KeyInput, Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { golden } from '../lib/support.js'
import {
  blur,
  click,
  dragNumber,
  field,
  focus,
  get,
  near,
  open,
  overflow,
  press,
  test,
  text,
  type,
  useSite,
  value,
} from './browser.js'

const site = useSite()

/** The numbers in a text that PyTorch printed, as the page writes them. @param {string} text */
const printed = (text) => (text.match(/-?\d+\.\d{4}/g) ?? []).map((number) => number.replace('-', '−'))
const controls = golden('notebook')["the page's controls"]

/** The numbers of a table, row by row, with mean and variance. */
const numbers = (/** @type {Page} */ page, /** @type {string} */ section) =>
  page.$$eval(`.${section} tbody tr`, (rows) =>
    rows.map((row) =>
      [...row.querySelectorAll('td.cell')].map(
        (cell) => cell.querySelector('input')?.value ?? cell.textContent.trim(),
      ),
    ),
  )
/** What the page says about its numbers and about wrong inputs. */
const trust = (/** @type {Page} */ page) =>
  page.$$eval('.trust, .problems', (parts) =>
    parts
      .map((part) => part.textContent)
      .join(' ')
      .replace(/\s+/g, ' ')
      .trim(),
  )

const NOTEBOOK_OUTPUTS = [
  ['0.2260', '0.3470', '0.0000', '0.2216', '0.0000', '0.0000', '0.1324', '0.0231'],
  ['0.2133', '0.2394', '0.0000', '0.5198', '0.3297', '0.0000', '0.2170', '0.0398'],
]
const NOTEBOOK_NORMALISED = [
  ['0.6159', '1.4126', '−0.8719', '0.5872', '−0.8719', '−0.8719', '0.0000', '1.0000'],
  ['−0.0189', '0.1121', '−1.0876', '1.5173', '0.5647', '−1.0876', '0.0000', '1.0000'],
]

test('the page shows the notebook’s numbers and says so', async () => {
  const { page } = await site.open()
  assert.deepEqual(await numbers(page, 'outputs'), NOTEBOOK_OUTPUTS)
  assert.deepEqual(await numbers(page, 'normalised'), NOTEBOOK_NORMALISED)
  assert.match(await trust(page), /These are the notebook’s numbers, to its four decimals: 32 of 32\./)
  assert.match(await text(page, 'footer'), /(simd|relaxed) build, [\d.]+ kB, 1 thread/)
  await page.close()
})

test('an edit changes its own sample and no other, and can be undone', async () => {
  const { page } = await site.open()
  await type(page, 'x₁₅', '2')
  const normalised = await numbers(page, 'normalised')
  assert.notDeepEqual(normalised[0], NOTEBOOK_NORMALISED[0])
  assert.deepEqual(normalised[1], NOTEBOOK_NORMALISED[1])
  assert.deepEqual(normalised[0].slice(-2), ['0.0000', '1.0000'])
  assert.match(await trust(page), /\d+ of 32.*You changed x₁₅ to 2\.0000; the notebook has −1\.1969/)
  await click(page, '.change button')
  assert.deepEqual(await numbers(page, 'normalised'), NOTEBOOK_NORMALISED)
  await page.close()
})

test('every key takes effect, and a text that is no number is refused with a sentence', async () => {
  const { page } = await site.open()
  await type(page, 'x₁₁', '1.')
  await page.keyboard.type('5')
  assert.match(await trust(page), /x₁₁ to 1\.5000/)
  await type(page, 'x₁₁', 'abc')
  await page.keyboard.press('Enter')
  assert.match(await trust(page), /“abc” cannot stand for x₁₁, which stays 1\.5000/)
  assert.equal((await numbers(page, 'batch'))[0][0], '1.5000')
  await page.close()
})

test('the first click selects a number, the second sets the caret', async () => {
  const { page } = await site.open()
  const input = await get(page, field('x₁₂'))
  await input.click()
  await page.keyboard.type('12')
  assert.match(await trust(page), /x₁₂ to 12\.0000/)
  await input.click()
  await page.keyboard.press('End')
  await page.keyboard.type('5')
  assert.match(await trust(page), /x₁₂ to 125\.0000/)
  await page.close()
})

test('arrow keys step a number by 0.1, by 1 with shift, by 0.01 with alt', async () => {
  const { page } = await site.open()
  await focus(page, field('b₁'))
  const from = await value(page, 'b₁')
  /** @type {[KeyInput[], number][]} */
  const steps = [
    [['ArrowUp'], 0.1],
    [['ArrowDown'], -0.1],
    [['Shift', 'ArrowUp'], 1],
    [['Alt', 'ArrowDown'], -0.01],
  ]
  let expected = from
  for (const [keys, step] of steps) {
    await press(page, ...keys)
    expected += step
    near(await value(page, 'b₁'), expected, 1e-5)
  }
  await page.close()
})

test('dragging a weight sideways changes it and the numbers that depend on it', async () => {
  const { page } = await site.open()
  await dragNumber(page, 'w₁₁', -40)
  assert.match(await trust(page), /You changed w₁₁ to −0\.6838; the notebook has 0\.3162/)
  const outputs = await numbers(page, 'outputs')
  assert.notEqual(outputs[0][0], NOTEBOOK_OUTPUTS[0][0])
  assert.deepEqual(outputs[0].slice(1, 6), NOTEBOOK_OUTPUTS[0].slice(1, 6))
  await page.close()
})

test('scale and shift change only their column', async () => {
  const { page } = await site.open()
  await type(page, 'γ₂', '2')
  await type(page, 'β₂', '1')
  const normalised = await numbers(page, 'normalised')
  assert.deepEqual(
    normalised.flatMap((row) => row.slice(0, 6)),
    printed(controls['scale 2 and shift 1 in column 2']),
  )
  await page.close()
})

test('the batch is normalized as in cell 7: biased variance, ε 1e-5; mean 0 and variance 1', async () => {
  const { page } = await site.open()
  await page.select('select[aria-label="what is normalised"]', 'batch')
  const normalised = await numbers(page, 'normalised')
  assert.deepEqual(
    normalised.map((row) => row.slice(-2)),
    [
      ['0.0000', '1.0000'],
      ['0.0000', '1.0000'],
    ],
  )
  assert.equal(normalised[0].length, 7)
  assert.match(await trust(page), /4 of 4/)
  assert.equal(
    await page.$eval(field('ε'), (input) => /** @type {HTMLInputElement} */ (input).value),
    '0.00001',
  )
  await page.close()
})

test('seed, variance and ε change the numbers, and the page says which values the notebook has', async () => {
  const { page } = await site.open()
  await page.select('select[aria-label="variance divided by"]', 'biased')
  assert.deepEqual(
    (await numbers(page, 'outputs')).map((row) => row.at(-1)),
    printed(controls['biased variance']),
  )
  await type(page, 'ε', '0.01')
  await type(page, 'seed', '7')
  const said = await trust(page)
  assert.match(said, /seed to 7; the notebook has 123/)
  assert.match(said, /divisor to n; the notebook has n − 1/)
  assert.match(said, /ε to 0\.01; the notebook has 0/)
  await clickLast(page, '.trust button')
  assert.match(await trust(page), /32 of 32/)
  await page.close()
})

test('the address restores everything on the screen', async () => {
  const { page } = await site.open()
  await type(page, 'x₂₃', '0.1')
  await type(page, 'γ₆', '-3')
  await type(page, 'seed', '99')
  await page.waitForFunction(() => location.search.includes('seed=99'))
  const address = page.url()
  const shown = await page.$eval('#worked-example', (layer) =>
    [...layer.querySelectorAll('.cell')].map((c) => c.textContent),
  )
  const second = await open(site.browser, address)
  const restored = await second.page.$eval('#worked-example', (layer) =>
    [...layer.querySelectorAll('.cell')].map((c) => c.textContent),
  )
  assert.deepEqual(restored, shown)
  assert.deepEqual(await numbers(second.page, 'batch'), await numbers(page, 'batch'))
  assert.match(address, /x23=0\.1(&|$)/)
  await second.page.close()
  await page.close()
})

test('invalid values in the address are named, and the valid ones take effect', async () => {
  const { page } = await site.open('?x11=abc&x99=1&seed=-1&eps=-2&x12=3')
  assert.match(await trust(page), /The address has x11=abc, x99=1, seed=-1, eps=-2, which means nothing here/)
  assert.match(await trust(page), /x₁₂ to 3\.0000/)
  await page.close()
})

test('for a constant row with ε = 0 the page says why there is no result, and shows no NaN', async () => {
  const row = [1, 2, 3, 4, 5].map((i) => `x1${i}=2`).join('&')
  const { page } = await site.open(`?normalise=batch&eps=0&${row}`)
  const shown = await text(page, '#app')
  assert.doesNotMatch(shown, /NaN/)
  assert.match(shown, /variance is 0, and with ε = 0 the last step would divide 0 by 0/)
  await page.close()
})

test('everything that depends on a number is updated within the event that changes it', async () => {
  const { page } = await site.open()
  const [before, after] = await page.evaluate(() => {
    const shown = () =>
      ['.outputs', '.normalised', '.trust'].map((part) => document.querySelector(part)?.textContent ?? '')
    const before = shown()
    const input = document.querySelector('input[aria-label="x₁₅"]')
    if (!(input instanceof HTMLInputElement)) throw new Error('no x₁₅')
    input.focus()
    input.value = '3'
    input.dispatchEvent(new InputEvent('input', { bubbles: true }))
    return [before, shown()] // no frame and no task in between
  })
  before.forEach((text, i) => assert.notEqual(after[i], text))
  assert.match(after[2], /x₁₅ to 3\.0000/)
  assert.match(await text(page, 'footer'), /The last change took \d+\.\d ms/)
  await page.close()
})

test('pointing at an output highlights its point, until the pointer leaves', async () => {
  const { page } = await site.open()
  await (await get(page, '.outputs tbody tr:nth-child(2) td.cell')).hover()
  assert.equal((await page.$$('circle.pointed')).length, 3)
  assert.equal((await page.$$('.normalised td.pointed')).length, 1)
  await (await get(page, 'h1')).hover()
  assert.equal((await page.$$('.pointed')).length, 0)
  await page.close()
})

test('“Watch it move” moves points; with reduced motion there is no such button', async () => {
  const { page } = await site.open()
  const moving = page.waitForSelector('circle.moving')
  await click(page, '.journey .watch')
  await moving
  await page.waitForFunction(() => !document.querySelector('circle.moving'))
  await page.close()
  const still = await site.open('', { features: { 'prefers-reduced-motion': 'reduce' } })
  assert.equal(await still.page.$('.journey .watch'), null)
  await still.page.close()
})

test('every editable number can be reached by keyboard and has a name', async () => {
  const { page } = await site.open()
  const names = await page.$$eval('#worked-example input.editable', (inputs) =>
    inputs.map((input) => input.ariaLabel),
  )
  assert.equal(names.length, 10 + 30 + 6 + 12 + 2)
  assert.equal(new Set(names).size, names.length)
  assert.ok(names.every(Boolean))
  assert.equal((await page.$$('#worked-example input.editable[tabindex="-1"]')).length, 0)
  await page.close()
})

test('the page is served with its Content-Security-Policy and has only relative addresses', async () => {
  const response = await fetch(site.url)
  assert.match(
    response.headers.get('content-security-policy') ?? '',
    /default-src 'self'; script-src 'self' 'wasm-unsafe-eval'/,
  )
  assert.equal(response.headers.get('cross-origin-opener-policy'), 'same-origin')
  assert.doesNotMatch(await response.text(), /(src|href)="\//)
})

/** Clicks the last element that matches. @param {Page} page @param {string} selector */
const clickLast = async (page, selector) =>
  (await page.$$(selector))
    .at(-1)
    ?.evaluate((one) => one.dispatchEvent(new MouseEvent('click', { bubbles: true })))

const screenshots = fileURLToPath(new URL('../../build/screenshots/', import.meta.url))
for (const [width, height] of [
  [1440, 900],
  [1280, 800],
  [360, 780],
]) {
  for (const theme of ['light', 'dark']) {
    test(`at ${width} by ${height}, ${theme}, the page fits, the console stays empty, and no other site is asked`, async () => {
      const features = { 'prefers-color-scheme': theme }
      const { page, complaints, foreign } = await site.open('', { width, height, features })
      await type(page, 'x₁₁', '0.5')
      await page.select('select[aria-label="what is normalised"]', 'batch')
      await page.select('select[aria-label="what is normalised"]', 'outputs')
      assert.ok((await overflow(page)) <= 0, `${await overflow(page)} pixels too wide`)
      if (width >= 1280) {
        // Each section fits the screen.
        const heights = await page.$$eval('.section', (sections) =>
          sections.map((one) => one.getBoundingClientRect().height),
        )
        for (const tall of heights) assert.ok(tall <= height, `${tall} pixels tall`)
      }
      await clickLast(page, '.trust button')
      await blur(page)
      mkdirSync(screenshots, { recursive: true })
      await page.screenshot({ path: `${screenshots}${width}-${theme}.png`, fullPage: true })
      assert.deepEqual(complaints, [])
      assert.deepEqual(foreign, [])
      await page.close()
    })
  }
}
