// The page's section on the transformer block: a token on its way through the norms of the stories model.

/** @import { Page } from 'puppeteer-core' */
/** @import { Box, OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test as testInNode } from 'node:test'
import * as gpt from 'gpt-layers'
import { pass } from '../../build/demo/sections/transformer-block/compute.js'
import { MOST, SENTENCE } from '../../build/demo/sections/transformer-block/slice.js'
import { tokenizerOf } from '../../build/demo/words.js'
import {
  click,
  drawn,
  focus,
  hover,
  near,
  newPage,
  press,
  serveWithout,
  test,
  text,
  useSite,
} from './browser.js'

const site = useSite()

await gpt.load()
const stories = new URL('../../web/examples/stories/', import.meta.url)
const { encode, start } = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', stories), 'utf8')))
const model = await gpt.GPTModel.fromPretrained(readFileSync(new URL('model.safetensors', stories)))
const ids = [start, ...encode(SENTENCE)]
const expected = { pre: pass(model, ids, 'pre'), post: pass(model, ids, 'post') }
const SIDES = /** @type {const} */ (['before', 'after'])

const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=transformer-block${query}`, { ready: '.section [aria-busy=false]', ...options })
const WORD = '[role=slider][aria-label="the word to follow"]'
const word = (/** @type {Page} */ page) => page.$eval(WORD, (slider) => slider.ariaValueText)
/** σ before and after each norm, as the page writes it. */
const sigmas = (/** @type {Page} */ page) =>
  page.$$eval('#transformer-block .sigma', (all) => all.map(({ textContent }) => Number(textContent)))
/** @param {typeof expected.pre} norms @param {number} token */
const deviations = (norms, token) =>
  norms.flatMap((norm) => SIDES.map((side) => Math.sqrt(norm[side].variance[token])))
/** Two decimals of float32. @param {number[]} actual @param {number[]} expected */
function assertNear(actual, expected) {
  assert.equal(actual.length, expected.length)
  actual.forEach((value, i) => near(value, expected[i], 0.005 + 1e-3 * Math.abs(expected[i])))
}
/** The names in the diagram, from top to bottom. */
const diagram = (/** @type {Page} */ page) =>
  page.$$eval('#transformer-block .diagram .name', (all) =>
    all
      .map((one) => ({ name: one.textContent, y: one.getBoundingClientRect().y }))
      .sort((a, b) => a.y - b.y)
      .map(({ name }) => name),
  )

testInNode('in post-norm each sum is normalized, without a norm at the end', () => {
  assert.equal(expected.pre.length, 9)
  assert.equal(expected.post.length, 8)
  gpt.noGrad(() => {
    let x = model.tokEmb.forward(ids).add(model.posEmb.forward(ids.map((_, position) => position)))
    expected.post.forEach((norm, i) => {
      const block = model.trfBlocks[i >> 1]
      const part = i % 2 ? block.ff : block.attn
      const sum = x.add(/** @type {import('gpt-layers').Tensor} */ (part.forward(x)))
      assert.deepEqual(norm.before.rows, sum.toArray())
      x = (i % 2 ? block.norm2 : block.norm1).forward(sum)
      assert.deepEqual(norm.after.rows, x.toArray())
    })
  })
})

testInNode('mean and variance are those of each token’s row, the variance divided by n', () => {
  for (const side of [...expected.pre, ...expected.post].flatMap(({ before, after }) => [before, after]))
    side.rows.forEach((row, token) => {
      const mean = row.reduce((sum, value) => sum + value) / row.length
      const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length
      near(side.mean[token], mean, 1e-5 * Math.max(1, Math.sqrt(variance)))
      near(side.variance[token], variance, 1e-5 * Math.max(1, variance))
    })
})

testInNode('what the text says of σ holds for every word', () => {
  let narrower = 0
  for (let token = 1; token <= 16; token++) {
    const sides = SIDES.map((side) => expected.pre.map((norm) => Math.sqrt(norm[side].variance[token])))
    const [before, after] = sides
    const word = `word ${token}`
    assert.ok(before[8] >= 15 * before[0], word)
    assert.ok(before[8] > 2 && before[8] < 14, word)
    for (const given of after) assert.ok(given > 0.5 && given < 1.6, word)
    // The norms stretch in block 1, and squeeze later.
    before.forEach((width, i) =>
      assert.ok(i < 2 ? width < after[i] : width > after[i], `${word}, norm ${i + 1}`),
    )
    narrower += before.filter((width, i) => i > 0 && width < before[i - 1]).length
    near(Math.sqrt(expected.post[7].after.variance[token]), 1.2, 0.07, word)
    for (const { before, after } of [...expected.pre, ...expected.post])
      for (const value of [...before.rows[token], ...after.rows[token]]) assert.ok(Math.abs(value) <= MOST)
  }
  assert.ok(narrower > 0 && narrower < 16 * 8 * 0.1, `${narrower} sums of 128 make the row narrower`)
})

test('the recording is what the model computes, to three digits; then the model takes its place', async (t) => {
  const server = await serveWithout(t, site.url, /\.safetensors$/)
  const browser = await site.newProfile()
  const page = await newPage(browser)
  await page.goto(`${server.url}?embed=transformer-block&transformer-block.token=3`)
  await page.waitForSelector('#transformer-block .said ::-p-text(could not be loaded)')
  assert.match(await text(page, '.said'), /^Recording The model could not be loaded.*“lived”/)
  const recorded = deviations(expected.pre, 11)
  ;(await sigmas(page)).forEach((value, i) => near(value, recorded[i], 0.006 * Math.max(1, recorded[i])))
  server.missing = null
  await click(page, '#transformer-block ::-p-text(Try again)')
  await page.waitForSelector('#transformer-block .said ::-p-text(“a”)')
  assert.doesNotMatch(await text(page, '.said'), /Recording|could not/)
  await browser.close()
})

test('a word can be pressed and chosen by keys; its rows follow, and it can be undone', async () => {
  const { page, complaints } = await show()
  assert.equal(await word(page), 'lived')
  assertNear(await sigmas(page), deviations(expected.pre, 11))
  await click(page, `${WORD} ::-p-text(quiet)`)
  assertNear(await sigmas(page), deviations(expected.pre, 7))
  await click(page, `${WORD} ::-p-text(tower)`)
  assert.equal(await word(page), 'tower')
  await press(page, 'Control', 'z')
  assert.equal(await word(page), 'quiet')
  await focus(page, WORD)
  await press(page, 'Home')
  await press(page, 'ArrowRight')
  assert.equal(await word(page), 'upon')
  assertNear(await sigmas(page), deviations(expected.pre, 2))
  assert.deepEqual(complaints, [])
  await page.close()
})

test('pointing at a number follows it through every norm, and the axis shows that block 1 stretches', async () => {
  const { page } = await show()
  const at = (/** @type {Box} */ { left, top, width }) => ({ x: left + width * 0.615, y: top + 14 })
  await hover(page, '#transformer-block .way svg', at)
  const [, before, after] =
    /^Number \d+ of “lived”, norm 1 of block 1: (\S+) before, (\S+) after/.exec(await text(page, '.said')) ??
    []
  assert.ok(Math.abs(Number(before.replace('−', '-'))) < Math.abs(Number(after.replace('−', '-'))))
  assert.equal((await page.$$('#transformer-block .thread.lit')).length, 9)
  const [narrow, wide] = await page.$$eval('#transformer-block .strokes', (all) =>
    all.slice(0, 2).map((one) => one.getBoundingClientRect().width),
  )
  assert.ok(narrow > 40 && wide > 1.4 * narrow, `${narrow} and ${wide} pixels`)
  await page.close()
})

test('a guess moves the norms: the diagram and the rows have one after each sum, none at the end', async () => {
  const { page } = await show()
  const pre = await diagram(page)
  assert.deepEqual(pre.slice(0, 4), ['norm 1', 'attention', 'norm 2', 'feed-forward'])
  assert.equal(pre.filter((name) => name?.includes('norm')).length, 9)
  assert.equal(pre.at(-1), 'final norm')
  assert.match(await text(page, '.text'), /2 · 4 \+ 1 = 9 norms.*2 · 12 \+ 1 = 25 norms/)
  await click(page, '.guess button:nth-child(2)')
  assert.match(await text(page, '.answer'), /^Not quite: about 1\.2\. For every word/)
  const post = await diagram(page)
  assert.deepEqual(post.slice(0, 4), ['attention', 'norm 1', 'feed-forward', 'norm 2'])
  assert.equal(post.filter((name) => name?.includes('norm')).length, 8)
  assert.match(await text(page, '.text'), /2 · 4 = 8 norms.*warmup.*Xiong et al\., 2020/)
  for (const width of [360, 1280, 1440]) {
    await page.setViewport({ width, height: 800 })
    await page.evaluate(drawn)
    assertNear(await sigmas(page), deviations(expected.post, 11))
  }
  await click(page, '#transformer-block ::-p-text(Pre-norm)')
  assert.deepEqual(await diagram(page), pre)
  await page.close()
})
