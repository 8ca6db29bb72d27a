// Section 7: a small GPT, its norms and its heads.

import assert from 'node:assert/strict'
import { load } from 'gpt-layers'
import { create, run, train } from '../../web/demo/src/sections/gpt/compute.js'
import { NORMS } from '../../web/demo/src/sections/gpt/config.js'
import { golden } from '../lib/support.js'
import {
  after,
  assertInFrame,
  assertOnScreen,
  before,
  launch,
  open,
  press,
  SCREENS,
  serve,
  test,
} from './browser.js'

let server, browser
before(async () => {
  server = await serve()
  browser = await launch()
})
after(async () => {
  await browser?.close()
  server?.stop()
})

const { line, lesson } = golden('page_gpt')
const show = (query = '', options = {}) =>
  open(browser, `${server.url}?embed=gpt${query}`, { ready: '#gpt .field', ...options })
const said = (page, where = '#gpt') =>
  page.$eval(where, (element) => element.textContent.replace(/\s+/g, ' ').trim())
const cursor = (page) => said(page, '.cell-said')
const chosen = (page, group) =>
  page.$eval(
    `[role=radiogroup][aria-label="${group}"] :is([aria-checked=true], :checked)`,
    (one) => one.ariaLabel,
  )
const NORM = 'the norm to look into'
const HEAD = 'the head to look into'
/** The table of the chosen norm: a row a token, of μ and σ² before and after. */
const table = (page) =>
  page.$$eval('#gpt .both tbody tr', (rows) =>
    rows.map((row) =>
      [...row.querySelectorAll('.cell')].map((cell) => Number(cell.textContent.trim().replace('−', '-'))),
    ),
  )

async function type(page, text) {
  const input = await page.$('input[aria-label="the line"]')
  await input.focus()
  await press(page, 'Control', 'a')
  await page.keyboard.type(text)
}

const near = (a, b, tolerance) => assert.ok(Math.abs(a - b) <= tolerance, `${a}, expected ${b}`)

test('mean and variance before and after each norm, every head’s weights and the next token are PyTorch’s', async () => {
  const gpt = await load()
  const found = run(gpt, create(gpt, line.seed), line.text)
  assert.equal(found.norms.length, NORMS.length)
  line.norms.forEach((norm, i) => {
    for (const side of ['input', 'output']) {
      for (const name of ['mean', 'variance']) {
        norm[side][name].forEach((value, token) => near(found.norms[i][side][name][token], value, 1e-5))
      }
    }
  })
  line.weights.forEach((heads, b) => {
    heads.forEach((rows, h) =>
      rows.flat().forEach((weight, i) => near(found.weights[b][h].flat()[i], weight, 1e-6)),
    )
  })
  assert.equal(found.next.token, line.next.token)
  near(found.next.share, line.next.share, 1e-6)
})

test('its first lessons lose what PyTorch’s lose', async () => {
  const losses = []
  await train(await load(), lesson.seed, lesson.losses.length, ({ loss }) => losses.push(loss))
  lesson.losses.forEach((loss, i) => near(losses[i], loss, 1e-4))
})

test('the page shows the chosen norm’s numbers, chosen by click and by arrow keys, and nothing to undo', async () => {
  const { page, complaints } = await show()
  assert.equal(await chosen(page, NORM), 'norm1 of block 1, variance 1.88 before and 1.00 after')
  const agrees = async (i) => {
    const rows = await table(page)
    assert.equal(rows.length, line.text.length)
    rows.forEach(([mean, variance, after, one], token) => {
      near(mean, line.norms[i].input.mean[token], 0.6e-4)
      near(variance, line.norms[i].input.variance[token], 0.6e-4)
      near(after, 0, 1e-4)
      near(one, 1, 1e-4)
    })
  }
  await agrees(0)
  await (await page.$('[role=radio][aria-label^="norm2 of block 2"]')).click()
  assert.match(await said(page), /Before and after norm2 of block 2, \[16, 64\]/)
  await agrees(3)
  await press(page, 'ArrowRight')
  assert.match(await chosen(page, NORM), /^norm1 of block 3/)
  await press(page, 'End')
  assert.match(await chosen(page, NORM), /^the final norm/)
  await press(page, 'ArrowRight')
  await agrees(6)
  await page.waitForFunction(() => /gpt\.norm=final_norm/.test(location.search))
  await press(page, 'Control', 'z')
  assert.match(await chosen(page, NORM), /^the final norm/)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a head is chosen by click, by arrow keys, or by its block’s attention', async () => {
  const { page } = await show()
  await (await page.$('label[title="block 2, head 3"]')).click()
  assert.match(await said(page), /Attention, head 3 of block 2/)
  await press(page, 'ArrowDown')
  await press(page, 'ArrowLeft')
  await press(page, 'ArrowDown')
  assert.equal(await chosen(page, HEAD), 'block 3, head 2')
  const attention = await page.$('[role=button][aria-label="attention of block 1"]')
  await attention.click()
  assert.equal(await chosen(page, HEAD), 'block 1, head 2')
  await page.$eval('[role=button][aria-label="attention of block 2"]', (button) => button.focus())
  await press(page, 'Enter')
  assert.equal(await chosen(page, HEAD), 'block 2, head 2')
  await page.waitForFunction(() => /gpt\.block=2&gpt\.head=2/.test(location.search))
  await page.close()
})

test('pointing at a cell says who looks at whom and how much; the arrow keys walk, and the mask says why it is blank', async () => {
  const { page } = await show('&gpt.block=2&gpt.head=3')
  const rows = line.weights[1][2]
  const box = await (await page.$('#gpt .field')).boundingBox()
  const cell = box.width / 16
  await page.mouse.move(box.x + 2.5 * cell, box.y + 5.5 * cell)
  assert.equal(await cursor(page), `“l” (6) looks at “i” (3): ${rows[5][2].toFixed(4)}`)
  await page.mouse.move(box.x + 9.5 * cell, box.y + 5.5 * cell)
  assert.equal(await cursor(page), '“l” (6) may not look at “t” (10), which comes later: the mask.')
  await (await page.$('#gpt .field')).focus()
  await press(page, 'ArrowLeft')
  await press(page, 'Shift', 'ArrowDown')
  assert.equal(await cursor(page), `“e” (16) looks at “␣” (9): ${rows[15][8].toFixed(4)}`)
  await press(page, 'Home')
  assert.match(await cursor(page), /looks at “t” \(1\)/)
  assert.match(await said(page), /Each row sums to 1: “e” \(16\) gives away 1\.0000/)
  await page.waitForFunction(() => /gpt\.key=1(&|$)/.test(location.search))
  const hidden = await page.$$eval('#gpt .unseen td', (cells) => cells.map((one) => one.textContent.trim()))
  rows[15].forEach((weight, i) => near(Number(hidden.at(i - 16)), weight, 0.6e-4))
  await page.close()
})

test('a line is typed and taken back; one that the model cannot read is refused with a sentence', async () => {
  const { page, complaints } = await show()
  await type(page, 'Hi')
  assert.equal((await table(page)).length, 2)
  await press(page, 'Tab')
  await press(page, 'Control', 'z')
  assert.equal((await table(page)).length, 16)
  await type(page, 'é')
  assert.match(await said(page, '.problems'), /“é” is none of its 95 tokens.*The line stays/)
  assert.equal((await table(page)).length, 16)
  await press(page, 'Tab')
  assert.equal(await page.$eval('input[aria-label="the line"]', (input) => input.value), 'twinkle, twinkle')
  await (await page.waitForSelector('#gpt ::-p-text(add it)')).click()
  assert.equal((await table(page)).length, 17)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('it is taught in a worker: with progress, stopped and forgotten, as the address says', async () => {
  const { page, complaints } = await show('', { features: { 'prefers-reduced-motion': 'reduce' } })
  await (await page.waitForSelector('#gpt ::-p-text(teach it a rhyme)')).click()
  await page.waitForFunction(() => document.querySelector('#gpt progress')?.value >= 10)
  await (await page.waitForSelector('#gpt .lesson ::-p-text(stop)')).click()
  assert.match(await said(page, '.lesson'), /taught for \d+ steps, to a loss of \d\.\d\d/)
  assert.match(await said(page), /not just 1, for γ and β have learnt/)
  assert.notEqual((await table(page))[0][3], 1)
  await page.waitForFunction(() => /gpt\.steps=\d+/.test(location.search))
  await (await page.waitForSelector('#gpt ::-p-text(forget it)')).click()
  assert.equal((await table(page))[0][3], 1)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the address restores it all, the lesson too; what means nothing is named', async () => {
  const { page } = await show(
    '&gpt.text=star,+how&gpt.seed=5&gpt.steps=40&gpt.norm=trf_blocks.2.norm2&gpt.query=3&gpt.key=2',
  )
  await page.waitForSelector('#gpt .lesson ::-p-text(forget it)')
  assert.match(await said(page, '.lesson'), /taught for 40 steps/)
  assert.match(await chosen(page, NORM), /^norm2 of block 3/)
  assert.match(await cursor(page), /^“a” \(3\) looks at “t” \(2\)/)
  await page.close()
  const bad = await show('&gpt.norm=norm9&gpt.text=')
  assert.match(await said(bad.page, '.problems'), /gpt\.norm=norm9, gpt\.text=, which means nothing/)
  await bad.page.close()
})

test('an update with the longest line fits into a frame', async () => {
  const { page } = await open(browser, `${server.url}?gpt.text=twinkle,+twinkle,+littl#gpt`, {
    ready: '#gpt .field',
  })
  await (await page.$('input[aria-label="the line"]')).focus()
  await press(page, 'End')
  const keys = ['e', 'Backspace', 'e', 'Backspace', 'a', 'Backspace', 'b', 'Backspace', 'c']
  await assertInFrame(page, (i) => page.keyboard.press(keys[i]), keys.length)
  await page.close()
})

for (const [width, height] of SCREENS) {
  test(`${width} wide: a screen of its own, no sideways scrolling, a clean console`, async () => {
    const opened = await show('&gpt.text=twinkle,+twinkle,+little', { width, height })
    const { page } = opened
    await (await page.waitForSelector('.predict button')).click()
    assert.match(
      await said(page, '.answer'),
      /before the first norm to [\d.]+ before the last: it hardly changes/,
    )
    assert.doesNotMatch(await said(page), /NaN|undefined|Infinity/)
    await assertOnScreen(opened, 'gpt', width, height)
    await page.close()
  })
}
