// axe finds no accessibility problem in any section, wide and narrow, light and dark. Writes a picture of
// each section to build/screenshots/.

/** @import { AxeResults } from 'axe-core' */
/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { get, openAll, test, useSite, WHOLE_SECTION } from './browser.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const screenshots = fileURLToPath(new URL('../../build/screenshots/', import.meta.url))
mkdirSync(screenshots, { recursive: true })

const site = useSite()

/** Every violation of any of axe's rules. @param {Page} page @returns {Promise<string[]>} rule and element */
async function findings(page) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  const { violations } = /** @type {AxeResults} */ (await page.evaluate('axe.run()'))
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`),
  )
}

test('axe finds a planted low contrast and a missing label', async () => {
  const { page } = await site.open('', { features: { 'prefers-color-scheme': 'light' } })
  await page.$eval('h1', (heading) => {
    if (heading instanceof HTMLElement) heading.style.color = '#bbb'
  })
  await page.$eval('.editable', (input) => input.removeAttribute('aria-label'))
  const found = (await findings(page)).join('\n')
  assert.match(found, /^color-contrast: <h1/m)
  assert.match(found, /^label-title-only: <input/m)
  await page.close()
})

for (const theme of ['light', 'dark']) {
  for (const [width, height] of [
    [1440, 900],
    [360, 780],
  ]) {
    test(`axe finds nothing at ${width} by ${height}, ${theme}, with every section open and its answer shown`, async () => {
      const features = { 'prefers-color-scheme': theme, 'prefers-reduced-motion': 'reduce' }
      const { page } = await site.open('', { width, height, features })
      const ids = await openAll(page)
      for (const id of ids) {
        const path = /** @type {`${string}.png`} */ (`${screenshots}${id}-${width}-${theme}.png`)
        await (await get(page, `#${id}`)).screenshot({ path })
      }
      await page.$$eval('.predict button', (all) => all.forEach((button) => button.click()))
      assert.deepEqual(await findings(page), [])
      await page.close()
    })
  }
}

test('axe finds nothing in an embedded section', async (t) => {
  const { page } = await site.open()
  const ids = await openAll(page)
  await page.close()
  for (const id of ids) {
    await t.test(id, async () => {
      const { page } = await site.open(`?embed=${id}`, { ready: WHOLE_SECTION })
      assert.deepEqual(await findings(page), [])
      await page.close()
    })
  }
})
