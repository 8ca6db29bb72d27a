// A figure in another page, by the code that its menu copies.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { choose, drawn, get, openMenu, press, test, useSite, waitInPage } from './browser.js'

const site = useSite()
const SLIDE = { width: 1280, height: 720 }

const copied = (/** @type {Page} */ page) =>
  page.evaluate(() => {
    navigator.clipboard.writeText = async (copied) => void Object.assign(window, { copied })
  })

test('the menu copies a whole iframe, which shows the figure in view; its address may say theme and size', async () => {
  const { page } = await site.open('?example.first=1,0,0,0,0,0', SLIDE)
  await copied(page)
  await openMenu(page)
  await choose(page, 'Copy to embed')
  const code = String(await page.evaluate('copied'))
  assert.match(code, /^<iframe src="[^"]+" width="1280" height="720" title="[^"]+"><\/iframe>$/)
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

test('the presenting mode shows one large figure at a time: keys lead through steps and figures, Escape ends', async () => {
  const { page, complaints } = await site.open('', SLIDE)
  await openMenu(page)
  await choose(page, 'Present')
  const shown = () =>
    page.evaluate(() => {
      const sections = [...document.querySelectorAll('.section')].filter((one) =>
        one.checkVisibility({ visibilityProperty: true }),
      )
      const { show, size } = document.documentElement.dataset
      const step = sections[0].querySelector('h3.title')?.textContent ?? ''
      const { scrollHeight } = document.documentElement
      return {
        shown: sections.map(({ id }) => id).join(),
        step,
        show,
        size,
        fits: scrollHeight <= innerHeight,
      }
    })
  const ids = await page.$$eval('.section', (all) => all.map(({ id }) => id))
  const large = { step: '', show: 'figure', size: 'large', fits: true }
  // The window grows before the figure does.
  await waitInPage(page, () => {
    const { dataset, scrollHeight } = document.documentElement
    return dataset.presents === '' && document.fullscreenElement !== null && scrollHeight <= innerHeight
  })
  assert.deepEqual(await shown(), { ...large, shown: 'opening' })
  assert.ok(await page.evaluate(() => document.fullscreenElement !== null))
  for (const id of ids.slice(1, ids.indexOf('worked-example') + 1)) {
    await press(page, 'PageDown')
    assert.equal((await shown()).shown, id)
  }
  const first = await shown()
  await press(page, 'ArrowRight')
  const second = await shown()
  assert.equal(second.shown, 'worked-example')
  assert.notEqual(second.step, first.step)
  await press(page, 'PageUp')
  await press(page, 'PageUp')
  assert.equal((await shown()).shown, ids[ids.indexOf('worked-example') - 2])
  await press(page, 'Escape')
  await waitInPage(page, () => document.documentElement.dataset.presents === undefined)
  const { show, size } = await shown()
  assert.deepEqual([show, size], [undefined, undefined])
  assert.deepEqual(complaints, [])
  await page.close()
})
