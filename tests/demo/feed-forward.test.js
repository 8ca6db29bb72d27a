// Section 5 of the page: the feed-forward network, its numbers and its timing.

/** @import { KeyInput, Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { plainFeedForward } from '../../web/demo/src/plain.js'
import { create, look, time, weightsOf } from '../../web/demo/src/sections/feed-forward/compute.js'
import { STAGES } from '../../web/demo/src/sections/feed-forward/slice.js'
import { golden } from '../lib/support.js'
import {
  assertOnScreen,
  boxOf,
  click,
  field,
  focus,
  matched,
  near,
  parse,
  press,
  SCREENS,
  test,
  text,
  useSite,
} from './browser.js'

const site = useSite()

/**
 * @type {{
 *   seed: number, sizes: number[], hidden: { linear: number, gelu: number },
 *   stages: { name: string, mean: number[], variance: number[], last: number[] }[]
 * }}
 */
const expected = golden('page_feed_forward')
const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=feed-forward${query}`, { ready: '#feed-forward canvas', ...options })
const said = (/** @type {Page} */ page, where = '#feed-forward') => text(page, where)
/** A table's numbers, row by row. @param {Page} page @param {number} nth of the section's tables */
const table = async (page, nth) =>
  (
    await page.$$eval('#feed-forward table', (tables) =>
      tables.map((one) =>
        [...one.querySelectorAll('tbody tr')].map((row) =>
          [...row.querySelectorAll('.cell')].map((cell) => Number(cell.textContent.trim().replace('−', '-'))),
        ),
      ),
    )
  )[nth]

testInNode(
  'the numbers, means and variances of each stage and the parameter counts are PyTorch’s',
  async () => {
    const found = look(await load(), expected.seed)
    assert.deepEqual(found.sizes, expected.sizes)
    expected.stages.forEach(({ name, mean, variance, last }, i) => {
      assert.equal(STAGES[i].name, name)
      mean.forEach((value, token) => near(found.stages[i].mean[token], value, 1e-6))
      variance.forEach((value, token) => near(found.stages[i].variance[token], value, 1e-6))
      last.forEach((value, j) => near(found.stages[i].values.at(j - last.length) ?? NaN, value, 2e-6))
    })
  },
)

testInNode('the plain C that the page times computes the same numbers as the package', async () => {
  const network = create(await load(), expected.seed)
  const module = new WebAssembly.Module(readFileSync(new URL('../../build/wasm/plain.wasm', import.meta.url)))
  const plain = plainFeedForward(module, weightsOf(network.layer), network.x.size / network.layer.embDim)
  const y = plain(network.x.data)
  network.layer.forward(network.x).data.forEach((value, i) => near(value, y[i], 2e-6))
  expected.stages[3].last.forEach((value, j) => near(y.at(j - 8) ?? NaN, value, 1e-7))
})

testInNode('a call’s time is the median of samples that are long enough for a coarse clock', () => {
  let at = 0
  let calls = 0
  const { median, lower, upper } = time(
    () => (calls++, (at += calls % 7 ? 3 : 10)),
    () => at,
  )
  assert.ok(lower <= median && median <= upper && lower >= 3 && upper < 10, `${lower} ${median} ${upper}`)
  assert.ok(calls > 15 * 5)
})

test('the page shows PyTorch’s numbers, and after a guess the sum 4,722,432', async () => {
  const { page, complaints } = await show()
  const rows = await table(page, 0)
  assert.equal(rows.length, 6)
  rows.forEach((row, token) =>
    expected.stages.forEach(({ mean, variance }, i) => {
      near(row[2 * i], mean[token], 0.6e-4)
      near(row[2 * i + 1], variance[token], 0.6e-4)
    }),
  )
  const [linear, gelu] = ((await said(page, '.here')).match(/−?0\.\d+/g) ?? []).map(parse)
  near(linear, expected.hidden.linear, 2e-6)
  near(gelu, expected.hidden.gelu, 2e-6)
  assert.doesNotMatch(await said(page), /4,722,432/)
  await click(page, '.predict button')
  assert.match(await said(page, '.answer'), /768 · 3072 \+ 3072 \+ 3072 · 768 \+ 768 = 4,722,432/)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('pointing at a number shows it and its neighbors; the arrow keys move on, and the address follows', async () => {
  const { page } = await show()
  const maps = await page.$$('#feed-forward .map')
  assert.equal(maps.length, 4)
  const box = await boxOf(maps[3])
  await page.mouse.move(box.x + box.width - 1, box.y + box.height - 1)
  assert.match(await said(page, '.here'), /^y\[1, 2, 767\] = /)
  const around = (await table(page, 1))[0]
  around.forEach((value, i) => near(value, expected.stages[3].last[i + 1], 0.6e-4))
  await maps[1].focus()
  assert.match(await said(page, '.here'), /^Hidden\[1, 2, 767\]/)
  /** @type {[KeyInput[], number][]} */
  const steps = [
    [['ArrowRight'], 768],
    [['ArrowDown'], 768 + 96],
    [['Shift', 'ArrowLeft'], 768 + 86],
    [['ArrowUp'], 758],
    [['End'], 3071],
    [['ArrowRight'], 3071],
    [['Home'], 0],
  ]
  for (const [keys, place] of steps) {
    await press(page, ...keys)
    assert.match(await said(page, '.here'), new RegExp(`^Hidden\\[1, 2, ${place}\\]`), keys.join('+'))
  }
  await press(page, 'ArrowLeft')
  assert.match(await said(page, '.here'), /^Hidden\[1, 1, 3071\]/)
  await maps[0].focus()
  assert.match(await said(page, '.here'), /^x\[1, 1, 767\] = 0\.\d+, drawn evenly/)
  await page.waitForFunction(() =>
    /feed-forward\.stage=x&feed-forward\.token=4&feed-forward\.number=767/.test(location.search),
  )
  await page.close()
})

test('another seed draws another network, as a step to undo; invalid values in the address are named', async () => {
  const { page, complaints } = await show('&feed-forward.seed=5', {
    features: { 'prefers-reduced-motion': 'reduce' },
  })
  const first = await table(page, 0)
  await focus(page, field('seed of the network'))
  await page.keyboard.type('6')
  await page.waitForFunction(
    (text) => document.querySelector('#feed-forward td.cell')?.textContent.trim() !== text,
    {},
    first[0][0].toFixed(4),
  )
  await press(page, 'Control', 'z')
  await page.waitForFunction(
    (text) => document.querySelector('#feed-forward td.cell')?.textContent.trim() === text,
    {},
    first[0][0].toFixed(4),
  )
  assert.deepEqual(await table(page, 0), first)
  assert.deepEqual(complaints, [])
  await page.close()
  const bad = await show('&feed-forward.number=4000')
  assert.match(await said(bad.page, '.problems'), /feed-forward\.number=4000, which means nothing/)
  await bad.page.close()
})

/** Presses a button of the timing. @param {Page} page @param {string} name */
const pressButton = (page, name) => click(page, `#feed-forward .side button ::-p-text(${name})`)

test('the timing can be stopped', async () => {
  const { page, complaints } = await show()
  // A worker that receives no message never finishes.
  await page.evaluate(() => {
    window.Worker = class extends Worker {
      postMessage() {}
    }
  })
  await pressButton(page, 'measure it')
  await pressButton(page, 'stop')
  assert.match(await said(page, '.side figure'), /Stopped\./)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('each build that this browser can run is timed beside the plain C and gives the same numbers', async () => {
  const { page, complaints } = await show('', { width: 1280, height: 800 })
  await click(page, '.predict button')
  await pressButton(page, 'measure it')
  await page.waitForSelector('#feed-forward ::-p-text(measure again)')
  const sentence = await page.$eval('#feed-forward svg', (svg) => svg.ariaLabel ?? '')
  const times = Object.fromEntries(
    [...sentence.matchAll(/(plain C|simd|relaxed) ([\d.]+) ms/g)].map(([, name, ms]) => [name, Number(ms)]),
  )
  assert.ok(times['plain C'] > 0 && times.simd > 0, sentence)
  const built = existsSync(new URL('../../dist/wasm/relaxed.wasm', import.meta.url))
  if (built) assert.ok(times.relaxed > 0, sentence)
  else assert.match(await said(page, '.side figure'), /built without/)
  const off = parse(matched(/further than ([\d.]+e−\d+)/, await said(page)))
  assert.ok(off < 2e-6, `${off}`)
  const tall = await page.$eval('#feed-forward', (section) => section.getBoundingClientRect().height)
  assert.ok(tall <= 800, `${tall} pixels tall with the times`)
  assert.deepEqual(complaints, [])
  await page.close()
})

for (const [width, height] of SCREENS) {
  test(`at ${width} by ${height} the section fits the screen, and the console stays empty`, async () => {
    const opened = await show('', { width, height })
    const { page } = opened
    await click(page, '.predict button')
    assert.doesNotMatch(await said(page), /NaN|undefined|Infinity/)
    await assertOnScreen(opened, 'feed-forward', width, height)
    await page.close()
  })
}
