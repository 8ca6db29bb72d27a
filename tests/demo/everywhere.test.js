// What every section promises, in Chromium and Firefox. The list of sections is read from the page.

/** @import { Browser, Page } from 'puppeteer-core' */
/** @import { Opened, OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { all } from '../all.js'
import {
  BROWSERS,
  closeBrowsers,
  get,
  open,
  openAll,
  overflow,
  press,
  READERS,
  serve,
  share,
  skipped,
  waitInPage,
  WHOLE_SECTION,
} from './browser.js'

const WIDE = { width: 1440, height: 900 }
const NARROW = { width: 360, height: 740 }
const [PLAIN, OTHER] = READERS

/** @type {string} */
let url
before(async () => {
  url = await serve()
})
after(closeBrowsers)

/** Everything a section shows in its inputs and cells, once no worker computes; runs in the page. */
function read() {
  if (document.querySelector('.section [aria-busy="true"]')) return null
  const { activeElement } = document
  // A number with the focus shows all its digits.
  if (activeElement instanceof HTMLElement) activeElement.blur()
  const all = document.querySelectorAll(
    ':is(input, select, textarea, td.cell:not(:has(input)), button[aria-pressed], [role="slider"], [role="switch"])',
  )
  return [...all].map(
    (one) =>
      one.ariaPressed ??
      (one.role === 'switch' ? one.ariaChecked : one.getAttribute('aria-valuenow')) ??
      ('value' in one ? String(one.value) : one.textContent.trim()),
  )
}

/** @param {Page} page @returns {Promise<string[]>} */
async function shown(page) {
  return /** @type {string[]} */ (await waitInPage(page, read))
}

/** Waits until a section shows the expected values. @param {Page} page @param {string[]} expected */
async function assertShows(page, expected) {
  try {
    await waitInPage(
      page,
      // Functions inside one another cannot be passed.
      `String((${read})()) === ${JSON.stringify(String(expected))}`,
    )
  } catch {
    assert.deepEqual(await shown(page), expected)
  }
}

/**
 * Changes the first thing of a section that has a value, by keyboard: a dot, a number, a slider or a select;
 * else it presses the first switch, or button that is not pressed, in a figure.
 *
 * @param {Page} page
 */
async function change(page) {
  const values =
    '.section :is(input.editable:enabled, input[type="range"]:enabled, [role="slider"][tabindex="0"], select:enabled)'
  const buttons = '.figure button:is([aria-pressed="false"]:not([aria-haspopup]), [role="switch"])'
  const first = (await page.$(values)) ?? (await get(page, buttons))
  const key = await first.evaluate((one) => {
    const control = /** @type {HTMLElement} */ (/** @type {Element} */ (one))
    control.focus()
    if (control.matches('button')) return 'Enter'
    if (control.matches('select')) return 'ArrowDown'
    return control.matches('[role="slider"]') ? 'ArrowRight' : 'ArrowUp'
  })
  await press(page, key)
}

/**
 * Stops the page's clock, and counts how many frames in a row ask for the next one; in the page. A movement
 * by frames then never ends, and what only follows a change takes a frame or two.
 */
function watchFrames() {
  const request = requestAnimationFrame
  const time = performance.now()
  performance.now = () => time
  let before = 0
  let most = 0
  window.requestAnimationFrame = (callback) => {
    const count = before + 1
    most = Math.max(most, count)
    return request((now) => {
      before = count
      callback(now)
      before = 0
    })
  }
  const framesInARow = async () => {
    for (let i = 0; i < 8; i++) await new Promise((resolve) => request(resolve))
    return most
  }
  Object.assign(window, { framesInARow })
}

/** Asserts that Tab reaches every control, and that each shows that it has the focus. @param {Page} page */
async function reachByTab(page) {
  await page.bringToFront() // a window in the background shows no focus
  await waitInPage(page, () => document.hasFocus())
  const count = await page.evaluate(() => {
    // Tab reaches only the chosen button of a radio group.
    const fields = ':is(button, input, select, textarea):enabled:not([type="radio"], [role="radio"])'
    const all = [...document.querySelectorAll(`${fields}, a[href], summary, [tabindex="0"]`)]
    const missed = new Set(all.filter((one) => one.checkVisibility({ visibilityProperty: true })))
    /** @type {string[]} */
    const unseen = []
    const describe = (/** @type {Element} */ one) =>
      `${one.tagName} ${one.ariaLabel ?? one.textContent.trim()}`
    const look = () => {
      const one = document.activeElement
      if (!document.hasFocus() || !one) return // the focus is on the browser's own buttons
      missed.delete(one)
      const { outlineStyle, outlineWidth } = getComputedStyle(one)
      const bare = outlineStyle === 'none' || parseFloat(outlineWidth) < 2
      if (one !== document.body && bare) unseen.push(describe(one))
    }
    addEventListener('keydown', look, { capture: true }) // before the next Tab moves the focus
    const report = () => ({
      missed: [...missed].filter((one) => one.isConnected && !one.matches(':disabled')).map(describe),
      unseen,
    })
    Object.assign(window, { report })
    return missed.size
  })
  assert.ok(count > 1)
  const report = () => page.evaluate('report()')
  const none = { missed: [], unseen: [] }
  // Twice as many presses as controls, because some controls appear on the way.
  for (let i = 0; i < 2 * count; i++) {
    await page.keyboard.press('Tab')
    if (i > count && JSON.stringify(await report()) === JSON.stringify(none)) break
  }
  assert.deepEqual(await report(), none)
}

describe('everywhere', { concurrency: 2 }, () => {
  for (const name of BROWSERS) {
    describe(name, { skip: skipped[name], concurrency: 1 }, () => {
      /** Firefox takes the media features at its start, so each reader has a browser. @type {Browser[]} */
      let browsers
      /** @type {string[]} */
      let ids
      before(async () => {
        browsers = await Promise.all(READERS.map((reader) => share(name, reader)))
      })

      /** @param {string} query @param {Record<string, string>} reader @param {OpenOptions} options */
      const visit = (query, reader, options) => {
        const browser = browsers[READERS.indexOf(reader)]
        return open(browser, url + query, { ...options, features: name === 'chrome' ? reader : {} })
      }
      /** @param {string} id @param {Record<string, string>} reader @param {OpenOptions} size */
      const alone = (id, reader, size) => visit(`?embed=${id}`, reader, { ...size, ready: WHOLE_SECTION })

      test('the whole page fits its window, the console stays empty, and no other site is asked', async () => {
        for (const [reader, size] of /** @type {const} */ ([
          [PLAIN, WIDE],
          [OTHER, NARROW],
        ])) {
          const { page, complaints, foreign } = await visit('', reader, size)
          ids = await openAll(page)
          assert.ok(ids.length > 0)
          assert.ok((await overflow(page)) <= 0, `${await overflow(page)} pixels too wide`)
          assert.deepEqual([...complaints, ...foreign], [])
          await page.close()
        }
      })

      /** Of both tests of the policy. @type {Opened} */
      let visited

      test('the Content-Security-Policy forbids inline scripts, and the tests see a violation', async () => {
        visited = await visit('', PLAIN, WIDE)
        const { page, complaints, foreign } = visited
        const policy = await page.evaluate(async () =>
          (await fetch('')).headers.get('content-security-policy'),
        )
        assert.equal(
          policy,
          "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' https:",
        )
        assert.deepEqual([...complaints, ...foreign], [])
        await page.evaluate(() => {
          const script = document.createElement('script')
          script.textContent = 'window.ran = true'
          document.head.append(script)
        })
        assert.equal(await page.evaluate(() => 'ran' in window), false)
        assert.match(complaints.join(), /against the policy: script-src/)
      })

      test('the policy lets the page download over HTTPS from any address, and connect nowhere else', async () => {
        const { page, complaints } = visited
        await page.evaluate(() => fetch('https://127.0.0.1:9/').catch(() => {}))
        const first = await page.evaluate(
          () =>
            new Promise((resolve) => {
              document.addEventListener('securitypolicyviolation', ({ blockedURI, violatedDirective }) =>
                resolve([violatedDirective, blockedURI]),
              )
              fetch('http://127.0.0.1:9/').catch(() => {})
            }),
        )
        assert.deepEqual(first, ['connect-src', 'http://127.0.0.1:9/'])
        assert.doesNotMatch(complaints.join(), /against the policy: connect-src https/)
        await page.close()
      })

      /** @param {string} what @param {(id: string) => Promise<void>} run */
      const each = (what, run) =>
        test(what, async (t) => {
          for (const id of ids) await t.test(id, () => run(id))
        })

      each(
        'a change by keyboard can be undone, redone and restored, and Tab reaches every control',
        async (id) => {
          const { page, complaints } = await alone(id, PLAIN, WIDE)
          assert.equal((await page.$$('.section')).length, 1)
          const before = await shown(page)
          await change(page)
          await waitInPage(page, () => location.search.includes('&'))
          const changed = await shown(page)
          assert.notDeepEqual(changed, before)
          await press(page, 'Control', 'z')
          await assertShows(page, before)
          await press(page, 'Control', 'Shift', 'z')
          await assertShows(page, changed)
          await waitInPage(page, () => location.search.includes('&'))
          await page.reload()
          await page.waitForSelector(WHOLE_SECTION)
          await assertShows(page, changed)
          assert.deepEqual(complaints, [])
          await reachByTab(page)
          await page.close()
        },
      )

      each('at 360 pixels, dark and with reduced motion, everything fits and nothing moves', async (id) => {
        const { page, complaints, foreign } = await alone(id, OTHER, { ...NARROW, first: watchFrames })
        assert.ok((await overflow(page)) <= 0, `${await overflow(page)} pixels too wide`)
        const assertStill = async (/** @type {string} */ when) => {
          const frames = Number(await page.evaluate('framesInARow()'))
          assert.ok(frames <= 3, `something moves ${when}: ${frames} frames in a row`)
          const moving = await page.evaluate(() =>
            document.getAnimations().map(({ effect }) => {
              const target = effect instanceof KeyframeEffect ? effect.target : null
              return `${target?.tagName}.${target?.getAttribute('class')}`
            }),
          )
          assert.deepEqual(moving, [], `something moves ${when}`)
        }
        await assertStill('on arrival')
        const color = await page.evaluate(() => {
          // Not those of a dialog: they ask for files, and other sites.
          for (const button of document.querySelectorAll('.section button:enabled:not(dialog *)'))
            /** @type {HTMLElement} */ (button).click()
          return getComputedStyle(document.documentElement).backgroundColor
        })
        await page.waitForSelector(WHOLE_SECTION)
        await assertStill('once every button is pressed')
        const parts = color.match(/\d+/g) ?? []
        assert.ok(parts.length >= 3 && parts.every((part) => Number(part) < 64), color)
        const said = await page.$eval('.section', (section) => /** @type {HTMLElement} */ (section).innerText)
        assert.doesNotMatch(said, /NaN|undefined/)
        const wide = await overflow(page)
        assert.ok(wide <= 0, `${wide} pixels too wide with every button pressed`)
        assert.deepEqual([...complaints, ...foreign], [])
        await page.close()
      })
    })
  }
})

if (!all)
  test('in Firefox, too, a change by keyboard can be undone', { skip: skipped.firefox }, async () => {
    const { page, complaints, foreign } = await open(await share('firefox'), `${url}?embed=opening`, {
      ready: WHOLE_SECTION,
    })
    const before = await shown(page)
    await change(page)
    await waitInPage(page, () => location.search.includes('&'))
    assert.notDeepEqual(await shown(page), before)
    await press(page, 'Control', 'z')
    await assertShows(page, before)
    assert.deepEqual([...complaints, ...foreign], [])
    await page.close()
  })
