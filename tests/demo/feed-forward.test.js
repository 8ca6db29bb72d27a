// The section on FeedForward: a token on its way through the network, and the network's timing.

/** @import { Page } from 'puppeteer-core' */
/** @import { Box, OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { plainFeedForward } from '../../build/demo/plain.js'
import { create, look, time, weightsOf } from '../../build/demo/sections/feed-forward/compute.js'
import { unfold } from '../../build/demo/sections/feed-forward/recording.js'
import { golden } from '../lib/support.js'
import { click, hover, matched, near, newPage, parse, press, test, text, type, useSite } from './browser.js'

const site = useSite()

/**
 * @type {{
 *   seed: number, sizes: number[],
 *   stages: { name: string, mean: number, variance: number, first: number[] }[]
 * }}
 */
const expected = golden('page_feed_forward')
const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=feed-forward${query}`, { ready: '#feed-forward .figure[aria-busy="false"]', ...options })
const said = (/** @type {Page} */ page, where = '#feed-forward') => text(page, where)
/** The rows' means and variances. @param {Page} page */
const statistics = async (page) =>
  [...(await said(page, '#feed-forward .figure')).matchAll(/mean(−?[\d.]+)variance([\d.]+)/g)].map(
    ([, ...numbers]) => numbers.map(parse),
  )
const NOTE = '#feed-forward .figure > .note'
const MORE = '#feed-forward button[aria-label="More: feed-forward"]'

testInNode('a token on its way, and the parameter counts, are PyTorch’s', async () => {
  const gpt = await load()
  const found = look(gpt, create(gpt, expected.seed))
  assert.deepEqual(found.sizes, expected.sizes)
  expected.stages.forEach(({ name, mean, variance, first }, i) => {
    const stage = found.stages[i]
    assert.equal(stage.name, name)
    near(stage.mean, mean, 1e-6)
    near(stage.variance, variance, 1e-6)
    first.forEach((value, j) => near(stage.values[j], value, 2e-6))
  })
})

testInNode('the recording is what PyTorch computes, to three digits', () => {
  const path = new URL('../../web/demo/src/sections/feed-forward/recording.json', import.meta.url)
  const recording = JSON.parse(readFileSync(path, 'utf8'))
  assert.deepEqual(recording.sizes, expected.sizes)
  expected.stages.forEach(({ name, mean, variance }, i) => {
    const { values, ...recorded } = unfold(recording.stages[i])
    assert.equal(recorded.name, name)
    near(recorded.mean, mean, 5e-4)
    near(recorded.variance, variance, 5e-4)
    // The numbers are spread evenly in bins of 0.02.
    assert.equal(values.length, [768, 3072, 3072, 768][i])
    const average = values.reduce((sum, value) => sum + value / values.length, 0)
    near(average, mean, 0.005)
    near(
      values.reduce((sum, value) => sum + (value - average) ** 2 / values.length, 0),
      variance,
      0.005,
    )
  })
})

testInNode('the plain C that the page times computes the same numbers as the package', async () => {
  const network = create(await load(), expected.seed)
  const module = new WebAssembly.Module(readFileSync(new URL('../../build/wasm/plain.wasm', import.meta.url)))
  const plain = plainFeedForward(module, weightsOf(network.layer), network.x.size / network.layer.embDim)
  const y = plain(network.x.data)
  network.layer.forward(network.x).data.forEach((value, i) => near(value, y[i], 2e-6))
  expected.stages[3].first.forEach((value, j) => near(y[j], value, 1e-6))
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

test('the page shows PyTorch’s means and variances, and after a guess the sum 4,722,432', async () => {
  const { page, complaints, foreign } = await show('', { width: 1280, height: 720 })
  const shown = await statistics(page)
  assert.equal(shown.length, expected.stages.length)
  expected.stages.forEach(({ mean, variance }, i) => {
    near(shown[i][0], mean, 0.5001e-2)
    near(shown[i][1], variance, 0.5001e-2)
  })
  assert.doesNotMatch(await said(page), /4,722,432|Recording/)
  await click(page, '#feed-forward .guess button ::-p-text(50 million)')
  assert.match(
    await said(page, '#feed-forward .answer'),
    /^Not quite: 768 · 3072 \+ 3072 \+ 3072 · 768 \+ 768 = 4,722,432/,
  )
  await click(page, '#feed-forward .guess button ::-p-text(5 million)')
  assert.match(await said(page, '#feed-forward .answer'), /^Yes: .*56,669,184/)
  const tall = await page.evaluate(() => document.documentElement.scrollHeight)
  assert.ok(tall <= 720, `${tall} pixels tall`)
  assert.deepEqual([...complaints, ...foreign], [])
  await page.close()
})

/** The page's next workers receive no message, and so never answer; in the page. */
function silenceWorkers() {
  window.Worker = class extends Worker {
    postMessage() {}
  }
}

test('until the worker has answered, the first frame is the recording, and says so', async () => {
  const page = await newPage(site.browser)
  await page.evaluateOnNewDocument(silenceWorkers)
  await page.goto(`${site.url}?embed=feed-forward`)
  await page.waitForSelector('#feed-forward .stat')
  const shown = await statistics(page)
  assert.equal(shown.length, expected.stages.length)
  expected.stages.forEach(({ mean, variance }, i) => {
    near(shown[i][0], mean, 0.5001e-2)
    near(shown[i][1], variance, 0.5001e-2)
  })
  assert.equal(await said(page, NOTE), 'Recording until the weights are drawn.')
  await page.close()
})

test('pointing at a stroke says how its number was computed', async () => {
  const { page } = await show()
  assert.match(await said(page, NOTE), /^Point at a stroke/)
  /** @type {[number, RegExp][]} */
  const places = [
    [40, /^Number \d+ of the token: −?[\d.e−]+\.$/],
    [140, /^Number \d+ of 3072: 768 products and a bias make −?[\d.e−]+, and GELU makes that −?[\d.e−]+\.$/],
    [260, /^Number \d+ of 3072: 768 products/],
  ]
  for (const [down, sentence] of places) {
    const at = (/** @type {Box} */ { left, top, width }) => ({ x: left + width * 0.47, y: top + down })
    await hover(page, '#feed-forward .rows', at)
    await page.waitForFunction(
      (selector, text) => document.querySelector(selector)?.textContent.trim().match(text),
      {},
      NOTE,
      sentence.source,
    )
  }
  await page.close()
})

test('a narrower row stays narrower all its way', async () => {
  const { page } = await show('&feed-forward.deviation=0.1')
  const shown = await statistics(page)
  assert.equal(shown[0][1], 0.01)
  expected.stages.forEach(({ variance }, i) => assert.ok(shown[i][1] < variance, `${shown}`))
  await page.close()
})

test('another seed draws another network, as a step to undo; invalid values in the address are named', async () => {
  const { page, complaints } = await show()
  const first = await statistics(page)
  const sentence = () => page.$eval('#feed-forward .rows svg', (svg) => svg.ariaLabel)
  const before = await sentence()
  /** @param {boolean} same */
  const waitUntil = (same) =>
    page.waitForFunction(
      (before, same) => (document.querySelector('#feed-forward .rows svg')?.ariaLabel === before) === same,
      {},
      before,
      same,
    )
  await click(page, MORE)
  await type(page, 'seed of the network', '6')
  await waitUntil(false)
  await press(page, 'Control', 'z')
  await waitUntil(true)
  assert.deepEqual(await statistics(page), first)
  assert.deepEqual(complaints, [])
  await page.close()
  const bad = await show('&feed-forward.seed=1.5')
  assert.match(await said(bad.page, '.problems'), /feed-forward\.seed=1\.5, which means nothing/)
  await bad.page.close()
})

const TIMING = '#feed-forward .timing'

test('the timing can be stopped', async () => {
  const { page, complaints } = await show()
  await page.evaluate(silenceWorkers)
  await click(page, `${TIMING} button ::-p-text(Time it here)`)
  await click(page, `${TIMING} button ::-p-text(Stop)`)
  assert.match(await said(page, TIMING), /Stopped\./)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('each build that this browser can run is timed beside the plain C and gives the same numbers', async () => {
  const { page, complaints } = await show('', { width: 1280, height: 720 })
  await click(page, '#feed-forward .guess button')
  await click(page, `${TIMING} button ::-p-text(Time it here)`)
  await page.waitForSelector(`${TIMING} ::-p-text(Time it again)`)
  const sentence = await page.$eval(`${TIMING} svg`, (svg) => svg.ariaLabel ?? '')
  const times = Object.fromEntries(
    [...sentence.matchAll(/(plain C|simd|relaxed) ([\d.]+) ms/g)].map(([, name, ms]) => [name, Number(ms)]),
  )
  assert.ok(times['plain C'] > 0 && times.simd > 0, sentence)
  const built = existsSync(new URL('../../dist/wasm/relaxed.wasm', import.meta.url))
  if (built) assert.ok(times.relaxed > 0, sentence)
  else assert.match(await said(page, TIMING), /built without/)
  const off = parse(matched(/further than ([\d.]+e−\d+)/, await said(page)))
  assert.ok(off < 2e-6, `${off}`)
  const tall = await page.evaluate(() => document.documentElement.scrollHeight)
  assert.ok(tall <= 720, `${tall} pixels tall with the times`)
  assert.deepEqual(complaints, [])
  await page.close()
})
