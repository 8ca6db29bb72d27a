// The page's section on the transformer block: a small GPT, its norms and its attention heads.

/** @import { Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { create, run, train } from '../../web/demo/src/sections/transformer-block/compute.js'
import { NORMS } from '../../web/demo/src/sections/transformer-block/config.js'
import { golden } from '../lib/support.js'
import {
  assertOnScreen,
  boxOf,
  click,
  field,
  focus,
  get,
  near,
  press,
  SCREENS,
  test,
  text,
  useSite,
} from './browser.js'

const site = useSite()

/** @typedef {{ mean: number[], variance: number[] }} Moments */
/**
 * @type {{
 *   line: {
 *     seed: number, text: string, norms: { input: Moments, output: Moments }[], weights: number[][][][],
 *     next: { token: string, share: number }
 *   },
 *   lesson: { seed: number, losses: number[] }
 * }}
 */
const { line, lesson } = golden('page_transformer_block')
const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=transformer-block${query}`, { ready: '#transformer-block .field', ...options })
const said = (/** @type {Page} */ page, where = '#transformer-block') => text(page, where)
const cursor = (/** @type {Page} */ page) => said(page, '.cell-said')
const chosen = (/** @type {Page} */ page, /** @type {string} */ group) =>
  page.$eval(
    `[role=radiogroup][aria-label="${group}"] :is([aria-checked=true], :checked)`,
    (one) => one.ariaLabel ?? '',
  )
const NORM = 'the norm to look into'
const HEAD = 'the head to look into'
/** The table of the chosen norm: for each token μ and σ² before and after. */
const table = (/** @type {Page} */ page) =>
  page.$$eval('#transformer-block .both tbody tr', (rows) =>
    rows.map((row) =>
      [...row.querySelectorAll('.cell')].map((cell) => Number(cell.textContent.trim().replace('−', '-'))),
    ),
  )

/** Replaces the line. @param {Page} page @param {string} text */
async function typeLine(page, text) {
  await focus(page, field('the line'))
  await press(page, 'Control', 'a')
  await page.keyboard.type(text)
}

testInNode(
  'mean and variance before and after each norm, every head’s weights, and the next token are PyTorch’s',
  async () => {
    const gpt = await load()
    const found = run(gpt, create(gpt, line.seed), line.text)
    assert.equal(found.norms.length, NORMS.length)
    line.norms.forEach((norm, i) => {
      for (const side of /** @type {const} */ (['input', 'output'])) {
        for (const name of /** @type {const} */ (['mean', 'variance'])) {
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
  },
)

testInNode('the losses of the first training steps are PyTorch’s', async () => {
  /** @type {number[]} */
  const losses = []
  await train(await load(), lesson.seed, lesson.losses.length, ({ loss }) => losses.push(loss))
  lesson.losses.forEach((loss, i) => near(losses[i], loss, 1e-4))
})

test('clicks and arrow keys choose a norm, the page shows its numbers, and there is nothing to undo', async () => {
  const { page, complaints } = await show()
  assert.equal(await chosen(page, NORM), 'norm1 of block 1, variance 1.88 before and 1.00 after')
  const agrees = async (/** @type {number} */ i) => {
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
  await click(page, '[role=radio][aria-label^="norm2 of block 2"]')
  assert.match(await said(page), /Before and after norm2 of block 2, \[16, 64\]/)
  await agrees(3)
  await press(page, 'ArrowRight')
  assert.match(await chosen(page, NORM), /^norm1 of block 3/)
  await press(page, 'End')
  assert.match(await chosen(page, NORM), /^the final norm/)
  await press(page, 'ArrowRight')
  await agrees(6)
  await page.waitForFunction(() => /transformer-block\.norm=final_norm/.test(location.search))
  await press(page, 'Control', 'z')
  assert.match(await chosen(page, NORM), /^the final norm/)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a head can be chosen by click, by arrow keys, or by its block’s attention in the diagram', async () => {
  const { page } = await show()
  await click(page, 'label[title="block 2, head 3"]')
  assert.match(await said(page), /Attention, head 3 of block 2/)
  await press(page, 'ArrowDown')
  await press(page, 'ArrowLeft')
  await press(page, 'ArrowDown')
  assert.equal(await chosen(page, HEAD), 'block 3, head 2')
  const attention = await get(page, '[role=button][aria-label="attention of block 1"]')
  await attention.click()
  assert.equal(await chosen(page, HEAD), 'block 1, head 2')
  await page.$eval(
    '[role=button][aria-label="attention of block 2"]',
    (button) => button instanceof SVGElement && button.focus(),
  )
  await press(page, 'Enter')
  assert.equal(await chosen(page, HEAD), 'block 2, head 2')
  await page.waitForFunction(() =>
    /transformer-block\.block=2&transformer-block\.head=2/.test(location.search),
  )
  await page.close()
})

test('pointing at a cell says how much one token attends to another; arrow keys move on; masked cells say why', async () => {
  const { page } = await show('&transformer-block.block=2&transformer-block.head=3')
  const rows = line.weights[1][2]
  const box = await boxOf(await get(page, '#transformer-block .field'))
  const cell = box.width / 16
  await page.mouse.move(box.x + 2.5 * cell, box.y + 5.5 * cell)
  assert.equal(await cursor(page), `“l” (6) looks at “i” (3): ${rows[5][2].toFixed(4)}`)
  await page.mouse.move(box.x + 9.5 * cell, box.y + 5.5 * cell)
  assert.equal(await cursor(page), '“l” (6) may not look at “t” (10), which comes later: the mask.')
  await focus(page, '#transformer-block .field')
  await press(page, 'ArrowLeft')
  await press(page, 'Shift', 'ArrowDown')
  assert.equal(await cursor(page), `“e” (16) looks at “␣” (9): ${rows[15][8].toFixed(4)}`)
  await press(page, 'Home')
  assert.match(await cursor(page), /looks at “t” \(1\)/)
  assert.match(await said(page), /Each row sums to 1: “e” \(16\) gives away 1\.0000/)
  await page.waitForFunction(() => /transformer-block\.key=1(&|$)/.test(location.search))
  const hidden = await page.$$eval('#transformer-block .unseen td', (cells) =>
    cells.map((one) => one.textContent.trim()),
  )
  rows[15].forEach((weight, i) => near(Number(hidden.at(i - 16)), weight, 0.6e-4))
  await page.close()
})

test('a line can be typed and undone; a line that the model cannot read is refused with a sentence', async () => {
  const { page, complaints } = await show()
  await typeLine(page, 'Hi')
  assert.equal((await table(page)).length, 2)
  await press(page, 'Tab')
  await press(page, 'Control', 'z')
  assert.equal((await table(page)).length, 16)
  await typeLine(page, 'é')
  assert.match(await said(page, '.problems'), /“é” is none of its 95 tokens.*The line stays/)
  assert.equal((await table(page)).length, 16)
  await press(page, 'Tab')
  assert.equal(
    await page.$eval(field('the line'), (input) => input instanceof HTMLInputElement && input.value),
    'twinkle, twinkle',
  )
  await click(page, '#transformer-block ::-p-text(add it)')
  assert.equal((await table(page)).length, 17)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the model is trained in a worker with progress; training can be stopped and forgotten, and the address says so', async () => {
  const { page, complaints } = await show('', { features: { 'prefers-reduced-motion': 'reduce' } })
  await click(page, '#transformer-block ::-p-text(teach it a rhyme)')
  // In one go, so that the training cannot end between the two.
  await page.waitForFunction(() => {
    const progress = document.querySelector('#transformer-block progress')
    if (!(progress instanceof HTMLProgressElement && progress.value >= 10)) return false
    const buttons = [...document.querySelectorAll('#transformer-block .lesson button')]
    const stop = buttons.find((button) => button.textContent.trim() === 'stop')
    if (stop instanceof HTMLButtonElement) stop.click()
    return true
  })
  assert.match(await said(page, '.lesson'), /taught for \d+ steps, to a loss of \d\.\d\d/)
  assert.match(await said(page), /not just 1, for γ and β have learnt/)
  assert.notEqual((await table(page))[0][3], 1)
  await page.waitForFunction(() => /transformer-block\.steps=\d+/.test(location.search))
  await click(page, '#transformer-block ::-p-text(forget it)')
  assert.equal((await table(page))[0][3], 1)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the address restores the section with its training; invalid values are named', async () => {
  const { page } = await show(
    '&transformer-block.text=star,+how&transformer-block.seed=5&transformer-block.steps=40&transformer-block.norm=trf_blocks.2.norm2&transformer-block.query=3&transformer-block.key=2',
  )
  await page.waitForSelector('#transformer-block .lesson ::-p-text(forget it)')
  assert.match(await said(page, '.lesson'), /taught for 40 steps/)
  assert.match(await chosen(page, NORM), /^norm2 of block 3/)
  assert.match(await cursor(page), /^“a” \(3\) looks at “t” \(2\)/)
  await page.close()
  const bad = await show('&transformer-block.norm=norm9&transformer-block.text=')
  assert.match(
    await said(bad.page, '.problems'),
    /transformer-block\.norm=norm9, transformer-block\.text=, which means nothing/,
  )
  await bad.page.close()
})

for (const [width, height] of SCREENS) {
  test(`at ${width} by ${height} the section fits the screen, and the console stays empty`, async () => {
    const opened = await show('&transformer-block.text=twinkle,+twinkle,+little', { width, height })
    const { page } = opened
    await click(page, '.predict button')
    assert.match(
      await said(page, '.answer'),
      /before the first norm to [\d.]+ before the last: it hardly changes/,
    )
    assert.doesNotMatch(await said(page), /NaN|undefined|Infinity/)
    await assertOnScreen(opened, 'transformer-block', width, height)
    await page.close()
  })
}
