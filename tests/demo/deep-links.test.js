// A link to a section lands on that section, and the section stays there while others arrive.

/** @import { Browser, Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { all } from '../all.js'
import {
  BROWSERS,
  click,
  closeBrowsers,
  eventually,
  newPage,
  open,
  serve,
  setSize,
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
        assert.ok(ids.length >= 7)
        await page.close()
      })

      test('a link to a section lands there and stays, on a desktop and on a phone', async () => {
        for (const [i, id] of ids.entries())
          for (const [width, height, tried] of /** @type {[number, number, number[]][]} */ ([
            [1440, 900, [1, ids.length - 1]],
            [360, 740, [5]],
          ])) {
            if (!all && !tried.includes(i)) continue
            const { page } = await open(browser, `${url}#${id}`, { width, height, features })
            await landed(page, id)
            const below = await page.evaluate((id) => {
              const [section, bar] = [`#${id}`, '.topbar'].map((one) => document.querySelector(one))
              return (
                Number(section?.getBoundingClientRect().top) - Number(bar?.getBoundingClientRect().bottom)
              )
            }, id)
            assert.ok(below >= -1, `the bar at the top hides ${-below} pixels of ${id}`)
            await page.close()
          }
      })

      test('a link in the page lands, too', async () => {
        const { page } = await open(browser, url, { features })
        for (const id of [ids[3], ids[6]]) {
          await click(page, `nav a[href="#${id}"]`)
          await waitInPage(page, () => scrollY > 0)
          await landed(page, id)
          await page.evaluate(() => scrollTo(0, 0))
        }
        await page.close()
      })

      test('before the sections are there, each has its room, on a desktop and on a phone', async () => {
        const heights = (/** @type {Page} */ page) =>
          page.$$eval('.section', (all) =>
            Object.fromEntries(all.map((one) => [one.id, Math.round(one.getBoundingClientRect().height)])),
          )
        const page = await newPage(browser)
        for (const [width, height] of [
          [1280, 720],
          [360, 740],
        ]) {
          await setSize(page, width, height)
          await page.evaluateOnNewDocument(() => {
            window.requestIdleCallback = () => 0 // no section has its turn
          })
          await page.goto(url)
          await waitInPage(page, () => document.querySelectorAll('.section').length > 5)
          const room = await heights(page)
          const { page: whole } = await open(browser, url, { width, height, features })
          // The switch goes off and on once by itself. While it is off, a section may be taller.
          await eventually(
            async () => {
              const tall = Object.entries(await heights(whole))
              return tall.every(([id, height]) => Math.abs(room[id] - height) <= height / 10)
            },
            `the sections do not get the heights of sections/index.ts, ${width} wide: ${JSON.stringify(room)}`,
          )
          await whole.close()
        }
        // The section that a link names waits for no turn.
        await page.goto(`${url}?theme=light#${ids[5]}`)
        await waitInPage(page, `document.querySelector('#${ids[5]}[aria-busy="false"]') !== null`)
        assert.ok((await page.$$('.section[aria-busy="true"]')).length > 3)
        await page.close()
      })
    })
  }
})
