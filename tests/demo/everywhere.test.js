// What holds of every section, in both browsers. The sections are those that the page itself names.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { launch, open, openAll, press, serve, skipped, WHOLE_SECTION } from './browser.js'

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
const read = () => {
  document.activeElement.blur() // a number that has the focus stands there to its last digit
  const all = [...document.querySelectorAll(':is(input, select, textarea, td.cell, button[aria-pressed])')]
  const busy = document.querySelector('.section [aria-busy="true"]') !== null
  return { busy, shown: all.map((one) => one.ariaPressed ?? one.value ?? one.textContent.trim()) }
}
const SETTLED = 100 // milliseconds without a change: what a worker computes comes later

/** @returns {Promise<string[]>} what a section shows, once it has all it waits for */
async function shown(page) {
  for (let last = await page.evaluate(read); ;) {
    await new Promise((resolve) => setTimeout(resolve, SETTLED))
    const now = await page.evaluate(read)
    if (!now.busy && String(now.shown) === String(last.shown)) return now.shown
    last = now
  }
}

/** Steps the first number of a section, or where it has none its first choice, by keyboard. */
async function change(page) {
  const number = await page.$('.section :is(input.editable, input[type="range"]):enabled')
  await (number ?? (await page.$('.section select:enabled'))).focus()
  await press(page, number ? 'ArrowUp' : 'ArrowDown')
}

describe('everywhere', { concurrency: 2 }, () => {
  for (const name of ['chrome', 'firefox']) {
    describe(name, { skip: skipped[name], concurrency: 1 }, () => {
      /** A browser for each of the readers: Firefox learns of its reader at its start. */
      const browsers = new Map()
      let ids
      before(async () => {
        const readers = [PLAIN, OTHER]
        const all = name === 'chrome' ? [launch()] : readers.map((reader) => launch(name, reader))
        const launched = await Promise.all(all)
        readers.forEach((reader, i) => browsers.set(reader, launched[i] ?? launched[0]))
      })
      after(async () => {
        for (const browser of new Set(browsers.values())) await browser.close()
      })

      const visit = (query, reader, options) => {
        const features = name === 'chrome' ? reader : {}
        return open(browsers.get(reader), server.url + query, { ...options, features })
      }
      const alone = (id, reader, size) => visit(`?embed=${id}`, reader, { ...size, ready: WHOLE_SECTION })

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
        const policy = await page.evaluate(async () =>
          (await fetch('')).headers.get('content-security-policy'),
        )
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

      each('a number changed by keyboard is undone, redone, and restored from the address', async (id) => {
        const { page, complaints } = await alone(id, PLAIN, WIDE)
        assert.equal((await page.$$('.section')).length, 1)
        const before = await shown(page)
        await change(page)
        const changed = await shown(page)
        assert.notDeepEqual(changed, before)
        await press(page, 'Control', 'z')
        assert.deepEqual(await shown(page), before)
        await press(page, 'Control', 'Shift', 'z')
        assert.deepEqual(await shown(page), changed)
        await page.waitForFunction(() => location.search.includes('&'))
        await page.reload()
        await page.waitForSelector(WHOLE_SECTION)
        assert.deepEqual(await shown(page), changed)
        assert.deepEqual(complaints, [])
        await page.close()
      })

      each('all that can be pressed or changed is reached by Tab, and shows that it is', async (id) => {
        const { page } = await alone(id, PLAIN, WIDE)
        await page.bringToFront() // a window in the background shows no focus
        await page.waitForFunction(() => document.hasFocus())
        const count = await page.evaluate(() => {
          // of a group of radio buttons, Tab goes to the one that is chosen
          const fields = ':is(button, input, select, textarea):enabled:not([type="radio"], [role="radio"])'
          const all = [...document.querySelectorAll(`${fields}, a[href], summary, [tabindex="0"]`)]
          window.missed = new Set(all.filter((one) => one.checkVisibility({ visibilityProperty: true })))
          window.unseen = []
          window.describe = (one) => `${one.tagName} ${one.ariaLabel ?? one.textContent.trim()}`
          const look = () => {
            if (!document.hasFocus()) return // it is on the browser's own buttons
            const one = document.activeElement
            window.missed.delete(one)
            const { outlineStyle, outlineWidth } = getComputedStyle(one)
            const bare = outlineStyle === 'none' || parseFloat(outlineWidth) < 2
            if (one !== document.body && bare) window.unseen.push(window.describe(one))
          }
          addEventListener('keydown', look, { capture: true }) // of the next Tab
          return window.missed.size
        })
        assert.ok(count > 1)
        // twice as often as there are places: some come to be on the way
        for (let i = 0; i < 2 * count; i++) {
          await page.keyboard.press('Tab')
          if (i > count && (await page.evaluate(() => window.missed.size === 0))) break
        }
        const { missed, unseen } = await page.evaluate(() => ({
          missed: [...window.missed].filter((one) => one.isConnected && !one.disabled).map(window.describe),
          unseen: window.unseen,
        }))
        assert.deepEqual({ missed, unseen }, { missed: [], unseen: [] })
        await page.close()
      })

      each(
        '360 pixels wide, in the dark, without motion: all fits, and nothing moves by itself',
        async (id) => {
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
          assert.ok(
            colour.match(/\d+/g).every((part) => part < 64),
            colour,
          )
          assert.doesNotMatch(await page.$eval('.section', (section) => section.innerText), /NaN|undefined/)
          assert.ok(
            (await overflow(page)) <= 0,
            `${await overflow(page)} pixels too wide with every button pressed`,
          )
          assert.deepEqual([...complaints, ...foreign], [])
          await page.close()
        },
      )
    })
  }
})
