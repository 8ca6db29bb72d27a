// “GELU and FeedForward”: a token on its way through the network, and GELU beside ReLU at a number of it.

/** @import { KeyInput, Page } from 'puppeteer-core' */
/** @import { Box, OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import * as gpt from 'gpt-layers'
import { activate, compute, curves } from '../../build/demo/sections/feed-forward/compute.js'
import { golden, unpack } from '../lib/support.js'
import { click, focus, hover, near, parse, press, test, text, useSite } from './browser.js'

const site = useSite()
await gpt.load()
const { before, after, parameters, all } = compute()

const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=feed-forward${query}`, { ready: '#feed-forward .stat', ...options })
const CURSOR = '#feed-forward [aria-label="x, on the curves"]'
/** Asserts that the page shows GELU, ReLU and their slopes at x. @param {Page} page @param {number} x */
async function assertReads(page, x) {
  const { gelu, relu } = activate([x])
  const shown = (await text(page, '#feed-forward .pair .note')).match(/−?\d+\.\d+/g)?.map(parse) ?? []
  const wanted = [x, gelu.y[0], gelu.dy[0], relu.y[0], relu.dy[0]]
  wanted.forEach((value, i) => near(shown[i], value, 0.5001e-2, `${i} at ${x}:`))
}
/** Asserts which means and variances the page shows. @param {Page} page @param {typeof before} stages */
async function assertShows(page, stages) {
  const said = await text(page, '#feed-forward .figure')
  const shown = [...said.matchAll(/mean (−?[\d.]+) · variance ([\d.]+)/g)].map(([, ...both]) =>
    both.map(parse),
  )
  assert.equal(shown.length, stages.length)
  stages.forEach(({ mean, variance }, i) => {
    near(shown[i][0], mean, 0.5001e-2)
    near(shown[i][1], variance, 0.5001e-2)
  })
}

testInNode('the network draws and gives what the notebook’s does; a variance is divided by n', () => {
  const notebook = unpack(golden('notebook')['cell 16'].out)
  before[3].values.forEach((value, i) => near(value, notebook[i], 1e-6))
  for (const { values, mean, variance } of [...before, ...after]) {
    near(mean, values.reduce((sum, value) => sum + value) / values.length, 1e-6)
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
    near(variance, squares / values.length, 1e-5 * variance)
  }
})

testInNode('GPT-2 has 124,439,808 numbers, as its block, embeddings and last norm add up', () => {
  const { vocabSize, contextLength, embDim, nLayers } = gpt.GPT_CONFIG_124M
  const block = new gpt.TransformerBlock({ ...gpt.GPT_CONFIG_124M, qkvBias: true })
  const inBlock = block.parameters().reduce((sum, { size }) => sum + size, 0)
  assert.equal(all, (vocabSize + contextLength) * embDim + nLayers * inBlock + 2 * embDim)
  assert.equal(all, 124_439_808)
})

testInNode('on the axis GELU’s slope is 0 left of 0 only at the bottom of its dip', () => {
  const { lowest } = curves()
  const xs = Array.from({ length: 400 }, (_, i) => -4 + i / 100)
  const { dy } = activate(xs).gelu
  dy.forEach((slope, i) => assert.equal(Math.sign(slope), Math.sign(xs[i] - lowest.x), `at ${xs[i]}`))
})

test('the page shows each mean and variance, and what the text says of them, also with a norm first', async () => {
  const { page, complaints, foreign } = await show()
  await assertShows(page, before)
  const said = await text(page, '#feed-forward .text')
  assert.match(said, /by tanh: off by 0\.0005 at most/)
  assert.match(said, /shrinks from 0\.08 to 0\.01, and with a layer norm first from 1\.00 to 0\.04/)
  assert.equal(parameters, 4_722_432)
  assert.match(said, /learns 4,722,432 numbers\. The 12 of GPT-2 have 46% of its 124,439,808/)
  await click(page, '#feed-forward button ::-p-text(norm first)')
  await assertShows(page, after)
  await page.waitForFunction(() => /feed-forward\.norm=yes/.test(location.search))
  assert.deepEqual([...complaints, ...foreign], [])
  await page.close()
})

test('pointing at a stroke says how its number was computed, and shows a widened one on the curve', async () => {
  const { page } = await show()
  const note = '#feed-forward .figure > .note'
  assert.match(await text(page, note), /^Point at a stroke/)
  /** @type {[number, RegExp][]} */
  const places = [
    [60, /^Number \d+ of the token: [\d.e−]+\.$/],
    [
      150,
      /^Number \d+ of 3072: 768 products and a bias make (−?[\d.e−]+), and GELU makes that −?[\d.e−]+\.$/,
    ],
    [290, /^Number \d+ of 3072: 768 products and a bias make (−?[\d.e−]+),/],
  ]
  for (const [down, sentence] of places) {
    await hover(page, '#feed-forward .rows', (/** @type {Box} */ { left, top, width }) => ({
      x: left + width * 0.52,
      y: top + down,
    }))
    await page.waitForFunction(
      (selector, text) => document.querySelector(selector)?.textContent.trim().match(text),
      {},
      note,
      sentence.source,
    )
    const [, widened] = (await text(page, note)).match(sentence) ?? []
    await assertReads(page, widened ? parse(widened) : -0.3)
  }
  await page.close()
})

test('keys move the cursor, a guess moves it to the bottom of the dip, and undo brings it back', async () => {
  const { page } = await show()
  await focus(page, CURSOR)
  /** @type {[KeyInput[], number][]} */
  const steps = [
    [['ArrowUp'], -0.2],
    [['Shift', 'ArrowDown'], -1.2],
    [['Alt', 'ArrowUp'], -1.19],
    [['Home'], -4],
    [['End'], 3],
  ]
  for (const [keys, x] of steps) {
    await press(page, ...keys)
    await assertReads(page, x)
  }
  await page.waitForFunction(() => /feed-forward\.x=3/.test(location.search))
  await click(page, '#feed-forward .guess button ::-p-text(nowhere)')
  assert.match(
    await text(page, '#feed-forward .answer'),
    /^Not quite: at one x\. At −0\.75, .* GELU is −0\.17/,
  )
  await assertReads(page, -0.75)
  await press(page, 'Control', 'z')
  await assertReads(page, 3)
  await page.close()
})
