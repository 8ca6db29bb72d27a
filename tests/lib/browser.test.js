// The package in a browser, bundled by Vite, in a cross-origin isolated page and in an ordinary page.

/** @import { Server } from 'node:http' */
/** @import { AddressInfo } from 'node:net' */
/** @import { Browser } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { after, before, launch, test } from '../demo/browser.js'

const APP = `
import { load } from 'gpt-layers'
const compute = async (options) => {
  const gpt = await load(options)
  gpt.manualSeed(1)
  const layer = new gpt.FeedForward({ embDim: 256 })
  const x = gpt.randn([7, 256])
  const y = Array.from(layer.forward(x).data)
  gpt.dispose()
  return { build: gpt.build, y }
}
const threads = async (options) => (await load(options)).threads
globalThis.app = { compute, threads }
`
/** @type {Record<string, string>} */
const TYPES = { '.html': 'text/html', '.js': 'text/javascript' }
// A strict policy: nothing inline, no blob, no data.
const CSP = { 'content-security-policy': "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'" }
const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
}

/** @type {string} */
let folder
/** @type {Server} */
let server
/** @type {Browser} */
let browser
/** @type {string} */
let origin
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gpt-layers-'))
  writeFileSync(join(folder, 'app.js'), APP)
  const script = '<script type="module" src="./app.js"></script>'
  writeFileSync(join(folder, 'index.html'), `<!doctype html><title>app</title>${script}`)
  const alias = { 'gpt-layers': fileURLToPath(new URL('../../dist/index.js', import.meta.url)) }
  await build({ root: folder, base: './', logLevel: 'error', configFile: false, resolve: { alias } })
  server = createServer(({ url }, response) => {
    const [, page, name = 'index.html'] = /^\/(\w+)\/(.+)?$/.exec(url ?? '') ?? []
    try {
      const body = readFileSync(join(folder, 'dist', name))
      const headers = {
        'content-type': TYPES[extname(name)],
        ...CSP,
        ...(page === 'isolated' ? ISOLATED : {}),
      }
      response.writeHead(200, headers).end(body)
    } catch {
      response.writeHead(404).end()
    }
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {AddressInfo} */ (server.address())
  origin = `http://127.0.0.1:${port}`
  browser = await launch()
})
after(async () => {
  await browser?.close()
  server?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** @param {string} name of the page */
async function open(name) {
  const page = await browser.newPage()
  /** @type {string[]} */
  const complaints = []
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  await page.goto(`${origin}/${name}/`)
  return { page, complaints }
}

test('a cross-origin isolated page gets threads under a strict CSP, and the bits of one thread', async () => {
  const { page, complaints } = await open('isolated')
  assert.equal(await page.evaluate(() => crossOriginIsolated), true)
  assert.equal(await page.evaluate('app.threads({ threads: 3 })'), 3)
  const one = await page.evaluate('app.compute({ threads: 1 })')
  const three = await page.evaluate('app.compute({ threads: 3 })')
  assert.deepEqual(three, one)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a page that is not cross-origin isolated gets one thread, and nothing fails', async () => {
  const { page, complaints } = await open('plain')
  assert.equal(await page.evaluate(() => crossOriginIsolated), false)
  assert.equal(await page.evaluate('app.threads({ threads: 3 })'), 1)
  assert.deepEqual(complaints, [])
  await page.close()
})
