// Section 3: layer norm, batch norm and RMSNorm of one batch.

import assert from 'node:assert/strict'
import { load } from 'gpt-layers'
import { draw, normalise } from '../../web/demo/src/sections/norms/compute.js'
import { golden, unpack } from '../lib/support.js'
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
  open(browser, `${server.url}?embed=norms${query}`, { ready: '.predict', ...options })
const cell = (page, label) => page.$(`input[aria-label="${label}"]`)
const value = (page, label) =>
  page.$eval(`input[aria-label="${label}"]`, (input) => Number(input.ariaValueNow))
const said = (page) => page.$eval('#norms', (section) => section.textContent.replace(/\s+/g, ' '))
const whose = (page) => page.$$eval('#norms .whose', (all) => all.map((one) => one.textContent.trim()))
/** A norm's numbers, row by row, without its statistics. */
const numbers = (page, name) =>
  page.$$eval(`#norms [data-norm=${name}] tbody tr:has(.side, .level)`, (rows) =>
    rows.map((row) =>
      [...row.querySelectorAll('.cell:not(.statistic)')].map((one) =>
        Number(one.textContent.replace('−', '-')),
      ),
    ),
  )
/** Which cells of a norm are marked as moved: 'row column', both from 1. */
const moved = (page, name) =>
  page.$$eval(`#norms [data-norm=${name}] tbody tr`, (rows) =>
    rows.flatMap((row, r) =>
      [...row.querySelectorAll('.cell:not(.statistic)')].flatMap((one, c) =>
        one.matches('.moved') ? `${r + 1} ${c + 1}` : [],
      ),
    ),
  )

/** Every number as it was, or to four decimals. */
function assertNear(values, packed, tolerance) {
  const flat = values.flat()
  const expected = unpack(packed)
  assert.equal(flat.length, expected.length)
  flat.forEach((value, i) =>
    assert.ok(Math.abs(value - expected[i]) <= tolerance, `${i}: ${value}, expected ${expected[i]}`),
  )
}

const expected = golden('page_norms')

test('the batch, what batch norm kept, and every norm at every size are PyTorch’s', async () => {
  const gpt = await load()
  const drawn = draw(gpt, 123)
  assertNear(drawn.x, expected.x, 1e-6)
  assertNear([...drawn.runningMean], expected.runningMean, 1e-5)
  assertNear([...drawn.runningVar], expected.runningVar, 1e-5)
  for (const { samples, layer, rms, training, evaluation } of expected.batches) {
    const x = drawn.x.slice(0, samples)
    assertNear(normalise(gpt, 'layer', x, null).values, layer, 1e-5)
    assertNear(normalise(gpt, 'rms', x, null).values, rms, 1e-5)
    assertNear(normalise(gpt, 'batch', x, drawn).values, evaluation, 1e-5)
    if (training) assertNear(normalise(gpt, 'batch', x, null).values, training, 1e-5)
    else assert.equal(normalise(gpt, 'batch', x, null), null)
  }
})

test('one number changed moves its row in layer norm and its column in batch norm, and the page says so', async () => {
  const { page, complaints } = await show()
  assertNear(await numbers(page, 'layer'), expected.batches[2].layer, 0.51e-4)
  assertNear(await numbers(page, 'batch'), expected.batches[2].training, 0.51e-4)
  const [layer, batch] = [await numbers(page, 'layer'), await numbers(page, 'batch')]
  await (await cell(page, 'x₂₃')).focus()
  await page.keyboard.type('2')
  const changed = (now, before) =>
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

test('a number is dragged and stepped, and the batch as drawn comes back', async () => {
  const { page } = await show()
  const first = await value(page, 'x₁₁')
  const box = await (await cell(page, 'x₁₁')).boundingBox()
  await page.mouse.move(box.x + 10, box.y + 10)
  await page.mouse.down()
  await page.mouse.move(box.x + 50, box.y + 10, { steps: 5 })
  await page.mouse.up()
  assert.ok(Math.abs((await value(page, 'x₁₁')) - first - 1) < 1e-5)
  await press(page, 'Shift', 'ArrowUp')
  assert.ok(Math.abs((await value(page, 'x₁₁')) - first - 2) < 1e-5)
  await (await page.waitForSelector('#norms ::-p-text(the batch as drawn)')).click()
  assert.equal(await value(page, 'x₁₁'), first)
  await page.close()
})

test('one sample more moves nothing in layer norm, and everything in batch norm', async () => {
  const { page } = await show()
  const layer = await numbers(page, 'layer')
  await (await page.waitForSelector('#norms ::-p-text(one more)')).click()
  assert.deepEqual((await numbers(page, 'layer')).slice(0, 4), layer)
  assert.deepEqual(await moved(page, 'layer'), [])
  assert.equal((await moved(page, 'batch')).length, 20)
  assert.equal((await whose(page))[0], 'None of these numbers moved.')
  await (await cell(page, 'samples in the batch')).focus()
  await press(page, 'Shift', 'ArrowUp')
  assert.equal((await numbers(page, 'batch')).length, 8)
  assert.ok(await page.$eval('#norms .buttons button:last-child', (button) => button.disabled))
  await page.close()
})

test('of one sample batch norm in training has no variance: words, never NaN; evaluated it has one', async () => {
  const { page, complaints } = await show('&norms.batch=1')
  assert.match(await said(page), /A column of one number is its own mean, and has no variance to divide by/)
  assert.doesNotMatch(await said(page), /NaN|∞|—/)
  assertNear(await numbers(page, 'layer'), expected.batches[0].layer, 0.51e-4)
  await page.select('select[aria-label="batch norm’s mode"]', 'evaluation')
  assertNear(await numbers(page, 'batch'), expected.batches[0].evaluation, 0.51e-4)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('evaluated, batch norm moves no number but the one changed', async () => {
  const { page } = await show('&norms.mode=evaluation')
  await (await cell(page, 'x₂₃')).focus()
  await page.keyboard.type('2')
  assert.deepEqual(await moved(page, 'batch'), ['2 3'])
  await page.close()
})

test('either table shows any of the three norms, and the address restores all of it', async () => {
  const { page } = await show()
  await page.select('select[aria-label="the norm on the left"]', 'rms')
  assertNear(await numbers(page, 'rms'), expected.batches[2].rms, 0.51e-4)
  await page.select('select[aria-label="the norm on the right"]', 'layer')
  await (await cell(page, 'seed of the batch')).focus()
  await page.keyboard.type('9')
  await (await cell(page, 'x₄₅')).focus()
  await page.keyboard.type('-1.5')
  await page.waitForFunction(() => /norms\.edits=x45/.test(location.search))
  const second = await open(browser, page.url(), { ready: '.predict' })
  assert.deepEqual(await numbers(second.page, 'rms'), await numbers(page, 'rms'))
  assert.deepEqual(await numbers(second.page, 'layer'), await numbers(page, 'layer'))
  assert.equal(await value(second.page, 'x₄₅'), -1.5)
  await second.page.close()
  await page.close()
  const bad = await show('&norms.batch=9&norms.left=group&norms.edits=x96:1')
  assert.match(
    await bad.page.$eval('.problems', (element) => element.textContent),
    /norms\.batch=9, norms\.left=group, norms\.edits=x96:1/,
  )
  assert.equal((await numbers(bad.page, 'layer')).length, 4)
  await bad.page.close()
})

test('the keyboard reaches every number of a norm, and lights up the same', async () => {
  const { page } = await show()
  await (await page.$('#norms [data-norm=layer] td[tabindex="0"]')).focus()
  await press(page, 'ArrowDown')
  await press(page, 'ArrowRight')
  assert.equal((await page.$$('#norms [data-norm=layer] .level.together')).length, 5)
  const formula = await page.$eval('#norms .worked', (one) => one.textContent.replace(/\s/g, ''))
  assert.ok(
    formula.endsWith(`=${(await numbers(page, 'layer'))[1][1].toFixed(4).replace('-', '−')}`),
    formula,
  )
  assert.deepEqual(await whose(page), Array(2).fill('What a change moves will be underlined.'))
  await page.close()
})

test('pointing at a number lights up what shares its statistics, and puts it into the formulas', async () => {
  const { page } = await show()
  await (await page.$('#norms [data-norm=batch] tbody tr:nth-child(2) .cell')).hover()
  assert.equal((await page.$$('#norms [data-norm=batch] .together')).length, 4)
  assert.equal((await page.$$('#norms [data-norm=layer] .together')).length, 5)
  assert.equal((await page.$$('#norms .given .lit')).length, 3)
  const formula = await page.$$eval('#norms .worked', (all) =>
    all.map((one) => one.textContent.replace(/\s/g, '')),
  )
  const [layer, batch] = [(await numbers(page, 'layer'))[1][0], (await numbers(page, 'batch'))[1][0]]
  assert.ok(formula[0].endsWith(`=${layer.toFixed(4)}`), formula[0])
  assert.ok(formula[1].endsWith(`=${batch.toFixed(4)}`), formula[1])
  await page.close()
})

test('an update of the largest batch fits into a frame', async () => {
  const { page } = await open(browser, `${server.url}?norms.batch=8#norms`, { ready: '#norms .given input' })
  await (await page.$('#norms .given input')).focus()
  await assertInFrame(page, () => page.keyboard.press('ArrowUp'))
  await page.close()
})

for (const [width, height] of SCREENS) {
  test(`${width} wide: a screen of its own, no sideways scrolling, a clean console`, async () => {
    const opened = await show('&norms.batch=8', { width, height })
    const { page } = opened
    await (await page.waitForSelector('.predict button')).click()
    assert.match(
      await page.$eval('.answer', (element) => element.textContent),
      /Drag x₂₃: what moves is underlined/,
    )
    await assertOnScreen(opened, 'norms', width, height)
    await page.close()
  })
}
