// The section in which a GPT writes: as soon as it is seen, back to a word, without a norm. What is written
// is what the engine writes here, in Node; writing-engine.test.js compares the engine with the package.

/** @import { Page } from 'puppeteer-core' */
/** @import { Settings } from '../../build/demo/writer/engine.js' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { afterEach, test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { Engine } from '../../build/demo/writer/engine.js'
import { drawSpecks } from '../../build/demo/sections/writing/marks.js'
import { tokenizerOf } from '../../build/demo/words.js'
import { click, closePages, focus, get, newPage, test, useSite } from './browser.js'

/** Letters of a noisy text that are the same in every build: they round differently. */
const SURE = 240

const site = useSite()
afterEach(closePages) // a page writes as long as it is open
const folder = new URL('../../web/examples/stories/', import.meta.url)
const gpt = await load()
const model = await gpt.GPTModel.fromPretrained(readFileSync(new URL('model.safetensors', folder)))
const tokenizer = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', folder), 'utf8')))

/** @type {Settings} */
const settings = {
  prompt: 'Once upon a time',
  seed: 5,
  temperature: 0.8,
  off: new Array(9).fill(false),
  replacement: 'nothing',
  from: 0,
}
const without = (/** @type {number[]} */ ...norms) => settings.off.map((_, i) => norms.includes(i + 1))

/**
 * The texts that these settings give, each to its end: with all norms, and without those that are off.
 *
 * @param {Partial<Settings>} [changes]
 */
function texts(changes = {}) {
  const engine = new Engine({ gpt, model, tokenizer })
  engine.set({ ...settings, ...changes })
  while (!engine.ended) engine.step()
  return [engine.with, engine.without].map((run) => {
    const text = run ? tokenizer.decode(run.ids.slice(1)) : ''
    assert.ok(!run || text.length > 100, `a text should be written, got "${text}"`)
    return text
  })
}

const show = (query = '', options = {}) => site.open(`?embed=writing${query}`, options)
const WITH = '#writing .runs .run:not(.without) .text'
const WITHOUT = '#writing .run.without .text'
/** @param {Page} page @param {string} lane @returns {Promise<string>} */
const textOf = (page, lane) =>
  page.$eval(lane, (box) => (box.textContent ?? '').replace(/[\u2060■]|… no room.*$/g, '').trim())
/** Waits until the model writes. @param {Page} page */
const live = (page) =>
  page.waitForFunction(
    () => !/\(recording\)/.test(document.querySelector('#writing .runs')?.textContent ?? '(recording)'),
  )
/** At full speed; the slider is in the menu. @param {Page} page */
async function fast(page) {
  const slider = '#writing input[aria-label=speed]'
  if (!(await page.$(slider))) await press(page, 'More')
  await get(page, slider)
  await page.$eval(slider, (input) => {
    input.value = input.max
    input.dispatchEvent(new Event('input', { bubbles: true }))
  })
  await page.keyboard.press('Escape') // the menu would be over the figure
}
/**
 * Waits for a text that begins so.
 *
 * @param {Page} page
 * @param {string} lane
 * @param {string} begins
 */
const waitFor = (page, lane, begins) =>
  page.waitForFunction(
    (lane, begins) => {
      const text = document.querySelector(lane)?.textContent?.replaceAll('\u2060', '').trim()
      return text?.startsWith(begins)
    },
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
  await waitFor(page, WITH, story)
  const [next] = texts({ seed: 6 })
  await waitFor(page, WITH, next.slice(0, 80))
  assert.deepEqual([opened.complaints, opened.foreign], [[], []])
})

test('back to a word, and on from there: the same story', async () => {
  const { page } = await show()
  const [story] = texts()
  await live(page)
  await goBack(page, 9, { [WITH]: story.slice(0, 80) })
  await page.waitForFunction(
    (lane) => document.querySelectorAll(`${lane} button`)[9]?.ariaChecked === 'true',
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
  await waitFor(page, WITHOUT, texts({ off: without(2, 7), from })[1].slice(0, SURE))
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
  await press(page, 'Pause') // or the next story may begin
  const off = without(1, 2, 3, 4, 5, 6, 7, 8, 9)
  await press(page, 'only − μ')
  await page.waitForFunction(() => location.search.includes('replacement=mean'))
  const from = Number(await query(page, 'writing.from'))
  const seed = Number((await query(page, 'writing.seed')) ?? settings.seed)
  await fast(page)
  await press(page, 'Write')
  await waitFor(page, WITHOUT, texts({ off, replacement: 'mean', from, seed })[1].slice(0, SURE))
  const opened = await show('&writing.off=1,2,3,4,5,6,7,8,9&writing.replacement=plain')
  await live(opened.page)
  await fast(opened.page)
  await waitFor(opened.page, WITHOUT, texts({ off, replacement: 'plain' })[1].slice(0, SURE))
})

test('the guess leaves only the mean to all norms', async () => {
  const { page } = await show()
  await live(page)
  await press(page, '÷ deviation')
  await page.waitForSelector(WITHOUT)
  const answer = await page.$eval('#writing .answer', (answer) => answer.textContent?.trim() ?? '')
  assert.match(answer, /^Yes: ÷ deviation\. /)
  await page.waitForFunction(() => location.search.includes('writing.replacement=mean'))
  assert.equal(await query(page, 'writing.off'), '1,2,3,4,5,6,7,8,9')
})

test('the text never waits for drawing', async () => {
  const page = await newPage(site.browser)
  await page.evaluateOnNewDocument(() => {
    window.requestAnimationFrame = () => 0
  })
  await page.goto(`${site.url}?embed=writing&writing.speed=64`)
  await page.waitForSelector(WITH)
  const [story] = texts()
  await page.waitForFunction(
    (lane, story) =>
      (document.querySelector(lane)?.textContent ?? '').replaceAll('\u2060', '').includes(story),
    { polling: 50 },
    WITH,
    story,
  )
})

/** Types a text into the field for the story's beginning. @param {Page} page @param {string} text */
async function begin(page, text) {
  await click(page, '#writing .prompt', { count: 3 })
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
}
const refused = (/** @type {Page} */ page) =>
  page.$eval('#writing-refused', (refused) => refused.textContent?.trim() ?? '')

test('a beginning that the model cannot continue is refused beside the field, and the story goes on', async () => {
  const { page } = await show()
  await live(page)
  for (const [text, sentence] of [
    ['Hello fox', 'The model does not know “Hello”.'],
    ['She said', 'No story that the model has read begins with “She”. Try “Once upon a time”'],
  ]) {
    await begin(page, text)
    await page.waitForFunction(
      (sentence) => document.querySelector('#writing-refused')?.textContent?.includes(sentence),
      {},
      sentence,
    )
    assert.match(await textOf(page, WITH), /^Once upon a time/)
    assert.equal(
      await page.$eval('#writing .prompt', (input) => /** @type {any} */ (input).value),
      'Once upon a time',
    )
    const covered = await page.evaluate(() => {
      const message = document.querySelector('#writing-refused')?.getBoundingClientRect()
      const text = document.querySelector('#writing .run')?.getBoundingClientRect()
      return !(message && text && message.bottom <= text.top)
    })
    assert.ok(!covered, 'the message stands over the text')
  }
  await begin(page, 'Long ago')
  await waitFor(page, WITH, 'Long ago')
  assert.equal(await refused(page), '')
})

test('Ctrl+Z in the beginning’s field undoes the typing, not the page', async () => {
  const { page } = await show()
  await turn(page, 2)
  await page.waitForSelector(WITHOUT)
  await click(page, '#writing .prompt')
  await page.keyboard.type('!')
  await page.keyboard.down('Control')
  await page.keyboard.press('z', { commands: ['Undo'] })
  await page.keyboard.up('Control')
  assert.equal(await page.$eval('#writing .prompt', (input) => Object(input).value), 'Once upon a time')
  assert.notEqual(await page.$(WITHOUT), null)
})

testInNode('a row’s specks have as many pixels as its canvas, on a page that is zoomed, too', () => {
  /** @type {{ width: number, height: number } | undefined} */
  let drawn
  const size = class {
    constructor(/** @type {number} */ width, /** @type {number} */ height) {
      Object.assign(this, { width, height, data: new Uint8Array(4 * width * height) })
    }
    getContext() {
      return { putImageData() {} }
    }
  }
  Object.assign(globalThis, { OffscreenCanvas: size, ImageData: size, devicePixelRatio: 2 })
  const zoomed = { getTransform: () => ({ a: 3 }), drawImage: (/** @type {any} */ image) => (drawn = image) }
  const marks = { rows: new Float32Array(3 * 300), norms: 1, limit: 1, row: 20 }
  const colors = { above: 'rgb(240, 149, 61)', below: 'rgb(110, 163, 222)' }
  drawSpecks(/** @type {any} */ (zoomed), 100, marks, colors)
  assert.deepEqual([drawn?.width, drawn?.height], [300, 60])
})

test('the message about a refused beginning goes when another story begins', async () => {
  const { page } = await show('&writing.prompt=She+said&writing.speed=64')
  await page.waitForFunction(() =>
    /“She”/.test(document.querySelector('#writing-refused')?.textContent ?? ''),
  )
  await page.waitForFunction(() => document.querySelector('#writing-refused')?.textContent?.trim() === '')
  assert.match(await textOf(page, WITH), /^Once upon a time/)
})

test('no line begins with punctuation, and a text that is longer than its box fades above', async () => {
  const { page } = await show('&writing.speed=64', { width: 360, height: 780 })
  await live(page)
  await page.waitForSelector(`${WITH}.above`)
  const [story] = texts()
  await waitFor(page, WITH, story)
  const first = await page.$$eval(`${WITH} .token`, (tokens) => {
    const left = Math.min(...tokens.map((one) => one.getBoundingClientRect().left))
    return tokens
      .filter((one) => one.getBoundingClientRect().left < left + 1)
      .map((one) => one.textContent ?? '')
  })
  assert.ok(first.length > 5)
  assert.deepEqual(
    first.filter((text) => /^[,.!?:]/.test(text)),
    [],
  )
})

test('on a phone there are the headings before and after, the axis, σ and “All off”', async () => {
  const { page } = await show('', { width: 360, height: 780 })
  await live(page)
  const norms = await page.$eval('#writing .norms', (norms) => /** @type {HTMLElement} */ (norms).innerText)
  for (const part of ['before the norm', 'after', 'All off', 'σ before → after'])
    assert.ok(norms.includes(part), `${part} in ${norms}`)
  assert.equal((await page.$$('#writing .norms .axis')).length, 2)
  const numbers = await page.$$eval('#writing .norms .deviation', (all) =>
    all.map((one) => [...one.children].map((part) => part.textContent).join(' ')),
  )
  assert.equal(numbers.length, 9)
  for (const one of numbers) assert.match(one, /^\d+\.\d\d → \d\.\d\d$/)
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

test('with reduced motion nothing is written before the reader asks', async () => {
  const { page } = await show('', { features: { 'prefers-reduced-motion': 'reduce' } })
  await live(page)
  await page.waitForFunction(() => document.querySelector('#writing .play')?.textContent === 'Write')
  assert.equal(await textOf(page, WITH), 'Once upon a time')
  await press(page, 'Write')
  await waitFor(page, WITH, texts()[0].slice(0, 40))
})
