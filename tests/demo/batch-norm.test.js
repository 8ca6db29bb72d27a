// The page's section on batch norm: layer norm, batch norm and RMSNorm of one batch.

/** @import { Page } from 'puppeteer-core' */
/** @import { Packed } from '../lib/support.js' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { draw, normalise } from '../../web/demo/src/sections/batch-norm/compute.js'
import { golden, unpack } from '../lib/support.js'
import {
  assertOnScreen,
  click,
  dragNumber,
  field,
  focus,
  get,
  near,
  open,
  press,
  problem,
  SCREENS,
  test,
  text,
  useSite,
} from './browser.js'

const site = useSite()

const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=batch-norm${query}`, { ready: '.predict', ...options })
const value = (/** @type {Page} */ page, /** @type {string} */ label) =>
  page.$eval(`input[aria-label="${label}"]`, (input) => Number(input.ariaValueNow))
const said = (/** @type {Page} */ page) =>
  page.$eval('#batch-norm', (section) => section.textContent.replace(/\s+/g, ' '))
const whose = (/** @type {Page} */ page) =>
  page.$$eval('#batch-norm .whose', (all) => all.map((one) => one.textContent.trim()))
/** A norm's numbers, row by row, without the statistics. */
const numbers = (/** @type {Page} */ page, /** @type {string} */ name) =>
  page.$$eval(`#batch-norm [data-norm=${name}] tbody tr:has(.side, .level)`, (rows) =>
    rows.map((row) =>
      [...row.querySelectorAll('.cell:not(.statistic)')].map((one) =>
        Number(one.textContent.replace('−', '-')),
      ),
    ),
  )
/** The cells of a norm that are marked as moved: 'row column', both counted from 1. */
const moved = (/** @type {Page} */ page, /** @type {string} */ name) =>
  page.$$eval(`#batch-norm [data-norm=${name}] tbody tr`, (rows) =>
    rows.flatMap((row, r) =>
      [...row.querySelectorAll('.cell:not(.statistic)')].flatMap((one, c) =>
        one.matches('.moved') ? `${r + 1} ${c + 1}` : [],
      ),
    ),
  )

/** @param {number[] | number[][] | undefined} values @param {Packed} packed @param {number} tolerance */
function assertNear(values, packed, tolerance) {
  assert.ok(values)
  const flat = values.flat()
  const expected = unpack(packed)
  assert.equal(flat.length, expected.length)
  flat.forEach((value, i) => near(value, expected[i], tolerance))
}

const expected = golden('page_batch_norm')

testInNode(
  'the batch, batch norm’s running statistics and every norm at every batch size are PyTorch’s',
  async () => {
    const gpt = await load()
    const drawn = draw(gpt, 123)
    assertNear(drawn.x, expected.x, 1e-6)
    assertNear([...drawn.runningMean], expected.runningMean, 1e-5)
    assertNear([...drawn.runningVar], expected.runningVar, 1e-5)
    for (const { samples, layer, rms, training, evaluation } of expected.batches) {
      const x = drawn.x.slice(0, samples)
      assertNear(normalise(gpt, 'layer', x, null)?.values, layer, 1e-5)
      assertNear(normalise(gpt, 'rms', x, null)?.values, rms, 1e-5)
      assertNear(normalise(gpt, 'batch', x, drawn)?.values, evaluation, 1e-5)
      if (training) assertNear(normalise(gpt, 'batch', x, null)?.values, training, 1e-5)
      else assert.equal(normalise(gpt, 'batch', x, null), null)
    }
  },
)

test('a changed number moves its row in layer norm and its column in batch norm, and the page says so', async () => {
  const { page, complaints } = await show()
  assertNear(await numbers(page, 'layer'), expected.batches[2].layer, 0.51e-4)
  assertNear(await numbers(page, 'batch'), expected.batches[2].training, 0.51e-4)
  const [layer, batch] = [await numbers(page, 'layer'), await numbers(page, 'batch')]
  await focus(page, field('x₂₃'))
  await page.keyboard.type('2')
  const changed = (/** @type {number[][]} */ now, /** @type {number[][]} */ before) =>
    now.flatMap((row, r) => row.flatMap((v, c) => (v === before[r][c] ? [] : `${r + 1} ${c + 1}`)))
  const row = [1, 2, 3, 4, 5].map((c) => `2 ${c}`)
  const column = [1, 2, 3, 4].map((r) => `${r} 3`)
  assert.deepEqual(changed(await numbers(page, 'layer'), layer), row)
  assert.deepEqual(changed(await numbers(page, 'batch'), batch), column)
  assert.deepEqual(await moved(page, 'layer'), row)
  assert.deepEqual(await moved(page, 'batch'), column)
  assert.deepEqual(await whose(page), [
    'All of sample 2 moved, and no other’s.',
    'Feature 3 of every sample moved.',
  ])
  await press(page, 'Control', 'z')
  assert.deepEqual(await numbers(page, 'batch'), batch)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a number can be dragged and stepped, and a button restores the drawn batch', async () => {
  const { page } = await show()
  const first = await value(page, 'x₁₁')
  await dragNumber(page, 'x₁₁', 40)
  near(await value(page, 'x₁₁'), first + 1, 1e-5)
  await press(page, 'Shift', 'ArrowUp')
  near(await value(page, 'x₁₁'), first + 2, 1e-5)
  await click(page, '#batch-norm ::-p-text(the batch as drawn)')
  assert.equal(await value(page, 'x₁₁'), first)
  await page.close()
})

test('one more sample moves nothing in layer norm and everything in batch norm', async () => {
  const { page } = await show()
  const layer = await numbers(page, 'layer')
  await click(page, '#batch-norm ::-p-text(one more)')
  assert.deepEqual((await numbers(page, 'layer')).slice(0, 4), layer)
  assert.deepEqual(await moved(page, 'layer'), [])
  assert.equal((await moved(page, 'batch')).length, 20)
  assert.equal((await whose(page))[0], 'None of these numbers moved.')
  await focus(page, field('samples in the batch'))
  await press(page, 'Shift', 'ArrowUp')
  assert.equal((await numbers(page, 'batch')).length, 8)
  assert.ok(await page.$eval('#batch-norm .buttons button:last-child', (button) => button.disabled))
  await page.close()
})

test('with one sample, batch norm in training says why it has no result and shows no NaN; in evaluation it has one', async () => {
  const { page, complaints } = await show('&batch-norm.batch=1')
  assert.match(await said(page), /A column of one number is its own mean, and has no variance to divide by/)
  assert.doesNotMatch(await said(page), /NaN|∞|—/)
  assertNear(await numbers(page, 'layer'), expected.batches[0].layer, 0.51e-4)
  await page.select('select[aria-label="batch norm’s mode"]', 'evaluation')
  assertNear(await numbers(page, 'batch'), expected.batches[0].evaluation, 0.51e-4)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('in evaluation, a changed number moves no other in batch norm', async () => {
  const { page } = await show('&batch-norm.mode=evaluation')
  await focus(page, field('x₂₃'))
  await page.keyboard.type('2')
  assert.deepEqual(await moved(page, 'batch'), ['2 3'])
  await page.close()
})

test('either table shows any of the three norms, and the address restores both', async () => {
  const { page } = await show()
  await page.select('select[aria-label="the norm on the left"]', 'rms')
  assertNear(await numbers(page, 'rms'), expected.batches[2].rms, 0.51e-4)
  await page.select('select[aria-label="the norm on the right"]', 'layer')
  await focus(page, field('seed of the batch'))
  await page.keyboard.type('9')
  await focus(page, field('x₄₅'))
  await page.keyboard.type('-1.5')
  await page.waitForFunction(() => /batch-norm\.edits=x45/.test(location.search))
  const second = await open(site.browser, page.url(), { ready: '.predict' })
  assert.deepEqual(await numbers(second.page, 'rms'), await numbers(page, 'rms'))
  assert.deepEqual(await numbers(second.page, 'layer'), await numbers(page, 'layer'))
  assert.equal(await value(second.page, 'x₄₅'), -1.5)
  await second.page.close()
  await page.close()
  const bad = await show('&batch-norm.batch=9&batch-norm.left=group&batch-norm.edits=x96:1')
  assert.match(
    await problem(bad.page),
    /batch-norm\.batch=9, batch-norm\.left=group, batch-norm\.edits=x96:1/,
  )
  assert.equal((await numbers(bad.page, 'layer')).length, 4)
  await bad.page.close()
})

test('the arrow keys reach every number of a norm and highlight what the pointer does', async () => {
  const { page } = await show()
  await focus(page, '#batch-norm [data-norm=layer] td[tabindex="0"]')
  await press(page, 'ArrowDown')
  await press(page, 'ArrowRight')
  assert.equal((await page.$$('#batch-norm [data-norm=layer] .level.together')).length, 5)
  const formula = await page.$eval('#batch-norm .worked', (one) => one.textContent.replace(/\s/g, ''))
  assert.ok(
    formula.endsWith(`=${(await numbers(page, 'layer'))[1][1].toFixed(4).replace('-', '−')}`),
    formula,
  )
  assert.deepEqual(await whose(page), Array(2).fill('What a change moves will be underlined.'))
  await page.close()
})

test('pointing at a number highlights the numbers that share its statistics and fills the formulas', async () => {
  const { page } = await show()
  await (await get(page, '#batch-norm [data-norm=batch] tbody tr:nth-child(2) .cell')).hover()
  assert.equal((await page.$$('#batch-norm [data-norm=batch] .together')).length, 4)
  assert.equal((await page.$$('#batch-norm [data-norm=layer] .together')).length, 5)
  assert.equal((await page.$$('#batch-norm .given .lit')).length, 3)
  const formula = await page.$$eval('#batch-norm .worked', (all) =>
    all.map((one) => one.textContent.replace(/\s/g, '')),
  )
  const [layer, batch] = [(await numbers(page, 'layer'))[1][0], (await numbers(page, 'batch'))[1][0]]
  assert.ok(formula[0].endsWith(`=${layer.toFixed(4)}`), formula[0])
  assert.ok(formula[1].endsWith(`=${batch.toFixed(4)}`), formula[1])
  await page.close()
})

for (const [width, height] of SCREENS) {
  test(`at ${width} by ${height} the section fits the screen, and the console stays empty`, async () => {
    const opened = await show('&batch-norm.batch=8', { width, height })
    const { page } = opened
    await click(page, '.predict button')
    assert.match(await text(page, '.answer'), /Drag x₂₃: what moves is underlined/)
    await assertOnScreen(opened, 'batch-norm', width, height)
    await page.close()
  })
}
