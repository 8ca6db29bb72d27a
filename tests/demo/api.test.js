// The API reference that is served with the page: complete, public only, and without a broken link.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as gpt from 'gpt-layers'
import { open, test as browserTest, useSite } from './browser.js'

const site = useSite()
const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = join(root, 'web/demo/dist/api')
const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.html'))
  .map((name) => ({ name, html: readFileSync(join(folder, name), 'utf8') }))

/** The names that index.js exports, its types included. */
const types = readFileSync(join(root, 'dist/index.d.ts'), 'utf8')
const names = [...types.matchAll(/^export (?:type )?\{ (.*) \};$/gm)].flatMap(([, list]) =>
  list.split(', ').map((name) => name.replace(/.* as /, '')),
)

test('each name of the public API has its page, and nothing else has', () => {
  const documented = pages.flatMap(({ name }) => /^[a-z]+\/(\w+)\.html$/.exec(name)?.[1] ?? [])
  assert.deepEqual(documented.sort(), names.sort())
  for (const name of ['Tensor', 'Module', 'LayerNorm', 'GPTModel', 'AdamW']) {
    assert.ok(
      pages.some((page) => page.name === `classes/${name}.html`),
      name,
    )
  }
})

test('each layer stands under “Layers”, and no class of another kind', () => {
  const index = pages.find(({ name }) => name === 'index.html')?.html ?? ''
  const [list = ''] = /<h2[^>]* id="layers">.*?<h2/s.exec(index) ?? []
  const found = [...list.matchAll(/href="classes\/(\w+)\.html"/g)].map(([, name]) => name)
  const isLayer = (/** @type {any} */ value) => value === gpt.Module || value?.prototype instanceof gpt.Module
  const layers = Object.entries(gpt).flatMap(([name, value]) => (isLayer(value) ? [name] : []))
  assert.deepEqual(found.sort(), layers.sort())
})

test('each type that a public signature names is documented', () => {
  const warnings = JSON.parse(readFileSync(join(root, 'build/api-warnings.json'), 'utf8'))
  assert.equal(warnings, 0, 'node web/demo/api.js prints the warnings')
})

test('constructors stand as users call them', () => {
  const { html } = pages.find(({ name }) => name === 'classes/Linear.html') ?? { html: '' }
  const text = html.replace(/<[^>]*>/g, '').replace(/(\s|&nbsp;)+/g, ' ')
  assert.match(text, /new Linear\( ?inFeatures: number, outFeatures: number, options\?/)
})

/** The notebook stands beside the reference. @param {string} page */
const notebookFrom = (page) => `${'../'.repeat(page.split('/').length)}notebook/index.html`

test('links inside the reference resolve, each page leads to the notebook, and none elsewhere', () => {
  const ids = new Map(
    pages.map(({ name, html }) => [name, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]),
  )
  const files = new Set(
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/')),
  )
  let count = 0
  for (const { name, html } of pages) {
    assert.ok(html.includes(`href="${notebookFrom(name)}"`), `${name} leads to no notebook`)
    for (const [, link] of html.matchAll(/ (?:href|src)="([^"]*)"/g)) {
      if (link === notebookFrom(name)) continue
      const { origin, pathname, hash } = new URL(link, `file:///${name}`)
      const target = pathname.slice(1)
      assert.equal(origin, 'null', `${name}: ${link}`)
      assert.ok(files.has(target), `${name}: ${link}`)
      if (hash && target.endsWith('.html')) {
        assert.ok(ids.get(target)?.has(decodeURIComponent(hash.slice(1))), `${name}: ${link}`)
      }
      count++
    }
  }
  assert.ok(count > 1000, `${count}`)
})

browserTest('the page links to the reference, which opens without an error', async () => {
  const { page, complaints, foreign } = await site.open()
  const link = await page.$eval('footer a[href*="api/"]', (anchor) => /** @type {any} */ (anchor).href)
  const reference = await open(site.browser, link)
  await reference.page.waitForSelector('#tsd-nav-container a[href$="LayerNorm.html"]')
  await reference.page.goto(new URL('classes/LayerNorm.html', link).href)
  assert.equal(await reference.page.$eval('h1', (heading) => heading.textContent), 'Class LayerNorm')
  assert.deepEqual([...complaints, ...reference.complaints], [])
  assert.deepEqual([...foreign, ...reference.foreign], [])
  await page.close()
  await reference.page.close()
})
