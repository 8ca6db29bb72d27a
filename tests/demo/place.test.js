// The small GPT at the page's edge: where in a GPT the section on the screen is.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { click, eventually, reach, resize, test, text, useSite, waitInPage } from './browser.js'

const site = useSite()

/** What the mark says, and which of its norms are lit, and off. @param {Page} page */
const mark = (page) =>
  page.evaluate(() => {
    const mark = document.querySelector('.place')
    const norms = [...(mark?.querySelectorAll('circle') ?? [])]
    const which = (/** @type {string} */ name) =>
      norms.flatMap((norm, i) => (norm.matches(name) ? [i + 1] : []))
    return { says: mark?.textContent?.trim(), lit: which('.lit'), off: which('.off') }
  })
const ALL = [1, 2, 3, 4, 5, 6, 7, 8, 9]

test('the mark at the edge lights the norms of the section on the screen, hollow where they are off; a section that is not about this GPT has none; the bar’s switch says where it changes no figure', async () => {
  const { page, complaints } = await site.open('', { features: { 'prefers-reduced-motion': 'reduce' } })
  assert.equal((await mark(page)).says, undefined)
  for (const [id, says, lit] of /** @type {const} */ ([
    ['story', 'the whole GPT', ALL],
    ['half-precision', 'the final norm', [9]],
    ['batch-norm', 'one norm', [1]],
    ['scale-and-shift', 'the final norm', [9]],
  ])) {
    await reach(page, id)
    await page.$eval(`#${id}`, (section) => section.scrollIntoView({ block: 'center', behavior: 'instant' }))
    await waitInPage(page, `document.querySelector('.place')?.textContent.trim() === '${says}'`)
    assert.deepEqual(await mark(page), { says, lit, off: [] })
  }
  for (const id of ['worked-example', 'training']) {
    await reach(page, id)
    await page.$eval(`#${id}`, (section) => section.scrollIntoView({ block: 'center', behavior: 'instant' }))
    await waitInPage(page, `!document.querySelector('.place')`)
    await page.$eval('#story', (section) => section.scrollIntoView({ block: 'center', behavior: 'instant' }))
    await waitInPage(page, `document.querySelector('.place')`)
  }
  await click(page, '.topbar [role=switch]')
  assert.deepEqual((await mark(page)).off, ALL)
  for (const width of [360, 1280]) {
    await resize(page, width, 720)
    for (const id of await page.$$eval('.section:not(#opening)', (all) => all.map((one) => one.id))) {
      await page.$eval(`#${id}`, (section) =>
        section.scrollIntoView({ block: 'center', behavior: 'instant' }),
      )
      const keeps = ['worked-example', 'scale-and-shift', 'batch-norm'].includes(id)
      const said = `layer norm: off${keeps ? ' this figure keeps its norm' : ''}`
      await eventually(async () => (await text(page, '.topbar [role=switch]')) === said, `${id}: ${said}`)
      const [bar, button] = await page.$$eval('.topbar, .topbar [role=switch]', (all) =>
        all.map((one) => one.getBoundingClientRect().height),
      )
      assert.ok(button <= bar, `${button} pixels`)
    }
  }
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight)) // past all sections
  await waitInPage(page, `!document.querySelector('.place')`)
  assert.deepEqual(complaints, [])
  await page.close()
})
