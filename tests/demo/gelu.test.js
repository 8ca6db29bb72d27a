// Section 4 of the page: the activations at a cursor.

/** @import { KeyInput, Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { activate, extremes } from '../../web/demo/src/sections/gelu/compute.js'
import { golden } from '../lib/support.js'
import {
  test,
  useSite,
  field,
  get,
  click,
  focus,
  blur,
  press,
  drag,
  text,
  problem,
  value,
  near,
  SCREENS,
  assertOnScreen,
} from './browser.js'

const site = useSite()

/** @typedef {{ y: number, dy: number }} Values */
/**
 * @type {{
 *   places: { x: number, tanh: Values, none: Values, relu: Values }[],
 *   lowest: { x: number, value: number }, difference: { x: number, value: number }
 * }}
 */
const expected = golden('page_gelu')
const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=gelu${query}`, { ready: '.predict', ...options })
const x = (/** @type {Page} */ page) => value(page, 'x')
/** The table's numbers, row by row: value and derivative. */
const values = (/** @type {Page} */ page) =>
  page.$$eval('#gelu .exact', (all) =>
    Array.from({ length: all.length / 2 }, (_, i) =>
      all.slice(2 * i, 2 * i + 2).map((one) => one.textContent.replace('−', '-')),
    ),
  )
const said = (/** @type {Page} */ page) => text(page, '#gelu')

testInNode(
  'the activations, their derivatives, and where GELU’s two forms differ most are PyTorch’s',
  async () => {
    const gpt = await load()
    const found = activate(
      gpt,
      expected.places.map(({ x }) => x),
    )
    expected.places.forEach((place, i) => {
      for (const name of /** @type {const} */ (['tanh', 'none', 'relu'])) {
        near(found[name].y[i], place[name].y, 1e-6)
        near(found[name].dy[i], place[name].dy, 1e-6)
      }
    })
    const { lowest, difference } = extremes(gpt)
    near(lowest.value, expected.lowest.value, 1e-6)
    near(lowest.x, expected.lowest.x, 0.01)
    near(difference.value, expected.difference.value, 1e-6)
    near(Math.abs(difference.x), expected.difference.x, 0.05)
  },
)

test('at each x the page shows PyTorch’s values to four decimals and says what happens to the gradient', async () => {
  const { page, complaints } = await show()
  for (const { x, tanh, none, relu } of expected.places) {
    await focus(page, field('x'))
    await page.keyboard.type(String(x))
    const shown = await values(page)
    ;[tanh, none, relu].forEach(({ y, dy }, i) => {
      near(Number(shown[i][0]), y, 0.5001e-4)
      near(Number(shown[i][1]), dy, 0.5001e-4)
    })
    near(Number(shown[3][0]), (tanh.y - none.y) * 1e4, 0.07)
    const verdict =
      x < 0
        ? /Left of 0 ReLU is dead/
        : x > 0
          ? /Right of 0 ReLU gives all of x/
          : /Just at 0 ReLU has no derivative/
    assert.match(await said(page), verdict)
    assert.doesNotMatch(await said(page), /NaN|−0\.0000/)
    await blur(page)
  }
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a number shows its full float32 while it has the focus or the pointer', async () => {
  const { page } = await show()
  const first = await get(page, '#gelu .exact')
  assert.equal(await first.evaluate((span) => span.textContent), '0.8412')
  await first.focus()
  const full = await first.evaluate((span) => span.textContent)
  assert.match(full, /^0\.8411\d{3,}$/)
  assert.equal(await first.evaluate((span) => span.ariaLabel), `GELU, tanh, value: ${full}`)
  await blur(page)
  await first.hover()
  assert.equal(await first.evaluate((span) => span.textContent), full)
  await page.close()
})

test('the cursor can be dragged on each of the three charts, as one step to undo', async () => {
  const { page, complaints } = await show()
  const sliders = await page.$$('#gelu .slider')
  assert.equal(sliders.length, 3)
  for (const slider of sliders) {
    await drag(page, slider, ({ x, width }) => ({ from: x + width / 2, to: x + width / 4 }))
    near(await x(page), -2, 0.02)
    await press(page, 'Control', 'z')
    assert.equal(await x(page), 1)
  }
  assert.deepEqual(complaints, [])
  await page.close()
})

test('arrow keys move the cursor by 0.1, by 1 with shift, by 0.01 with alt, and Home to the end', async () => {
  const { page } = await show()
  for (const slider of ['#gelu .slider', field('x')]) {
    await focus(page, slider)
    /** @type {[KeyInput[], number][]} */
    const steps = [
      [['ArrowUp'], 1.1],
      [['Shift', 'ArrowDown'], 0.1],
      [['Alt', 'ArrowUp'], 0.11],
      [['Shift', 'ArrowUp'], 1.11],
      [['Alt', 'ArrowDown'], 1.1],
      [['ArrowDown'], 1],
    ]
    for (const [keys, place] of steps) {
      await press(page, ...keys)
      assert.equal(await x(page), place, keys.join('+'))
    }
  }
  await focus(page, '#gelu .slider')
  await press(page, 'Home')
  assert.equal(await x(page), -4)
  await press(page, 'ArrowLeft')
  assert.equal(await x(page), -4)
  assert.equal(await page.$eval('#gelu .slider', (slider) => slider.ariaValueText), 'x is −4')
  await page.waitForFunction(() => /gelu\.x=-4/.test(location.search))
  await page.close()
})

test('the address restores the cursor; a value beyond the axis is refused with a sentence', async () => {
  const { page } = await show('&gelu.x=-0.75')
  assert.equal(await x(page), -0.75)
  await focus(page, field('x'))
  await page.keyboard.type('9')
  await page.keyboard.press('Enter')
  assert.match(await problem(page), /“9” cannot stand for x, which stays −0\.75/)
  await page.close()
  const bad = await show('&gelu.x=9')
  assert.match(await problem(bad.page), /gelu\.x=9, which means nothing/)
  assert.equal(await x(bad.page), 1)
  await bad.page.close()
})

test('each chart has a sentence for screen readers that says what it shows at the cursor', async () => {
  const { page } = await show('&gelu.x=-3')
  const sentences = await page.$$eval('#gelu svg[role=img]', (charts) =>
    charts.map((chart) => chart.ariaLabel ?? ''),
  )
  assert.match(
    sentences[0],
    /At x = −3, GELU is −0\.0036 by tanh and −0\.0040 exactly, ReLU 0\.0000\. GELU falls to −0\.1700 at −0\.752/,
  )
  assert.match(
    sentences[1],
    /At x = −3, GELU’s derivative is −0\.0116 by tanh and −0\.0119 exactly, ReLU’s 0\.0000/,
  )
  assert.match(sentences[2], /4\.1 ten-thousandths at x = −3; 4\.7 at most, near 2\.7/)
  await page.close()
})

/** The chart that a press of the button saves. */
const chart = (/** @type {Page} */ page, /** @type {string} */ label) =>
  site.saved(label.toLowerCase().replace(' as ', '.'), () => click(page, `button[aria-label="${label}"]`))

test('a saved chart has the curves’ names, drawn above the lines', async () => {
  const { page, complaints } = await show()
  const svg = String(await chart(page, 'gelu as SVG'))
  assert.match(svg, /<text [^>]*paint-order="stroke[^>]*>\s*ReLU/)
  const png = await chart(page, 'gelu as PNG')
  const dark = await page.evaluate(async (base64) => {
    const svg = document.querySelector('#gelu svg')
    const label = [...(svg?.querySelectorAll('text') ?? [])].find(
      (text) => text.textContent.trim() === 'ReLU',
    )
    if (!svg || !label) throw new Error('no label')
    const [frame, box] = [svg.getBoundingClientRect(), label.getBoundingClientRect()]
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')
    if (!context) throw new Error('no canvas')
    context.drawImage(bitmap, 0, 0)
    const [x, y, width, height] = [box.left - frame.left, box.top - frame.top, box.width, box.height - 6].map(
      (n) => Math.round(2 * n),
    )
    const { data } = context.getImageData(x, y, width, height)
    return data.filter((value, i) => i % 4 === 0 && value < 0x60).length
  }, png.toString('base64'))
  assert.ok(dark > 100, `${dark} dark pixels`)
  assert.deepEqual(complaints, [])
  await page.close()
})

for (const [width, height] of SCREENS) {
  test(`at ${width} by ${height} the section fits the screen, and the console stays empty`, async () => {
    const opened = await show('&gelu.x=-3', { width, height })
    const { page } = opened
    await click(page, '.predict button')
    assert.match(await text(page, '.answer'), /A little less than 0: −0\.0036/)
    await assertOnScreen(opened, 'gelu', width, height)
    await page.close()
  })
}
