// The page behaves as it was recorded in behaves/. `./build.sh record` records it again, and git diff shows what has changed.

import { openAll, test, useSite } from './browser.js'
import { assertBehaves, holdStill } from './behaves.js'
import { LAPTOP, PHONE } from './looks.js'

const site = useSite()

/** So tall that all of a section is on the screen. */
const SCREEN = { ...LAPTOP, height: 3000 }

/** The sections, and an element that each shows once it is complete. */
const SECTIONS = {
  opening: '.run.longer',
  'worked-example': '.figure',
  story: '.run.longer',
  training: '.figure',
  'half-precision': '.run',
  'scale-and-shift': '.figure',
  'batch-norm': '.figure',
}

for (const [id, ready] of Object.entries(SECTIONS))
  test(`each control of the section ${id} does what was recorded`, async () => {
    const opened = await site.open(`?embed=${id}`, { ...SCREEN, ready, first: holdStill })
    await assertBehaves(opened, id)
    await opened.page.close()
  })

/** Sections in states other than their first one. Some controls do something else in these states. */
const STATES = [
  {
    name: 'story-off',
    what: 'the story on a phone, without any norm',
    query: 'story&story.off=all',
    width: PHONE.width,
    ready: SECTIONS.story,
    without: '.text *, .controls :not(label, select)',
  },
  {
    name: 'variance',
    what: 'the worked example at the step “variance”',
    query: 'worked-example&worked-example.step=variance',
    without: '.figure *, .text > :not(.step), .text > :not(.step) *',
  },
  {
    name: 'changed',
    what: 'the worked example whose numbers, divisor and ε were changed',
    query:
      'worked-example&worked-example.step=divide&example.first=1,2,3,4,5,60&example.edits=gamma2:2,beta2:1&example.divisor=n-1&example.eps=0.01',
    without:
      '.text > :not(.step), .text > :not(.step) *, [role="slider"], [aria-label="step by step"] *, [aria-label="examples for sample 1"] *, td.cell',
  },
  {
    name: 'evaluation',
    what: 'batch norm of two samples in evaluation',
    query: 'batch-norm&batch-norm.batch=2&batch-norm.mode=evaluation',
    without: '[role="slider"]',
  },
  {
    name: 'opening-off',
    what: 'the opening with layer norm off',
    query: 'opening&story.off=all',
    ready: SECTIONS.opening,
    without: '.story *, .links, .links *, [role="slider"]:not([aria-label="sample 1, number 1"])',
  },
  {
    name: 'half-off',
    what: 'half precision with layer norm off, and a factor at which nothing is lost',
    query: 'half-precision&half-precision.factor=1&story.off=all',
    ready: SECTIONS['half-precision'],
    without: '.pair *, .slider *, [role="switch"]',
  },
  {
    name: 'gamma',
    what: 'the section scale-and-shift with another γ than the learned one',
    query: 'scale-and-shift&scale-and-shift.scale=0.5',
  },
]

for (const { name, what, query, without, width = LAPTOP.width, ready = '.figure' } of STATES)
  test(`each control of ${what} does what was recorded`, async () => {
    const opened = await site.open(`?embed=${query}`, { ...SCREEN, width, ready, first: holdStill })
    await assertBehaves(opened, name, without)
    await opened.page.close()
  })

test('each control around the sections does what was recorded', async () => {
  const opened = await site.open('', { ...LAPTOP, first: holdStill })
  const { page } = opened
  await openAll(page)
  await page.waitForSelector('.run.longer')
  await page.waitForSelector('#end')
  await page.$eval('#opening [role="switch"]', (one) => one instanceof HTMLElement && one.click())
  await assertBehaves(opened, 'page', '.section *')
  await page.close()
})
