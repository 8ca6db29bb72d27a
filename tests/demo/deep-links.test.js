// A link to a section lands on that section, and the section stays there while others are fetched.

/** @import { Browser, Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { all } from '../all.js'
import {
  BROWSERS,
  click,
  closeBrowsers,
  eventually,
  open,
  press,
  serve,
  settled,
  share,
  skipped,
  waitInPage,
} from './browser.js'

/** @type {string} */
let url
before(async () => {
  url = await serve()
})
after(closeBrowsers)

/** How far a section's top is from where a link puts it, in pixels. @param {Page} page @param {string} id */
async function distance(page, id) {
  await waitInPage(page, settled)
  return page.evaluate((id) => {
    const section = /** @type {HTMLElement} */ (document.getElementById(id))
    const root = document.documentElement
    const top =
      section.getBoundingClientRect().top + scrollY - parseFloat(getComputedStyle(section).scrollMarginTop)
    return scrollY - Math.max(0, Math.min(top, root.scrollHeight - root.clientHeight))
  }, id)
}

/** Waits until a section is where a link puts it. @param {Page} page @param {string} id */
const landed = (page, id) =>
  eventually(async () => Math.abs(await distance(page, id)) <= 1, `${id} is not where its link puts it`)

/** @param {Page} page @returns {Promise<string[]>} */
const idsOf = (page) => page.$$eval('.section', (all) => all.map(({ id }) => id))

describe('deep links', { concurrency: 2 }, () => {
  for (const name of BROWSERS) {
    describe(name, { skip: skipped[name], concurrency: 1 }, () => {
      /** @type {Browser} */
      let browser
      /** @type {string[]} */
      let ids
      // Firefox sets no media features in an open page.
      /** @type {Record<string, string>} */
      const features = name === 'chrome' ? { 'prefers-reduced-motion': 'reduce' } : {}
      before(async () => {
        browser = await share(name)
        const { page } = await open(browser, url)
        ids = await idsOf(page)
        assert.ok(ids.length >= 8)
        await page.close()
      })

      test('a link to any section lands there and stays, on a desktop and on a phone', async () => {
        const sizes = [
          { width: 1440, height: 900 },
          { width: 360, height: 740 },
        ]
        for (const [i, id] of ids.entries())
          for (const size of all ? sizes : [sizes[i % 2]]) {
            const { page } = await open(browser, `${url}#${id}`, { ...size, features })
            await landed(page, id)
            await page.close()
          }
      })

      test('a link in the page lands, too; then the reader may scroll away', async () => {
        const { page } = await open(browser, `${url}#batch-norm`, { features })
        await landed(page, 'batch-norm')
        await page.evaluate(() => scrollTo(0, 0))
        await waitInPage(page, settled)
        for (const time of ['first', 'again']) {
          await click(page, 'nav a[href="#training"]')
          await waitInPage(page, () => scrollY > 0)
          await landed(page, 'training')
          // A section that arrives meanwhile may end the scroll: the reader presses again.
          await eventually(async () => {
            await press(page, 'Home')
            await waitInPage(page, settled)
            return page.evaluate(() => scrollY === 0)
          }, 'Home does not lead to the top')
          await waitInPage(page, settled)
          assert.equal(await page.evaluate(() => scrollY), 0, time)
        }
        await page.close()
      })

      test('the section stays while another above it grows, until the reader scrolls', async () => {
        const { page } = await open(browser, `${url}#batch-norm`, { features })
        await landed(page, 'batch-norm')
        const grow = () =>
          page.$eval('#transformer-block', (section) => {
            section.append(Object.assign(document.createElement('p'), { textContent: 'more' }))
          })
        await grow()
        await landed(page, 'batch-norm')
        // By a scroll bar or a search, no key and no wheel. A scroll at the moment in which another section
        // arrives is taken for the page's own: the reader scrolls again.
        let away = 0
        for (let i = 0; i < 50 && away < 100; i++) {
          await page.evaluate(() => scrollBy(0, 200))
          await page.evaluate(settled)
          await grow()
          away = Math.abs(await distance(page, 'batch-norm'))
        }
        assert.ok(away >= 100, `${away} pixels away`)
        await page.close()
      })
    })
  }
})
