// The section in which a GPT writes: as soon as it is seen, back to a word, without a norm. What is written
// is what the engine writes here, in Node; writing-engine.test.js compares the engine with the package.

/** @import { Page } from 'puppeteer-core' */
/** @import { Settings } from '../../build/demo/sections/writing/engine.js' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { afterEach } from 'node:test'
import { load } from 'gpt-layers'
import { Engine } from '../../build/demo/sections/writing/engine.js'
import { tokenizerOf } from '../../build/demo/words.js'
import { assertOnScreen, click, closePages, focus, newPage, SCREENS, test, useSite } from './browser.js'

const site = useSite()
afterEach(closePages) // a page writes as long as it is open
const folder = new URL('../../web/examples/stories/', import.meta.url)
const gpt = await load()
const model = await gpt.GPTModel.fromSafetensors(readFileSync(new URL('model.safetensors', folder)))
const tokenizer = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', folder), 'utf8')))

/** @type {Settings} */
const settings = {
  prompt: 'Once upon a time',
  seed: 5,
  temperature: 0.8,
  off: new Array(9).fill(false),
  instead: 'nothing',
  from: 0,
}
const without = (/** @type {number[]} */ ...norms) => settings.off.map((_, i) => norms.includes(i + 1))

/** The texts that these settings give, each to its end. @param {Partial<Settings>} [changes] */
function texts(changes = {}) {
  const engine = new Engine({ gpt, model, tokenizer })
  engine.set({ ...settings, ...changes })
  while (!engine.ended) engine.step()
  return [engine.with, engine.without].map((run) => run && tokenizer.decode(run.ids.slice(1)))
}

const show = (query = '', options = {}) => site.open(`?embed=writing${query}`, options)
const WITH = '#writing .lanes .lane:not(.without) .text'
const WITHOUT = '#writing .lane.without .text'
/** @param {Page} page @param {string} lane @returns {Promise<string>} */
const textOf = (page, lane) =>
  page.$eval(lane, (box) => (box.textContent ?? '').replace(/[\u2060■]|… no room.*$/g, '').trim())
const live = (/** @type {Page} */ page) =>
  page.waitForFunction(() => document.querySelector('#writing [role=status]')?.textContent?.trim() === '')
const fast = (/** @type {Page} */ page) =>
  page.$eval('#writing .speed input', (input) => {
    input.value = input.max
    input.dispatchEvent(new Event('input', { bubbles: true }))
  })
/**
 * Waits for a text that begins so.
 *
 * @param {Page} page
 * @param {string} lane
 * @param {string} begins
 */
const waitFor = (page, lane, begins) =>
  page.waitForFunction(
    (lane, begins) =>
      (document.querySelector(lane)?.textContent ?? '').replaceAll('\u2060', '').trim().startsWith(begins),
    {},
    lane,
    begins,
  )
/**
 * Waits until both texts are as long as these beginnings, and goes back to a word while they are written. The
 * next story may begin before anything else.
 *
 * @param {Page} page
 * @param {number} word of the first text
 * @param {Record<string, string>} beginnings by their lanes
 */
const goBack = (page, word, beginnings) =>
  page.waitForFunction(
    (word, beginnings) => {
      const textOf = (/** @type {string} */ lane) =>
        document.querySelector(lane)?.textContent?.replaceAll('\u2060', '').trim() ?? ''
      if (!beginnings.every(([lane, begins]) => textOf(lane).startsWith(begins))) return false
      const [[lane]] = beginnings
      const words = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(`${lane} button`))
      words[word].click()
      return true
    },
    {},
    word,
    Object.entries(beginnings),
  )
/** @param {Page} page @param {string} label of a button */
const press = (page, label) => click(page, `#writing ::-p-xpath(.//button[normalize-space()="${label}"])`)
const turn = (/** @type {Page} */ page, /** @type {number} */ norm) =>
  click(page, `#writing [role=switch][aria-label^="norm ${norm},"]`)
const query = (/** @type {Page} */ page, /** @type {string} */ name) =>
  page.evaluate((name) => new URLSearchParams(location.search).get(name), name)

test('it writes the story of its seed by itself, and then another one', async () => {
  const opened = await show()
  const { page } = opened
  await live(page)
  await fast(page)
  const [story] = texts()
  await waitFor(page, WITH, story ?? '')
  const [next] = texts({ seed: 6 })
  await waitFor(page, WITH, next?.slice(0, 80) ?? '')
  assert.deepEqual([opened.complaints, opened.foreign], [[], []])
})

test('back to a word, and on from there: the same story', async () => {
  const { page } = await show()
  const [story] = texts()
  assert.ok(story)
  await live(page)
  await goBack(page, 9, { [WITH]: story.slice(0, 80) })
  await page.waitForFunction(
    (lane) => document.querySelector(`${lane} button:nth-child(10)`)?.ariaChecked === 'true',
    {},
    WITH,
  )
  await page.waitForSelector(`${WITH} .later`)
  const read = await textOf(page, WITH)
  assert.ok(read.length >= 80 && story.startsWith(read), 'the words after it can still be read')
  await fast(page)
  await press(page, 'Write')
  await page.waitForSelector(`${WITH} .later`, { hidden: true })
  await waitFor(page, WITH, story)
})

test('without a norm another text stands beside the story, and a link leads to both', async () => {
  const { page } = await show('&writing.off=2')
  const [story, noise] = texts({ off: without(2) })
  assert.ok(story && noise && story !== noise)
  await live(page)
  await goBack(page, 12, { [WITH]: story.slice(0, 80), [WITHOUT]: noise.slice(0, 80) })
  // Off as well: norm 7, from the word that is looked at.
  await page.waitForSelector(`${WITHOUT} .later`)
  await fast(page)
  await turn(page, 7)
  const from = 13 - 4
  await waitFor(page, WITHOUT, texts({ off: without(2, 7), from })[1] ?? '')
  await page.waitForFunction(() => new URLSearchParams(location.search).get('writing.off') === '2,7')
  assert.equal(await query(page, 'writing.from'), String(from))
  assert.match(
    await page.$eval('#writing .why', (why) => why.textContent ?? ''),
    /^attention in block 4 gets σ = /,
  )
  await press(page, 'All on')
  await page.waitForSelector(WITHOUT, { hidden: true })
})

test('a norm that is off may still subtract the mean, or keep gamma 1 and beta 0', async () => {
  const { page } = await show('&writing.off=1,2,3,4,5,6,7,8,9')
  await live(page)
  await fast(page)
  const off = without(1, 2, 3, 4, 5, 6, 7, 8, 9)
  await press(page, 'only − μ')
  await page.waitForFunction(() => location.search.includes('instead=mean'))
  const from = Number(await query(page, 'writing.from'))
  const seed = Number((await query(page, 'writing.seed')) ?? settings.seed) // the next story may have begun
  await waitFor(page, WITHOUT, texts({ off, instead: 'mean', from, seed })[1] ?? '')
  const opened = await show('&writing.off=1,2,3,4,5,6,7,8,9&writing.instead=plain')
  await live(opened.page)
  await fast(opened.page)
  await waitFor(opened.page, WITHOUT, texts({ off, instead: 'plain' })[1] ?? '')
})

test('the guess switches the final norm off, and is answered right and wrong', async () => {
  for (const [option, verdict] of [
    ['it will', 'Yes:'],
    ['it turns to noise', 'Not quite:'],
  ]) {
    const { page } = await show()
    await live(page)
    await press(page, option)
    await page.waitForSelector(WITHOUT)
    await page.waitForFunction(() =>
      /\d-fold/.test(document.querySelector('#writing .answer')?.textContent ?? ''),
    )
    const answer = await page.$eval('#writing .answer', (answer) => answer.textContent?.trim() ?? '')
    assert.ok(answer.startsWith(verdict), answer)
    assert.equal(
      await page.$eval('#writing [role=switch][aria-label^="norm 9,"]', (one) => one.ariaChecked),
      'false',
    )
  }
})

test('the text never waits for drawing', async () => {
  const page = await newPage(site.browser)
  await page.evaluateOnNewDocument(() => {
    window.requestAnimationFrame = () => 0
  })
  await page.goto(`${site.url}?embed=writing`)
  await page.waitForSelector(WITH)
  await page.waitForFunction(
    () => document.querySelector('#writing [role=status]')?.textContent?.trim() === '',
    {
      polling: 50,
    },
  )
  await fast(page)
  const [story = ''] = texts()
  await page.waitForFunction(
    (lane, story) =>
      (document.querySelector(lane)?.textContent ?? '').replaceAll('\u2060', '').includes(story),
    { polling: 50 },
    WITH,
    story ?? '',
  )
})

test('an unknown word is refused beside the prompt, and the story goes on', async () => {
  const { page } = await show()
  await live(page)
  const prompt = '#writing .prompt input'
  await click(page, prompt, { count: 3 })
  await page.keyboard.type('Hello fox')
  await page.keyboard.press('Enter')
  await page.waitForFunction(() =>
    /“Hello”/.test(document.querySelector('#writing .refused')?.textContent ?? ''),
  )
  assert.match(await textOf(page, WITH), /^Once upon a time/)
  await click(page, prompt, { count: 3 })
  await page.keyboard.type('The fox')
  await page.keyboard.press('Enter')
  await waitFor(page, WITH, 'The fox')
  assert.equal(await page.$eval('#writing .refused', (refused) => refused.textContent), '')
})

test('up and down choose another norm to look at', async () => {
  const { page } = await show()
  await live(page)
  await focus(page, '#writing .name[aria-checked=true]')
  await page.keyboard.press('ArrowUp')
  await page.waitForFunction(() => location.search.includes('writing.norm=6'))
  const [focused, title] = await page.evaluate(() => [
    document.activeElement?.ariaLabel,
    document.querySelector('#writing .title')?.textContent?.trim(),
  ])
  assert.match(focused ?? '', /^6 → feed-forward/)
  assert.equal(title, 'Norm 6, before feed-forward in block 3')
})

test('attention by head: sixteen heads, and the words that the last one looks at', async () => {
  const { page } = await show()
  await live(page)
  await press(page, 'Pause')
  await press(page, 'Attention by head')
  await page.waitForFunction(() =>
    /looks most at “.+”: [01]\.\d\d/.test(document.querySelector('#writing')?.textContent ?? ''),
  )
  assert.equal((await page.$$('#writing input[name=writing-head]')).length, 16)
})

test('with reduced motion nothing is written before the reader asks', async () => {
  const { page } = await show('', { features: { 'prefers-reduced-motion': 'reduce' } })
  await live(page)
  await page.waitForFunction(() => document.querySelector('#writing .play')?.textContent === 'Write')
  assert.equal(await textOf(page, WITH), 'Once upon a time')
  await press(page, 'Write')
  await waitFor(page, WITH, 'Once upon a time, a')
})

for (const [width, height] of SCREENS) {
  test(`at ${width} x ${height} it fits its screen, with a norm off`, async () => {
    const opened = await show('&writing.off=2', { width, height })
    await live(opened.page)
    await assertOnScreen(opened, 'writing', width, height)
  })
}
