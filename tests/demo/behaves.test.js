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

/** Two sections in states other than their first one. Some controls do something else in these states. */
const STATES = [
  {
    name: 'story-off',
    what: 'the story on a phone, without any norm',
    query: '?embed=story&story.off=all',
    options: { ...SCREEN, width: PHONE.width, ready: SECTIONS.story },
    without: '.text *, .controls *',
  },
  {
    name: 'variance',
    what: 'the worked example at the step “variance”',
    query: '?embed=worked-example&worked-example.step=variance',
    options: { ...SCREEN, ready: SECTIONS['worked-example'] },
    without: '.figure *, .text > :not(.step), .text > :not(.step) *',
  },
]

for (const { name, what, query, options, without } of STATES)
  test(`each control of ${what} does what was recorded`, async () => {
    const opened = await site.open(query, { ...options, first: holdStill })
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
