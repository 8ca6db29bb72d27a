// Every section in WebKitGTK.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { lacking, WebKit } from '../browser/webkit.js'
import { eventually, serve } from './browser.js'

const skip = lacking.length > 0 && `no ${lacking.join(', ')}: see ./build.sh --help`

describe('WebKitGTK', { skip, concurrency: 1 }, () => {
  /** @type {string} */
  let url
  const browser = new WebKit()
  before(async () => {
    url = await serve()
    await browser.start()
  })
  after(() => browser.stop())

  for (const [width, height] of [
    [1280, 720],
    [360, 740],
  ]) {
    for (const theme of ['light', 'dark']) {
      test(`every section works at ${width} by ${height}, ${theme}`, async () => {
        await browser.openIn(url, `?theme=${theme}`, width, height)
        const isThere = "return document.querySelector('main:not(.still)') !== null"
        await eventually(() => browser.run(isThere), 'the page is not there')
        await browser.run(`
          window.complaints = []
          const say = (event) => complaints.push(String(event.reason ?? event.message ?? event.blockedURI))
          for (const name of ['error', 'unhandledrejection', 'securitypolicyviolation'])
            addEventListener(name, say)
          const error = console.error
          console.error = (...all) => (complaints.push(all.join(' ')), error(...all))
        `)
        const ids = await browser.run("return [...document.querySelectorAll('.section')].map(({ id }) => id)")
        assert.ok(ids.length >= 7, String(ids))
        for (const id of ids) {
          await browser.run('document.getElementById(arguments[0]).scrollIntoView()', id)
          await eventually(
            () =>
              browser.run(
                `const section = document.getElementById(arguments[0])
              return !section.matches('[aria-busy="true"], :has([aria-busy="true"])')
                && section.matches(':has(svg, table, canvas, [role="img"], .failed)')`,
                id,
              ),
            `${id} has no figure`,
          )
        }
        const seen = await browser.run(`
          return {
            complaints,
            inner: innerWidth,
            wide: document.documentElement.scrollWidth - innerWidth,
            failed: [...document.querySelectorAll('.section > .failed')].map((one) => one.textContent),
            // The text of one section is about NaN.
            wrong: [...document.querySelectorAll('.section:not(#half-precision)')].flatMap(
              (one) => one.innerText.match(/.{0,40}(NaN|undefined).{0,40}/g) ?? [],
            ),
            ground: getComputedStyle(document.documentElement).backgroundColor,
          }`)
        const { inner, ground, ...rest } = seen
        assert.deepEqual(rest, { complaints: [], wide: 0, failed: [], wrong: [] })
        assert.equal(inner, width)
        assert.equal(ground, theme === 'light' ? 'rgb(253, 253, 251)' : 'rgb(21, 23, 26)')
      })
    }
  }
})
