// Every section, wide and narrow, in the light and in the dark: axe finds nothing in it, and build/screenshots/ has a
// picture of it to look at.

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { after, before, launch, open, openAll, serve, test, WHOLE_SECTION } from './browser.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const screenshots = fileURLToPath(new URL('../../build/screenshots/', import.meta.url))

let server, browser
before(async () => {
  mkdirSync(screenshots, { recursive: true })
  server = await serve()
  browser = await launch()
})
after(async () => {
  await browser?.close()
  server?.stop()
})

/** What axe finds, of all that it knows: the rule, and where. @returns {Promise<string[]>} */
async function findings(page) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  const { violations } = await page.evaluate(() => window.axe.run())
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`),
  )
}

test('axe finds what is wrong, so that it would be found', async () => {
  const { page } = await open(browser, server.url, { features: { 'prefers-color-scheme': 'light' } })
  await page.$eval('h1', (heading) => (heading.style.color = '#bbb'))
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
    test(`${width} wide, ${theme}: axe finds nothing, with every section open and its answer given`, async () => {
      const features = { 'prefers-color-scheme': theme, 'prefers-reduced-motion': 'reduce' }
      const { page } = await open(browser, server.url, { width, height, features })
      const ids = await openAll(page)
      for (const id of ids) {
        await (await page.$(`#${id}`)).screenshot({ path: `${screenshots}${id}-${width}-${theme}.png` })
      }
      await page.$$eval('.predict button', (all) => all.forEach((button) => button.click()))
      assert.deepEqual(await findings(page), [])
      await page.close()
    })
  }
}

test('axe finds nothing in a section that stands alone', async (t) => {
  const { page } = await open(browser, server.url)
  const ids = await openAll(page)
  await page.close()
  for (const id of ids) {
    await t.test(id, async () => {
      const { page } = await open(browser, `${server.url}?embed=${id}`, { ready: WHOLE_SECTION })
      assert.deepEqual(await findings(page), [])
      await page.close()
    })
  }
})
