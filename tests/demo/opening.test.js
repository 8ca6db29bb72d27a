// The page's first screen: two rows of dots before and after layer normalization.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { golden } from '../lib/support.js'
import { click, dragByFinger, drawn, focus, hold, near, press, test, text, useSite } from './browser.js'
import { countKernels, kernels } from './kernels.js'

const site = useSite()

const BEFORE = ['0.23 0.35 0.00 0.22 0.00 0.00', '0.21 0.24 0.00 0.52 0.33 0.00']
/** What PyTorch's layer_norm gives for these rows. */
const { 'LayerNorm of the outputs': printed } = golden('notebook')["the page's controls"]
const AFTER = (printed.match(/-?\d+\.\d{4}/g) ?? []).map(Number)
const STILL = { features: { 'prefers-reduced-motion': 'reduce' } }

/**
 * The numbers under the dots of each row, then mean and variance at the row's end. Runs in the page.
 *
 * @returns {{ values: number[], mean: number, variance: number }[]}
 */
function readRows() {
  const number = (/** @type {Element} */ one) => Number(one.textContent?.replace('−', '-'))
  const values = [...document.querySelectorAll('#opening .value')].map(number)
  const ends = [...document.querySelectorAll('#opening .number')].map(number)
  return [0, 1, 2, 3].map((r) => ({
    values: values.slice(6 * r, 6 * r + 6),
    mean: ends[2 * r],
    variance: ends[2 * r + 1],
  }))
}
const rows = (/** @type {Page} */ page) => page.evaluate(readRows)
const told = (/** @type {Page} */ page) => page.waitForSelector('#opening .hero[aria-busy="false"]')
const watch = (/** @type {Page} */ page, /** @type {string} */ rows) =>
  click(page, `#opening button ::-p-text(${rows})`)
const dot = (/** @type {string} */ name) => `#opening [role="slider"][aria-label="${name}"]`
const valueOf = (/** @type {Page} */ page, /** @type {string} */ name) =>
  page.$eval(dot(name), (slider) => Number(slider.ariaValueNow))

/** @param {{ values: number[] }[]} shown */
function assertPyTorch(shown) {
  shown
    .flatMap(({ values }, r) => (r % 2 ? values : []))
    .forEach((value, i) => near(value, AFTER[i], 0.00501))
}

/**
 * What stands at a row's end.
 *
 * @param {{ mean: number, variance: number }} row
 * @param {{ mean: number, variance: number }} expected
 */
const assertMoments = ({ mean, variance }, expected) => assert.deepEqual({ mean, variance }, expected)

/** @param {Page} page */
async function assertFirstScreen(page) {
  const { bottom, next, height } = await page.evaluate(() => ({
    bottom: document.querySelector('#opening .menu')?.getBoundingClientRect().bottom ?? Infinity,
    next: document.querySelector('nav a')?.getBoundingClientRect().bottom ?? Infinity,
    height: innerHeight,
  }))
  assert.ok(bottom <= height, `${bottom} of ${height} pixels`)
  assert.ok(next <= height, `the contents' first line ends at ${next} of ${height} pixels`)
}

test('on load each row slides and stretches, once, and ends with PyTorch’s numbers', async () => {
  const { page, complaints } = await site.open()
  await told(page)
  const shown = await rows(page)
  assert.deepEqual(
    [shown[0], shown[2]].map(({ values }) => values.map((value) => value.toFixed(2)).join(' ')),
    BEFORE,
  )
  assertPyTorch(shown)
  for (const row of [shown[1], shown[3]]) assertMoments(row, { mean: 0, variance: 1 })
  assertMoments(shown[0], { mean: 0.13, variance: 0.02 })
  assert.equal(await text(page, '#opening p.note'), 'PyTorch agrees: 12 of 12 numbers.')
  await assertFirstScreen(page)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('on load one dot sways, once, as a reader may move it; then it is where it was', async () => {
  const { page } = await site.open('', { byFrames: true })
  const places = new Set()
  await page.exposeFunction('seen', (/** @type {number} */ x) => places.add(x))
  await page.evaluate((dot) => {
    const look = () => {
      Object(window).seen(Number(document.querySelector(dot)?.ariaValueNow))
      requestAnimationFrame(look)
    }
    look()
  }, dot('y₁₂'))
  await told(page)
  near(await valueOf(page, 'y₁₂'), 0.347, 1e-4)
  assert.ok(Math.max(...places) > 0.45 && Math.min(...places) < 0.25, [...places].join())
  assert.doesNotMatch(new URL(page.url()).search, /opening/)
  await page.close()
})

test('rows that are chosen while the dot sways end its motion: no dot stays lit', async () => {
  const { page } = await site.open('', { byFrames: true })
  const LIT = '#opening .surface.movable'
  // In one step, because the dot sways for a second.
  await page.waitForFunction(
    (lit) => {
      const button = [...document.querySelectorAll('#opening button')].find(
        (one) => one.textContent === 'far apart',
      )
      if (!document.querySelector(lit) || !(button instanceof HTMLElement)) return false
      button.click()
      return true
    },
    {},
    LIT,
  )
  await told(page)
  assert.equal(await page.$(LIT), null)
  await page.close()
})

test('on arrival, and at a key, each row is normalized once', async () => {
  const { page } = await site.open('?embed=opening', { ...STILL, first: countKernels })
  const arrived = (await kernels(page)).gpt_layernorm_forward
  await focus(page, dot('y₁₁'))
  await press(page, 'ArrowRight')
  const moved = (await kernels(page)).gpt_layernorm_forward
  assert.deepEqual([arrived, moved], [2, 4])
  await page.close()
})

test('with each choice of rows the motion is told again: they slide, stretch and squeeze', async () => {
  const { page } = await site.open('', { byFrames: true })
  await told(page)
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
  for (const [name, slide, verb] of /** @type {const} */ ([
    ['far to the right', 1.5, 'stretches'],
    ['far apart', 0, 'squeezes'],
    ['close together', 0.1, 'stretches'],
  ])) {
    await page.evaluate('began = false, lit.clear()')
    await watch(page, name)
    await told(page)
    assert.equal(await page.evaluate('began'), true, name)
    const lit = await page.evaluate('[...lit].join()')
    assert.match(String(lit), new RegExp(`slides each row.*${verb}`))
    assert.doesNotMatch(String(lit), verb === 'stretches' ? /squeezes/ : /stretches/)
    const shown = await rows(page)
    assert.ok(shown[0].mean >= slide, name)
    for (const row of [shown[1], shown[3]]) assertMoments(row, { mean: 0, variance: 1 })
  }
  assertPyTorch(await rows(page))
  await page.close()
})

test('a dot that is moved ends the motion, and nothing moves any more', async () => {
  const { page } = await site.open('', { byFrames: true })
  await focus(page, dot('y₁₁'))
  await press(page, 'ArrowRight')
  await told(page)
  const after = await rows(page)
  assertMoments(after[1], { mean: 0, variance: 1 })
  // More frames than slide and stretch take: the page's clock goes by frames.
  await page.evaluate(async () => {
    for (let i = 0; i < 150; i++) await new Promise((resolve) => requestAnimationFrame(resolve))
  })
  assert.deepEqual(await rows(page), after)
  await page.close()
})

test('with reduced motion nothing moves: before and after stand side by side at once', async () => {
  const { page } = await site.open('', STILL)
  assertPyTorch(await rows(page))
  await watch(page, 'far apart')
  const now = await rows(page)
  for (const row of [now[1], now[3]]) assertMoments(row, { mean: 0, variance: 1 })
  await page.close()
})

test('beside the first row stands what a dot, the tick, the bar and the colors are; nothing overlaps', async () => {
  const { page } = await site.open('', STILL)
  for (const width of [1280, 360]) {
    await page.setViewport({ width, height: 740 })
    await page.evaluate(drawn)
    for (const rows of ['close together', 'far to the right', 'far apart']) {
      await watch(page, rows)
      const hints = await page.$$eval('#opening .hints text', (all) =>
        all.map((one) => {
          const { left, right, top, bottom } = one.getBoundingClientRect()
          return { text: one.textContent ?? '', left, right, top, bottom }
        }),
      )
      const mean = hints.find(({ text }) => text === 'the mean')
      const dots = await page.$$eval('#opening .handle circle', (all) =>
        all.slice(0, 6).map((one) => one.getBoundingClientRect().toJSON()),
      )
      for (const { left, right, top } of dots)
        assert.ok(
          mean && (mean.right <= left || right <= mean.left || mean.bottom - 4 <= top),
          `${width}, ${rows}: “the mean” is on a dot`,
        )
      const said = hints.map(({ text }) => text).join()
      assert.match(said, /below 0,above 0,the mean,(standard )?deviation/)
      if (rows !== 'far apart' || width > 360) assert.match(said, /dot/)
      for (const [i, a] of hints.entries()) {
        assert.ok(a.left >= 0 && a.right <= width, `${width}, ${rows}: ${a.text}`)
        for (const b of hints.slice(i + 1))
          assert.ok(
            a.right <= b.left || b.right <= a.left || a.bottom - 4 <= b.top || b.bottom - 4 <= a.top,
            `${width}, ${rows}: ${a.text}, ${b.text}`,
          )
      }
    }
  }
  await page.close()
})

test('dragging a dot changes its row and no other; the numbers stay PyTorch’s until then', async () => {
  const { page } = await site.open('', STILL)
  const before = await rows(page)
  const { x, y } = await hold(page, dot('y₁₂'))
  await page.mouse.move(x + 120, y, { steps: 4 })
  const after = await rows(page)
  await page.mouse.up()
  assert.ok((await valueOf(page, 'y₁₂')) > 0.6)
  assert.deepEqual(after[0].values.toSpliced(1, 1), before[0].values.toSpliced(1, 1))
  assert.notDeepEqual(after[1], before[1])
  assertMoments(after[1], { mean: 0, variance: 1 })
  assert.deepEqual(after.slice(2), before.slice(2))
  assert.match(await text(page, '#opening p.note'), /You moved y₁₂; in PyTorch’s example it is 0\.3470\./)
  await watch(page, 'close together')
  assert.deepEqual(await rows(page), before)
  await page.close()
})

test('a dot that is taken beside its middle does not jump', async () => {
  const { page } = await site.open('', STILL)
  const before = await valueOf(page, 'y₁₂')
  const { x, y } = await hold(page, dot('y₁₂'), ({ left, top, width, height }) => ({
    x: left + width / 2 + 8,
    y: top + height / 2,
  }))
  await page.mouse.move(x + 1, y)
  near(await valueOf(page, 'y₁₂'), before, 0.03)
  await page.mouse.up()
  await page.close()
})

test('a finger drags a dot', async () => {
  const { page } = await site.open('', { ...STILL, width: 360, height: 740 })
  await dragByFinger(page, dot('y₂₄'), 60)
  assert.ok((await valueOf(page, 'y₂₄')) > 1)
  await page.close()
})

test('keys move a dot by 0.05, ten times with shift, and choose another; the row follows in the same event', async () => {
  const { page } = await site.open('', STILL)
  assert.equal((await page.$$('#opening [role="slider"]')).length, 12)
  assert.equal((await page.$$('#opening [role="slider"][tabindex="0"]')).length, 2) // Tab reaches each row once
  await focus(page, dot('y₁₁'))
  const from = await valueOf(page, 'y₁₁')
  await press(page, 'ArrowRight')
  near(await valueOf(page, 'y₁₁'), from + 0.05, 1e-4)
  await press(page, 'Shift', 'ArrowLeft')
  near(await valueOf(page, 'y₁₁'), from - 0.45, 1e-4)
  await press(page, 'End')
  near(await valueOf(page, 'y₁₁'), 2.5, 1e-4)
  await press(page, 'ArrowDown')
  const second = await valueOf(page, 'y₁₂')
  await press(page, 'ArrowRight')
  near(await valueOf(page, 'y₁₂'), second + 0.05, 1e-4)
  const [was, is] = await page.evaluate(() => {
    const shown = () => document.querySelector('#opening svg')?.textContent
    const was = shown()
    document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }))
    return [was, shown()] // no frame and no task in between
  })
  assert.notEqual(is, was)
  await page.close()
})

test('the address keeps the rows, undo brings them back', async () => {
  const { page } = await site.open('', STILL)
  const before = await rows(page)
  await watch(page, 'far apart')
  const apart = await rows(page)
  assert.ok(apart[0].variance > 2 && apart[2].variance > 2)
  await page.waitForFunction(() => location.search.includes('example.first='))
  const again = await site.open(new URL(page.url()).search, STILL)
  assert.deepEqual(await rows(again.page), apart)
  await again.page.close()
  await press(page, 'Control', 'z')
  assert.deepEqual(await rows(page), before)
  await page.close()
})

test('a row of equal numbers becomes zeros, not NaN', async () => {
  const { page } = await site.open('?example.first=0.5,0.5,0.5,0.5,0.5,0.5', STILL)
  const [, after] = await rows(page)
  assert.deepEqual(after, { values: [0, 0, 0, 0, 0, 0], mean: 0, variance: 0 })
  await page.close()
})

test('the first screen has the whole opening, and at its foot shows that something follows', async () => {
  for (const [width, height] of [
    [1280, 720],
    [360, 740],
  ]) {
    const { page } = await site.open('', { ...STILL, width, height })
    await assertFirstScreen(page)
    await page.close()
  }
})
