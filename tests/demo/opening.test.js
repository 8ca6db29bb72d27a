// The page's first screen: two rows of dots before and after layer normalization.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { golden } from '../lib/support.js'
import { click, dragByFinger, focus, hold, near, press, test, text, useSite } from './browser.js'

const site = useSite()

const BEFORE = ['0.23 0.35 0.00 0.22 0.00 0.00', '0.21 0.24 0.00 0.52 0.33 0.00']
/** What PyTorch's layer_norm gives for these rows. */
const { 'LayerNorm of the outputs': printed } = golden('notebook')["the page's controls"]
const AFTER = (printed.match(/-?\d+\.\d{4}/g) ?? []).map(Number)
const STILL = { features: { 'prefers-reduced-motion': 'reduce' } }

/**
 * The numbers under the dots of each row, then mean and variance at the row's end. Runs in the page.
 *
 * @returns {{ values: number[], mean: number, variance: number }[]}
 */
function readRows() {
  const number = (/** @type {Element} */ one) => Number(one.textContent?.replace('−', '-'))
  const values = [...document.querySelectorAll('#opening .value')].map(number)
  const ends = [...document.querySelectorAll('#opening .number')].map(number)
  return [0, 1, 2, 3].map((r) => ({
    values: values.slice(6 * r, 6 * r + 6),
    mean: ends[2 * r],
    variance: ends[2 * r + 1],
  }))
}
const rows = (/** @type {Page} */ page) => page.evaluate(readRows)
const told = (/** @type {Page} */ page) =>
  page.waitForSelector('#opening button:enabled ::-p-text(Watch again)')
const dot = (/** @type {string} */ name) => `#opening [role="slider"][aria-label="${name}"]`
const valueOf = (/** @type {Page} */ page, /** @type {string} */ name) =>
  page.$eval(dot(name), (slider) => Number(slider.ariaValueNow))

/** @param {{ values: number[] }[]} shown */
function assertPyTorch(shown) {
  shown
    .flatMap(({ values }, r) => (r % 2 ? values : []))
    .forEach((value, i) => near(value, AFTER[i], 0.00501))
}

/**
 * What stands at a row's end.
 *
 * @param {{ mean: number, variance: number }} row
 * @param {{ mean: number, variance: number }} expected
 */
const assertMoments = ({ mean, variance }, expected) => assert.deepEqual({ mean, variance }, expected)

test('on load each row slides and stretches, once, and ends with PyTorch’s numbers', async () => {
  const { page, complaints } = await site.open()
  await told(page)
  const shown = await rows(page)
  assert.deepEqual(
    [shown[0], shown[2]].map(({ values }) => values.map((value) => value.toFixed(2)).join(' ')),
    BEFORE,
  )
  assertPyTorch(shown)
  for (const row of [shown[1], shown[3]]) assertMoments(row, { mean: 0, variance: 1 })
  assertMoments(shown[0], { mean: 0.13, variance: 0.02 })
  assert.equal(await text(page, '#opening .note'), 'Computed as PyTorch does: 12 of 12 numbers.')
  assert.deepEqual(complaints, [])
  await page.close()
})

test('“Watch again” begins with the rows as they are', async () => {
  const { page } = await site.open('', { byFrames: true })
  await told(page)
  await click(page, '#opening button ::-p-text(Watch again)')
  await page.waitForFunction(`(${readRows})()[1].values.join() === (${readRows})()[0].values.join()`)
  await told(page)
  assertPyTorch(await rows(page))
  await page.close()
})

test('with reduced motion nothing moves: before and after stand side by side at once', async () => {
  const { page } = await site.open('', STILL)
  assertPyTorch(await rows(page))
  assert.doesNotMatch(await text(page, '#opening'), /Watch again/)
  await page.close()
})

test('dragging a dot changes its row and no other; the numbers stay PyTorch’s until then', async () => {
  const { page } = await site.open('', STILL)
  const before = await rows(page)
  const { x, y } = await hold(page, dot('x₁₂'))
  await page.mouse.move(x + 120, y, { steps: 4 })
  const after = await rows(page)
  await page.mouse.up()
  assert.ok((await valueOf(page, 'x₁₂')) > 0.6)
  assert.deepEqual(after[0].values.toSpliced(1, 1), before[0].values.toSpliced(1, 1))
  assert.notDeepEqual(after[1], before[1])
  assertMoments(after[1], { mean: 0, variance: 1 })
  assert.deepEqual(after.slice(2), before.slice(2))
  assert.match(await text(page, '#opening .note'), /You moved x₁₂; in PyTorch’s example it is 0\.3470\./)
  await click(page, '#opening button ::-p-text(Put back)')
  assert.deepEqual(await rows(page), before)
  await page.close()
})

test('a finger drags a dot', async () => {
  const { page } = await site.open('', { ...STILL, width: 360, height: 740 })
  await dragByFinger(page, dot('x₂₄'), 60)
  assert.ok((await valueOf(page, 'x₂₄')) > 1)
  await page.close()
})

test('keys move a dot by 0.05, ten times with shift, and choose another; the row follows in the same event', async () => {
  const { page } = await site.open('', STILL)
  await focus(page, dot('x₁₁'))
  const from = await valueOf(page, 'x₁₁')
  await press(page, 'ArrowRight')
  near(await valueOf(page, 'x₁₁'), from + 0.05, 1e-4)
  await press(page, 'Shift', 'ArrowLeft')
  near(await valueOf(page, 'x₁₁'), from - 0.45, 1e-4)
  await press(page, 'End')
  near(await valueOf(page, 'x₁₁'), 2.4, 1e-4)
  await press(page, 'ArrowDown')
  const second = await valueOf(page, 'x₁₂')
  await press(page, 'ArrowRight')
  near(await valueOf(page, 'x₁₂'), second + 0.05, 1e-4)
  const [was, is] = await page.evaluate(() => {
    const shown = () => document.querySelector('#opening svg')?.textContent
    const was = shown()
    document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }))
    return [was, shown()] // no frame and no task in between
  })
  assert.notEqual(is, was)
  await page.close()
})

test('Tab reaches each row once', async () => {
  const { page } = await site.open('', STILL)
  assert.equal((await page.$$('#opening [role="slider"]')).length, 12)
  assert.equal((await page.$$('#opening [role="slider"][tabindex="0"]')).length, 2)
  await page.close()
})

test('the address keeps the rows, undo and the presets change them in their places', async () => {
  const { page } = await site.open('', STILL)
  const before = await rows(page)
  await click(page, '#opening button ::-p-text(More)')
  await click(page, '#opening button ::-p-text(an outlier)')
  const outlier = await rows(page)
  assert.ok(outlier[1].values[4] > 2.2)
  assert.deepEqual(outlier.slice(2), before.slice(2))
  await page.waitForFunction(() => location.search.includes('opening.first='))
  const again = await site.open(new URL(page.url()).search, STILL)
  assert.deepEqual(await rows(again.page), outlier)
  await again.page.close()
  await press(page, 'Control', 'z')
  assert.deepEqual(await rows(page), before)
  await page.close()
})

test('a row of equal numbers becomes zeros, not NaN', async () => {
  const { page } = await site.open('?opening.first=0.5,0.5,0.5,0.5,0.5,0.5', STILL)
  const [, after] = await rows(page)
  assert.deepEqual(after, { values: [0, 0, 0, 0, 0, 0], mean: 0, variance: 0 })
  await page.close()
})

test('the first screen has the whole opening and nothing else', async () => {
  for (const [width, height] of [
    [1440, 900],
    [1280, 720],
    [360, 740],
  ]) {
    const { page } = await site.open('', { width, height })
    await told(page)
    const { bottom, next } = await page.evaluate(() => ({
      bottom: document.querySelector('#opening .menu')?.getBoundingClientRect().bottom ?? Infinity,
      next: document.querySelector('nav')?.getBoundingClientRect().top ?? 0,
    }))
    assert.ok(bottom <= height, `${width} by ${height}: ${bottom}`)
    assert.ok(next >= height, `${width} by ${height}: the contents begin at ${next}`)
    await page.close()
  }
})
