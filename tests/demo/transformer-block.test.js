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
import { golden } from '../lib/support.js'
import {
  assertOnScreen,
  click,
  focus,
  hold,
  hover,
  near,
  newPage,
  open,
  press,
  SCREENS,
  test,
  text,
  useSite,
} from './browser.js'

const site = useSite()

/** @typedef {{ mean: number[], variance: number[] }} Moments of each token */
/** @typedef {{ before: Moments, after: Moments }} Sides */
/** @type {{ sentence: string, pre: Sides[], post: Sides[] }} */
const expected = golden('page_transformer_block')
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
/** Mean and variance of a token at a norm, before and after, by PyTorch. */
const moments = (/** @type {Sides} */ norm, /** @type {number} */ token) =>
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

testInNode('mean and variance before and after each norm, in both orders, are PyTorch’s', async () => {
  const gpt = await load()
  const stories = new URL('../../web/examples/stories/', import.meta.url)
  const { encode, start } = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', stories), 'utf8')))
  const model = await gpt.GPTModel.fromSafetensors(readFileSync(new URL('model.safetensors', stories)))
  assert.equal(SENTENCE, expected.sentence)
  for (const order of /** @type {const} */ (['pre', 'post'])) {
    const norms = pass(gpt, model, [start, ...encode(SENTENCE)], order)
    assert.equal(norms.length, expected[order].length)
    norms.forEach((norm, i) => {
      for (const side of SIDES) {
        for (const name of MOMENTS) {
          norm[side][name].forEach((value, token) => {
            const right = expected[order][i][side][name][token]
            near(value, right, 1e-3 * Math.max(1, Math.abs(right)))
          })
        }
      }
    })
  }
})

test('the recording is what PyTorch computes, to three digits; then the model takes its place', async () => {
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

test('post-norm redraws the diagram and the rows: a norm after each sum, none at the end', async () => {
  const { page } = await show()
  const pre = await diagram(page)
  assert.deepEqual(pre.slice(0, 4), ['norm 1', 'attention', 'norm 2', 'feed-forward'])
  assert.equal(pre.filter((name) => name?.includes('norm')).length, 9)
  assert.equal(pre.at(-1), 'final norm')
  await click(page, '#transformer-block ::-p-text(Post-norm)')
  const post = await diagram(page)
  assert.deepEqual(post.slice(0, 4), ['attention', 'norm 1', 'feed-forward', 'norm 2'])
  assert.equal(post.filter((name) => name?.includes('norm')).length, 8)
  assert.equal(await opened(page), 'norm 2 of block 4')
  assertNear(await said(page), moments(expected.post[7], 11))
  assert.match(await text(page, '.text'), /each sum is normalized.*warmup.*Xiong et al\., 2020/)
  await press(page, 'Control', 'z')
  assert.deepEqual(await diagram(page), pre)
  await page.close()
})

test('a guess is answered, and moves the norms behind the sums', async () => {
  const { page } = await show()
  await click(page, '.guess button:nth-child(1)')
  assert.match(await text(page, '.answer'), /^Not quite: no\. Each sum is normalized before it goes on\./)
  assert.equal((await diagram(page))[0], 'attention')
  await click(page, '.guess button:nth-child(2)')
  assert.match(await text(page, '.answer'), /^Yes: no\./)
  await page.close()
})

for (const [width, height] of SCREENS) {
  test(`at ${width} by ${height} the section fits the screen, with all variances`, async () => {
    const shown = await show('&transformer-block.order=post', { width, height })
    const { page } = shown
    const words = await text(page, '#transformer-block')
    assert.doesNotMatch(words, /Each sum is normalized before|NaN|undefined/)
    assert.match(words, /GPT-2 has 12 blocks: 2 · 12 \+ 1 = 25 norms/)
    // A variance before and after each norm, at every width.
    const variances = await page.$$eval('#transformer-block .variance', (all) =>
      all.map(({ textContent }) => Number(textContent)),
    )
    assertNear(
      variances,
      expected.post.flatMap(({ before, after }) => [before.variance[11], after.variance[11]]),
    )
    await assertOnScreen(shown, 'transformer-block', width, height)
    await page.close()
  })
}

test('opened by its anchor on a fresh page, it logs nothing', async () => {
  const { page, complaints } = await site.open('#transformer-block', {
    ready: '#transformer-block [aria-busy=false]',
  })
  assert.deepEqual(complaints, [])
  await page.close()
})
