// ./build.sh demo --watch serves the sources of the page and of the notebook.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { utimesSync } from 'node:fs'
import * as runner from 'node:test'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { closeBrowsers, get, newPage, PATIENCE, share, test } from './browser.js'

runner.describe('demo --watch', () => {
  /** @type {import('node:child_process').ChildProcessWithoutNullStreams} */
  let server
  /** @type {string} */
  let url
  runner.before(async () => {
    const script = fileURLToPath(new URL('../../web/demo/serve.js', import.meta.url))
    const env = { ...process.env, DISPLAY: '', WAYLAND_DISPLAY: '' } // opens no window on a desktop
    server = spawn(process.execPath, [script, '--watch', '--port', '0'], { env })
    const [printed] = await once(server.stdout, 'data')
    url = String(printed).trim()
  })
  runner.after(() => void server.kill())

  runner.test('it serves the sources', async () => {
    assert.match(await (await fetch(url)).text(), /src="\/@vite\/client"/)
    const app = await (await fetch(`${url}src/App.svelte`)).text()
    assert.match(app, /import\.meta\.hot\.accept/)
    const dist = /from "(\/[^"]*\/dist\/index\.js)/.exec(await (await fetch(`${url}src/load.ts`)).text())?.[1]
    assert.equal((await fetch(new URL(dist ?? 'no import of gpt-layers', url))).status, 200)
  })

  test('the browser fetches a source of the page, or a notebook, once it was edited', async () => {
    for (const [address, ready, source] of [
      ['?embed=worked-example', '.section', 'demo/src/numbers.ts'],
      ['notebook/', '.cell', 'notebook/notebook.mjs'],
    ]) {
      const page = await newPage(await share())
      await page.goto(url + address)
      await get(page, ready)
      const again = new RegExp(`/${basename(source)}.*[?&]t=\\d`) // Vite names the time of the edit
      const fetched = page.waitForRequest((request) => again.test(request.url()), { timeout: PATIENCE })
      const now = new Date()
      utimesSync(new URL(`../../web/${source}`, import.meta.url), now, now) // an edit that changes nothing
      await fetched
      await page.close()
    }
  })
})
runner.after(closeBrowsers)
