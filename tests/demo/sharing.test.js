// What a reader does with the whole page: undo and redo, links, embedded sections, files, no network.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import {
  choose,
  click,
  dragByFinger,
  dragNumber,
  drawn,
  eventually,
  fetchedFirst,
  field,
  focus,
  get,
  goOffline,
  near,
  open,
  openLayer,
  openMenu,
  press,
  reach,
  serveWithout,
  test,
  text,
  useSite,
  value,
  waitInPage,
  withoutServiceWorker,
} from './browser.js'

const FIRST_LOAD = 80.5e3 // bytes, gzipped, WebAssembly included; sections.test.js has the fonts’ budget

const site = useSite({ saves: true })
/** The section whose numbers are changed. */
const EXAMPLE = { at: 'worked-example', features: { 'prefers-reduced-motion': 'reduce' } }

/** @param {Page} page @param {string} name of a button of the menu */
const disabled = (page, name) =>
  page.$eval(`#menu ::-p-xpath(.//button[.="${name}"])`, (button) => button.matches(':disabled'))

/** The page that the next two tests use. @type {import('./browser.js').Opened} */
let opened

test('links can be copied; if the browser refuses, the link appears, to be copied by hand', async () => {
  opened = await site.open('?example.edits=x11:2', EXAMPLE)
  const { page } = opened
  await page.evaluate(() => {
    navigator.clipboard.writeText = async (copied) => void Object.assign(window, { copied })
  })
  await openMenu(page)
  await choose(page, 'Copy the link')
  assert.match(String(await page.evaluate('copied')), /\/\?example.edits=x11:2#worked-example$/)
  for (const says of ['Copied.', ''])
    // for a moment
    await waitInPage(page, `document.querySelector('#menu [aria-live]').textContent === '${says}'`)
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))
  })
  await choose(page, 'Copy the link')
  assert.match(
    await (
      await get(page, '#menu .copy input')
    ).evaluate((input) => (input instanceof HTMLInputElement ? input.value : '')),
    /\/\?example.edits=x11:2#worked-example$/,
  )
})

test('typing, each drag and each press of a key are one step of undo and redo, also where the focus is', async () => {
  const { page, complaints } = opened
  await openLayer(page)
  assert.ok(await disabled(page, 'Undo'))
  const first = await value(page, 'x₁₁')
  await click(page, field('x₁₁'))
  await page.keyboard.type('1.25')
  await dragNumber(page, 'x₁₂', 40)
  const once = await value(page, 'x₁₂')
  await dragNumber(page, 'x₁₂', 40)
  const twice = await value(page, 'x₁₂')
  await focus(page, field('x₁₃'))
  const shown = () =>
    page.$eval(field('x₁₃'), (input) => Number(/** @type {HTMLInputElement} */ (input).value))
  const third = await shown()
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowUp')
  near(await shown(), third + 0.2, 1e-6)
  await press(page, 'Control', 'z')
  near(await shown(), third + 0.1, 1e-6)
  await press(page, 'Control', 'z')
  assert.equal(await shown(), third)
  await press(page, 'Control', 'z')
  assert.equal(await value(page, 'x₁₂'), once)
  await press(page, 'Control', 'z')
  assert.notEqual(await value(page, 'x₁₂'), once)
  assert.equal(await value(page, 'x₁₁'), 1.25)
  await openMenu(page)
  await choose(page, 'Undo')
  assert.equal(await value(page, 'x₁₁'), first)
  assert.ok(await disabled(page, 'Undo'))
  await press(page, 'Control', 'Shift', 'z')
  for (let i = 0; i < 3; i++) await press(page, 'Control', 'y')
  await choose(page, 'Redo')
  assert.equal(await value(page, 'x₁₁'), 1.25)
  assert.equal(await value(page, 'x₁₂'), twice)
  assert.ok(await disabled(page, 'Redo'))
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a number can be dragged with a finger', async () => {
  const { page } = await site.open('?embed=worked-example', { ...EXAMPLE, width: 360, height: 780 })
  await openLayer(page)
  const first = await value(page, 'x₁₂')
  await dragByFinger(page, field('x₁₂'), 40)
  near(await value(page, 'x₁₂'), first + 1, 1e-6)
  assert.equal(await page.evaluate(() => scrollX), 0)
  await press(page, 'Control', 'z')
  assert.equal(await value(page, 'x₁₂'), first)
  await page.close()
})

test('the figure in view can be saved as PNG, with the colors of the page, under the page’s policy; why it cannot stands in the menu', async () => {
  const { page, complaints } = await site.open('#batch-norm', {
    features: { 'prefers-reduced-motion': 'reduce', 'prefers-color-scheme': 'dark' },
    ready: '#batch-norm .figure',
  })
  await openMenu(page)
  const png = await site.saved('batch-norm.png', () => choose(page, 'Save as PNG'))
  // The picture has many pixels of both colors of the points, a dark ground, and nothing of the light page. Its
  // margin is empty.
  const count = await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')
    if (!context) throw new Error('no canvas')
    context.drawImage(bitmap, 0, 0)
    const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height)
    let above = 0
    let below = 0
    let dark = 0
    let light = 0
    let outside = 0
    for (let i = 0; i < data.length; i += 4) {
      if (data[i] - data[i + 2] > 50) above++
      if (data[i + 2] - data[i] > 50) below++
      if (data[i] < 60 && data[i + 2] < 60) dark++
      if (Math.min(data[i], data[i + 1], data[i + 2]) > 240) light++
      const [x, y] = [(i / 4) % bitmap.width, Math.floor(i / 4 / bitmap.width)]
      const edge = Math.min(x, y, bitmap.width - 1 - x, bitmap.height - 1 - y)
      if (edge < 24 && Math.abs(data[i] - data[0]) > 8) outside++
    }
    return { above, below, dark, light, outside }
  }, png.toString('base64'))
  assert.ok(count.above > 1000 && count.below > 500, JSON.stringify(count))
  assert.ok(count.dark > 100_000 && count.light + count.outside === 0, JSON.stringify(count))
  // The picture has the rules as `cssText` writes them. Of a shorthand with a variable, such as `font`, and one of its
  // parts in the same rule, it writes nothing: the picture had another font.
  const rules = await page.evaluate(() =>
    [...document.styleSheets].flatMap(({ cssRules }) => [...cssRules].map(({ cssText }) => cssText)),
  )
  assert.deepEqual(
    rules.filter((rule) => /(?<![\w-])[a-z][\w-]*: ;/.test(rule)),
    [],
  )
  await page.evaluate(() => {
    HTMLCanvasElement.prototype.toBlob = (callback) => callback(null)
  })
  await choose(page, 'Save as PNG')
  await get(page, '#menu ::-p-text(The picture was not saved: the figure is too large for a picture.)')
  assert.deepEqual(complaints, [])
  await page.close()
})

test('after the first visit the page works without a network, and what else was seen', async () => {
  const context = await site.newProfile()
  const { page } = await open(context, site.url)
  await waitInPage(page, () => navigator.serviceWorker.controller !== null)
  await page.evaluate(() => fetch('api/index.html'))
  await waitInPage(page, () => caches.match('api/index.html').then(Boolean))
  await goOffline(page)
  await page.goto(`${site.url}?example.edits=x11:2`, { waitUntil: 'load' })
  await get(page, 'footer')
  await reach(page, EXAMPLE.at)
  await openLayer(page)
  assert.equal(await value(page, 'x₁₁'), 2)
  await page.goto(`${site.url}?embed=story`, { waitUntil: 'load' })
  await page.waitForSelector('#story .controls:not(:has(.note))') // the model writes
  await page.goto(`${site.url}api/index.html`, { waitUntil: 'load' })
  assert.match(await page.title(), /gpt-layers/)
  await context.close()
})

for (const file of [/ScaleAndShift-.+\.js$/, /ScaleAndShift-.+\.css$/])
  test(`without ${file.source} the page says what is missing, and a reload brings it`, async (t) => {
    const server = await serveWithout(t, site.url, file)
    const context = await site.newProfile()
    const page = await withoutServiceWorker(context)
    await page.goto(server.url)
    await get(page, 'main:not(.still)')
    const problem = '::-p-text(This section could not be fetched.)'
    await page.waitForSelector(problem)
    server.missing = null
    const reload = await get(page, '::-p-text(Reload the page)')
    // click() would ask the page afterwards whether it was pressed, but then the page is gone.
    await Promise.all([page.waitForNavigation(), reload.evaluate((button) => button.click())])
    await get(page, 'main:not(.still)')
    assert.equal(new URL(page.url()).hash, '#scale-and-shift')
    await reach(page, 'scale-and-shift')
    await waitInPage(page, `performance.getEntriesByType('resource').some(({ name }) => ${file}.test(name))`)
    await page.evaluate(drawn)
    assert.equal(await page.$(problem), null)
    await context.close()
  })

test('without its kernels the page says why it could not start', async (t) => {
  const server = await serveWithout(t, site.url, /page-.+\.wasm$/)
  const context = await site.newProfile()
  const page = await withoutServiceWorker(context)
  await page.goto(server.url)
  await get(page, '::-p-text(The page could not start:)')
  await context.close()
})

const MODEL = /model-.+\.safetensors/
const WORKER = /\.worker-.+\.js/
/**
 * The figures that a model or a worker fills: what the page says without it, and what the section says once
 * the figure is filled.
 */
const FILLED = [
  { id: 'story', files: [MODEL, WORKER], filled: /^(?!.*(recording|could not))/ },
  {
    id: 'training',
    files: [WORKER],
    says: /^The training stopped: .+\. Try again$/,
    filled: /after [1-9]\d* of/,
  },
  { id: 'scale-and-shift', files: [MODEL, WORKER], filled: /Score of Ines/ },
]

for (const { id, files, filled, says = /^The model could not be loaded: .+\. Try again$/ } of FILLED)
  for (const file of files)
    test(`${id}: without ${file.source} the figure says so, and tries again when it is told to`, async (t) => {
      const server = await serveWithout(t, site.url, file)
      const context = await site.newProfile()
      const page = await withoutServiceWorker(context)
      await page.goto(`${server.url}?embed=${id}`)
      const again = await get(page, `#${id} ::-p-xpath(.//button[.="Try again"])`)
      assert.match(await text(page, `#${id} .failed`), says)
      assert.doesNotMatch(await text(page, `#${id}`), filled)
      server.missing = null
      await click(page, again)
      await eventually(async () => filled.test(await text(page, `#${id}`)), `${id} stays empty`)
      assert.equal(await page.$(`#${id} .failed`), null)
      await context.close()
    })

test('where the model would write what was not recorded, its texts and its figure are hidden until it is there', async (t) => {
  const server = await serveWithout(t, site.url, MODEL)
  const context = await site.newProfile()
  const page = await withoutServiceWorker(context)
  const seen = () =>
    page.$$eval('#story :is(.pair, .way)', (all) =>
      all.map((one) => one.checkVisibility({ visibilityProperty: true })),
    )
  await page.goto(`${server.url}?embed=story&story.off=1`)
  const again = await get(page, '#story ::-p-xpath(.//button[.="Try again"])')
  assert.deepEqual(await seen(), [false, false])
  server.missing = null
  await click(page, again)
  await eventually(async () => String(await seen()) === 'true,true', 'the texts stay hidden')
  await context.close()
})

test('what the page needs to start is at most 80.5 kB gzipped, without fonts, and has no model', async () => {
  const context = await site.newProfile()
  const started = () => document.querySelector('main:not(.still)') !== null
  const { page, urls, files, bytes } = await fetchedFirst(context, site.url, started)
  assert.deepEqual(
    urls.filter((url) => /safetensors|gpt2/.test(url)),
    [],
  )
  assert.ok(files >= 4 && bytes <= FIRST_LOAD, `${files} files, ${bytes} bytes`)
  const early = await page.$$eval('link[rel="preload"]', (links) => links.map(({ href }) => href))
  assert.match(early.join(), /woff2,.*wasm$/)
  for (const url of early) assert.equal(urls.filter((one) => one === url).length, 1, url)
  await context.close()
})
