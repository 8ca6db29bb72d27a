// What holds of every section, in both browsers. The sections are those that the page itself names.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { launch, open, openAll, serve } from './browser.js'

const WIDE = { width: 1440, height: 900 }
const NARROW = { width: 360, height: 780 }
/** Who has set what of the media's features: one reader as most are, and one with all that there is. */
const PLAIN = { 'prefers-color-scheme': 'light' }
const OTHER = { 'prefers-color-scheme': 'dark', 'prefers-reduced-motion': 'reduce' }

let server
before(async () => {
  server = await serve()
})
after(() => server?.stop())

/** How far the page reaches beyond the screen, to the side. */
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
/** What is set in a section, and every number in its cells; what it measures is not in these. */
const shown = (page) =>
  page.evaluate(() => {
    const all = [...document.querySelectorAll('.section :is(input, select, td.cell, button[aria-pressed])')]
    return all.map((one) => one.ariaPressed ?? one.value ?? one.textContent.trim())
  })
/** What can be changed in a section, by keyboard. */
const CHANGED = '.section :is(input.editable, input[type="range"]):enabled'

async function press(page, ...keys) {
  for (const key of keys.slice(0, -1)) await page.keyboard.down(key)
  await page.keyboard.press(keys.at(-1))
  for (const key of keys.slice(0, -1)) await page.keyboard.up(key)
}

describe('everywhere', { concurrency: 2 }, () => {
  for (const name of ['chrome', 'firefox']) {
    const skip = name === 'firefox' && !process.env.FIREFOX && 'there is no Firefox: ./build.sh --help'
    describe(name, { skip, concurrency: 1 }, () => {
      /** A browser for each of the readers: Firefox learns of its reader at its start. */
      const browsers = new Map()
      let ids
      before(async () => {
        for (const reader of [PLAIN, OTHER]) {
          const shared = name === 'chrome' && browsers.get(PLAIN)
          browsers.set(reader, shared || (await launch(name, reader)))
        }
      })
      after(async () => {
        for (const browser of new Set(browsers.values())) await browser.close()
      })

      const visit = (query, reader, options) =>
        open(browsers.get(reader), server.url + query, { ...options, features: name === 'chrome' ? reader : {} })
      const alone = (id, reader, options) => visit(`?embed=${id}`, reader, { ...options, ready: '.section:not(.waiting)' })

      test('the whole page', async () => {
        for (const [reader, size] of [
          [PLAIN, WIDE],
          [OTHER, NARROW],
        ]) {
          const { page, complaints, foreign } = await visit('', reader, size)
          ids = await openAll(page)
          assert.ok(ids.length > 0)
          assert.ok((await overflow(page)) <= 0, `${await overflow(page)} pixels too wide`)
          assert.deepEqual([...complaints, ...foreign], [])
          await page.close()
        }
      })

      test('the policy is served with the page, and the tests see what is against it', async () => {
        const { page, complaints, foreign } = await visit('', PLAIN, WIDE)
        const policy = await page.evaluate(async () => (await fetch('')).headers.get('content-security-policy'))
        assert.equal(policy, "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'")
        assert.deepEqual([...complaints, ...foreign], [])
        await page.evaluate(() => {
          const script = document.createElement('script')
          script.textContent = 'window.ran = true'
          document.head.append(script)
        })
        assert.equal(await page.evaluate(() => window.ran), undefined)
        assert.match(complaints.join(), /against the policy: script-src/)
        await page.close()
      })

      const each = (what, run) =>
        test(what, async (t) => {
          for (const id of ids) await t.test(id, () => run(id))
        })

      each('a number changed by keyboard is in the address, comes back from it, is undone and redone', async (id) => {
        const { page, complaints } = await alone(id, PLAIN, WIDE)
        assert.equal((await page.$$('.section')).length, 1)
        const before = await shown(page)
        await (await page.waitForSelector(CHANGED)).focus()
        await press(page, 'ArrowUp')
        const after = await shown(page)
        assert.notDeepEqual(after, before)
        await page.waitForFunction(() => location.search.includes('&'))
        await page.reload()
        await page.waitForSelector(CHANGED)
        const restored = await shown(page)
        await (await page.$(CHANGED)).focus()
        await press(page, 'ArrowUp')
        const further = await shown(page)
        await press(page, 'Control', 'z')
        await page.evaluate(() => document.activeElement.blur())
        assert.deepEqual(await shown(page), restored)
        await press(page, 'Control', 'Shift', 'z')
        await (await page.$(CHANGED)).focus()
        assert.deepEqual(await shown(page), further)
        assert.deepEqual(complaints, [])
        await page.close()
      })

      each('all that can be pressed or changed is reached by Tab, and shows that it is', async (id) => {
        const { page } = await alone(id, PLAIN, WIDE)
        const count = await page.evaluate(() => {
          const reach = ':is(a[href], button, input, select, textarea, summary, [tabindex]):enabled, a[href], summary, [tabindex="0"]'
          const all = [...document.querySelectorAll(reach)]
          window.missed = new Set(all.filter((one) => one.tabIndex >= 0 && one.checkVisibility({ visibilityProperty: true })))
          window.unseen = []
          addEventListener('focusin', ({ target }) => {
            missed.delete(target)
            const { outlineStyle, outlineWidth } = getComputedStyle(target)
            if (outlineStyle === 'none' || parseFloat(outlineWidth) < 2) unseen.push(target.outerHTML)
          })
          return missed.size
        })
        assert.ok(count > 1)
        for (let i = 0; i < count + 5; i++) await page.keyboard.press('Tab')
        const { missed, unseen } = await page.evaluate(() => ({
          missed: [...window.missed].map((one) => one.outerHTML),
          unseen: window.unseen,
        }))
        assert.deepEqual({ missed, unseen }, { missed: [], unseen: [] })
        await page.close()
      })

      each('360 pixels wide, in the dark, without motion: all of it fits, and nothing moves by itself', async (id) => {
        const { page, complaints, foreign } = await alone(id, OTHER, NARROW)
        assert.ok((await overflow(page)) <= 0, `${await overflow(page)} pixels too wide`)
        const { colour, moving } = await page.evaluate(() => {
          for (const button of document.querySelectorAll('.section button:enabled')) button.click()
          return {
            colour: getComputedStyle(document.documentElement).backgroundColor,
            moving: document.getAnimations().length,
          }
        })
        assert.equal(moving, 0)
        assert.ok(colour.match(/\d+/g).every((part) => part < 64), colour)
        assert.doesNotMatch(await page.$eval('.section', (section) => section.innerText), /NaN|undefined/)
        assert.ok((await overflow(page)) <= 0, `${await overflow(page)} pixels too wide, with every button pressed`)
        assert.deepEqual([...complaints, ...foreign], [])
        await page.close()
      })
    })
  }
})
