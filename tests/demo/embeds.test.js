// A figure in another page, by the code that its menu copies.

/** @import { KeyInput, Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import {
  choose,
  click,
  drawn,
  eventually,
  get,
  openAll,
  openMenu,
  press,
  resize,
  test,
  useSite,
  waitInPage,
} from './browser.js'

const site = useSite()
const SLIDE = { width: 1280, height: 720 }
const HALL = { width: 1920, height: 1080 }

const copied = (/** @type {Page} */ page) =>
  page.evaluate(() => {
    navigator.clipboard.writeText = async (copied) => void Object.assign(window, { copied })
  })

test('the menu copies a whole iframe, which shows the figure in view; its address may say theme and size', async () => {
  const { page } = await site.open('?example.first=1,0,0,0,0,0&story.off=all&batch-norm.batch=2', SLIDE)
  await copied(page)
  await openMenu(page)
  await choose(page, 'Copy to embed')
  const code = String(await page.evaluate('copied'))
  assert.match(code, /^<iframe src="(?:[^"&]|&amp;)+" width="1280" height="720" title="[^"]+"><\/iframe>$/)
  assert.doesNotMatch(code, /batch-norm/, 'the state of another figure')
  await page.evaluate(
    (code) => document.body.replaceChildren(document.createRange().createContextualFragment(code)),
    code.replace('show=figure', 'show=figure&amp;theme=dark&amp;size=large'),
  )
  const frame = await (await get(page, 'iframe')).contentFrame()
  assert.ok(frame)
  await frame.waitForSelector('main:not(.still) #opening [role="slider"]')
  await frame.evaluate(drawn)
  const seen = await frame.evaluate(() => ({
    first: document.querySelector('[aria-label="sample 1, number 1"]')?.getAttribute('aria-valuenow'),
    background: getComputedStyle(document.documentElement).backgroundColor,
    scale: getComputedStyle(document.documentElement).getPropertyValue('--scale'),
    tall: document.documentElement.scrollHeight,
  }))
  assert.deepEqual(seen, { first: '1', background: 'rgb(21, 23, 26)', scale: '1.2', tall: 720 })
  await page.close()
})

/** What a slide shows; in the page. */
const slide = () => {
  const sections = [...document.querySelectorAll('.section')].filter((one) =>
    one.checkVisibility({ visibilityProperty: true }),
  )
  const { show, size } = document.documentElement.dataset
  const boxes = [...sections[0].children]
    .map((one) => one.getBoundingClientRect())
    .filter(({ height }) => height)
  const texts = [...sections[0].querySelectorAll('svg text')].map((one) => ({
    said: one.textContent,
    box: one.getBoundingClientRect(),
  }))
  return {
    /** Pixels between one part and the next. */
    gaps: boxes.slice(1).map(({ top }, i) => top - boxes[i].bottom),
    /** Texts of the figure that lie on one another. */
    crossed: texts.flatMap(({ said, box: { left, right, top, bottom } }, i) =>
      texts
        .slice(i + 1)
        .filter(({ box }) => Math.min(right, box.right) - Math.max(left, box.left) > 2)
        .filter(({ box }) => Math.min(bottom, box.bottom) - Math.max(top, box.top) > box.height / 2)
        .map((other) => `${said} and ${other.said}`),
    ),
    shown: sections.map(({ id }) => id).join(),
    sentence: sections[0].querySelector('.slide')?.textContent ?? '',
    keys: [...document.querySelectorAll('.keys')]
      .map((one) => one.checkVisibility() && one.textContent?.trim())
      .join(),
    /** How many pixels are beyond the window: to the right, and below. */
    beyond: [
      document.documentElement.scrollWidth - innerWidth,
      document.documentElement.scrollHeight - innerHeight,
    ],
    show,
    size,
    /** How much of the window's height it takes, or of the width that a figure needs. */
    tall: Math.max(...boxes.map(({ bottom }) => bottom)) / innerHeight,
    wide: (860 * Number(document.documentElement.style.getPropertyValue('--zoom'))) / innerWidth,
  }
}

test('the presenting mode shows one figure at a time, as large as the window: keys lead from figure to figure, Escape ends', async () => {
  const { page, complaints } = await site.open('', {
    ...HALL,
    features: { 'prefers-reduced-motion': 'reduce' },
  })
  const ids = await openAll(page)
  await page.evaluate(() => scrollTo(0, 0))
  await openMenu(page)
  await choose(page, 'Present')
  await waitInPage(page, () => document.fullscreenElement !== null)
  assert.equal(await page.$('#menu:popover-open'), null)
  const fits = async (/** @type {string} */ id) => {
    const filled = (/** @type {number} */ part) => part > 0.9 && part <= 1.001
    await eventually(async () => {
      const { shown, tall, wide, beyond } = await page.evaluate(slide)
      return shown === id && tall <= 1 && (filled(tall) || filled(wide)) && String(beyond) === '0,0'
    }, `the slide of ${id} does not fill the window`)
    await page.evaluate(drawn)
    const { sentence, show, size, gaps, crossed } = await page.evaluate(slide)
    assert.deepEqual([show, size], ['figure', 'large'])
    assert.ok(Math.max(...gaps) < 60, `${id}: ${gaps}`)
    assert.deepEqual(crossed, [], id)
    if (id !== ids[0]) assert.ok(sentence.endsWith('.'), `${id}: ${sentence}`)
  }
  assert.match((await page.evaluate(slide)).keys, /^← → step .* Esc ends\.$/)
  /** @type {KeyInput[]} */
  const forth = ['ArrowDown', 'PageDown', 'Space']
  await fits(ids[0])
  for (const { width, height } of [SLIDE, HALL]) {
    await resize(page, width, height)
    await fits(ids[0])
  }
  const widths = await page.$$eval('.section', (all) => all.map((one) => one.clientWidth))
  assert.equal(new Set(widths).size, 1, `what is hidden is drawn by another width: ${widths}`)
  for (const [i, id] of ids.slice(1).entries()) {
    await press(page, forth[i % 3])
    await fits(id)
  }
  assert.equal((await page.evaluate(slide)).keys, '')
  await press(page, 'ArrowDown') // there is no further one
  await press(page, 'PageUp')
  await fits(ids[ids.length - 2])
  await press(page, 'ArrowUp')
  await press(page, 'Shift', 'Space')
  await fits(ids[ids.length - 4])
  await press(page, 'Escape')
  await waitInPage(page, () => document.documentElement.dataset.presenting === undefined)
  const { show, size } = await page.evaluate(slide)
  assert.deepEqual([show, size], [undefined, undefined])
  // The page is where the last slide was.
  const top = () => page.$eval(`#${ids[ids.length - 4]}`, (section) => section.getBoundingClientRect().top)
  await eventually(async () => Math.abs((await top()) - 72) < 40, 'the page is elsewhere')
  assert.deepEqual(complaints, [])
  await page.close()
})

test('where a finger points, buttons lead from slide to slide; on a phone no text of a figure lies on another', async () => {
  const { page } = await site.open('', { width: 360, height: 740, touch: true })
  const ids = await openAll(page)
  await page.evaluate(() => scrollTo(0, 0))
  await openMenu(page)
  await choose(page, 'Present')
  const leads = async (/** @type {string} */ word, /** @type {string} */ to) => {
    await click(page, `.topbar button ::-p-text(${word})`)
    await eventually(async () => (await page.evaluate(slide)).shown === to, `${word} does not lead to ${to}`)
  }
  for (const [i, id] of ids.entries()) {
    if (i > 0) await leads('Next', id)
    await page.evaluate(drawn)
    assert.deepEqual((await page.evaluate(slide)).crossed, [], id)
  }
  await leads('Previous', ids[ids.length - 2])
  await click(page, '.topbar button ::-p-text(End)')
  await waitInPage(page, () => document.documentElement.dataset.presenting === undefined)
  await page.close()
})

test('left and right step what a slide shows, visibly, and nothing that is hidden; the slide still fits the window', async () => {
  const { page } = await site.open('?size=large', {
    ...HALL,
    features: { 'prefers-reduced-motion': 'reduce' },
  })
  const ids = await openAll(page)
  await openMenu(page)
  await choose(page, 'Present')
  await waitInPage(page, () => document.documentElement.dataset.presenting === '')
  const state = () => page.evaluate(() => location.search)
  for (let at = ids.length - 1; at > 0; at--) {
    assert.equal((await page.evaluate(slide)).shown, ids[at])
    const before = await state()
    const isTraining = ids[at] === 'training' // its slider is at the right end
    await press(page, isTraining ? 'ArrowLeft' : 'ArrowRight')
    await eventually(async () => (await state()) !== before, `${ids[at]} stays as it is`)
    const changed = new URLSearchParams(await state())
    for (const [name, value] of new URLSearchParams(before)) assert.equal(changed.get(name), value)
    const fits = async () => String((await page.evaluate(slide)).beyond) === '0,0'
    await eventually(fits, `${ids[at]} is larger than the window`)
    if (isTraining) {
      await press(page, 'ArrowRight')
      await eventually(async () => (await state()) === before, 'the slider does not go back')
    }
    await press(page, 'ArrowUp')
  }
  assert.equal((await page.evaluate(slide)).shown, ids[0])
  await press(page, 'ArrowLeft') // on an earlier slide the right key switched the norms off
  await eventually(async () => !(await state()).includes('story.off'), 'the switch stays off')
  const { precision, scale } = Object.fromEntries(
    [...new URLSearchParams(await state())].map(([name, value]) => [name.split('.').at(-1), value]),
  )
  assert.deepEqual([precision, scale], ['float16', '1.99'])
  await page.evaluate(() => document.exitFullscreen()) // as the browser's own key does
  await waitInPage(page, () => document.documentElement.dataset.presenting === undefined)
  assert.equal((await page.evaluate(slide)).size, 'large') // as before
  await page.close()
})
