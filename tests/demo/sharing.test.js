// What a reader does with the whole page: undo and redo, links, embedded sections, files, no network.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import {
  boxOf,
  click,
  dragNumber,
  field,
  focus,
  get,
  near,
  open,
  press,
  test,
  useSite,
  value,
  waitInPage,
} from './browser.js'

const FIRST_LOAD = 150e3 // bytes, gzipped, WebAssembly included; fonts.test.js has the fonts' budget

const site = useSite()

const problem = (/** @type {Page} */ page) => page.$eval('.problems', (element) => element.textContent.trim())
/** A button of the header. @param {Page} page @param {string} name */
const tool = (page, name) => get(page, `.tools ::-p-text(${name})`)
/** @param {Page} page @param {string} name */
const disabled = async (page, name) =>
  (await tool(page, name)).evaluate((button) => button.matches(':disabled'))

/** @param {Page} page @param {string} label of a select */
const choice = (page, label) =>
  page.$eval(`select[aria-label="${label}"]`, (select) => /** @type {HTMLSelectElement} */ (select).value)

/** Loads a file of numbers into the page. @param {Page} page @param {string} text the file's */
async function upload(page, text) {
  const path = join(site.folder, 'upload.json')
  writeFileSync(path, text)
  const input = await page.$('.tools input[type=file]')
  assert.ok(input)
  await input.uploadFile(path)
}

test('typing, a drag and a setting are each one step of undo and redo', async () => {
  const { page, complaints } = await site.open()
  assert.ok(await disabled(page, 'undo'))
  const first = await value(page, 'x₁₁')
  await click(page, field('x₁₁'))
  await page.keyboard.type('1.25')
  await dragNumber(page, 'x₁₂', 40)
  await page.select('select[aria-label="what is normalised"]', 'batch')
  const dragged = await value(page, 'x₁₂')
  await press(page, 'Control', 'z')
  assert.equal(await choice(page, 'what is normalised'), 'outputs')
  await press(page, 'Control', 'z')
  assert.notEqual(await value(page, 'x₁₂'), dragged)
  assert.equal(await value(page, 'x₁₁'), 1.25)
  await (await tool(page, 'undo')).click()
  assert.equal(await value(page, 'x₁₁'), first)
  assert.ok(await disabled(page, 'undo'))
  await press(page, 'Control', 'Shift', 'z')
  await press(page, 'Control', 'y')
  await (await tool(page, 'redo')).click()
  assert.equal(await value(page, 'x₁₁'), 1.25)
  assert.equal(await value(page, 'x₁₂'), dragged)
  assert.ok(await disabled(page, 'redo'))
  assert.deepEqual(complaints, [])
  await page.close()
})

test('undo also changes the number that has the focus, and each press of an arrow key is one step', async () => {
  const { page } = await site.open()
  await focus(page, field('b₁'))
  const shown = () =>
    page.$eval(field('b₁'), (input) => Number(/** @type {HTMLInputElement} */ (input).value))
  const first = await shown()
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowUp')
  await press(page, 'Control', 'z')
  near(await shown(), first + 0.1, 1e-6)
  await press(page, 'Control', 'z')
  assert.equal(await shown(), first)
  await page.close()
})

test('undo stays on the screen when the page’s header is scrolled away', async () => {
  const { page } = await site.open('', { width: 360, height: 780 })
  assert.equal(await page.$('.afloat'), null)
  const first = await value(page, 'γ₁')
  await focus(page, field('γ₁'))
  await page.keyboard.press('ArrowUp')
  await click(page, '.afloat ::-p-text(undo)')
  assert.equal(await value(page, 'γ₁'), first)
  await page.close()
})

test('a number can be dragged with a finger', async () => {
  const { page } = await site.open('', { width: 360, height: 780 })
  const input = await get(page, field('x₁₂'))
  await input.scrollIntoView()
  const { x, y, width, height } = await boxOf(input)
  const first = await value(page, 'x₁₂')
  const finger = await page.touchscreen.touchStart(x + width / 2, y + height / 2)
  for (let i = 1; i <= 8; i++) await finger.move(x + width / 2 + 5 * i, y + height / 2)
  await finger.end()
  near(await value(page, 'x₁₂'), first + 1, 1e-6)
  assert.equal(await page.evaluate(() => scrollX), 0)
  await (await tool(page, 'undo')).click()
  assert.equal(await value(page, 'x₁₂'), first)
  await page.close()
})

test('an embedded section stands alone with its state and links to the whole page', async () => {
  const { page, complaints } = await site.open('?embed=worked-example&x11=2', { ready: '.section' })
  assert.equal(await value(page, 'x₁₁'), 2)
  for (const part of ['header', 'nav', 'footer']) assert.equal(await page.$(part), null)
  assert.equal((await page.$$('.section')).length, 1)
  assert.match(await page.$eval('.whole a', (link) => link.href), /\?x11=2#worked-example$/)
  await dragNumber(page, 'x₁₂', 40)
  await page.waitForFunction(() => /embed=worked-example&x11=2&x12=/.test(location.search))
  assert.deepEqual(complaints, [])
  await page.close()
})

test('for an unknown section to embed, the whole page is shown and says so', async () => {
  const { page } = await site.open('?embed=poem')
  assert.match(await problem(page), /There is no section “poem” to embed/)
  assert.ok(await page.$('footer'))
  await page.close()
})

test('links can be copied; if the browser refuses, the link appears, to be copied by hand', async () => {
  const { page } = await site.open('?x11=2')
  await page.evaluate(() => {
    navigator.clipboard.writeText = async (copied) => void Object.assign(window, { copied })
  })
  await click(page, '.heading ::-p-text(copy a link to embed)')
  assert.match(String(await page.evaluate('copied')), /\?embed=worked-example&x11=2$/)
  await click(page, '.tools .copy button')
  assert.match(String(await page.evaluate('copied')), /\/\?x11=2$/)
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))
  })
  await click(page, '.tools .copy button')
  assert.match(
    await (
      await get(page, '.tools .copy input')
    ).evaluate((input) => (input instanceof HTMLInputElement ? input.value : '')),
    /\/\?x11=2$/,
  )
  await page.close()
})

test('a file saves the page’s state and restores it', async () => {
  const { page } = await site.open('?seed=7&x11=2&gamma1=3')
  const text = String(
    await site.saved('gpt-layers.json', async () => (await tool(page, 'download the numbers')).click()),
  )
  const { state, numbers } = JSON.parse(text)
  assert.deepEqual(state['worked-example'].edits, { x11: 2, gamma1: 3 })
  assert.equal(numbers['worked-example'].after.values.length, 2)
  const second = await site.open()
  await upload(second.page, text)
  await second.page.waitForSelector(`${field('seed')}[aria-valuenow="7"]`)
  const cells = (/** @type {Page} */ page) =>
    page.$$eval('#worked-example .cell', (all) =>
      all.map((one) => one.querySelector('input')?.value ?? one.textContent),
    )
  assert.deepEqual(await cells(second.page), await cells(page))
  await press(second.page, 'Control', 'z')
  assert.equal(await value(second.page, 'seed'), 123)
  await page.close()
  await second.page.close()
})

test('an invalid file is refused with a sentence and changes nothing', async () => {
  const { page, complaints } = await site.open('?x11=2')
  const bad = {
    'is not JSON': 'tensor([1.])',
    'did not write it': '{"page":"another","version":1,"state":{}}',
    'no section “poem”': '{"page":"gpt-layers","version":1,"state":{"poem":{}}}',
    '“seed” cannot be -1': '{"page":"gpt-layers","version":1,"state":{"worked-example":{"seed":-1}}}',
    'no cell “x99”': '{"page":"gpt-layers","version":1,"state":{"worked-example":{"edits":{"x99":1}}}}',
    '“x11” cannot be "two"':
      '{"page":"gpt-layers","version":1,"state":{"worked-example":{"edits":{"x11":"two"}}}}',
    '“x11” cannot be null':
      '{"page":"gpt-layers","version":1,"state":{"worked-example":{"edits":{"x11":null}}}}',
    'names and values were expected': '[]',
  }
  for (const [why, text] of Object.entries(bad)) {
    await upload(page, text)
    await page.waitForFunction(
      (why) => document.querySelector('.problems')?.textContent.includes(why),
      {},
      why,
    )
    assert.match(await problem(page), /^That file cannot be loaded: .*\. Nothing was changed\.$/)
    assert.equal(await value(page, 'x₁₁'), 2)
    assert.ok(await disabled(page, 'undo'))
  }
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a chart can be saved as SVG and as PNG, with the colors of the page, under the page’s policy', async () => {
  const { page, complaints } = await site.open()
  const text = String(
    await site.saved('sample-1.svg', () => click(page, 'button[aria-label="sample-1 as SVG"]')),
  )
  assert.match(text, /^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/)
  assert.equal((text.match(/<circle /g) ?? []).length, 18)
  assert.match(text, /<circle [^>]*fill="#[0-9a-f]{6}"/)
  assert.doesNotMatch(text, / class=| style=|var\(/)
  const png = await site.saved('sample-1.png', () => click(page, 'button[aria-label="sample-1 as PNG"]'))
  // The picture has many pixels of both colors of the points.
  const count = await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')
    if (!context) throw new Error('no canvas')
    context.drawImage(bitmap, 0, 0)
    const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height)
    const near = (/** @type {number} */ i, /** @type {number[]} */ [r, g, b]) =>
      Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 8
    let above = 0
    let below = 0
    for (let i = 0; i < data.length; i += 4) {
      if (near(i, [0xf0, 0x95, 0x3d])) above++
      if (near(i, [0x6e, 0xa3, 0xde])) below++
    }
    return { above, below }
  }, png.toString('base64'))
  assert.ok(count.above > 1000 && count.below > 500, JSON.stringify(count))
  assert.deepEqual(complaints, [])
  await page.close()
})

test('after the first visit the page works without a network, and what else was seen', async () => {
  const context = await site.browser.createBrowserContext()
  const { page } = await open(context, site.url)
  await page.evaluate(() => navigator.serviceWorker.ready)
  await waitInPage(page, () => navigator.serviceWorker.controller !== null)
  await page.evaluate(() => fetch('api/index.html'))
  await waitInPage(page, () => caches.match('api/index.html').then(Boolean))
  await page.setOfflineMode(true)
  // The service worker's own requests are offline, too.
  const target = await site.browser.waitForTarget((target) => target.type() === 'service_worker')
  const worker = await target.worker()
  assert.ok(worker)
  await worker.client.send('Network.enable')
  await worker.client.send('Network.emulateNetworkConditions', {
    offline: true,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: -1,
  })
  await page.goto(`${site.url}?x11=2`, { waitUntil: 'load' })
  await page.waitForSelector('.trust')
  assert.equal(await value(page, 'x₁₁'), 2)
  await page.goto(`${site.url}api/index.html`)
  assert.match(await page.title(), /gpt-layers/)
  await context.close()
})

test('the first load is at most 150 kB gzipped', async () => {
  const context = await site.browser.createBrowserContext()
  const page = await context.newPage()
  /** @type {Promise<Uint8Array>[]} */
  const bodies = []
  page.on('response', (response) => {
    const request = response.request()
    if (request.frame() === page.mainFrame() && request.resourceType() !== 'font')
      bodies.push(response.buffer())
  })
  await page.goto(site.url)
  await get(page, '.trust')
  await page.waitForNetworkIdle()
  const sizes = (await Promise.all(bodies)).map((body) => gzipSync(body, { level: 9 }).length)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  assert.ok(sizes.length >= 4 && total <= FIRST_LOAD, `${sizes.length} files, ${total} bytes`)
  await context.close()
})
