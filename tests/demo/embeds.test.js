// A figure in another page, by the code that its menu copies.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { click, drawn, get, openMenu, test, useSite } from './browser.js'

const site = useSite()
const SLIDE = { width: 1280, height: 720 }

const copied = (/** @type {Page} */ page) =>
  page.evaluate(() => {
    navigator.clipboard.writeText = async (copied) => void Object.assign(window, { copied })
  })

test('the menu copies a whole iframe, which shows the figure in the chosen theme and size', async () => {
  const { page } = await site.open('?example.first=1,0,0,0,0,0', SLIDE)
  await copied(page)
  await openMenu(page, 'opening')
  await page.select('#opening select[aria-label="the embedded figure’s theme"]', 'dark')
  await page.select('#opening select[aria-label="the embedded figure’s size"]', 'large')
  await click(page, '#opening button ::-p-text(Copy to embed)')
  const code = String(await page.evaluate('copied'))
  assert.match(code, /^<iframe src="[^"]+" width="1280" height="720" title="[^"]+"><\/iframe>$/)
  await page.evaluate(
    (code) => document.body.replaceChildren(document.createRange().createContextualFragment(code)),
    code,
  )
  const frame = await (await get(page, 'iframe')).contentFrame()
  assert.ok(frame)
  await frame.waitForSelector('main:not(.still) #opening [role="slider"]')
  await frame.evaluate(drawn)
  const seen = await frame.evaluate(() => ({
    first: document.querySelector('[aria-label="y₁₁"]')?.getAttribute('aria-valuenow'),
    background: getComputedStyle(document.documentElement).backgroundColor,
    scale: getComputedStyle(document.documentElement).getPropertyValue('--scale'),
    tall: document.documentElement.scrollHeight,
  }))
  assert.deepEqual(seen, { first: '1', background: 'rgb(21, 23, 26)', scale: '1.2', tall: 720 })
  await page.close()
})
