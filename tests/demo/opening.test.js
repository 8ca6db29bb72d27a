// The page's first screen: two rows of dots and a GPT's story, with layer norm and without.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { load } from 'gpt-layers'
import { exampleOutputs } from '../../build/demo/example.js'
import { record } from '../../web/demo/recordings.js'
import { click, drag, dragByFinger, drawn, focus, near, newPage, openLayer, press } from './browser.js'
import { reach, resize, test, text, type, useSite, waitInPage } from './browser.js'
import { countKernels, kernels } from './kernels.js'

const site = useSite()
await load()

/** Mean and variance of both rows. */
const STATS = { off: '0.1324 0.0192 0.2170 0.0332', on: '0.0000 0.9995 0.0000 0.9997' }
/** The section alone opens in a third of the time. */
const ALONE = '?embed=opening'
const STILL = { features: { 'prefers-reduced-motion': 'reduce' } }

const SWITCH = '#opening [role="switch"]'
/** Mean and variance at the ends of the rows. @param {Page} page */
const stats = (page) =>
  page.$$eval('#opening .number', (all) => all.map((one) => one.textContent?.replace('−', '-')).join(' '))
const word = (/** @type {Page} */ page, /** @type {string} */ name) =>
  click(page, `#opening button ::-p-text(${name})`)
const dot = (/** @type {string} */ name) => `#opening [role="slider"][aria-label="${name}"]`
const SECOND = 'sample 1, number 2'
const valueOf = (/** @type {Page} */ page, /** @type {string} */ name) =>
  page.$eval(dot(name), (slider) => Number(slider.ariaValueNow))
/** The story, and the part that is not the intact one. @param {Page} page */
const story = (page) =>
  page.evaluate(() => ({
    all: document.querySelector('#opening .story p')?.textContent?.trim() ?? '',
    babble: document.querySelector('#opening .story .parted')?.textContent ?? '',
  }))
const isOn = (/** @type {Page} */ page) => page.$eval(SWITCH, (one) => one.ariaChecked)

/** Notes what the first screen shows, whenever a frame shows something else; in the page, before its scripts. */
function noteShow() {
  /** @type {{ on: string | null | undefined, stats: string, babble: string, busy: string | null | undefined }[]} */
  const shown = []
  Object.assign(window, { shown })
  const look = () => {
    const opening = document.querySelector('main:not(.still) #opening')
    if (opening) {
      const now = {
        on: opening.querySelector('[role="switch"]')?.getAttribute('aria-checked'),
        stats: [...opening.querySelectorAll('.number')].map((one) => one.textContent).join(' '),
        babble: opening.querySelector('.parted')?.textContent ?? '',
        busy: opening.querySelector('.hero')?.getAttribute('aria-busy'),
      }
      if (JSON.stringify(now) !== JSON.stringify(shown.at(-1))) shown.push(now)
    }
    requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
}
/** @typedef {{ on: string, stats: string, babble: string, busy: string }[]} Shown */
/** Each text once. @param {string[]} all */
const runs = (all) => all.filter((one, i) => one !== all[i - 1])

test('when the page opens the switch goes off and on again, once, with the rows and the story; “Inside a GPT” follows once it is seen', async () => {
  const { page, complaints } = await site.open('', {
    width: 1280,
    height: 720,
    byFrames: true,
    first: noteShow,
  })
  await waitInPage(
    page,
    `shown.some(({ on }) => on === 'false') && shown.at(-1).on === 'true' && shown.at(-1).busy === 'false'`,
  )
  // It does not move again while the story goes on.
  const { length } = (await story(page)).all
  await page.evaluate(() => {
    const way = document.querySelector('#story .way')
    if (!way) throw new Error('the section is not there')
    Object.assign(window, { redrawn: 0 })
    const count = () => Object.assign(window, { redrawn: /** @type {any} */ (window).redrawn + 1 })
    new MutationObserver(count).observe(way, { subtree: true, attributes: true, characterData: true })
  })
  await waitInPage(page, `document.querySelector('#opening .story p').textContent.length > ${length + 60}`)
  assert.equal(await page.evaluate('redrawn'), 0, 'what nobody sees is not drawn')
  const shown = /** @type {Shown} */ (await page.evaluate('shown'))
  assert.deepEqual(runs(shown.map(({ on }) => on)), ['true', 'false', 'true'])
  assert.deepEqual([shown[0].stats, shown.at(-1)?.stats], [STATS.on, STATS.on])
  const off = shown.filter(({ on }) => on === 'false')
  assert.ok(
    off.some(({ stats }) => stats === STATS.off),
    'the rows are back',
  )
  assert.ok(off.some(({ babble }) => /owl owl/.test(babble)))
  for (const { on, babble } of shown) if (on === 'true') assert.equal(babble, '')
  assert.equal(await page.evaluate('location.search'), '')
  const { bottom, next } = await page.evaluate(() => ({
    bottom: document.querySelector('#opening .story')?.getBoundingClientRect().bottom ?? Infinity,
    next: document.querySelector('nav a')?.getBoundingClientRect().bottom ?? Infinity,
  }))
  assert.ok(bottom < next && next <= 720, `the story ends at ${bottom}, the contents’ first line at ${next}`)
  await reach(page, 'story')
  await waitInPage(
    page,
    `redrawn > 0 && document.querySelector('#story .run').textContent.length > ${length + 60}`,
  )
  assert.deepEqual(complaints, [])
  await page.close()
})

test('where a reader turns motion off while the page moves the switch, the switch is on at once, and the story goes on', async () => {
  const { page, complaints } = await site.open('', { first: noteShow })
  await waitInPage(page, `shown.at(-1)?.on === 'false' && shown.at(-1).busy === 'true'`)
  await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }])
  await waitInPage(page, `shown.at(-1).on === 'true' && shown.at(-1).busy === 'false'`)
  assert.equal(await stats(page), STATS.on)
  const before = (await story(page)).all
  await click(page, SWITCH)
  await waitInPage(page, `/owl/.test(document.querySelector('#opening .story .parted')?.textContent)`)
  assert.notEqual((await story(page)).all, before)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('rows slide and stretch one after the other, and go back together', async () => {
  const { page } = await site.open(`${ALONE}&story.off=all`, { byFrames: true, first: noteShow })
  assert.equal(await isOn(page), 'false')
  for (const [checked, wanted] of [
    ['true', STATS.on],
    ['false', STATS.off],
  ]) {
    await page.evaluate('shown.length = 0')
    await click(page, SWITCH)
    await waitInPage(page, `shown.at(-1)?.on === '${checked}' && shown.at(-1)?.busy === 'false'`)
    assert.equal(await stats(page), wanted)
    const shown = /** @type {Shown} */ (await page.evaluate('shown'))
    const rows = [0, 1].map((r) =>
      runs(
        shown.map(({ stats }) =>
          stats
            .split(' ')
            .slice(2 * r, 2 * r + 2)
            .join(' '),
        ),
      ),
    )
    for (const row of rows) assert.ok(row.length > 10, `${row.length} places on the way`)
    const both = shown.filter(({ stats }) => {
      const [, , mean, variance] = stats.split(' ')
      return ![STATS.on, STATS.off].some((one) => one.endsWith(`${mean} ${variance}`))
    })
    const first = both.map(({ stats }) => stats.split(' ').slice(0, 2).join(' '))
    // While sample 2 moves, sample 1 has arrived, or is on its way back as well.
    if (checked === 'true') assert.deepEqual(new Set(first), new Set(['0.0000 0.9995']))
    else assert.ok(new Set(first).size > 10)
    // The slide comes first: the mean is 0 before the variance changes.
    if (checked === 'true') assert.ok(rows[0].includes('0.0000 0.0192'), rows[0].join('; '))
  }
  await page.close()
})

test('off, the story babbles from the next word; on, it goes on: two texts of the same model', async () => {
  const { page } = await site.open(`${ALONE}&story.seed=7`)
  await waitInPage(page, `document.querySelector('#opening .story p').textContent.length > 90`)
  await page.evaluate((selector) => {
    const shown = () => document.querySelector('#opening .story p')?.textContent?.trim()
    Object.assign(window, { before: shown() })
    const button = document.querySelector(selector)
    if (button instanceof HTMLElement) button.click()
  }, SWITCH)
  const before = String(await page.evaluate('before'))
  await waitInPage(page, `document.querySelector('#opening .story .parted')?.textContent.length > 40`)
  const off = await story(page)
  // A word may have been written while the switch was pressed.
  const told = off.all.slice(0, off.all.length - off.babble.trim().length).trim()
  assert.ok(told.startsWith(before) && told.length < before.length + 40, `${before} | ${told}`)
  assert.ok(await page.$('#opening .run.without'))
  await click(page, SWITCH)
  await waitInPage(page, `document.querySelector('#opening .story .parted')?.textContent === ''`)
  const on = await story(page)
  assert.ok(on.all.startsWith(told), on.all)
  assert.ok(await page.$('#opening .run.with'))
  await page.waitForFunction(() => !location.search.includes('story.off'))
  await page.close()
})

test('until the model is there, the switch shows what the model will write', async () => {
  const { page } = await site.open(ALONE, {
    ...STILL,
    first: () => {
      Object.assign(window, { Worker: class extends EventTarget {} })
    },
  })
  const { story: source } = await record()
  const { default: recording } = await import(
    `data:text/javascript,export default ${encodeURIComponent(source)}`
  )
  const [told, babble] = [recording.with, recording.without].map(({ texts }) => texts.join('').trim())
  assert.equal((await story(page)).all, told)
  await click(page, SWITCH)
  assert.equal((await story(page)).all, babble)
  assert.match((await story(page)).babble, /owl owl/)
  await page.close()
})

test('a row of one’s own is typed: six numbers, which “How it is computed” has, too; a wrong one is refused', async () => {
  const { page, complaints } = await site.open('', { ...STILL, first: countKernels })
  const normalizations = async () => (await kernels(page)).gpt_layernorm_forward
  const before = await stats(page)
  const bar = () => page.$eval('#opening .story', (one) => one.getBoundingClientRect().top)
  const top = await bar()
  await word(page, 'your own row')
  const field = '#opening form input'
  assert.equal(await page.$eval(field, (one) => one === document.activeElement), true)
  await press(page, 'Escape')
  assert.equal(await page.$(field), null)
  await word(page, 'your own row')
  const type = async (/** @type {string} */ row) => {
    await page.$eval(field, (one) => /** @type {HTMLInputElement} */ (one).select())
    await page.keyboard.type(row)
    await press(page, 'Enter')
  }
  for (const [wrong, why] of [
    ['1, two, 3, 4, 5, 6', /“two” is not a number/],
    ['1e39 1 1 1 1 1', /“1e39” is not a number that float32 can hold/],
    ['1 2 3', /six numbers, not 3/],
  ]) {
    await type(String(wrong))
    assert.match(await text(page, '#opening .said'), /** @type {RegExp} */ (why))
    assert.equal(await stats(page), before)
    assert.equal(await bar(), top)
  }
  const count = await normalizations()
  await type('7 7 7 7 7 7.01')
  assert.equal((await normalizations()) - count, 2, 'each of both rows is normalized once, for all sections')
  const [, variance] = (await stats(page)).split(' ')
  near(Number(variance), 0.581, 1e-3)
  assert.equal(
    await text(page, '#opening .said'),
    `Sample 1’s variance is not much larger than ε = 0.00001: it becomes ${variance}.`,
  )
  await word(page, 'your own row')
  await type('1; 2; 3; 4; 5; 1e30')
  assert.equal(await text(page, '#opening .said'), '')
  assert.equal((await stats(page)).split(' ').slice(0, 2).join(' '), '0.0000 1.0000')
  assert.equal(await bar(), top)
  near(await valueOf(page, 'sample 1, number 6'), 2.2361, 1e-4)
  await waitInPage(page, `location.search.includes('example.first=1,2,3,4,5,1e')`)
  await reach(page, 'worked-example')
  for (let i = 0; i < 3; i++) await click(page, '#worked-example .next')
  const row = await page.$$eval('#worked-example table.n tbody tr:first-child td.cell', (all) =>
    all.map((one) => one.textContent?.trim()),
  )
  assert.deepEqual(row.slice(4, 6), ['−0.4472', '2.2361'])
  assert.match(await text(page, '#worked-example .explanation'), /nn\.LayerNorm, .* gives only nan for row 1/)
  await press(page, 'Control', 'z')
  await press(page, 'Control', 'z')
  assert.equal(await stats(page), before)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a number before the norm that is beyond the axis has an arrow beside its ring', async () => {
  const { page } = await site.open(`${ALONE}&example.first=-0.3,0.1,0.2,0.05,0.3,19.0873`, STILL)
  const right = (/** @type {string} */ part) =>
    page.$$eval(`#opening g:first-of-type > ${part}`, (all) =>
      all.map((one) => one.getBoundingClientRect().right),
    )
  for (const width of [1280, 360]) {
    await resize(page, width, 740)
    const [[end], rings, figure] = [await right('.beyond'), await right('.ghost'), await right('.surface')]
    assert.ok(end > Math.max(...rings) && end <= figure[0], `the arrow ends at ${end}, ${width} wide`)
  }
  await word(page, 'the first rows')
  assert.deepEqual(await right('.beyond'), [])
  await page.close()
})

test('a mean that is beyond the axis has an arrow, as each dot has', async () => {
  for (const [row, arrows] of /** @type {const} */ ([
    ['2,2,2,2,2,2.6', 1],
    ['2,2,2,2,2,8', 2],
    ['-8,-8,0,0,0,0', 3],
  ])) {
    const { page } = await site.open(`${ALONE}&story.off=all&example.first=${row}`, STILL)
    assert.equal((await page.$$('#opening g:first-of-type > .leaving')).length, arrows, row)
    await page.close()
  }
})

test('a dot that is moved ends the motion of the rows', async () => {
  const { page } = await site.open(`${ALONE}&story.off=all`, { byFrames: true })
  const busy = await page.evaluate(async (selector) => {
    const busy = () => document.querySelector('.hero')?.getAttribute('aria-busy')
    const [button, first] = [selector, '#opening [role="slider"]'].map((one) => document.querySelector(one))
    if (button instanceof HTMLElement) button.click()
    await new Promise((resolve) => requestAnimationFrame(resolve))
    const before = busy()
    first?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }))
    return [before, busy()]
  }, SWITCH)
  assert.deepEqual(busy, ['true', 'false'])
  await page.close()
})

test('a finger drags a dot; “the first rows” takes it back, and leaves the switch as it is', async () => {
  const query = `${ALONE}&story.off=all&example.first=7,7,7,7,7,7`
  const { page } = await site.open(query, { ...STILL, width: 360, height: 740 })
  const legend = () =>
    page.$eval('#opening .legend', (one) => one.checkVisibility({ visibilityProperty: true }))
  // Why a variance does not become 1 stands in its place.
  assert.match(await text(page, '#opening .said'), /: it becomes 0\.0000\.$/)
  assert.equal(await legend(), false)
  await dragByFinger(page, dot('sample 2, number 4'), 60)
  assert.ok((await valueOf(page, 'sample 2, number 4')) > 1)
  await word(page, 'the first rows')
  assert.ok((await valueOf(page, 'sample 2, number 4')) < 1)
  assert.equal(await legend(), true)
  assert.equal(await isOn(page), 'false')
  await page.close()
})

test('on a phone the numbers under the dots stand apart, and the statistics below the bar above them', async () => {
  const { page } = await site.open(ALONE, { ...STILL, width: 360, height: 740 })
  const boxes = (/** @type {string} */ part) =>
    page.$$eval(`#opening .hero ${part}`, (all) => all.map((one) => one.getBoundingClientRect().toJSON()))
  const [bar, [, second]] = await Promise.all(['.deviation', '.stat'].map(boxes))
  const room = second.top - (bar[0].top + 3) // half of the bar's width
  assert.ok(room >= 0, `${room} pixels below the bar`)
  await word(page, 'numbers')
  const numbers = await boxes('.value')
  assert.equal(numbers.length, 12)
  for (const { left, right, top } of numbers)
    for (const other of numbers)
      if (other.top === top && other.left > left)
        assert.ok(other.left >= right + 8, `${other.left - right} pixels between two numbers`)
  await page.close()
})

test('a link with the switch off moves nothing', async () => {
  const linked = await site.open(`${ALONE}&story.off=all`, { first: noteShow })
  await waitInPage(linked.page, `shown.some(({ babble }) => babble.length > 30)`)
  const shown = /** @type {Shown} */ (await linked.page.evaluate('shown'))
  assert.deepEqual([...new Set(shown.map(({ on, stats }) => `${on} ${stats}`))], [`false ${STATS.off}`])
  await linked.page.close()
})

test('a reader who wants no motion has none, and the whole story', async () => {
  const { page } = await site.open(ALONE, { ...STILL, first: noteShow })
  await waitInPage(
    page,
    `/^.{250,}[.!?]$/.test(document.querySelector('#opening .story p').textContent.trim())`,
  )
  const [box, words] = await page.$$eval('#opening :is(.run, .run p)', (all) =>
    all.map((one) => one.getBoundingClientRect().top),
  )
  assert.equal(words, box, 'the text begins at its beginning')
  await click(page, SWITCH)
  await page.evaluate(drawn)
  const shown = /** @type {Shown} */ (await page.evaluate('shown'))
  assert.deepEqual(runs(shown.map(({ stats }) => stats)), [STATS.on, STATS.off])
  assert.ok(shown.every(({ busy }) => busy === 'false'))
  await page.close()
})

test('the rows are those of “How it is computed”: a dot that is moved here is moved there, and the other way round', async () => {
  // With the switch off the opening shows the rows as they are.
  const { page } = await site.open('?story.off=all&worked-example.step=divide', {
    ...STILL,
    at: 'worked-example',
  })
  const ROOT = '#worked-example'
  const trust = () => text(page, `${ROOT} .trust`)
  await openLayer(page)
  const moved = (/** @type {string} */ root) =>
    page.$$eval(`${root} [role="slider"]`, (all) => all.map((dot) => Number(dot.ariaValueNow)))
  const before = await moved(ROOT)
  assert.deepEqual(await moved('#opening'), before)
  await drag(page, `${ROOT} [role="slider"][aria-label="${SECOND}"]`, 100)
  const after = await moved(ROOT)
  assert.ok(after[1] > before[1] + 0.3)
  assert.deepEqual(after.toSpliced(1, 1), before.toSpliced(1, 1))
  assert.deepEqual(await moved('#opening'), after)
  assert.match(await trust(), /^You changed sample 1\./)
  await page.waitForFunction(() => location.search.includes('example.first='))
  await focus(page, '#opening [role="slider"][tabindex="0"]')
  await press(page, 'ArrowRight')
  assert.deepEqual(await moved(ROOT), await moved('#opening'))
  // A number of the batch is changed: its row is computed from the batch again.
  await type(page, 'x₁₁', '-0.5')
  assert.match(await trust(), /^You changed x₁₁\./)
  assert.deepEqual(await moved('#opening'), await moved(ROOT))
  await press(page, 'Control', 'z')
  assert.deepEqual((await moved(ROOT)).slice(1, 6), after.slice(1, 6))
  await click(page, `${ROOT} ::-p-xpath(.//button[normalize-space()="Put back"])`)
  assert.deepEqual(await moved(ROOT), before)
  await page.close()
})

test('scrolled away, the switch stays at the top of the window, and acts on the page', async () => {
  const { page } = await site.open('', STILL)
  const small = '.topbar [role="switch"]'
  const seen = () => page.$eval(small, (one) => one.checkVisibility({ visibilityProperty: true }))
  for (const { width, height, checked, shown } of [
    { width: 1440, height: 900, checked: 'false', shown: STATS.off },
    // On a phone mean and variance are words of one text, so no element has the class number.
    { width: 360, height: 740, checked: 'true', shown: '' },
  ]) {
    await resize(page, width, height)
    assert.equal(await seen(), false)
    await reach(page, 'worked-example')
    await waitInPage(page, `document.querySelector('.topbar.away') !== null`)
    assert.equal(await seen(), true)
    await click(page, small)
    assert.equal(await page.$eval(small, (one) => one.ariaChecked), checked)
    assert.equal(await isOn(page), checked)
    assert.equal(await stats(page), shown)
    await page.evaluate(() => scrollTo(0, 0))
    await waitInPage(page, `document.querySelector('.topbar.away') === null`)
  }
  await page.close()
})

test('without JavaScript the first figure and the beginning of its story stand there', async () => {
  const context = await site.newProfile()
  const page = await newPage(context)
  await page.setJavaScriptEnabled(false)
  await page.goto(`${site.url}text.html`)
  assert.match((await story(page)).all, /^Once upon a time there was a robot named Kofi\..{60,}/)
  const outputs = exampleOutputs()
  assert.equal((await page.$$('.still .wide .ghost')).length, outputs.flat().length)
  await context.close()
})
