// Section 5: the feed-forward network, its numbers and its time.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { load } from 'gpt-layers'
import { plainFeedForward } from '../../web/demo/src/plain.js'
import { create, look, time, weightsOf } from '../../web/demo/src/sections/feedforward/compute.js'
import { STAGES } from '../../web/demo/src/sections/feedforward/slice.js'
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

const expected = golden('page_feedforward')
const show = (query = '', options = {}) =>
  open(browser, `${server.url}?embed=feedforward${query}`, { ready: '#feedforward canvas', ...options })
const said = (page, where = '#feedforward') =>
  page.$eval(where, (element) => element.textContent.replace(/\s+/g, ' ').trim())
/** A table's numbers, row by row. */
const table = async (page, nth) =>
  (
    await page.$$eval('#feedforward table', (tables) =>
      tables.map((one) =>
        [...one.querySelectorAll('tbody tr')].map((row) =>
          [...row.querySelectorAll('.cell')].map((cell) => Number(cell.textContent.trim().replace('−', '-'))),
        ),
      ),
    )
  )[nth]

const near = (a, b, tolerance) => assert.ok(Math.abs(a - b) <= tolerance, `${a}, expected ${b}`)

test('the numbers, means and variances on the way, and the parameters, are PyTorch’s', async () => {
  const found = look(await load(), expected.seed)
  assert.deepEqual(found.sizes, expected.sizes)
  expected.stages.forEach(({ name, mean, variance, last }, i) => {
    assert.equal(STAGES[i].name, name)
    mean.forEach((value, token) => near(found.stages[i].mean[token], value, 1e-6))
    variance.forEach((value, token) => near(found.stages[i].variance[token], value, 1e-6))
    last.forEach((value, j) => near(found.stages[i].values.at(j - last.length), value, 2e-6))
  })
})

test('the plain C that the page times computes the same numbers as the package', async () => {
  const network = create(await load(), expected.seed)
  const module = new WebAssembly.Module(readFileSync(new URL('../../build/wasm/plain.wasm', import.meta.url)))
  const plain = plainFeedForward(module, weightsOf(network.layer), network.x.size / network.layer.embDim)
  const y = plain(network.x.data)
  network.layer.forward(network.x).data.forEach((value, i) => near(value, y[i], 2e-6))
  expected.stages[3].last.forEach((value, j) => near(y.at(j - 8), value, 1e-7))
})

test('a call is timed as the median of samples that are long enough for a coarse clock', () => {
  let at = 0
  let calls = 0
  const { median, lower, upper } = time(
    () => (calls++, (at += calls % 7 ? 3 : 10)),
    () => at,
  )
  assert.ok(lower <= median && median <= upper && lower >= 3 && upper < 10, `${lower} ${median} ${upper}`)
  assert.ok(calls > 15 * 5)
})

test('the page shows them, and 4,722,432 with its sum once one has guessed', async () => {
  const { page, complaints } = await show()
  const rows = await table(page, 0)
  assert.equal(rows.length, 6)
  rows.forEach((row, token) =>
    expected.stages.forEach(({ mean, variance }, i) => {
      near(row[2 * i], mean[token], 0.6e-4)
      near(row[2 * i + 1], variance[token], 0.6e-4)
    }),
  )
  const [linear, gelu] = (await said(page, '.here'))
    .match(/−?0\.\d+/g)
    .map((text) => Number(text.replace('−', '-')))
  near(linear, expected.hidden.linear, 2e-6)
  near(gelu, expected.hidden.gelu, 2e-6)
  assert.doesNotMatch(await said(page), /4,722,432/)
  await (await page.waitForSelector('.predict button')).click()
  assert.match(await said(page, '.answer'), /768 · 3072 \+ 3072 \+ 3072 · 768 \+ 768 = 4,722,432/)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('pointing at a number reads it out with its neighbours; the arrow keys walk, and the address follows', async () => {
  const { page } = await show()
  const maps = await page.$$('#feedforward .map')
  assert.equal(maps.length, 4)
  const box = await maps[3].boundingBox()
  await page.mouse.move(box.x + box.width - 1, box.y + box.height - 1)
  assert.match(await said(page, '.here'), /^y\[1, 2, 767\] = /)
  const around = (await table(page, 1))[0]
  around.forEach((value, i) => near(value, expected.stages[3].last[i + 1], 0.6e-4))
  await maps[1].focus()
  assert.match(await said(page, '.here'), /^Hidden\[1, 2, 767\]/)
  for (const [keys, place] of [
    [['ArrowRight'], 768],
    [['ArrowDown'], 768 + 96],
    [['Shift', 'ArrowLeft'], 768 + 86],
    [['ArrowUp'], 758],
    [['End'], 3071],
    [['ArrowRight'], 3071],
    [['Home'], 0],
  ]) {
    await press(page, ...keys)
    assert.match(await said(page, '.here'), new RegExp(`^Hidden\\[1, 2, ${place}\\]`), keys.join('+'))
  }
  await press(page, 'ArrowLeft')
  assert.match(await said(page, '.here'), /^Hidden\[1, 1, 3071\]/)
  await maps[0].focus()
  assert.match(await said(page, '.here'), /^x\[1, 1, 767\] = 0\.\d+, drawn evenly/)
  await page.waitForFunction(() =>
    /feedforward\.stage=x&feedforward\.token=4&feedforward\.number=767/.test(location.search),
  )
  await page.close()
})

test('another seed draws another network, as a step to undo, and nonsense is refused', async () => {
  const { page, complaints } = await show('&feedforward.seed=5', {
    features: { 'prefers-reduced-motion': 'reduce' },
  })
  const first = await table(page, 0)
  await (await page.$('input[aria-label="seed of the network"]')).focus()
  await page.keyboard.type('6')
  await page.waitForFunction(
    (text) => document.querySelector('#feedforward td.cell').textContent.trim() !== text,
    {},
    first[0][0].toFixed(4),
  )
  await press(page, 'Control', 'z')
  await page.waitForFunction(
    (text) => document.querySelector('#feedforward td.cell').textContent.trim() === text,
    {},
    first[0][0].toFixed(4),
  )
  assert.deepEqual(await table(page, 0), first)
  assert.deepEqual(complaints, [])
  await page.close()
  const bad = await show('&feedforward.number=4000')
  assert.match(await said(bad.page, '.problems'), /feedforward\.number=4000, which means nothing/)
  await bad.page.close()
})

test('each build that this browser runs is timed here beside the plain C, and that can be stopped', async () => {
  const { page, complaints } = await show('', { width: 1280, height: 800 })
  await (await page.waitForSelector('.predict button')).click()
  const press = async (name) =>
    (await page.waitForSelector(`#feedforward .side button ::-p-text(${name})`)).click()
  await press('measure it')
  await press('stop')
  assert.match(await said(page, '.side figure'), /Stopped\./)
  await press('measure')
  await page.waitForSelector('#feedforward ::-p-text(measure again)', { timeout: 60000 })
  const sentence = await page.$eval('#feedforward svg', (svg) => svg.ariaLabel)
  const times = Object.fromEntries(
    [...sentence.matchAll(/(plain C|simd|relaxed) ([\d.]+) ms/g)].map(([, name, ms]) => [name, Number(ms)]),
  )
  assert.ok(times.simd < times['plain C'], sentence)
  const built = existsSync(new URL('../../dist/wasm/relaxed.wasm', import.meta.url))
  if (built) assert.ok(times.relaxed < times['plain C'], sentence)
  else assert.match(await said(page, '.side figure'), /built without/)
  const off = Number(/further than ([\d.]+e−\d+)/.exec(await said(page))[1].replace('−', '-'))
  assert.ok(off < 2e-6, `${off}`)
  const tall = await page.$eval('#feedforward', (section) => section.offsetHeight)
  assert.ok(tall <= 800, `${tall} pixels tall with the times`)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('an update fits into a frame', async () => {
  const { page } = await open(browser, `${server.url}#feedforward`, { ready: '#feedforward canvas' })
  await (await page.$('#feedforward .map')).focus()
  await assertInFrame(page, () => page.keyboard.press('ArrowRight'))
  await page.close()
})

for (const [width, height] of SCREENS) {
  test(`${width} wide: a screen of its own, no sideways scrolling, a clean console`, async () => {
    const opened = await show('', { width, height })
    const { page } = opened
    await (await page.waitForSelector('.predict button')).click()
    assert.doesNotMatch(await said(page), /NaN|undefined|Infinity/)
    await assertOnScreen(opened, 'feedforward', width, height)
    await page.close()
  })
}
