// The page's section on the transformer block: a token on its way through the norms of the stories model.

/** @import { Page } from 'puppeteer-core' */
/** @import { Box, OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { pass } from '../../build/demo/sections/transformer-block/compute.js'
import { SENTENCE } from '../../build/demo/sections/transformer-block/slice.js'
import { tokenizerOf } from '../../build/demo/words.js'
import {
  click,
  drawn,
  focus,
  hold,
  hover,
  near,
  newPage,
  open,
  press,
  test,
  text,
  useSite,
} from './browser.js'

const site = useSite()

const gpt = await load()
const stories = new URL('../../web/examples/stories/', import.meta.url)
const { encode, start } = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', stories), 'utf8')))
const model = await gpt.GPTModel.fromPretrained(readFileSync(new URL('model.safetensors', stories)))
const ids = [start, ...encode(SENTENCE)]
const expected = { pre: pass(gpt, model, ids, 'pre'), post: pass(gpt, model, ids, 'post') }
const SIDES = /** @type {const} */ (['before', 'after'])
const MOMENTS = /** @type {const} */ (['mean', 'variance'])

const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=transformer-block${query}`, { ready: '.section [aria-busy=false]', ...options })
const WORD = '[role=slider][aria-label="the word to follow"]'
const word = (/** @type {Page} */ page) => page.$eval(WORD, (slider) => slider.ariaValueText)
const opened = (/** @type {Page} */ page) =>
  page.$eval('#transformer-block input:checked', (one) => one.ariaLabel)
/** What the page says of the open norm: mean and variance, before and after. */
const said = async (/** @type {Page} */ page) =>
  [...(await text(page, '.said')).matchAll(/(?:mean|variance) ([−\d.]+)/g)].map(([, number]) =>
    Number(number.replace('−', '-')),
  )
/** Mean and variance of a token at a norm, before and after. */
const moments = (/** @type {typeof expected.pre[number]} */ norm, /** @type {number} */ token) =>
  SIDES.flatMap((side) => MOMENTS.map((name) => norm[side][name][token]))
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

test('the recording is what the model computes, to three digits; then the model takes its place', async () => {
  const browser = await site.newProfile()
  const page = await newPage(browser)
  await page.setRequestInterception(true)
  let reachable = false
  page.on('request', (request) =>
    !reachable && request.url().endsWith('.safetensors') ? request.abort() : request.continue(),
  )
  await page.goto(`${site.url}?embed=transformer-block&transformer-block.token=3`)
  await page.waitForSelector('#transformer-block .said ::-p-text(could not be loaded)')
  assert.match(await text(page, '.said'), /^Recording The model could not be loaded.*“lived”, the final norm/)
  const recorded = moments(expected.pre[8], 11)
  ;(await said(page)).forEach((value, i) => near(value, recorded[i], 0.006 * Math.max(1, recorded[i])))
  reachable = true
  await click(page, '#transformer-block ::-p-text(Try again)')
  await page.waitForSelector('#transformer-block .said ::-p-text(“a”)')
  assert.doesNotMatch(await text(page, '.said'), /Recording|could not/)
  await browser.close()
})

test('a word can be pressed, swept over and chosen by keys; its rows follow, and it can be undone', async () => {
  const { page, complaints } = await show()
  assert.equal(await word(page), 'lived')
  assertNear(await said(page), moments(expected.pre[8], 11))
  await click(page, `${WORD} ::-p-text(quiet)`)
  assertNear(await said(page), moments(expected.pre[8], 7))
  const { x, y } = await hover(page, `${WORD} ::-p-text(tower)`)
  await hold(page, `${WORD} ::-p-text(named)`)
  await page.mouse.move(x, y, { steps: 4 })
  await page.mouse.up()
  assert.equal(await word(page), 'tower')
  await press(page, 'Control', 'z')
  assert.equal(await word(page), 'quiet')
  await focus(page, WORD)
  await press(page, 'Home')
  await press(page, 'ArrowRight')
  assert.equal(await word(page), 'upon')
  assertNear(await said(page), moments(expected.pre[8], 2))
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a press and the arrow keys open a norm, which is nothing to undo, and the address keeps it', async () => {
  const { page } = await show()
  await page.$eval('[aria-label="norm 2 of block 3"]', (one) => one.closest('label')?.click())
  assertNear(await said(page), moments(expected.pre[5], 11))
  await focus(page, '#transformer-block input:checked')
  await press(page, 'ArrowDown')
  assert.equal(await opened(page), 'norm 1 of block 4')
  await press(page, 'Control', 'z')
  assert.equal(await opened(page), 'norm 1 of block 4')
  await page.waitForFunction(() => /transformer-block\.norm=7/.test(location.search))
  const second = await open(site.browser, page.url(), { ready: '.section [aria-busy=false]' })
  assertNear(await said(second.page), moments(expected.pre[6], 11))
  await second.page.close()
  await page.close()
})

test('pointing at a number follows it through every norm; a press opens the norm there', async () => {
  const { page } = await show()
  const WAY = '#transformer-block .way svg'
  const at =
    (/** @type {number} */ down) =>
    (/** @type {Box} */ { left, top, width }) => ({
      x: left + width * 0.615,
      y: top + down,
    })
  await hover(page, WAY, at(30))
  const [, before, after] =
    /^Number \d+ of “lived”, norm 1 of block 1: (\S+) before, (\S+) after/.exec(await text(page, '.said')) ??
    []
  assert.ok(Math.abs(Number(before.replace('−', '-'))) < Math.abs(Number(after.replace('−', '-'))))
  assert.equal((await page.$$('#transformer-block .thread.lit')).length, 9)
  await click(page, WAY, { at: at(60) })
  assert.equal(await opened(page), 'norm 2 of block 1')
  await page.close()
})

test('a guess moves the norms: the diagram and the rows have one after each sum, none at the end', async () => {
  const { page } = await show()
  const pre = await diagram(page)
  assert.deepEqual(pre.slice(0, 4), ['norm 1', 'attention', 'norm 2', 'feed-forward'])
  assert.equal(pre.filter((name) => name?.includes('norm')).length, 9)
  assert.equal(pre.at(-1), 'final norm')
  await click(page, '.guess button:nth-child(1)')
  assert.match(await text(page, '.answer'), /^Not quite: no\. Each sum is normalized before it goes on\./)
  const post = await diagram(page)
  assert.deepEqual(post.slice(0, 4), ['attention', 'norm 1', 'feed-forward', 'norm 2'])
  assert.equal(post.filter((name) => name?.includes('norm')).length, 8)
  assert.equal(await opened(page), 'norm 2 of block 4')
  assertNear(await said(page), moments(expected.post[7], 11))
  assert.match(await text(page, '.text'), /each sum is normalized.*warmup.*Xiong et al\., 2020/)
  await click(page, '#transformer-block ::-p-text(Pre-norm)')
  assert.deepEqual(await diagram(page), pre)
  await page.close()
})

test('at every width there is a variance before and after each norm', async () => {
  const { page } = await show('&transformer-block.order=post')
  const words = await text(page, '#transformer-block')
  assert.doesNotMatch(words, /Each sum is normalized before/)
  assert.match(words, /GPT-2 has 12 blocks: 2 · 12 \+ 1 = 25 norms/)
  for (const width of [1440, 1280, 360]) {
    await page.setViewport({ width, height: 800 })
    await page.evaluate(drawn)
    const variances = await page.$$eval('#transformer-block .variance', (all) =>
      all.map(({ textContent }) => Number(textContent)),
    )
    assertNear(
      variances,
      expected.post.flatMap(({ before, after }) => [before.variance[11], after.variance[11]]),
    )
  }
  await page.close()
})
