// Section 4: the activations at a cursor.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load } from 'gpt-layers'
import { activate, extremes } from '../../web/demo/src/sections/gelu/compute.js'
import { golden } from '../lib/support.js'
import {
  after,
  assertInFrame,
  assertOnScreen,
  before,
  launch,
  open,
  press,
  saved,
  SCREENS,
  serve,
  test,
} from './browser.js'

let server, browser, folder
before(async () => {
  server = await serve()
  browser = await launch()
  folder = mkdtempSync(join(tmpdir(), 'gpt-layers-'))
  const session = await browser.target().createCDPSession()
  await session.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder })
})
after(async () => {
  await browser?.close()
  server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const expected = golden('page_gelu')
const show = (query = '', options = {}) =>
  open(browser, `${server.url}?embed=gelu${query}`, { ready: '.predict', ...options })
const x = (page) => page.$eval('input[aria-label="x"]', (input) => Number(input.ariaValueNow))
/** The table's numbers, row by row: value and derivative. */
const values = (page) =>
  page.$$eval('#gelu .exact', (all) =>
    all
      .map((one) => one.textContent.replace('−', '-'))
      .reduce((rows, text, i) => {
        if (i % 2) rows.at(-1).push(text)
        else rows.push([text])
        return rows
      }, []),
  )
const said = (page) => page.$eval('#gelu', (section) => section.textContent.replace(/\s+/g, ' '))

const near = (a, b, tolerance) => assert.ok(Math.abs(a - b) <= tolerance, `${a}, expected ${b}`)

test('the activations, their derivatives and where GELU’s two forms differ most are PyTorch’s', async () => {
  const gpt = await load()
  const found = activate(
    gpt,
    expected.places.map(({ x }) => x),
  )
  expected.places.forEach((place, i) => {
    for (const name of ['tanh', 'none', 'relu']) {
      near(found[name].y[i], place[name].y, 1e-6)
      near(found[name].dy[i], place[name].dy, 1e-6)
    }
  })
  const { lowest, difference } = extremes(gpt)
  near(lowest.value, expected.lowest.value, 1e-6)
  near(lowest.x, expected.lowest.x, 0.01)
  near(difference.value, expected.difference.value, 1e-6)
  near(Math.abs(difference.x), expected.difference.x, 0.05)
})

test('at each place the page shows PyTorch’s values to four decimals, and says what becomes of the gradient', async () => {
  const { page, complaints } = await show()
  for (const { x, tanh, none, relu } of expected.places) {
    await (await page.$('input[aria-label="x"]')).focus()
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
    await page.evaluate(() => document.activeElement.blur())
  }
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the full float32 stands there while a number is focused or pointed at', async () => {
  const { page } = await show()
  const first = await page.$('#gelu .exact')
  assert.equal(await first.evaluate((span) => span.textContent), '0.8412')
  await first.focus()
  const full = await first.evaluate((span) => span.textContent)
  assert.match(full, /^0\.8411\d{3,}$/)
  assert.equal(await first.evaluate((span) => span.ariaLabel), `GELU, tanh, value: ${full}`)
  await page.evaluate(() => document.activeElement.blur())
  await first.hover()
  assert.equal(await first.evaluate((span) => span.textContent), full)
  await page.close()
})

test('the cursor is dragged on any of the three charts, as one step to undo', async () => {
  const { page, complaints } = await show()
  const sliders = await page.$$('#gelu .slider')
  assert.equal(sliders.length, 3)
  for (const slider of sliders) {
    const box = await slider.boundingBox()
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width / 4, box.y + box.height / 2, { steps: 5 })
    await page.mouse.up()
    near(await x(page), -2, 0.02)
    await press(page, 'Control', 'z')
    assert.equal(await x(page), 1)
  }
  assert.deepEqual(complaints, [])
  await page.close()
})

test('arrow keys move the cursor by a tenth, by one with shift, by a hundredth with alt, and to the ends', async () => {
  const { page } = await show()
  for (const slider of ['#gelu .slider', 'input[aria-label="x"]']) {
    await (await page.$(slider)).focus()
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
  await (await page.$('#gelu .slider')).focus()
  await press(page, 'Home')
  assert.equal(await x(page), -4)
  await press(page, 'ArrowLeft')
  assert.equal(await x(page), -4)
  assert.equal(await page.$eval('#gelu .slider', (slider) => slider.ariaValueText), 'x is −4')
  await page.waitForFunction(() => /gelu\.x=-4/.test(location.search))
  await page.close()
})

test('the address restores the cursor; what is off the axis is refused with a sentence', async () => {
  const { page } = await show('&gelu.x=-0.75')
  assert.equal(await x(page), -0.75)
  await (await page.$('input[aria-label="x"]')).focus()
  await page.keyboard.type('9')
  await page.keyboard.press('Enter')
  assert.match(
    await page.$eval('.problems', (element) => element.textContent),
    /“9” cannot stand for x, which stays −0\.75/,
  )
  await page.close()
  const bad = await show('&gelu.x=9')
  assert.match(
    await bad.page.$eval('.problems', (element) => element.textContent),
    /gelu\.x=9, which means nothing/,
  )
  assert.equal(await x(bad.page), 1)
  await bad.page.close()
})

test('each chart says in a sentence what it shows at the cursor', async () => {
  const { page } = await show('&gelu.x=-3')
  const sentences = await page.$$eval('#gelu svg[role=img]', (charts) =>
    charts.map((chart) => chart.ariaLabel),
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
const chart = (page, label) =>
  saved(folder, label.toLowerCase().replace(' as ', '.'), async () =>
    (await page.$(`button[aria-label="${label}"]`)).click(),
  )

test('a saved chart has its curves’ names, above the lines behind them', async () => {
  const { page, complaints } = await show()
  const svg = String(await chart(page, 'gelu as SVG'))
  assert.match(svg, /<text [^>]*paint-order="stroke[^>]*>\s*ReLU/)
  const png = await chart(page, 'gelu as PNG')
  const dark = await page.evaluate(async (base64) => {
    const svg = document.querySelector('#gelu svg')
    const label = [...svg.querySelectorAll('text')].find((text) => text.textContent.trim() === 'ReLU')
    const [frame, box] = [svg.getBoundingClientRect(), label.getBoundingClientRect()]
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')
    context.drawImage(bitmap, 0, 0)
    const at = [box.left - frame.left, box.top - frame.top, box.width, box.height - 6].map((n) =>
      Math.round(2 * n),
    )
    const { data } = context.getImageData(...at)
    return data.filter((value, i) => i % 4 === 0 && value < 0x60).length
  }, png.toString('base64'))
  assert.ok(dark > 100, `${dark} dark pixels`)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('an update fits into a frame', async () => {
  const { page } = await open(browser, `${server.url}#gelu`, { ready: '#gelu .slider' })
  await (await page.$('#gelu .slider')).focus()
  await assertInFrame(page, () => page.keyboard.press('ArrowUp'))
  await page.close()
})

for (const [width, height] of SCREENS) {
  test(`${width} wide: a screen of its own, no sideways scrolling, a clean console`, async () => {
    const opened = await show('&gelu.x=-3', { width, height })
    const { page } = opened
    await (await page.waitForSelector('.predict button')).click()
    assert.match(
      await page.$eval('.answer', (element) => element.textContent),
      /A little less than 0: −0\.0036/,
    )
    await assertOnScreen(opened, 'gelu', width, height)
    await page.close()
  })
}
