// The page's first screen: two rows of dots before and after layer normalization.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { load } from 'gpt-layers'
import { exampleOutputs, PRESETS, PRINTED } from '../../build/demo/example.js'
import { cellText } from '../../build/demo/numbers.js'
import { between, normalize, remark } from '../../build/demo/sections/opening/compute.js'
import { golden } from '../lib/support.js'
import { click, dragByFinger, drawn, focus, get, hold, near, press, test, text, useSite } from './browser.js'
import { countKernels, kernels } from './kernels.js'

const site = useSite()
await load()

/** What the notebook prints: the rows; normalized with the variance divided by n; and by n − 1, without ε. */
const BEFORE = ['0.2260 0.3470 0.0000 0.2216 0.0000 0.0000', '0.2133 0.2394 0.0000 0.5198 0.3297 0.0000']
const { 'LayerNorm of the outputs': printed } = golden('notebook')["the page's controls"]
const AFTER = printed.match(/-?\d+\.\d{4}/g) ?? []
const UNBIASED = PRINTED.unbiasedNormalized.flat().map((value) => value.toFixed(4))
/** The section alone opens in a third of the time. */
const ALONE = '?embed=opening'
const STILL = { features: { 'prefers-reduced-motion': 'reduce' } }

/**
 * The numbers under the dots of each row, then mean and variance at the row's end. Runs in the page.
 *
 * @returns {{ values: string[], mean: string, variance: string }[]}
 */
function readRows() {
  const number = (/** @type {Element} */ one) => one.textContent?.replace('−', '-') ?? ''
  const groups = [...document.querySelectorAll('#opening .rows svg > g:has(> .base)')]
  return groups.map((group) => {
    const [mean, variance] = [...group.querySelectorAll('.number')].map(number)
    return { values: [...group.querySelectorAll('.value')].map(number), mean, variance }
  })
}
const rows = (/** @type {Page} */ page) => page.evaluate(readRows)
const moved = (/** @type {Page} */ page) => page.waitForSelector('#opening .hero[aria-busy="false"]')
const choose = (/** @type {Page} */ page, /** @type {string} */ name) =>
  click(page, `#opening button ::-p-text(${name})`)
const dot = (/** @type {string} */ name) => `#opening [role="slider"][aria-label="${name}"]`
const [FIRST, SECOND] = [1, 2].map((number) => `sample 1, number ${number}`)
const valueOf = (/** @type {Page} */ page, /** @type {string} */ name) =>
  page.$eval(dot(name), (slider) => Number(slider.ariaValueNow))
const note = (/** @type {Page} */ page) => text(page, '#opening .hero > .note')
const FIELD = '#opening input[type="text"]'
/** Types a row of one's own. @param {Page} page @param {string} text */
async function typeRow(page, text) {
  await focus(page, FIELD)
  await page.$eval(FIELD, (field) => /** @type {HTMLInputElement} */ (field).select())
  await page.keyboard.type(text)
  await press(page, 'Enter')
}
/** The numbers after the norm. @param {{ values: string[] }[]} shown */
const normalized = (shown) => [...shown[1].values, ...shown[3].values]

/** Notes the numbers after the norm, whenever a frame shows others; in the page, before its scripts. */
function noteMotion() {
  /** @type {string[]} */
  const motion = []
  Object.assign(window, { motion })
  const look = () => {
    const groups = document.querySelectorAll('main:not(.still) #opening .rows svg > g:has(> .base)')
    const after = [...groups].filter((_, i) => i % 2)
    const shown = after
      .flatMap((group) => [...group.querySelectorAll('.value')])
      .map((one) => one.textContent)
    if (shown.length > 0 && motion.at(-1) !== shown.join(' ')) motion.push(shown.join(' '))
    requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
}

/** @param {Page} page */
async function assertFirstScreen(page) {
  const { bottom, next, height } = await page.evaluate(() => ({
    bottom: document.querySelector('#opening .hero > .note')?.getBoundingClientRect().bottom ?? Infinity,
    next: document.querySelector('nav a')?.getBoundingClientRect().bottom ?? Infinity,
    height: innerHeight,
  }))
  assert.ok(bottom <= height, `${bottom} of ${height} pixels`)
  assert.ok(next <= height, `the contents' first line ends at ${next} of ${height} pixels`)
}

test('on load each row slides and stretches, once, and ends with PyTorch’s numbers', async () => {
  const options = { width: 1280, height: 720, byFrames: true, first: noteMotion }
  const { page, complaints } = await site.open('', options)
  await moved(page)
  await page.evaluate(drawn)
  const motion = /** @type {string[]} */ (await page.evaluate('motion'))
  const settings = { divisor: /** @type {const} */ ('n'), eps: 1e-5 }
  // The rows as they are, minus their means, and normalized: each is shown once, and others in between.
  const stops = [0, 1, 2].map((progress) =>
    exampleOutputs()
      .flatMap((row) => between(row, progress, settings).values.map((value) => cellText(value)))
      .join(' '),
  )
  assert.deepEqual(
    motion.filter((one) => stops.includes(one)),
    stops,
  )
  const [centered, end] = [motion.indexOf(stops[1]), motion.length - 1]
  assert.ok(centered > 10 && end > centered + 10, `${centered} of ${end}`)
  const shown = await rows(page)
  assert.deepEqual(
    [shown[0], shown[2]].map(({ values }) => values.join(' ')),
    BEFORE,
  )
  assert.deepEqual(normalized(shown), AFTER)
  assert.deepEqual(
    shown.map(({ mean, variance }) => `${mean} ${variance}`),
    ['0.1324 0.0192', '0.0000 0.9995', '0.2170 0.0332', '0.0000 0.9997'],
  )
  assert.match(
    await note(page),
    /σ² \/ \(σ² \+ ε\) = 0\.9995: ε = 0\.00001.*PyTorch agrees: 12 of 12 numbers\.$/,
  )
  await assertFirstScreen(page)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('both variances stand there; n − 1 without ε gives the notebook’s first numbers, in every section', async () => {
  const { page } = await site.open('', STILL)
  await get(page, '#opening button[aria-pressed="true"] ::-p-text(n: 0.0192, 0.0332)')
  await choose(page, 'n − 1: 0.0231, 0.0398')
  const shown = await rows(page)
  assert.deepEqual(normalized(shown), UNBIASED)
  assert.deepEqual(
    shown.map(({ variance }) => variance),
    ['0.0231', '1.0000', '0.0398', '1.0000'],
  )
  assert.match(await note(page), /PyTorch agrees: 12 of 12 numbers\.$/)
  await page.waitForFunction(() => location.search === '?example.divisor=n-1&example.eps=0')
  const again = await site.open(
    '?embed=worked-example&worked-example.step=divide&example.divisor=n-1&example.eps=0',
    {
      ...STILL,
      ready: '#worked-example table.n',
    },
  )
  const cells = await again.page.$$eval('#worked-example table.n tbody tr', (all) =>
    all.flatMap((row) =>
      [...row.querySelectorAll('td')]
        .slice(0, 6)
        .map(({ textContent }) => textContent?.trim().replace('−', '-')),
    ),
  )
  assert.deepEqual(cells, UNBIASED)
  await again.page.close()
  await page.close()
})

test('the motion is shown again with the rows, and lights the words of what it does', async () => {
  const { page } = await site.open(ALONE, { byFrames: true })
  await moved(page)
  // From now on: the words that are lit, and whether the first row was shown as it is.
  await page.evaluate(`
    const lit = new Set()
    let began = false
    const look = () => {
      for (const { textContent } of document.querySelectorAll('#opening .acts')) lit.add(textContent)
      const [before, after] = (${readRows})()
      began ||= before.values.join() === after.values.join()
      requestAnimationFrame(look)
    }
    look()
  `)
  await typeRow(page, '2, -2, 1.5, -1, 0')
  await moved(page)
  assert.equal(await page.evaluate('began'), true)
  const lit = String(await page.evaluate('[...lit].join()'))
  assert.match(lit, /slides each row.*squeezes/)
  await focus(page, dot('your row, number 1'))
  await press(page, 'ArrowRight')
  const after = await rows(page)
  // More frames than slide and stretch take: the page's clock goes by frames.
  await page.evaluate(async () => {
    for (let i = 0; i < 150; i++) await new Promise((resolve) => requestAnimationFrame(resolve))
  })
  assert.deepEqual(await rows(page), after)
  await page.close()
})

test('a row of one’s own is normalized as PyTorch does it, and keeps its own axis; a wrong one is refused', async () => {
  const { page, complaints } = await site.open(ALONE, STILL)
  const axis = () =>
    page.$$eval('#opening .tick', (all) =>
      all
        .slice(-9)
        .map(({ textContent }) => textContent)
        .join(' '),
    )
  const before = await axis()
  await typeRow(page, '1, 2, 3, 100')
  const shown = await rows(page)
  assert.deepEqual(shown[1].values, ['-0.6008', '-0.5773', '-0.5537', '1.7318'])
  assert.deepEqual([shown[0].mean, shown[0].variance], ['26.5000', '1801.25'])
  assert.equal(await axis(), before)
  for (const [wrong, why] of [
    ['1, two', /“two” is not a number/],
    ['1e39 1', /“1e39” is not a number that float32 can hold/],
    ['7', /2 to 12 numbers/],
    ['1 2 3 4 5 6 7 8 9 10 11 12 13', /2 to 12 numbers/],
  ]) {
    await typeRow(page, String(wrong))
    assert.match(await note(page), /** @type {RegExp} */ (why))
    assert.deepEqual(await rows(page), shown)
  }
  await page.waitForFunction(() => location.search === '?embed=opening&opening.row=1,2,3,100')
  const again = await site.open('?embed=opening&opening.row=1,2,3,100', STILL)
  assert.deepEqual(await rows(again.page), shown)
  await again.page.close()
  for (const huge of ['1e10 0 0', '1e30 0 0', '3e38 -3e38 1']) {
    await typeRow(page, huge)
    assert.doesNotMatch((await rows(page))[1].values.join(), /—|∞/, huge)
    assert.equal(await axis(), before)
  }
  await choose(page, 'the notebook’s rows')
  assert.deepEqual(normalized(await rows(page)), AFTER)
  await press(page, 'Control', 'z')
  assert.equal((await rows(page))[0].values.length, 3)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('what is said of a row holds for each of the page’s rows, with each divisor and several ε', () => {
  const [first] = exampleOutputs()
  const presets = {
    usual: first,
    ...Object.fromEntries(Object.entries(PRESETS).map(([name, change]) => [name, first.map(change)])),
    huge: first.with(0, 1e30),
    mine: [1, 2, 3, 100],
  }
  for (const [name, row] of Object.entries(presets))
    for (const divisor of /** @type {const} */ (['n', 'n-1']))
      for (const eps of [1e-5, 0, 1]) {
        const result = normalize(row, { divisor, eps })
        const { before, after } = result
        const said = remark(result, { divisor, eps })
        const what = `${name}, ${divisor}, ${eps}: ${said}`
        const largest = Math.max(...after.values.map(Math.abs))
        if (name === 'constant row') {
          assert.match(said, /the variance 0/, what)
          assert.ok(
            after.values.every((value) => (eps ? value === 0 : Number.isNaN(value))),
            what,
          )
        } else if (name === 'huge') assert.match(said, /larger than float32 can hold/, what)
        else {
          near(after.mean, 0, name === 'large offset' ? 0.01 : 1e-6, what)
          near(
            after.variance,
            before.variance / (before.variance + eps),
            name === 'large offset' ? 0.01 : 1e-5,
            what,
          )
          if (name === 'large offset')
            assert.match(said, /around 10000\.0 float32 numbers are 0\.0010 apart/, what)
          else if (/One number/.test(said)) {
            const [, end, limit] = said.match(/ends at ([\d.]+)\. .*= ([\d.]+),/) ?? []
            near(Number(end), largest, 5e-5, what)
            assert.ok(largest <= Number(limit) + 5e-5, what)
          } else if (eps) assert.ok(said.includes(`= ${after.variance.toFixed(4)}: ε = `), what)
        }
        if (name === 'outlier' || (name === 'mine' && eps < 1)) assert.match(said, /One number/, what)
      }
})

test('dragging a dot changes its row and no other; the numbers stay PyTorch’s until then', async () => {
  const { page } = await site.open(ALONE, STILL)
  const before = await rows(page)
  const { x, y } = await hold(page, dot(SECOND))
  await page.mouse.move(x + 120, y, { steps: 4 })
  const after = await rows(page)
  await page.mouse.up()
  assert.ok((await valueOf(page, SECOND)) > 0.6)
  assert.deepEqual(after[0].values.toSpliced(1, 1), before[0].values.toSpliced(1, 1))
  assert.notDeepEqual(after[1], before[1])
  assert.deepEqual(after.slice(2), before.slice(2))
  assert.doesNotMatch(await note(page), /PyTorch agrees/)
  await choose(page, 'the notebook’s rows')
  assert.deepEqual(await rows(page), before)
  await page.close()
})

test('on arrival, and at a key, each row is normalized once', async () => {
  const { page } = await site.open(ALONE, { ...STILL, first: countKernels })
  const arrived = (await kernels(page)).gpt_layernorm_forward
  await focus(page, dot(FIRST))
  await press(page, 'ArrowRight')
  const moved = (await kernels(page)).gpt_layernorm_forward
  assert.deepEqual([arrived, moved], [2, 4])
  await page.close()
})

test('a dot that is taken beside its middle does not jump', async () => {
  const { page } = await site.open(ALONE, STILL)
  const before = await valueOf(page, SECOND)
  const { x, y } = await hold(page, dot(SECOND), ({ left, top, width, height }) => ({
    x: left + width / 2 + 8,
    y: top + height / 2,
  }))
  await page.mouse.move(x + 1, y)
  near(await valueOf(page, SECOND), before, 0.03)
  await page.mouse.up()
  await page.close()
})

test('a finger drags a dot', async () => {
  const { page } = await site.open(ALONE, { ...STILL, width: 360, height: 740 })
  await dragByFinger(page, dot('sample 2, number 4'), 60)
  assert.ok((await valueOf(page, 'sample 2, number 4')) > 1)
  await page.close()
})

test('keys move a dot by 0.05, ten times with shift, and choose another; the row follows in the same event', async () => {
  const { page } = await site.open(ALONE, STILL)
  assert.equal((await page.$$('#opening [role="slider"]')).length, 12)
  assert.equal((await page.$$('#opening [role="slider"][tabindex="0"]')).length, 2) // Tab reaches each row once
  await focus(page, dot(FIRST))
  const from = await valueOf(page, FIRST)
  await press(page, 'ArrowRight')
  near(await valueOf(page, FIRST), from + 0.05, 1e-4)
  await press(page, 'Shift', 'ArrowLeft')
  near(await valueOf(page, FIRST), from - 0.45, 1e-4)
  await press(page, 'End')
  near(await valueOf(page, FIRST), 2.5, 1e-4)
  await press(page, 'ArrowDown')
  const second = await valueOf(page, SECOND)
  await press(page, 'ArrowRight')
  near(await valueOf(page, SECOND), second + 0.05, 1e-4)
  const [was, is] = await page.evaluate(() => {
    const shown = () => document.querySelector('#opening svg')?.textContent
    const was = shown()
    document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }))
    return [was, shown()] // no frame and no task in between
  })
  assert.notEqual(is, was)
  await page.close()
})

test('an outlier, equal numbers and an offset have their sentences; the address keeps the rows, undo brings them back', async () => {
  const { page } = await site.open(ALONE, STILL)
  const before = await rows(page)
  for (const [name, sentence] of Object.entries({
    outlier: /^One number makes nearly all of the variance/,
    'constant row': /^Equal numbers have the variance 0\. Only ε/,
    'large offset': /^The mean takes the offset away again/,
  })) {
    await choose(page, name)
    assert.match(await note(page), sentence)
  }
  const far = await rows(page)
  await page.waitForFunction(() => location.search.includes('example.first=10000'))
  const again = await site.open(new URL(page.url()).search, STILL)
  assert.deepEqual(await rows(again.page), far)
  await again.page.close()
  for (let i = 0; i < 3; i++) await press(page, 'Control', 'z')
  assert.deepEqual(await rows(page), before)
  await page.close()
})
