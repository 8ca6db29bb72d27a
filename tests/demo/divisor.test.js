// The two divisors of the variance.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { exampleOutputs, PRINTED } from '../../build/demo/example.js'
import { describe } from '../../build/demo/sections/divisor/compute.js'
import { click, near, test, text, useSite } from './browser.js'

const site = useSite()
await load()

const show = (query = '') => site.open(`?embed=divisor${query}`, { ready: '#divisor .guess' })
const formulas = (/** @type {Page} */ page) =>
  page.$$eval('#divisor .formula', (all) => all.map((one) => one.textContent.replace(/[\s⁡]/g, '')))

testInNode(
  'both ways the example’s rows are what PyTorch prints, and the squares average 1 only with n',
  () => {
    exampleOutputs().forEach((row, r) => {
      const [less, all] = describe(row, 0).norms
      near(less.variance, PRINTED.unbiasedVariance[r], 6e-5)
      less.values.forEach((value, c) => near(value, PRINTED.unbiasedNormalized[r][c], 6e-5))
      near(less.squares, 5 / 6, 1e-6)
      near(all.squares, 1, 1e-6)
      const [, layer] = describe(row, 1e-5).norms
      near(layer.variance, PRINTED.variance[r], 6e-5)
      layer.values.forEach((value, c) => near(value, PRINTED.normalized[r][c], 6e-5))
    })
  },
)

test('the formulas work out with their digits, for the example and for rows of all sizes', async () => {
  const { page, complaints } = await show()
  assert.deepEqual(await formulas(page), [
    'torch.var∑i(yi−μ)2n−1=0.11536−1=0.0231',
    'LayerNorm∑i(yi−μ)2n=0.11536=0.0192',
  ])
  assert.match(
    await text(page, '#divisor .figure'),
    /squares of sample 1 average 0\.8330 with n − 1 and 0\.9995 with n/,
  )
  assert.deepEqual(complaints, [])
  await page.close()
  for (const row of ['0.25,0.25,0.25,0.25,0.25,0.25', '1e30,0,0,0,0,0', '1e10,2,3,4,5,6', '100,0,0,0,0,0']) {
    const { page, complaints } = await show(`&example.first=${row}`)
    assert.doesNotMatch(await page.$eval('#divisor', (section) => section.outerHTML), /NaN/)
    assert.deepEqual(complaints, [], row)
    await page.close()
  }
})

test('the switch is the page’s, and the guess is answered with 768 / 767', async () => {
  const { page } = await show()
  await click(page, '#divisor ::-p-xpath(.//button[normalize-space()="n − 1: torch.var"])')
  await page.waitForFunction(() => location.search.includes('example.divisor=n-1'))
  assert.equal((await page.$$('#divisor .dot.without')).length, 12)
  await click(page, '#divisor ::-p-xpath(.//button[normalize-space()="0.13%"])')
  assert.match(await text(page, '#divisor .answer'), /^Yes: 0\.13%\. 768 \/ 767 = 1\.0013\./)
  await page.close()
})
