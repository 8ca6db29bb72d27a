// The page on a phone, used by fingers alone. The tests run in a Chromium with a window, which draws by itself.
// chromium-headless-shell draws a frame when it is told to (browser.js): if a touch comes before that frame is done,
// it sometimes never draws again.

/** @import { ElementHandle, Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawn, field, get, openAll, overflow, skipped, text, useSite } from './browser.js'
import { STEPS } from '../../build/demo/sections/worked-example/steps.js'

const skip = skipped.window
const site = useSite({ chromium: process.env.CHROMIUM_BROWSER })
const PHONE = { width: 360, height: 740, touch: true, features: { 'prefers-reduced-motion': 'reduce' } }
const COMPUTED = '#worked-example'
const hint = 'Drag a dot. Point at a number, or tap it, to see how it was computed.'

/** Opens the page on a phone, and waits until every section is complete. */
async function openPhone(options = {}) {
  const opened = await site.open('', { ...PHONE, ...options })
  await openAll(opened.page)
  return opened
}

/** Scrolls an element to the middle of the screen, and returns its middle. @param {ElementHandle<Element>} one */
const middleOf = (one) =>
  one.evaluate((element) => {
    element.scrollIntoView({ block: 'center', behavior: 'instant' })
    const { left, top, width, height } = element.getBoundingClientRect()
    return { x: left + width / 2, y: top + height / 2 }
  })

/** Taps an element. @param {Page} page @param {string | ElementHandle<Element>} target @param {number} [across] pixels to the right of its middle */
async function tap(page, target, across = 0) {
  const { x, y } = await middleOf(typeof target === 'string' ? await get(page, target) : target)
  await page.touchscreen.tap(x + across, y)
  await page.evaluate(drawn)
}

/** Returns the last element that matches, such as a dot of the last row. @param {Page} page @param {string} selector */
async function last(page, selector) {
  const one = (await page.$$(selector)).at(-1)
  assert.ok(one, selector)
  return one
}

for (const size of [
  { width: 360, height: 740 },
  { width: 390, height: 844 },
])
  test(
    `at ${size.width} by ${size.height} each step’s title, sentence, formula and dots stand on one screen`,
    { skip },
    async () => {
      const { page, complaints } = await openPhone(size)
      for (const [i, { title }] of STEPS.entries()) {
        await page.$eval(COMPUTED, (section) => section.scrollIntoView())
        const { bar, parts } = await page.$eval(COMPUTED, (section) => {
          const parts = ['.title', '.words p', '.words .formula', '.rows svg'].map((part) => {
            const box = section.querySelector(part)?.getBoundingClientRect()
            return { part, top: box?.top ?? NaN, bottom: box?.bottom ?? NaN }
          })
          return { bar: document.querySelector('.topbar')?.getBoundingClientRect().bottom ?? NaN, parts }
        })
        assert.equal(await text(page, `${COMPUTED} .title`), `${i + 1} of 5 ${title}`)
        for (const { part, top, bottom } of parts)
          assert.ok(top >= bar && bottom <= size.height, `${title}: ${part} from ${top} to ${bottom}`)
        await tap(page, `${COMPUTED} .next`)
      }
      assert.deepEqual(complaints, [])
      await page.close()
    },
  )

test(
  'a finger may miss the middle of a button by 21 pixels, and that of a norm of the diagram, or of a link in a list, by 11',
  { skip },
  async () => {
    const { page } = await openPhone()
    await page.waitForSelector('#end .tasks')
    const missed = await page.evaluate(() => {
      const links = '#contents a, #end > ol a'
      const all = document.querySelectorAll(`:is(button, [role="switch"], summary, ${links})`)
      return [...all]
        .filter((one) => one.checkVisibility({ visibilityProperty: true }))
        .flatMap((one) => {
          one.scrollIntoView({ block: 'center', behavior: 'instant' })
          const { left, top, width, height } = one.getBoundingClientRect()
          const [x, y] = [left + width / 2, top + height / 2]
          const reach = one.matches('button') ? 21.5 : 11.5
          const hits = [-reach, reach].every((by) => {
            const above = document.elementFromPoint(x, Math.max(0, y + by))
            const beside = document.elementFromPoint(Math.max(0, x + by), y)
            return one.contains(above) && one.contains(beside)
          })
          return hits ? [] : [`${one.textContent} ${one.ariaLabel} ${width} by ${height}`]
        })
    })
    assert.deepEqual(missed, [])
    await page.close()
  },
)

test('a tap points at a dot, a number or a stroke, and a tap elsewhere ends it', { skip }, async () => {
  const { page } = await openPhone()
  for (let i = 0; i < 3; i++) await tap(page, `${COMPUTED} .next`)
  const said = () => text(page, `${COMPUTED} .explanation`)
  for (const [target, formula] of /** @type {[string, RegExp][]} */ ([
    [`${COMPUTED} .rows .handle circle`, /^y₂₆ = .* = 0\.0000$/],
    [`${COMPUTED} .rows :not(.handle) > circle`, /^ŷ₂₆ = .* = −1\.1913$/],
    [`${COMPUTED} table.n tr td.cell`, /^σ² of ŷ₂ = /],
  ])) {
    await tap(page, await last(page, target))
    assert.match(await said(), formula)
    await tap(page, '#worked-example-title')
    assert.equal(await said(), hint)
  }
  await tap(page, '.way svg', 80)
  assert.match(await text(page, '.way + .note'), /^Number \d+ of .* before, .* after\.$/)
  await tap(page, '[data-norm="layer"] svg', 120)
  assert.match(await text(page, '[data-norm="layer"] .note'), / √\(.* = /)
  await page.close()
})

test(
  'from whatever a finger starts, a swipe up scrolls the page, and changes and points at nothing',
  { skip },
  async () => {
    const { page } = await openPhone()
    await page.evaluate(() =>
      document
        .querySelectorAll('button')
        .forEach((one) => /Pause|rows come from/.test(one.textContent) && one.click()),
    )
    const state = () =>
      page.evaluate(() => [
        ...[...document.querySelectorAll('svg [role="slider"], input')].map(
          (one) => one.ariaValueNow ?? /** @type {HTMLInputElement} */ (one).value,
        ),
        ...[...document.querySelectorAll('.explanation, .way + .note, .table > .note')].map(
          (one) => one.textContent,
        ),
      ])
    const before = await state()
    const fields = 'input[type="range"], table.x tr:first-child td:nth-child(2) input'
    for (const start of await page.$$(
      `:is(.rows, .way, .grid) svg, #opening .handle[aria-label$="number 1"], ${fields}`,
    )) {
      const { x, y } = await middleOf(start)
      const from = await page.evaluate(() => scrollY)
      const finger = await page.touchscreen.touchStart(x, y)
      for (let i = 1; i <= 4; i++) {
        await finger.move(x + 2 * i, y - 40 * i)
        await page.evaluate(drawn)
      }
      await finger.end()
      await page.evaluate(drawn)
      const name = await start.evaluate((one) => one.ariaLabel)
      assert.ok((await page.evaluate(() => scrollY)) > from + 60, `${name} does not scroll`)
      assert.deepEqual(await state(), before, String(name))
    }
    await page.close()
  },
)

test(
  'a number at the right edge is typed, and its sign is changed, where a finger can reach',
  { skip },
  async () => {
    const { page } = await openPhone()
    for (let i = 0; i < 4; i++) await tap(page, `${COMPUTED} .next`)
    await tap(page, field('γ₆'))
    await page.keyboard.type('2')
    const { right } = await page.$eval('.sign', (sign) => sign.getBoundingClientRect().toJSON())
    assert.ok(right <= PHONE.width, `the sign ends at ${right}`)
    await tap(page, '.sign')
    await tap(page, '#worked-example-title')
    assert.equal(await page.$eval(field('γ₆'), (one) => /** @type {HTMLInputElement} */ (one).value), '−2.00')
    assert.deepEqual([await overflow(page), await page.evaluate(() => scrollX)], [0, 0])
    await page.close()
  },
)
