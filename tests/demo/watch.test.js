// ./build.sh demo --watch serves the page's sources.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

test('demo --watch serves the sources, which reload when they are edited, and isolates the page', async (t) => {
  const script = fileURLToPath(new URL('../../web/demo/serve.js', import.meta.url))
  const env = { ...process.env, DISPLAY: '', WAYLAND_DISPLAY: '' } // opens no window on a desktop
  const server = spawn(process.execPath, [script, '--watch', '--port', '0'], { env })
  t.after(() => server.kill())
  const [printed] = await once(server.stdout, 'data')
  const url = String(printed).trim()
  const page = await fetch(url)
  assert.equal(page.headers.get('Cross-Origin-Opener-Policy'), 'same-origin')
  assert.match(await page.text(), /src="\/@vite\/client"/)
  const app = await (await fetch(`${url}src/App.svelte`)).text()
  assert.match(app, /import\.meta\.hot\.accept/)
  const dist = /from "(\/[^"]*\/dist\/index\.js)/.exec(await (await fetch(`${url}src/load.ts`)).text())?.[1]
  assert.equal((await fetch(new URL(dist ?? 'no import of gpt-layers', url))).status, 200)
})
