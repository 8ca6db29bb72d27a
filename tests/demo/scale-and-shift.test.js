// “Why scale and shift?”: a scale and a shift per feature, shared by both rows, and its two examples.

/** @import { Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { golden, unpack } from '../lib/support.js'
import { click, drag, near, overflow, press, test, text, type, useSite, WHOLE_SECTION } from './browser.js'

const expected = golden('page_scale_and_shift')
const site = useSite()
const ROOT = '#scale-and-shift'

/** @param {string} [query] @param {OpenOptions} [options] */
const openAlone = (query = '', options = {}) =>
  site.open(`?embed=scale-and-shift${query}`, { ready: WHOLE_SECTION, ...options })
const pressButton = (/** @type {Page} */ page, /** @type {string} */ name) =>
  click(page, `${ROOT} ::-p-xpath(.//button[normalize-space()="${name}"])`)
/** The numbers of both rows after scale and shift, from the dots. @param {Page} page */
const after = (page) =>
  page.$$eval(`${ROOT} [role="slider"]`, (all) => all.map((dot) => Number(dot.ariaValueNow)))
/** @param {number[]} shown @param {{ shape: readonly number[], f64?: string }} packed */
function assertPyTorch(shown, packed) {
  assert.equal(shown.length, 12)
  unpack(packed).forEach((exact, i) => near(shown[i], exact, 1e-5))
}

test('at the start scale is 1 and shift is 0; the sliders change all features of both rows, as PyTorch does', async () => {
  const { page, complaints } = await openAlone()
  assertPyTorch(await after(page), expected.initial)
  await type(page, 'γ of all features', '2')
  await type(page, 'β of all features', '1')
  assertPyTorch(await after(page), expected['scale 2, shift 1'])
  await press(page, 'Control', 'z')
  await press(page, 'Control', 'z')
  assertPyTorch(await after(page), expected.initial)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('“Undo the norm” brings back sample 1 and not sample 2', async () => {
  const { page } = await openAlone()
  await pressButton(page, 'Undo the norm')
  const shown = await after(page)
  assertPyTorch(shown, expected.undone.out)
  const before = unpack(expected.outputs)
  shown.slice(0, 6).forEach((value, i) => near(value, before[i], 1e-5))
  assert.ok(shown.slice(6).some((value, i) => Math.abs(value - before[6 + i]) > 0.05))
  assert.match(await text(page, `${ROOT} .said`), /^Sample 1 is back as it was\. Sample 2 is not/)
  await page.close()
})

test('“Turn one feature off” makes it 0 in every row; its shift then moves it alone', async () => {
  const { page } = await openAlone()
  await pressButton(page, 'Turn one feature off')
  const shown = await after(page)
  assertPyTorch(shown, expected['feature 2 off'])
  assert.match(await text(page, `${ROOT} .said`), /^Feature 2 is off: whatever comes in/)
  await type(page, 'β of feature 2', '1.5')
  const shifted = await after(page)
  assert.deepEqual([shifted[1], shifted[7]], [1.5, 1.5])
  assert.deepEqual(shifted.toSpliced(7, 1).toSpliced(1, 1), shown.toSpliced(7, 1).toSpliced(1, 1))
  await page.close()
})

test('a dot that is dragged shifts its feature in both rows and no other', async () => {
  const { page } = await openAlone()
  const before = await after(page)
  await drag(page, `${ROOT} [role="slider"][aria-label="y₁₂"]`, -80)
  const moved = (await after(page)).map((value, i) => value - before[i])
  assert.ok(moved[1] < -0.3, String(moved))
  near(moved[7], moved[1], 1e-4)
  moved.forEach((by, i) => i % 6 === 1 || near(by, 0, 1e-6))
  await page.waitForFunction(() => location.search.includes('scale-and-shift.shift='))
  const again = await site.open(new URL(page.url()).search, { ready: WHOLE_SECTION })
  assert.deepEqual(await after(again.page), await after(page))
  await again.page.close()
  await page.close()
})

test('one row can be undone, not all: the guess answers right and wrong', async () => {
  const { page } = await openAlone()
  assert.doesNotMatch(await text(page, ROOT), /for one row/)
  await pressButton(page, 'for all')
  assert.match(await text(page, `${ROOT} .answer`), /^Not quite: for one\. With γ = √\(σ² \+ ε\) and β = μ/)
  await pressButton(page, 'for one')
  assert.match(await text(page, `${ROOT} .answer`), /^Yes: .*all rows share one γ and one β/)
  await page.close()
})

test('it fits a laptop’s screen and a phone’s width', async () => {
  for (const [width, height] of [
    [1280, 720],
    [360, 740],
  ]) {
    const { page } = await openAlone('', { width, height })
    await pressButton(page, 'for all')
    await pressButton(page, 'Undo the norm')
    assert.ok((await overflow(page)) <= 0)
    const tall = await page.$eval(ROOT, (section) => section.getBoundingClientRect().height)
    if (width > 1000) assert.ok(tall <= height, `${tall} pixels`)
    await page.close()
  }
})
