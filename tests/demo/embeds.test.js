// A figure in another page: each section's figure alone fits a 16:9 slide, in its theme and size.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { click, drawn, get, openMenu, overflow, test, useSite, WHOLE_SECTION } from './browser.js'

const site = useSite()
const SLIDE = { width: 1280, height: 720 }

const copied = (/** @type {Page} */ page) =>
  page.evaluate(() => {
    navigator.clipboard.writeText = async (copied) => void Object.assign(window, { copied })
  })

test('every figure alone fits a slide of 1280 by 720, in the usual size and in the one for a hall', async () => {
  const { page } = await site.open('', SLIDE)
  const ids = await page.$$eval('.section', (all) => all.map(({ id }) => id))
  await page.close()
  assert.ok(ids.length > 8)
  const tall = []
  for (const id of ids) {
    for (const size of ['', '&size=large']) {
      const alone = await site.open(`?embed=${id}&show=figure&theme=dark${size}`, {
        ...SLIDE,
        ready: WHOLE_SECTION,
      })
      const height = await alone.page.evaluate(() => document.documentElement.scrollHeight)
      if (height > SLIDE.height) tall.push(`${id}${size}: ${height}`)
      assert.ok((await overflow(alone.page)) <= 0, id)
      assert.equal(
        await alone.page.$('.alone .guess:not([hidden])').then((one) => one?.isVisible() ?? false),
        false,
      )
      assert.deepEqual(alone.complaints, [])
      await alone.page.close()
    }
  }
  assert.deepEqual(tall, [])
})

test('the menu copies a whole iframe, which shows the figure in the chosen theme and size', async () => {
  const { page } = await site.open('?opening.first=1,0,0,0,0,0', SLIDE)
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
