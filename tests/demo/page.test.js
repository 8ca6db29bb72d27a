// The page as a reader has it: in Chromium, from the demo's own server.

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { golden } from '../lib/support.js'
import { after, before, launch, open, serve, test } from './browser.js'

let server, browser
before(async () => {
  server = await serve()
  browser = await launch()
})
after(async () => {
  await browser?.close()
  server?.stop()
})

/** Numbers from a text PyTorch printed, as the page writes them. */
const printed = (text) => text.match(/-?\d+\.\d{4}/g).map((number) => number.replace('-', '−'))
const controls = golden('notebook')["the page's controls"]

/** The numbers a section shows, row by row, mean and variance included; inputs count by their value. */
const numbers = (page, section) =>
  page.$$eval(`.${section} tbody tr`, (rows) =>
    rows.map((row) =>
      [...row.querySelectorAll('td.cell')].map(
        (cell) => cell.querySelector('input')?.value ?? cell.textContent.trim(),
      ),
    ),
  )
/** What the page says of its numbers, and of what went wrong. */
const trust = (page) =>
  page.$$eval('.trust, .problems', (parts) =>
    parts
      .map((part) => part.textContent)
      .join(' ')
      .replace(/\s+/g, ' ')
      .trim(),
  )
const cell = (page, label) => page.$(`input[aria-label="${label}"]`)

/** Types over a number: to focus it selects it. */
async function type(page, label, text) {
  await page.evaluate(() => document.activeElement.blur())
  await (await cell(page, label)).focus()
  await page.keyboard.type(text)
}

const NOTEBOOK_OUTPUTS = [
  ['0.2260', '0.3470', '0.0000', '0.2216', '0.0000', '0.0000', '0.1324', '0.0231'],
  ['0.2133', '0.2394', '0.0000', '0.5198', '0.3297', '0.0000', '0.2170', '0.0398'],
]
const NOTEBOOK_NORMALISED = [
  ['0.6159', '1.4126', '−0.8719', '0.5872', '−0.8719', '−0.8719', '0.0000', '1.0000'],
  ['−0.0189', '0.1121', '−1.0876', '1.5173', '0.5647', '−1.0876', '0.0000', '1.0000'],
]

test('the notebook’s numbers are there, and the page says so', async () => {
  const { page } = await open(browser, server.url)
  assert.deepEqual(await numbers(page, 'outputs'), NOTEBOOK_OUTPUTS)
  assert.deepEqual(await numbers(page, 'normalised'), NOTEBOOK_NORMALISED)
  assert.match(await trust(page), /These are the notebook’s numbers, to its four decimals: 32 of 32\./)
  assert.match(
    await page.$eval('footer', (element) => element.textContent),
    /(simd|relaxed) build, [\d.]+ kB, 1 thread/,
  )
  await page.close()
})

test('an edit changes its own sample and no other, at once, and can be taken back', async () => {
  const { page } = await open(browser, server.url)
  await type(page, 'x₁₅', '2')
  const normalised = await numbers(page, 'normalised')
  assert.notDeepEqual(normalised[0], NOTEBOOK_NORMALISED[0])
  assert.deepEqual(normalised[1], NOTEBOOK_NORMALISED[1])
  assert.deepEqual(normalised[0].slice(-2), ['0.0000', '1.0000'])
  assert.match(await trust(page), /\d+ of 32.*You changed x₁₅ to 2\.0000; the notebook has −1\.1969/)
  await (await page.waitForSelector('.change button')).click()
  assert.deepEqual(await numbers(page, 'normalised'), NOTEBOOK_NORMALISED)
  await page.close()
})

test('typing is taken with every key, and what is no number is refused with a sentence', async () => {
  const { page } = await open(browser, server.url)
  await type(page, 'x₁₁', '1.')
  await page.keyboard.type('5')
  assert.match(await trust(page), /x₁₁ to 1\.5000/)
  await type(page, 'x₁₁', 'abc')
  await page.keyboard.press('Enter')
  assert.match(await trust(page), /“abc” cannot stand for x₁₁, which stays 1\.5000/)
  assert.equal((await numbers(page, 'batch'))[0][0], '1.5000')
  await page.close()
})

test('a click selects a number to type over, a second one sets the caret', async () => {
  const { page } = await open(browser, server.url)
  const input = await cell(page, 'x₁₂')
  await input.click()
  await page.keyboard.type('12')
  assert.match(await trust(page), /x₁₂ to 12\.0000/)
  await input.click()
  await page.keyboard.press('End')
  await page.keyboard.type('5')
  assert.match(await trust(page), /x₁₂ to 125\.0000/)
  await page.close()
})

test('arrow keys step a number by a tenth, ten times as far with shift, a tenth as far with alt', async () => {
  const { page } = await open(browser, server.url)
  await (await cell(page, 'b₁')).focus()
  const value = () => page.$eval('input[aria-label="b₁"]', (input) => Number(input.ariaValueNow))
  const from = await value()
  const steps = [
    [['ArrowUp'], 0.1],
    [['ArrowDown'], -0.1],
    [['Shift', 'ArrowUp'], 1],
    [['Alt', 'ArrowDown'], -0.01],
  ]
  let expected = from
  for (const [keys, step] of steps) {
    for (const key of keys.slice(0, -1)) await page.keyboard.down(key)
    await page.keyboard.press(keys.at(-1))
    for (const key of keys.slice(0, -1)) await page.keyboard.up(key)
    expected += step
    assert.ok(Math.abs((await value()) - expected) < 1e-5, `${keys}: ${await value()}`)
  }
  await page.close()
})

test('dragging a weight sideways changes it, and what follows from it', async () => {
  const { page } = await open(browser, server.url)
  const box = await (await cell(page, 'w₁₁')).boundingBox()
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.mouse.move(x - 40, y, { steps: 8 })
  await page.mouse.up()
  assert.match(await trust(page), /You changed w₁₁ to −0\.6838; the notebook has 0\.3162/)
  const outputs = await numbers(page, 'outputs')
  assert.notEqual(outputs[0][0], NOTEBOOK_OUTPUTS[0][0])
  assert.deepEqual(outputs[0].slice(1, 6), NOTEBOOK_OUTPUTS[0].slice(1, 6))
  await page.close()
})

test('scale and shift act on their column', async () => {
  const { page } = await open(browser, server.url)
  await type(page, 'γ₂', '2')
  await type(page, 'β₂', '1')
  const normalised = await numbers(page, 'normalised')
  assert.deepEqual(
    normalised.flatMap((row) => row.slice(0, 6)),
    printed(controls['scale 2 and shift 1 in column 2']),
  )
  await page.close()
})

test('the batch itself is normalised as in cell 7: biased, ε 1e-5, mean 0 and variance 1', async () => {
  const { page } = await open(browser, server.url)
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
  assert.equal(await page.$eval('input[aria-label="ε"]', (input) => input.value), '0.00001')
  await page.close()
})

test('seed, variance and ε change the numbers, and the page says what the notebook has', async () => {
  const { page } = await open(browser, server.url)
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
  await page.evaluate(() => [...document.querySelectorAll('.trust button')].at(-1).click())
  assert.match(await trust(page), /32 of 32/)
  await page.close()
})

test('the address restores what is on the screen', async () => {
  const { page } = await open(browser, server.url)
  await type(page, 'x₂₃', '0.1')
  await type(page, 'γ₆', '-3')
  await type(page, 'seed', '99')
  await page.waitForFunction(() => location.search.includes('seed=99'))
  const address = page.url()
  const shown = await page.$eval('#layer', (layer) =>
    [...layer.querySelectorAll('.cell')].map((c) => c.textContent),
  )
  const second = await open(browser, address)
  const restored = await second.page.$eval('#layer', (layer) =>
    [...layer.querySelectorAll('.cell')].map((c) => c.textContent),
  )
  assert.deepEqual(restored, shown)
  assert.deepEqual(await numbers(second.page, 'batch'), await numbers(page, 'batch'))
  assert.match(address, /x23=0\.1(&|$)/)
  await second.page.close()
  await page.close()
})

test('an address with nonsense in it gets a sentence, and what it does say is kept', async () => {
  const { page } = await open(browser, `${server.url}?x11=abc&x99=1&seed=-1&eps=-2&x12=3`)
  assert.match(await trust(page), /The address has x11=abc, x99=1, seed=-1, eps=-2, which means nothing here/)
  assert.match(await trust(page), /x₁₂ to 3\.0000/)
  await page.close()
})

test('a constant row with ε = 0 says why it has no answer, and never NaN', async () => {
  const row = [1, 2, 3, 4, 5].map((i) => `x1${i}=2`).join('&')
  const { page } = await open(browser, `${server.url}?normalise=batch&eps=0&${row}`)
  const text = await page.$eval('#app', (element) => element.textContent)
  assert.doesNotMatch(text, /NaN/)
  assert.match(text, /variance is 0, and with ε = 0 the last step would divide 0 by 0/)
  await page.close()
})

test('all that depends on a number follows within the very event that changes it', async () => {
  const { page } = await open(browser, server.url)
  const [before, after] = await page.evaluate(() => {
    const shown = () =>
      ['.outputs', '.normalised', '.trust'].map((part) => document.querySelector(part).textContent)
    const before = shown()
    const input = document.querySelector('input[aria-label="x₁₅"]')
    input.focus()
    input.value = '3'
    input.dispatchEvent(new InputEvent('input', { bubbles: true }))
    return [before, shown()] // no frame and no task in between
  })
  before.forEach((text, i) => assert.notEqual(after[i], text))
  assert.match(after[2], /x₁₅ to 3\.0000/)
  assert.match(
    await page.$eval('footer', (element) => element.textContent),
    /The last change took \d+\.\d ms/,
  )
  await page.close()
})

test('pointing at an output lights up its point, and pointing at nothing puts it out', async () => {
  const { page } = await open(browser, server.url)
  await (await page.$('.outputs tbody tr:nth-child(2) td.cell')).hover()
  assert.equal((await page.$$('circle.pointed')).length, 3)
  assert.equal((await page.$$('.normalised td.pointed')).length, 1)
  await (await page.$('h1')).hover()
  assert.equal((await page.$$('.pointed')).length, 0)
  await page.close()
})

test('“Watch it move” moves points, and is not offered where motion is not wanted', async () => {
  const { page } = await open(browser, server.url)
  await (await page.$('.journey .watch')).click()
  await page.waitForSelector('circle.moving')
  await page.waitForFunction(() => !document.querySelector('circle.moving'))
  await page.close()
  const still = await open(browser, server.url, { features: { 'prefers-reduced-motion': 'reduce' } })
  assert.equal(await still.page.$('.journey .watch'), null)
  await still.page.close()
})

test('every number to be edited is reached by keyboard and has a name', async () => {
  const { page } = await open(browser, server.url)
  const names = await page.$$eval('#layer input.editable', (inputs) => inputs.map((input) => input.ariaLabel))
  assert.equal(names.length, 10 + 30 + 6 + 12 + 2)
  assert.equal(new Set(names).size, names.length)
  assert.ok(names.every(Boolean))
  assert.equal((await page.$$('#layer input.editable[tabindex="-1"]')).length, 0)
  await page.close()
})

test('the page works below a sub-path and under its Content-Security-Policy', async () => {
  const response = await fetch(server.url)
  assert.match(
    response.headers.get('content-security-policy'),
    /default-src 'self'; script-src 'self' 'wasm-unsafe-eval'/,
  )
  assert.equal(response.headers.get('cross-origin-opener-policy'), 'same-origin')
  assert.doesNotMatch(await response.text(), /(src|href)="\//)
})

const screenshots = fileURLToPath(new URL('../../build/screenshots/', import.meta.url))
for (const [width, height] of [
  [1440, 900],
  [1280, 800],
  [360, 780],
]) {
  for (const theme of ['light', 'dark']) {
    test(`${width} wide, ${theme}: no sideways scrolling, a clean console, no request to anyone else`, async () => {
      const features = { 'prefers-color-scheme': theme }
      const { page, complaints, foreign } = await open(browser, server.url, { width, height, features })
      await type(page, 'x₁₁', '0.5')
      await page.select('select[aria-label="what is normalised"]', 'batch')
      await page.select('select[aria-label="what is normalised"]', 'outputs')
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.ok(overflow <= 0, `${overflow} pixels too wide`)
      if (width >= 1280) {
        // a screen a section: each is in sight without scrolling
        const heights = await page.$$eval('.section', (sections) => sections.map((one) => one.offsetHeight))
        for (const tall of heights) assert.ok(tall <= height, `${tall} pixels tall`)
      }
      await page.evaluate(() => [...document.querySelectorAll('.trust button')].at(-1).click())
      await page.evaluate(() => document.activeElement.blur())
      mkdirSync(screenshots, { recursive: true })
      await page.screenshot({ path: `${screenshots}${width}-${theme}.png`, fullPage: true })
      assert.deepEqual(complaints, [])
      assert.deepEqual(foreign, [])
      await page.close()
    })
  }
}
