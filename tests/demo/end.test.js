// The end of the page: seven sentences that lead to their figures, the sources, and who made it.

import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { get, test, text, useSite } from './browser.js'

const site = useSite()
const STILL = { 'prefers-reduced-motion': 'reduce' }

test('each of the seven sentences leads to a section of its own; then come the sources, the authors and the day of the build', async () => {
  const { page, complaints, foreign } = await site.open('', { at: 'end', features: STILL })
  const targets = await page.$$eval('#end ol a', (all) => all.map((one) => one.getAttribute('href') ?? ''))
  assert.equal(targets.length, 7)
  assert.equal(new Set(targets).size, 7)
  for (const target of targets) await get(page, `${target}.section`)
  const said = await text(page, '#end')
  assert.match(said, /Ba, Kiros, Hinton 2016: Layer Normalization/)
  assert.match(said, /The gpt-layers authors made it from the notebook “GPT Architecture Part 2: Layer Norm/)
  const built = statSync(new URL('../../web/demo/dist/index.html', import.meta.url)).mtime
  const day = built.toLocaleDateString('en-US', { dateStyle: 'long', timeZone: 'UTC' })
  assert.ok(said.includes(`It was built on ${day}.`), `${day} in ${said}`)
  assert.deepEqual([...complaints, ...foreign], [])
  await page.close()
})

test('on a phone no link of the end lies over the footer, also before the end is drawn', async () => {
  const { page } = await site.open('', { width: 360, height: 740, features: STILL })
  const overlap = await page.evaluate(() => {
    const top = document.querySelector('footer')?.getBoundingClientRect().top ?? NaN
    const links = [...document.querySelectorAll('#end a')].map((link) => link.getBoundingClientRect().bottom)
    return Math.max(...links) - top
  })
  assert.ok(overlap < 0, `${overlap} pixels`)
  await page.close()
})
