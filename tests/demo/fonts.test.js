// The page's own fonts: small and complete.

import assert from 'node:assert/strict'
import { openAll, openMenu, test, useSite } from './browser.js'

const BUDGET = 100e3 // bytes, all faces together

const site = useSite()

test('all fonts together are at most 100 kB, and come with their licenses; the page, its answers, a menu and a dialog are written in them', async () => {
  const { page, complaints } = await site.open('', { features: { 'prefers-reduced-motion': 'reduce' } })
  const fonts = await page.evaluate(async () => {
    const own = [...document.fonts].filter(({ family }) => !family.includes('Fallback'))
    await Promise.all(own.map((face) => face.load()))
    const all = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByType('resource'))
    return all
      .filter(({ name }) => name.endsWith('.woff2'))
      .map(({ name, encodedBodySize }) => ({ name, size: encodedBodySize }))
  })
  const total = fonts.reduce((sum, { size }) => sum + size, 0)
  assert.ok(fonts.length >= 5 && total > 0 && total <= BUDGET, JSON.stringify(fonts))
  const licenses = await page.evaluate(async () => (await fetch('assets/fonts.txt')).text())
  assert.equal(licenses.match(/SIL OPEN FONT LICENSE Version 1\.1/gi)?.length, 3)

  await openAll(page)
  assert.deepEqual(complaints, [])
  await page.$$eval('.guess button:last-of-type', (all) => all.forEach((button) => button.click()))
  await openMenu(page)
  await page.$$eval('button', (all) => all.find(({ textContent }) => textContent === 'PyTorch code')?.click())
  await page.waitForSelector('dialog[open] pre')
  await page.evaluate(() => document.fonts.ready)
  const session = await page.createCDPSession()
  await session.send('DOM.enable')
  await session.send('CSS.enable')
  const { root } = await session.send('DOM.getDocument', { depth: 0 })
  const { nodeIds } = await session.send('DOM.querySelectorAll', { nodeId: root.nodeId, selector: 'body *' })
  assert.ok(nodeIds.length > 100)
  /** @type {string[]} */
  const foreign = []
  let known = 0
  for (const nodeId of nodeIds) {
    // What a section writes anew meanwhile is gone.
    const answer = await session.send('CSS.getPlatformFontsForNode', { nodeId }).catch(() => null)
    if (!answer) continue
    known++
    const { fonts } = answer
    const others = fonts.filter(({ isCustomFont }) => !isCustomFont)
    if (!others.length) continue
    const { outerHTML } = await session.send('DOM.getOuterHTML', { nodeId })
    foreign.push(`${others.map(({ familyName }) => familyName)}: ${outerHTML.slice(0, 200)}`)
  }
  assert.deepEqual(foreign, [])
  assert.ok(known > 0.9 * nodeIds.length, `${known} of ${nodeIds.length}`)
  await page.close()
})
