// The page on paper: a handout with every section, its figures whole and in color, without controls.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { drawn, openAll, press, test, useSite, waitInPage } from './browser.js'

const site = useSite()
const STILL = { width: 1280, height: 720, features: { 'prefers-reduced-motion': 'reduce' } }
const PAPER = { width: 688, height: 1016 } // A4 without its margins, in pixels

/** What prints comes last, and fetches the fonts. A font of the system may be missing. @param {Page} page */
const readyToPrint = (page) =>
  waitInPage(page, () => [...document.fonts].every(({ status }) => ['loaded', 'error'].includes(status)))

test('on paper every section is there, whole and in color, and no control', async () => {
  // On the screen the page is dark. The training has no rate of 99: the page says so in its notice.
  const { page, complaints } = await site.open('?theme=dark&training.rate=99', STILL)
  await openAll(page)
  await page.$eval('dialog', (dialog) => /** @type {HTMLDialogElement} */ (dialog).showModal())
  await readyToPrint(page)
  await page.setViewport(PAPER)
  await page.emulateMediaType('print')
  await page.evaluate(drawn)
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')))
  const found = await page.evaluate((paper) => {
    const seen = (/** @type {string} */ selector) =>
      [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility())
    const name = (/** @type {Element} */ element) =>
      `${element.closest('.section')?.id}: ${element.outerHTML.slice(0, 100)}`
    const style = getComputedStyle(document.documentElement)
    return {
      sections: seen('.section').length,
      figures: seen('.section svg').length,
      words: seen('.section .run').length,
      controls: seen(
        'nav, footer, dialog, select, input[type="range"], button:not(.guess button), [role="toolbar"], .controls, .notice, .place, .skip, .slider, .topbar, .whole',
      ).map(name),
      wide: seen('.section *')
        .filter(
          (element) => !element.closest('.unseen') && element.getBoundingClientRect().right > paper.width + 1,
        )
        .map(name),
      tall: seen('.section :is(figure, svg)')
        .filter((element) => element.getBoundingClientRect().height > paper.height)
        .map(name),
      split: seen('.section :is(figure, svg)')
        .filter((element) => getComputedStyle(element).breakInside !== 'avoid')
        .map(name),
      unanswered: seen('div.guess')
        .filter((guess) => !guess.querySelector('.answer')?.textContent?.trim())
        .map(name),
      joined: seen('.guess button').filter(
        (option) =>
          (getComputedStyle(option, '::before').content === '"· "') === option.matches(':first-child'),
      ).length,
      pale: seen('.section .cell').filter(
        (cell) => getComputedStyle(cell).getPropertyValue('print-color-adjust') !== 'exact',
      ).length,
      colors: [style.backgroundColor, style.color],
      // Firefox prints the filling of a line, which has none on the screen.
      filled: seen('.section svg path')
        .filter((path) => getComputedStyle(path).fill !== 'none')
        .map(name),
      acts: document.body.innerText.match(/(Drag a|Point at|Press|has moved) .*/g),
    }
  }, PAPER)
  assert.ok(found.sections >= 7 && found.figures >= found.sections, JSON.stringify(found))
  assert.deepEqual(
    [found.controls, found.wide, found.tall, found.split, found.unanswered, found.filled],
    [[], [], [], [], [], []],
  )
  assert.ok(found.words > 0, 'the texts that the model wrote')
  assert.deepEqual([found.joined, found.pale], [0, 0])
  assert.equal(found.acts, null, 'what nobody can do or see on paper')
  assert.deepEqual(found.colors, ['rgb(255, 255, 255)', 'rgb(34, 37, 42)'])
  assert.deepEqual(complaints, [])
  await page.close()
})

for (const width of [1280, 360])
  test(`printed by Ctrl+P as soon as it is open, ${width} pixels wide, every figure is there, as wide as the paper, on no more than 8 pages, none of which is blank, and no heading is parted from its text`, async () => {
    const { page, complaints } = await site.open('', { ...STILL, width })
    await readyToPrint(page)
    await page.evaluate(() => {
      window.print = () => document.body.setAttribute('data-printed', document.body.innerText)
    })
    await press(page, 'Control', 'p')
    await waitInPage(page, () => document.body.dataset.printed !== undefined)
    const printed = await page.$eval('body', (body) => body.dataset.printed ?? '')
    assert.doesNotMatch(printed, /on its way|are being computed/)
    assert.match(printed, /after 150 of 150 steps/)
    await page.evaluate(() => {
      // A PDF says on which page the target of a link is.
      const link = (/** @type {string} */ id, /** @type {Element | null} */ to) => {
        if (!to) throw new Error(`there is no ${id}`)
        to.id = id
        const link = Object.assign(document.createElement('a'), { href: `#${id}`, textContent: id })
        link.style.cssText = 'position: absolute; top: 0' // it makes the page no longer
        document.querySelector('main')?.append(link)
      }
      addEventListener('beforeprint', () => {
        for (const section of document.querySelectorAll('.section')) {
          link(`${section.id}-heading`, section.querySelector('.heading'))
          link(`${section.id}-text`, section.querySelector('.heading ~ * :is(p, svg)'))
        }
        for (const title of document.querySelectorAll('.text h3')) {
          link(`step-${title.textContent?.at(0)}-heading`, title)
          link(
            `step-${title.textContent?.at(0)}-text`,
            title.parentElement?.querySelector('tr:last-child') ?? null,
          )
        }
        const last = [...document.querySelectorAll('#end .note')].at(-1)
        link('end-note', last?.querySelector('p') ?? null)
        const figures = document.querySelectorAll(':is(.hero, .figure) svg')
        document.body.dataset.widths = [...figures].map((svg) => svg.getAttribute('width')).join()
      })
    })
    const pdf = Buffer.from(await page.pdf({ format: 'A4' })).toString('latin1')
    const widths = await page.$eval('body', (body) => body.dataset.widths?.split(',') ?? [])
    assert.ok(widths.length > 6 && widths.every((width) => width === '800' || width === '388'), `${widths}`)
    const pages = Object.fromEntries(
      [...pdf.matchAll(/\/(\S+) \[(\d+) 0 R \/XYZ/g)].map(([, name, object]) => [name, object]),
    )
    const ids = await page.$$eval('.section', (all) => all.map(({ id }) => id))
    for (const id of [...ids, ...[1, 2, 3, 4, 5].map((step) => `step-${step}`)]) {
      assert.ok(pages[`${id}-heading`], id)
      assert.equal(pages[`${id}-heading`], pages[`${id}-text`], id)
    }
    const kids = [...(pdf.match(/\/Kids \[([^\]]*)\]/)?.[1] ?? '').matchAll(/(\d+) 0 R/g)].map(
      ([, page]) => page,
    )
    assert.ok(kids.length >= 4 && kids.length <= 8, `${kids.length} pages`)
    assert.equal(kids.at(-1), pages['end-note'], 'after the last word comes no blank page')
    assert.deepEqual(complaints, [])
    await page.close()
  })
