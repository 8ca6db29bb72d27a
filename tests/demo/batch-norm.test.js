// The page's section on batch norm: one batch, normalized by row or by column.

/** @import { Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import { BatchNorm, load, manualSeed, noGrad, rand, randn, scope, tensor } from 'gpt-layers'
import { exact } from '../../build/demo/numbers.js'
import { draw, normalize, statistics } from '../../build/demo/sections/batch-norm/compute.js'
import { BATCH, FEATURES, LIMITS } from '../../build/demo/sections/batch-norm/slice.js'
import { assertFigures } from './figures.js'
import { says } from './says.js'
import { click, focus, hold, hover, near, parse, press, test, text, useSite } from './browser.js'

const site = useSite()

const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=batch-norm${query}`, { ready: '.guess', ...options })
/** A table's numbers, row by row, as it says them: with two decimals. */
const numbers = async (/** @type {Page} */ page, /** @type {string} */ table) => {
  const said = await page.$eval(`#batch-norm [data-norm=${table}] svg`, (svg) => svg.ariaLabel ?? '')
  return [...said.matchAll(/Sample \d: ([^a-z]*)\./g)].map(([, row]) =>
    row.split(', ').map((one) => Number(one.replace('−', '-'))),
  )
}
/** Where a table's dots stand, and whether each and its number are lit: [samples][5]. */
const dots = async (/** @type {Page} */ page, /** @type {string} */ table) => {
  const all = await page.$eval(`#batch-norm [data-norm=${table}]`, (one) => {
    const numbers = [...one.querySelectorAll('.number')]
    return [...one.querySelectorAll('.dot')].map((dot, i) => ({
      at: Number(dot.getAttribute('cx')),
      lit: dot.matches('.lit') && numbers[i].matches('.lit'),
    }))
  })
  return Array.from({ length: all.length / 5 }, (_, r) => all.slice(5 * r, 5 * r + 5))
}
const dot = (/** @type {number} */ sample, /** @type {number} */ feature) =>
  `[role=slider][aria-label="sample ${sample}, feature ${feature}"]`
const value = (/** @type {Page} */ page, /** @type {string} */ selector) =>
  page.$eval(selector, (slider) => Number(slider.ariaValueNow))

/** @typedef {Awaited<ReturnType<typeof dots>>} Dots */
/** The dots, as 'sample feature', that stand elsewhere. @param {Dots} now @param {Dots} before */
const moved = (now, before) =>
  now.flatMap((row, r) => row.flatMap(({ at }, c) => (at === before[r][c].at ? [] : `${r + 1} ${c + 1}`)))
const lit = (/** @type {Dots} */ now) =>
  now.flatMap((row, r) => row.flatMap((one, c) => (one.lit ? `${r + 1} ${c + 1}` : [])))
const ROW = [1, 2, 3, 4, 5].map((c) => `2 ${c}`)
const COLUMN = [1, 2, 3, 4].map((r) => `${r} 4`)

await load()
const drawn = draw()
/** What a table shows of the first samples. @param {number} samples @param {'layer' | 'rms' | 'batch'} norm */
const computed = (samples, norm, running = /** @type {typeof drawn | null} */ (null)) =>
  normalize(norm, drawn.x.slice(0, samples), running)

/** Asserts two decimals of each number. @param {number[][]} shown @param {number[][] | null} expected */
function assertNear(shown, expected) {
  assert.deepEqual(
    shown.map((row) => row.length),
    expected?.map((row) => row.length),
  )
  expected?.forEach((row, r) => row.forEach((value, c) => near(shown[r][c], value, 0.0051, `${r} ${c}`)))
}

const choose = (/** @type {Page} */ page, /** @type {string} */ name) =>
  click(page, `#batch-norm ::-p-xpath(.//button[normalize-space()="${name}"])`)

testInNode(
  'one moved number moves 5 results of layer norm and RMSNorm, 4 of batch norm, for every seed',
  () => {
    says(`one number of 4 samples with ${FEATURES} features. How many results of batch norm move?`)
    says('4. That feature of every sample. In layer norm and RMSNorm, 5 move: that sample’s row.')
    for (let seed = 0; seed < 40; seed++) {
      const x = draw(seed).x.slice(0, 4)
      const [row, col] = [seed % 4, seed % 5]
      const changed = x.map((values) => [...values])
      changed[row][col] += 0.5
      for (const [norm, count] of /** @type {const} */ ([
        ['layer', 5],
        ['rms', 5],
        ['batch', 4],
      ])) {
        const [before, after] = [x, changed].map((values) => normalize(norm, values, null)?.flat() ?? [])
        assert.equal(after.filter((value, i) => value !== before[i]).length, count, `${norm}, seed ${seed}`)
      }
      const longer = draw(seed).x.slice(0, 5)
      const [four, five] = [x, longer].map((values) => normalize('batch', values, null)?.flat() ?? [])
      assert.ok(
        four.every((value, i) => value !== five[i]),
        `one more sample, seed ${seed}`,
      )
    }
  },
)

testInNode('batch norm is what the package’s BatchNorm computes, in training and in evaluation', () => {
  says(
    'In evaluation batch norm takes a running average instead of the batch’s statistics. The other two norms do',
  )
  for (let seed = 0; seed < 20; seed++)
    scope(() => {
      const given = draw(seed)
      const norm = new BatchNorm(5)
      norm.runningMean.data.set(given.runningMean)
      norm.runningVar.data.set(given.runningVar)
      const x = tensor(given.x)
      for (const [mode, running] of /** @type {const} */ ([
        ['evaluation', given],
        ['training', null],
      ])) {
        const y = noGrad(() => norm.train(mode === 'training').forward(x))
        const shown = normalize('batch', given.x, running)?.flat() ?? []
        y.data.forEach((value, i) => near(shown[i], value, 2e-6, `${mode}, seed ${seed}`))
      }
    })
})

testInNode('the running statistics are those that BatchNorm keeps of a hundred batches', () => {
  scope(() => {
    manualSeed(3)
    const [deviation, mean] = [rand([5]).mul(0.9).add(0.3), randn([5]).mul(0.8)]
    const batch = () => randn([6, 5]).mul(deviation).add(mean)
    const norm = new BatchNorm(5)
    const x = batch()
    noGrad(() => Array.from({ length: 100 }, () => norm.forward(batch())))
    const shown = draw(3)
    assert.deepEqual(shown.x, x.toArray())
    norm.runningMean.data.forEach((value, i) => near(shown.runningMean[i], value, 2e-6))
    norm.runningVar.data.forEach((value, i) => near(shown.runningVar[i], value, 2e-6))
  })
})

testInNode(
  'the statistics that are shown give the result, for every batch, and with dots at their ends',
  () => {
    const batches = Array.from({ length: BATCH.max }, (_, i) => drawn.x.slice(0, i + 1))
    const ends = LIMITS.flatMap((end) => [
      drawn.x.map((row, r) => row.map((value, c) => (r === 1 || c === 2 ? end : value))), // a row and a column of it
      drawn.x.map((row, r) => row.with(r % 5, end)),
    ])
    for (const x of [...batches, ...ends])
      for (const norm of /** @type {const} */ (['layer', 'rms', 'batch']))
        for (const running of norm === 'batch' ? [null, drawn] : [null]) {
          const result = normalize(norm, x, running)
          if (norm === 'batch' && !running && x.length === 1) {
            assert.equal(result, null)
            continue
          }
          for (const [row, values] of x.entries())
            values.forEach((value, col) => {
              const { mean, variance } = statistics(norm, x, { row, col }, running)
              near((value - mean) / Math.sqrt(variance + 1e-5), result?.[row][col] ?? NaN, 2e-5)
            })
        }
  },
)

test('a dragged dot moves its row in layer norm and its column in batch norm, which are lit; before, nothing is', async () => {
  const { page, complaints } = await show()
  assertNear(await numbers(page, 'x'), drawn.x.slice(0, 4))
  const NORMS = /** @type {const} */ ([
    ['layer', ROW],
    ['rms', ROW],
    ['batch', COLUMN],
  ])
  const tables = async () => Promise.all(NORMS.map(([norm]) => dots(page, norm)))
  for (const [norm] of NORMS) assertNear(await numbers(page, norm), computed(4, norm))
  const [x, before] = [await dots(page, 'x'), await tables()]
  for (const one of [x, ...before]) assert.deepEqual(lit(one), [])
  const was = await value(page, dot(2, 4))
  const { x: at, y } = await hold(page, dot(2, 4))
  await page.mouse.move(at - 12, y, { steps: 5 })
  assert.ok((await value(page, dot(2, 4))) < was - 0.2)
  assert.deepEqual(moved(await dots(page, 'x'), x), ['2 4'])
  assert.deepEqual(lit(await dots(page, 'x')), ['2 4'])
  const after = await tables()
  NORMS.forEach(([, moving], i) => {
    assert.deepEqual(moved(after[i], before[i]), moving)
    assert.deepEqual(lit(after[i]), moving)
  })
  await page.mouse.up()
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the guess points at a number of four samples in training; one sample batch norm refuses in training and normalizes in evaluation', async () => {
  const changed = '&batch-norm.batch=2&batch-norm.mode=evaluation'
  const { page, complaints } = await show(changed, { width: 1280, height: 720 })
  const tall = () => page.$eval('#batch-norm', (one) => one.getBoundingClientRect().height)
  await click(page, '.guess button:nth-child(1)')
  assert.match(await text(page, '.answer'), /^Not quite: 4\. That feature of every sample/)
  assert.deepEqual(
    lit(await dots(page, 'batch')),
    [1, 2, 3, 4].map((sample) => `${sample} 3`),
  )
  const four = await tall()
  await focus(page, '#batch-norm input[type=range]')
  await press(page, 'Home')
  assert.match(await text(page, '#batch-norm'), /refuses: a column of one number is its own mean/)
  assert.doesNotMatch(await page.$eval('#batch-norm', (section) => section.outerHTML), /NaN|∞|—/)
  assert.ok((await tall()) <= four)
  await choose(page, 'evaluation')
  assertNear(await numbers(page, 'batch'), computed(1, 'batch', drawn))
  await press(page, 'Control', 'z')
  await press(page, 'Control', 'z')
  await choose(page, 'evaluation')
  const batch = await dots(page, 'batch')
  await focus(page, dot(2, 3))
  await press(page, 'End')
  assert.equal(await value(page, dot(2, 3)), LIMITS[1])
  assert.deepEqual(moved(await dots(page, 'batch'), batch), ['2 3'])
  assert.deepEqual(lit(await dots(page, 'batch')), ['2 3'])
  assert.deepEqual(complaints, [])
  await page.close()
})

test('every dot stays in its cell, also where batch norm’s numbers in evaluation are larger than 3', async () => {
  const { page } = await show('&batch-norm.mode=evaluation&batch-norm.edits=x13:-3,x24:-3')
  assert.ok(Math.min(...(await numbers(page, 'batch')).flat()) < -3)
  await assertFigures(page, 'with numbers beyond −3')
  await page.close()
})

test('pointing at a dot prints its number, and three calculations that work out', async () => {
  const { page } = await show()
  const NORMS = ['layer', 'batch', 'rms']
  const results = await Promise.all(NORMS.map(async (norm) => (await numbers(page, norm)).flat()))
  for (const [i, circle] of (await page.$$('#batch-norm [data-norm=x] .dot')).entries()) {
    if (i % 3 !== 0) continue // of each row and each column some
    await hover(page, circle)
    const [row, col] = [Math.floor(i / 5), i % 5]
    const place = `Sample ${row + 1}, feature ${col + 1}: ${exact(drawn.x[row][col])}`
    assert.equal(await text(page, '[data-norm=x] .note'), place)
    for (const [n, norm] of NORMS.entries()) {
      const printed = await text(page, `[data-norm=${norm}] .note`)
      near(parse(printed.split(' = ')[1]), results[n][i], 0.0051, place)
      if (norm === 'rms') assert.doesNotMatch(printed, /^\(/, 'it subtracts no mean')
      const [left, right] = printed.replaceAll('−', '-').replace('√', 'Math.sqrt').split(' = ')
      const found = Number(await page.evaluate(left.replace(/(\(-[\d.]+\))/, ' $1')))
      assert.equal(found.toFixed(4).replace('-0.0000', '0.0000'), right, printed)
    }
  }
  await page.close()
})
