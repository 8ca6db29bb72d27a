// The notebook in WebKitGTK: every cell prints what PyTorch prints.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { lacking, WebKit } from '../browser/webkit.js'
import { eventually, serve } from '../demo/browser.js'
import { isIdle, look, MODEL, recorded } from './support.js'

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

  for (const [name, cells] of Object.entries(recorded))
    test(`each cell of “${name}” prints what PyTorch prints`, async () => {
      await browser.open(`${url}robots.txt`)
      await browser.open(`${url}notebook/#${name}`)
      await eventually(
        () => browser.run("return document.querySelector('.cm-content') !== null"),
        'no editor',
      )
      if (name === 'train' || name === 'own')
        await browser.run("document.querySelector('.bar button').click()")
      if (name === 'own') {
        const asks = "return document.querySelector('.file input') !== null"
        await eventually(() => browser.run(asks), 'it asks for no file')
        await browser.choose('.file input', MODEL)
      }
      await eventually(() => browser.run(`return (${isIdle})()`), 'it does not end')
      const seen = await browser.run(`return (${look})()`)
      assert.deepEqual(
        seen.map((/** @type {{ text: string, error: string }} */ { text, error }) => text + error),
        cells.map(({ prints }) => prints),
      )
    })
})
