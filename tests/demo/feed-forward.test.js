// The section on FeedForward: a token on its way through it, with and without a layer norm before it.

/** @import { Page } from 'puppeteer-core' */
/** @import { Box, OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { compute } from '../../build/demo/sections/feed-forward/compute.js'
import { golden, unpack } from '../lib/support.js'
import { click, hover, near, parse, test, text, useSite } from './browser.js'

const site = useSite()

const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=feed-forward${query}`, { ready: '#feed-forward .figure', ...options })
/**
 * Asserts which means and variances the page shows.
 *
 * @param {Page} page
 * @param {{ mean: number, variance: number }[]} way
 */
async function assertShows(page, way) {
  const said = await text(page, '#feed-forward .figure')
  const shown = [...said.matchAll(/mean(−?[\d.]+)variance([\d.]+)/g)].map(([, ...both]) => both.map(parse))
  assert.equal(shown.length, way.length)
  way.forEach(({ mean, variance }, i) => {
    near(shown[i][0], mean, 0.5001e-2)
    near(shown[i][1], variance, 0.5001e-2)
  })
}
const NORM = '#feed-forward button ::-p-text(a layer norm first)'

testInNode('the network draws and gives what the notebook’s does; a variance is divided by n', async () => {
  const { ways } = compute(await load())
  const notebook = unpack(golden('notebook')['cell 16'].out)
  ways[0][3].values.forEach((value, i) => near(value, notebook[i], 1e-6))
  for (const { values, mean, variance } of ways.flat()) {
    near(mean, values.reduce((sum, value) => sum + value) / values.length, 1e-6)
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
    near(variance, squares / values.length, 1e-5 * variance)
  }
})

test('the page shows the means and variances, also with a layer norm first, which the address keeps', async () => {
  const { ways } = compute(await load())
  const { page, complaints, foreign } = await show()
  await assertShows(page, ways[0])
  await click(page, NORM)
  await assertShows(page, ways[1])
  await page.waitForFunction(() => /feed-forward\.norm=yes/.test(location.search))
  await page.reload()
  await page.waitForSelector('#feed-forward .stat')
  await assertShows(page, ways[1])
  await click(page, NORM.replace('a layer norm first', 'as in the notebook'))
  await assertShows(page, ways[0])
  assert.deepEqual([...complaints, ...foreign], [])
  await page.close()
})

test('pointing at a stroke says how its number was computed', async () => {
  const { page } = await show()
  const note = '#feed-forward .figure > .note'
  assert.match(await text(page, note), /^Point at a stroke/)
  /** @type {[number, RegExp][]} */
  const places = [
    [50, /^Number \d+ of the token: [\d.e−]+\.$/],
    [150, /^Number \d+ of 3072: 768 products and a bias make −?[\d.e−]+, and GELU makes that −?[\d.e−]+\.$/],
    [280, /^Number \d+ of 3072: 768 products/],
  ]
  for (const [down, sentence] of places) {
    const at = (/** @type {Box} */ { left, top, width }) => ({ x: left + width * 0.49, y: top + down })
    await hover(page, '#feed-forward .rows', at)
    await page.waitForFunction(
      (selector, text) => document.querySelector(selector)?.textContent.trim().match(text),
      {},
      note,
      sentence.source,
    )
  }
  await page.close()
})

test('a guess is answered with 4,722,432 numbers', async () => {
  const { page } = await show()
  assert.doesNotMatch(await text(page, '#feed-forward'), /4,722,432/)
  await click(page, '#feed-forward .guess button ::-p-text(5 million)')
  assert.match(
    await text(page, '#feed-forward .answer'),
    /^Yes: 5 million\. They are 768 · 3072 \+ 3072 \+ 3072 · 768 \+ 768 = 4,722,432.*56,669,184/,
  )
  await page.close()
})
