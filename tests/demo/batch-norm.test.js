// The page's section on batch norm: one batch, normalized by row or by column.

/** @import { Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import { BatchNorm, load, manualSeed, noGrad, rand, randn, scope, tensor } from 'gpt-layers'
import { draw, normalize, statistics } from '../../build/demo/sections/batch-norm/compute.js'
import { BATCH, FEATURES, LIMITS } from '../../build/demo/sections/batch-norm/slice.js'
import { assertFigures } from './figures.js'
import { says } from './says.js'
import { near, test, useSite } from './browser.js'

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
await load()
const drawn = draw()
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

test('every dot stays in its cell, also where batch norm’s numbers in evaluation are larger than 3', async () => {
  const { page } = await show('&batch-norm.mode=evaluation&batch-norm.edits=x13:-3,x24:-3')
  assert.ok(Math.min(...(await numbers(page, 'batch')).flat()) < -3)
  await assertFigures(page, 'with numbers beyond −3')
  await page.close()
})
