// The page looks as it was recorded in looks/. `./build.sh record` records it again, and git diff shows what has changed.

/** @import { Page } from 'puppeteer-core' */

import {
  choose,
  drawn,
  newPage,
  openAll,
  openMenu,
  press,
  reach,
  setSize,
  test,
  useSite,
  waitInPage,
} from './browser.js'
import { assertLooks, LAPTOP, PHONE, point, turnInto } from './looks.js'

const site = useSite()

/** Waits until all results are there. It scrolls to what is missing, because the GPT writes only on the screen. @param {Page} page */
const complete = (page) =>
  waitInPage(page, () => {
    const waiting = document.querySelector('.run b:empty, [aria-busy="true"]')
    waiting?.scrollIntoView()
    return waiting === null
  })

/** Scrolls to where the bar shows its switch and the page's edge its mark. @param {Page} page */
async function goToStory(page) {
  await page.$eval('#story', (section) => section.scrollIntoView({ block: 'center' }))
  await page.waitForSelector('body:has(.topbar.away):has(.place)')
}

/** The parts of the page that look different while it is used. */
const IN_USE =
  'header, .rows, .grid, .acts, .story, .guess, .under, .explanation, .step, .text > .buttons, .layer, #training .figure, .way, dl, details, dialog, .place, .notice'

/**
 * Runs in the page. Opens all that can be opened, answers all questions, switches the norms off, types a row and a
 * number that are refused.
 */
async function use() {
  const all = (/** @type {string} */ selector) => [
    .../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(selector)),
  ]
  for (const one of all('details')) one.setAttribute('open', '')
  for (const one of all(
    '.guess button, #worked-example .buttons:has([aria-expanded]) > .word, #opening .word',
  ))
    one.click()
  for (const one of all('#opening [role="switch"]')) one.click()
  for (const one of all('svg')) one.querySelector('[role="slider"]')?.dispatchEvent(new FocusEvent('focus'))
  document.getElementById('menu')?.showPopover()
  await Promise.resolve() // for what the buttons have opened
  document.forms[0].row.value = '1'
  document.forms[0].requestSubmit()
  const [field] = /** @type {HTMLInputElement[]} */ (all('.layer input'))
  field.dispatchEvent(new FocusEvent('focus'))
  field.value = 'ten'
  field.dispatchEvent(new Event('input', { bubbles: true }))
  field.dispatchEvent(new FocusEvent('blur'))
}

/** Runs before the page's scripts. The training's worker gets no message, so the training stays at its start. */
function holdTraining() {
  window.Worker = new Proxy(Worker, {
    construct(Worker, [url, options]) {
      const worker = new Worker(url, options)
      if (String(url).includes('training')) worker.postMessage = () => {}
      return worker
    },
  })
}

test('the whole page looks as it was recorded, on a phone and on a laptop, at first and in use', async () => {
  // The training has no rate of 99: the page says so in its notice, which is recorded, too. In float16 some numbers are
  // ∞ or lost, and have a color.
  const state = '?training.rate=99&half-precision.precision=float16'
  const { page } = await site.open(state, { ...PHONE, first: holdTraining })
  await openAll(page)
  await complete(page)
  await turnInto(page, PHONE)
  await page.evaluate(() => scrollTo(0, 0))
  await page.waitForSelector('.topbar:not(.away)')
  await assertLooks(page, 'phone')
  await turnInto(page, LAPTOP)
  await goToStory(page)
  await assertLooks(page, 'laptop')
  await turnInto(page, { ...LAPTOP, media: 'print' })
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')))
  await assertLooks(page, 'paper')
  await page.evaluate(() => dispatchEvent(new Event('afterprint')))
  await turnInto(page, LAPTOP)
  await page.evaluate(use)
  await point(page, 'a, button, input, select, summary, [role="slider"], [role="switch"]')
  await page.waitForSelector('#opening .run.without.longer')
  await goToStory(page) // what is typed into, at the top, has taken the focus
  await page.evaluate(drawn) // an explanation ends where its number scrolls away
  await page.$eval('#worked-example [role="slider"]', (dot) => dot.dispatchEvent(new FocusEvent('focus')))
  await assertLooks(page, 'laptop-in-use', IN_USE)
  await turnInto(page, PHONE)
  await page.$eval('.next', (one) => /** @type {HTMLElement} */ (one).click()) // to the table of γ and β
  await page.$eval('.g input', (one) => one.dispatchEvent(new FocusEvent('focus'))) // its button changes the sign
  await page.$eval('.tables > :last-child td[tabindex]', (one) => {
    one.scrollIntoView({ block: 'center' }) // an explanation ends once its number has left the screen
    one.dispatchEvent(new PointerEvent('pointerenter'))
  })
  await page.$eval('html', (one) => (one.dataset.theme = 'light'))
  await assertLooks(page, 'phone-in-use', 'dialog, .acts, .tables, .explanation, .step, .layer')
  await page.close()
})

test('a section alone looks as it was recorded, also its figure alone, large; numbers are beyond the axis', async () => {
  const state = '?embed=opening&story.off=all&example.first=9,-9,0,1,2,3'
  const { page } = await site.open(state, { ...LAPTOP, ready: '.run.longer' })
  await assertLooks(page, 'alone')
  await page.evaluate(() => {
    Object.assign(document.documentElement.dataset, { show: 'figure', size: 'large', theme: 'dark' })
    document.querySelector('[role="slider"]')?.dispatchEvent(new FocusEvent('focus'))
    for (const one of document.querySelectorAll('button')) if (one.role === 'switch') one.click()
  })
  await assertLooks(page, 'figure-large')
  await page.close()
})

test('a slide looks as it was recorded', async () => {
  const { page } = await site.open('?worked-example.step=subtract', LAPTOP)
  await openAll(page)
  for (const [id, parts] of [
    ['worked-example', '.presented, .keys, .more, footer, .place, #end h2'],
    ['batch-norm', '.presented'],
    ['story', '.presented .controls, .keys ~ .buttons'],
  ]) {
    await reach(page, id)
    await openMenu(page)
    await choose(page, 'Present')
    await page.waitForSelector(`#${id}.presented`)
    if (id === 'story') await turnInto(page, { ...LAPTOP, fingers: true })
    for (let i = 0; i < 7; i++) await page.evaluate(drawn) // Present.svelte zooms in up to six steps, of two frames each
    await assertLooks(page, `slide-${id}`, parts)
    await press(page, 'Escape')
  }
  await page.close()
})

test('the text without JavaScript looks as it was recorded', async () => {
  const page = await newPage(site.browser)
  await setSize(page, PHONE.width, PHONE.height)
  await page.setJavaScriptEnabled(false)
  await page.goto(`${site.url}text.html`)
  await assertLooks(page, 'text')
  await page.close()
})
