// How all sections look: accessible by axe, large enough to read and to press, wide and narrow, light and
// dark.

/** @import { AxeResults } from 'axe-core' */
/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe } from 'node:test'
import { after, before, hold, newPage, openAll, overflow, test, useSite, WHOLE_SECTION } from './browser.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const site = useSite()

/** Every violation of any of axe's rules. @param {Page} page @returns {Promise<string[]>} rule and element */
async function findings(page) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  const { violations } = /** @type {AxeResults} */ (
    await page.evaluate("axe.run({ resultTypes: ['violations'] })")
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`),
  )
}

const WIDE = { width: 1440, height: 900 }
const LAPTOP = { width: 1280, height: 720 }
const PHONE = { width: 360, height: 740 }
/** Of one section at 1280 by 720, so that a reader sees all of it. */
const TALLEST = 720

/** @param {Page} page @param {string} theme */
const useTheme = (page, theme) =>
  page.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: theme },
    { name: 'prefers-reduced-motion', value: 'reduce' },
  ])

const THEMES = ['light', 'dark']

// One page for each size, because opening every section takes seconds.
for (const { width, height } of [WIDE, LAPTOP, PHONE]) {
  describe(`at ${width} by ${height}, with every section open`, () => {
    /** @type {Page} */
    let page
    before(async () => {
      const features = { 'prefers-color-scheme': 'light', 'prefers-reduced-motion': 'reduce' }
      ;({ page } = await site.open('', { width, height, features }))
      await openAll(page)
    })
    after(() => page?.close())

    if (width === PHONE.width)
      test('every control is at least 36 pixels high and wide, but for the words of a text', async () => {
        await page.emulateMediaFeatures([])
        assert.deepEqual(await small(page), [])
      })

    for (const theme of THEMES)
      test(`axe finds nothing, ${theme}, with every answer shown`, async () => {
        await answerAll(page)
        await useTheme(page, theme)
        assert.deepEqual(await findings(page), [])
      })

    if (width === WIDE.width)
      test('axe finds a planted low contrast and a missing label', async () => {
        await useTheme(page, 'light')
        await page.$eval('h1', (heading) => {
          if (heading instanceof HTMLElement) heading.style.color = '#bbb'
        })
        await page.$eval('.editable', (input) => input.removeAttribute('aria-label'))
        const found = (await findings(page)).join('\n')
        assert.match(found, /^color-contrast: <h1/m)
        assert.match(found, /^label-title-only: <input/m)
      })
  })
}

/**
 * The controls that are lower or narrower than 36 pixels. A radio that is not seen is chosen by its label.
 *
 * @param {Page} page
 */
const small = (page) =>
  page.$$eval('.section :is(button:not(.token), select, input:not([type="file"], .unseen))', (all) =>
    all
      .filter((one) => one.checkVisibility())
      .map((one) => ({ one, box: one.getBoundingClientRect() }))
      .filter(({ box }) => !(box.height >= 35.5 && box.width >= 35.5))
      .map(
        ({ one, box: { width, height } }) =>
          `${one.closest('.section')?.id}: ${one.ariaLabel ?? one.textContent} is ${width} by ${height}`,
      ),
  )

/** Presses every answer, so that each section shows its longest one last. @param {Page} page */
const answerAll = (page) => page.$$eval('.guess button', (all) => all.forEach((button) => button.click()))

describe('at 1280 by 720, with every section open, as it moves', () => {
  /** @type {Page} */
  let page
  before(async () => {
    ;({ page } = await site.open('', LAPTOP))
    await openAll(page)
  })
  after(() => page?.close())

  const tooTall = () =>
    page.$$eval(
      '.section',
      (all, most) =>
        all
          .map((one) => ({ id: one.id, height: one.getBoundingClientRect().height }))
          .filter(({ height }) => height > most),
      TALLEST,
    )

  test('every section fits the screen before its guess', async () => {
    assert.deepEqual(await tooTall(), [])
  })

  test('the page has five sizes of text, of which none is below 13 pixels', async () => {
    const sizes = await page.evaluate(() => {
      /** @type {Record<string, string>} */
      const found = {}
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const element = node.parentElement
        // MathML makes its exponents smaller.
        if (!node.textContent?.trim() || !element?.checkVisibility() || element.closest('math, .unseen'))
          continue
        const { fontSize } = getComputedStyle(element)
        found[fontSize] ??= `${element.closest('.section')?.id}: ${node.textContent.trim().slice(0, 40)}`
      }
      return found
    })
    assert.deepEqual(
      Object.keys(sizes).sort(),
      ['13px', '14px', '17px', '24px', '40px'],
      JSON.stringify(sizes),
    )
  })

  test('a guess is answered, right or wrong: the right choice is marked, and the answer says it', async () => {
    const guesses = await page.$$('div.guess')
    assert.ok(guesses.length >= 6, String(guesses.length))
    for (const guess of guesses) {
      assert.equal(await guess.$eval('.answer', (answer) => answer.textContent?.trim()), '')
      assert.equal(await guess.$('.right'), null)
      const taken = await guess.evaluate(async (one) => {
        const taken = []
        for (const button of one.querySelectorAll('button')) {
          button.click()
          await new Promise((resolve) => setTimeout(resolve))
          taken.push({
            option: button.textContent,
            marked: [...one.querySelectorAll('.right')].map(({ textContent }) => textContent).join(),
            answer: one.querySelector('.answer')?.textContent?.trim(),
          })
        }
        return taken
      })
      assert.equal(taken.filter(({ option, marked }) => option === marked).length, 1, JSON.stringify(taken))
      for (const { option, marked, answer } of taken)
        assert.ok(answer?.startsWith(`${option === marked ? 'Yes' : 'Not quite'}: ${marked}. `), answer)
    }
  })

  test('every section fits the screen after its guess', async () => {
    await answerAll(page)
    assert.deepEqual(await tooTall(), [])
  })
})

/** The sizes of all text, in pixels of the screen, each with the first text of it. @param {Page} page */
const sizesOf = (page) =>
  page.evaluate(() => {
    /** @type {Record<string, string>} */
    const found = {}
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = /** @type {any} */ (node.parentElement)
      if (!node.textContent?.trim() || !element.checkVisibility() || element.closest('math, .unseen'))
        continue
      const size = parseFloat(getComputedStyle(element).fontSize) * element.currentCSSZoom
      found[size.toFixed(2)] ??= `${element.closest('.section')?.id}: ${node.textContent.trim().slice(0, 40)}`
    }
    return Object.entries(found).sort(([one], [other]) => Number(one) - Number(other))
  })

/** Drags the opening's first dot, and returns how far it is from the pointer. @param {Page} page */
async function missed(page) {
  await page.evaluate(() => scrollTo(0, 0))
  const dot = '#opening [role="slider"]'
  const { x } = await hold(page, dot)
  await page.mouse.move(x + 60, 200)
  const left = await page.$eval(
    dot,
    (one) => one.getBoundingClientRect().left + one.getBoundingClientRect().width / 2,
  )
  await page.mouse.up()
  return Math.abs(left - x - 60)
}

for (const { width, height, own, least, text } of [
  { width: 1920, height: 1080, own: 16, least: 17, text: 22 },
  { width: 1280, height: 720, own: 24, least: 19.5, text: 25.5 },
  { width: 360, height: 740, own: 24, least: 13 * 1.125, text: 25.5 },
]) {
  test(`at ${width} by ${height} with a default size of ${own}, text has ${text} pixels and labels ${least}`, async () => {
    const page = await newPage(site.browser)
    await page.setViewport({ width, height })
    await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }])
    const session = await page.createCDPSession()
    await session.send('Page.setFontSizes', { fontSizes: { standard: own } })
    await page.goto(site.url)
    await page.waitForSelector('main:not(.still)')
    await openAll(page)
    const sizes = await sizesOf(page)
    assert.ok(Number(sizes[0][0]) >= least, JSON.stringify(sizes))
    const words = await page.$eval('.section .text p:not(.note)', (one) => {
      return parseFloat(getComputedStyle(one).fontSize) * /** @type {any} */ (one).currentCSSZoom
    })
    assert.ok(words >= text, `${words} pixels`)
    assert.ok((await overflow(page)) <= 0)
    assert.ok((await missed(page)) < 2)
    if (width === 1920) {
      const tall = await page.$$eval('.section', (all) =>
        all.map((one) => one.getBoundingClientRect().height),
      )
      assert.ok(Math.max(...tall) <= height, String(tall))
    }
    await page.close()
  })
}

test('axe finds nothing in an embedded section', async (t) => {
  const { page } = await site.open()
  const ids = await page.$$eval('.section', (all) => all.map(({ id }) => id))
  await page.close()
  assert.ok(ids.length > 8)
  for (const id of ids) {
    await t.test(id, async () => {
      const { page } = await site.open(`?embed=${id}`, { ready: WHOLE_SECTION })
      assert.deepEqual(await findings(page), [])
      await page.close()
    })
  }
})
