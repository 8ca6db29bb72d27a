// The end of the page: sentences that lead to their figures, the sources, and who made it.

import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { load } from 'gpt-layers'
import { exampleOutputs } from '../../build/demo/example.js'
import { TASKS } from '../../build/demo/sections/end/tasks.js'
import { normalize } from '../../build/demo/norm.js'
import { says } from './says.js'
import { click, get, near, press, test, text, useSite, waitInPage } from './browser.js'

const site = useSite()
/** The end is there once all sections are. */
async function openEnd(query = '') {
  const opened = await site.open(query, { features: { 'prefers-reduced-motion': 'reduce' } })
  await get(opened.page, '#end')
  return opened
}

test('a sentence leads to each section but the opening; then come the sources, the authors and the day of the build', async () => {
  const { page, complaints, foreign } = await openEnd(
    '?batch-norm.batch=1&example.divisor=n-1&story.off=all&half-precision.factor=1',
  )
  const targets = await page.$$eval('#end > ol a', (all) => all.map((one) => one.getAttribute('href') ?? ''))
  const ids = await page.$$eval('.section', (all) => all.map(({ id }) => id))
  assert.deepEqual(
    targets,
    ids.slice(1).map((id) => `#${id}`),
  )
  const sentences = await page.$$eval('#end > ol li', (all) => all.map((one) => one.textContent.trim()))
  for (const sentence of sentences) assert.match(sentence, /^.{40,}\.$/)
  const said = await text(page, '#end')
  assert.match(said, /Ba, Kiros, Hinton 2016: Layer Normalization/)
  assert.match(said, /The gpt-layers authors made it from the notebook “GPT Architecture Part 2: Layer Norm/)
  const built = statSync(new URL('../../web/demo/dist/index.html', import.meta.url)).mtime
  const day = built.toLocaleDateString('en-US', { dateStyle: 'long', timeZone: 'UTC' })
  assert.ok(said.includes(`It was built on ${day}.`), `${day} in ${said}`)
  // The link of a task shows what the task is about, and brings that for which the answer holds.
  // Which step is shown is no step to undo.
  const search = `location.search.replace('worked-example.step=divide&', '')`
  const before = await page.evaluate(search)
  for (const [id, left] of [
    ['opening', '?half-precision.factor=1&batch-norm.batch=1'],
    ['worked-example', '?story.off=all&half-precision.factor=1&batch-norm.batch=1'],
    ['half-precision', '?example.divisor=n-1&half-precision.precision=float16&batch-norm.batch=1'],
    ['batch-norm', '?example.divisor=n-1&story.off=all&half-precision.factor=1'],
  ]) {
    await click(page, `#end .tasks a[href="#${id}"]`)
    await waitInPage(page, `${search} === '${left}'`)
    await press(page, 'Control', 'z')
    await waitInPage(page, `${search} === '${before}'`)
  }
  assert.match(await text(page, '#worked-example .title'), /^4 of 5/)
  assert.deepEqual([...complaints, ...foreign], [])
  await page.close()
})

test('the answers of the tasks are what the figures compute', async () => {
  await load()
  const [first] = exampleOutputs()
  const settings = { divisor: /** @type {const} */ ('n'), eps: 1e-5 }
  const farthest = Math.max(...normalize(first.with(0, 1e6), settings).divided.values)
  const { variance } = normalize(first, settings).before
  near(normalize(first, { ...settings, eps: variance }).divided.variance, 0.5, 1e-6)
  // half-precision.test.js holds it for the rows.
  const deviation = Math.sqrt(65504 / 80)
  assert.deepEqual(
    TASKS.map(({ answer }) => answer),
    [farthest.toFixed(2), variance.toFixed(4), deviation.toFixed(1), '5 and 4', String(2 * 24 + 1)],
  )
  says(`The limit is √(n − 1) = √5 = ${Math.sqrt(5).toFixed(4)}: one number then makes all of the variance.`)
  says('Its row has five features, its column four samples.')
  says('GPT-2 medium has 24 blocks: how many norms?')
})

test('the answers are hidden until they are asked for, and the sheet in print has the tasks alone', async () => {
  const { page } = await openEnd()
  const seen = () =>
    page.$$eval('#end details, #opening, #end .tasks > ol li', (all) =>
      all.map((one) => one.checkVisibility() && (!(one instanceof HTMLDetailsElement) || one.open)),
    )
  assert.deepEqual((await seen()).filter(Boolean).length, 1 + TASKS.length)
  await page.evaluate(() => {
    window.print = () => {}
  })
  await click(page, '#end summary')
  assert.deepEqual((await seen()).filter(Boolean).length, 2 + TASKS.length)
  await click(page, '#end ::-p-text(Print the sheet)')
  /** The texts beside the tasks that are seen. */
  const others = () =>
    page.evaluate(() => {
      const found = []
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const [said, around] = [node.textContent?.trim(), node.parentElement]
        if (said && around?.checkVisibility() && !around.closest('#end .tasks')) found.push(said)
      }
      return found
    })
  assert.ok((await others()).includes('What to remember'))
  await page.emulateMediaType('print')
  assert.deepEqual((await seen()).filter(Boolean).length, TASKS.length)
  assert.deepEqual(await others(), [])
  // The next print has the whole page.
  await page.evaluate(() => dispatchEvent(new Event('afterprint')))
  assert.ok((await others()).includes('What to remember'))
  await page.close()
})
