// The page on paper: a handout with every section, its figures whole and in color, without controls.

import assert from 'node:assert/strict'
import { drawn, press, test, useSite, waitInPage } from './browser.js'

const site = useSite()
const PAPER = { width: 688, height: 1016 } // A4 without its margins, in pixels

test('on paper every section is there, whole and in color, and no control', async () => {
  const { page, complaints } = await site.open('', { width: 1280, height: 720 })
  await page.evaluate(() => {
    window.print = () => Object.assign(window, { printed: true })
  })
  await press(page, 'Control', 'p')
  await waitInPage(page, () => 'printed' in window)
  assert.equal(await page.$('.section.waiting'), null)
  await waitInPage(page, () => !document.querySelector('.section [aria-busy="true"]'))

  await page.setViewport(PAPER)
  await page.emulateMediaType('print')
  await page.evaluate(drawn)
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')))
  const found = await page.evaluate((paper) => {
    const seen = (/** @type {string} */ selector) =>
      [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility())
    const name = (/** @type {Element} */ element) =>
      `${element.closest('.section')?.id}: ${element.outerHTML.slice(0, 100)}`
    return {
      sections: seen('.section').length,
      figures: seen('.section svg').length,
      controls: seen('nav, .menu, input[type="range"], button:not(.guess button, .token)').map(name),
      wide: seen('.section *')
        .filter(
          (element) => !element.closest('.unseen') && element.getBoundingClientRect().right > paper.width + 1,
        )
        .map(name),
      tall: seen('.section :is(figure, svg)')
        .filter((element) => element.getBoundingClientRect().height > paper.height)
        .map(name),
      split: seen('.section :is(.figure, figure, svg)')
        .filter((element) => getComputedStyle(element).breakInside !== 'avoid')
        .map(name),
      pale: seen('.section .cell').filter(
        (cell) => getComputedStyle(cell).getPropertyValue('print-color-adjust') !== 'exact',
      ).length,
      page: getComputedStyle(document.documentElement).backgroundColor,
    }
  }, PAPER)
  assert.ok(found.sections >= 8 && found.figures >= found.sections, JSON.stringify(found))
  assert.deepEqual([found.controls, found.wide, found.tall, found.split], [[], [], [], []])
  assert.equal(found.pale, 0)
  assert.equal(found.page, 'rgb(253, 253, 251)')
  assert.deepEqual(complaints, [])
  await page.close()
})
