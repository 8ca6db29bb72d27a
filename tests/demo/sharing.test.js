// What one does with the whole page: undo and redo, the address, a section embedded, files, no network.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { after, before, launch, open, press, saved, serve, test } from './browser.js'

const FIRST_LOAD = 120e3 // bytes, gzipped, WebAssembly and fonts included

let server, browser, folder
before(async () => {
  server = await serve()
  browser = await launch()
  folder = mkdtempSync(join(tmpdir(), 'gpt-layers-'))
  const session = await browser.target().createCDPSession()
  await session.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder })
})
after(async () => {
  await browser?.close()
  server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const cell = (page, label) => page.$(`input[aria-label="${label}"]`)
const value = (page, label) => page.$eval(`input[aria-label="${label}"]`, (input) => input.ariaValueNow)
const problem = (page) => page.$eval('.problems', (element) => element.textContent.trim())
const tool = (page, name) => page.waitForSelector(`.tools ::-p-text(${name})`)
const disabled = async (page, name) => (await tool(page, name)).evaluate((button) => button.disabled)

async function drag(page, label, pixels) {
  const box = await (await cell(page, label)).boundingBox()
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.mouse.move(x + pixels, y, { steps: 8 })
  await page.mouse.up()
}

test('undo takes back what was typed, a drag and a setting, each as one step, and redo brings it again', async () => {
  const { page, complaints } = await open(browser, server.url)
  assert.ok(await disabled(page, 'undo'))
  const first = await value(page, 'x₁₁')
  await (await cell(page, 'x₁₁')).click()
  await page.keyboard.type('1.25')
  await drag(page, 'x₁₂', 40)
  await page.select('select[aria-label="what is normalised"]', 'batch')
  const dragged = await value(page, 'x₁₂')
  await press(page, 'Control', 'z')
  assert.equal(
    await page.$eval('select[aria-label="what is normalised"]', (select) => select.value),
    'outputs',
  )
  await press(page, 'Control', 'z')
  assert.notEqual(await value(page, 'x₁₂'), dragged)
  assert.equal(await value(page, 'x₁₁'), '1.25')
  await (await tool(page, 'undo')).click()
  assert.equal(await value(page, 'x₁₁'), first)
  assert.ok(await disabled(page, 'undo'))
  await press(page, 'Control', 'Shift', 'z')
  await press(page, 'Control', 'y')
  await (await tool(page, 'redo')).click()
  assert.equal(await value(page, 'x₁₁'), '1.25')
  assert.equal(await value(page, 'x₁₂'), dragged)
  assert.ok(await disabled(page, 'redo'))
  assert.deepEqual(complaints, [])
  await page.close()
})

test('undo shows in the very number that is being typed, and each press of an arrow key is a step', async () => {
  const { page } = await open(browser, server.url)
  await (await cell(page, 'b₁')).focus()
  const shown = () => page.$eval('input[aria-label="b₁"]', (input) => Number(input.value))
  const first = await shown()
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowUp')
  await press(page, 'Control', 'z')
  assert.ok(Math.abs((await shown()) - first - 0.1) < 1e-6)
  await press(page, 'Control', 'z')
  assert.equal(await shown(), first)
  await page.close()
})

test('undo stays at hand where the head of the page is out of sight', async () => {
  const { page } = await open(browser, server.url, { width: 360, height: 780 })
  assert.equal(await page.$('.afloat'), null)
  const first = await value(page, 'γ₁')
  await (await cell(page, 'γ₁')).focus()
  await page.keyboard.press('ArrowUp')
  await (await page.waitForSelector('.afloat ::-p-text(undo)')).click()
  assert.equal(await value(page, 'γ₁'), first)
  await page.close()
})

test('a finger drags a number sideways', async () => {
  const { page } = await open(browser, server.url, { width: 360, height: 780 })
  const input = await cell(page, 'x₁₂')
  await input.scrollIntoView()
  const { x, y, width, height } = await input.boundingBox()
  const first = Number(await value(page, 'x₁₂'))
  const finger = await page.touchscreen.touchStart(x + width / 2, y + height / 2)
  for (let i = 1; i <= 8; i++) await finger.move(x + width / 2 + 5 * i, y + height / 2)
  await finger.end()
  assert.ok(Math.abs(Number(await value(page, 'x₁₂')) - first - 1) < 1e-6)
  assert.equal(await page.evaluate(() => scrollX), 0)
  await (await tool(page, 'undo')).click()
  assert.equal(Number(await value(page, 'x₁₂')), first)
  await page.close()
})

test('embedded, a section stands alone with its state, and leads to the whole page', async () => {
  const { page, complaints } = await open(browser, `${server.url}?embed=layer&x11=2`, { ready: '.section' })
  assert.equal(await value(page, 'x₁₁'), '2')
  for (const part of ['header', 'nav', 'footer']) assert.equal(await page.$(part), null)
  assert.equal((await page.$$('.section')).length, 1)
  assert.match(await page.$eval('.whole a', (link) => link.href), /\?x11=2#layer$/)
  await drag(page, 'x₁₂', 40)
  await page.waitForFunction(() => /embed=layer&x11=2&x12=/.test(location.search))
  assert.deepEqual(complaints, [])
  await page.close()
})

test('where there is no such section to embed, the whole page is shown and says so', async () => {
  const { page } = await open(browser, `${server.url}?embed=poem`)
  assert.match(await problem(page), /There is no section “poem” to embed/)
  assert.ok(await page.$('footer'))
  await page.close()
})

test('the link is copied, and where that is not allowed it stands there to be copied by hand', async () => {
  const { page } = await open(browser, `${server.url}?x11=2`)
  await page.evaluate(() => {
    navigator.clipboard.writeText = async (text) => void (window.copied = text)
  })
  await (await page.waitForSelector('.heading ::-p-text(copy a link to embed)')).click()
  assert.match(await page.evaluate(() => window.copied), /\?embed=layer&x11=2$/)
  await (await page.waitForSelector('.tools .copy button')).click()
  assert.match(await page.evaluate(() => window.copied), /\/\?x11=2$/)
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))
  })
  await (await page.waitForSelector('.tools .copy button')).click()
  assert.match(
    await (await page.waitForSelector('.tools .copy input')).evaluate((input) => input.value),
    /\/\?x11=2$/,
  )
  await page.close()
})

test('the numbers go into a file and come back from it', async () => {
  const { page } = await open(browser, `${server.url}?seed=7&x11=2&gamma1=3`)
  const text = String(
    await saved(folder, 'gpt-layers.json', async () => (await tool(page, 'download the numbers')).click()),
  )
  const { state, numbers } = JSON.parse(text)
  assert.deepEqual(state.layer.edits, { x11: 2, gamma1: 3 })
  assert.equal(numbers.layer.after.values.length, 2)
  const second = await open(browser, server.url)
  writeFileSync(join(folder, 'numbers.json'), text)
  const input = await second.page.$('.tools input[type=file]')
  await input.uploadFile(join(folder, 'numbers.json'))
  await second.page.waitForFunction(() => document.querySelector('input[aria-label="seed"]').value === '7')
  const cells = (page) =>
    page.$$eval('#layer .cell', (all) =>
      all.map((one) => one.querySelector('input')?.value ?? one.textContent),
    )
  assert.deepEqual(await cells(second.page), await cells(page))
  await press(second.page, 'Control', 'z')
  assert.equal(await value(second.page, 'seed'), '123')
  await page.close()
  await second.page.close()
})

test('a file that is none of the page’s gets a sentence, and leaves all as it was', async () => {
  const { page, complaints } = await open(browser, `${server.url}?x11=2`)
  const bad = {
    'is not JSON': 'tensor([1.])',
    'did not write it': '{"page":"another","version":1,"state":{}}',
    'no section “poem”': '{"page":"gpt-layers","version":1,"state":{"poem":{}}}',
    '“seed” cannot be -1': '{"page":"gpt-layers","version":1,"state":{"layer":{"seed":-1}}}',
    'no cell “x99”': '{"page":"gpt-layers","version":1,"state":{"layer":{"edits":{"x99":1}}}}',
    '“x11” cannot be "two"': '{"page":"gpt-layers","version":1,"state":{"layer":{"edits":{"x11":"two"}}}}',
    '“x11” cannot be null': '{"page":"gpt-layers","version":1,"state":{"layer":{"edits":{"x11":null}}}}',
    'names and values were expected': '[]',
  }
  for (const [why, text] of Object.entries(bad)) {
    writeFileSync(join(folder, 'bad.json'), text)
    await (await page.$('.tools input[type=file]')).uploadFile(join(folder, 'bad.json'))
    await page.waitForFunction(
      (why) => document.querySelector('.problems').textContent.includes(why),
      {},
      why,
    )
    assert.match(await problem(page), /^That file cannot be loaded: .*\. Nothing was changed\.$/)
    assert.equal(await value(page, 'x₁₁'), '2')
    assert.ok(await disabled(page, 'undo'))
  }
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a chart is saved as SVG and as PNG, as it looks, within the page’s policy', async () => {
  const { page, complaints } = await open(browser, server.url)
  const press = async (label) => (await page.$(`button[aria-label="${label}"]`)).click()
  const text = String(await saved(folder, 'sample-1.svg', () => press('sample-1 as SVG')))
  assert.match(text, /^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/)
  assert.equal((text.match(/<circle /g) ?? []).length, 18)
  assert.match(text, /<circle [^>]*fill="#[0-9a-f]{6}"/)
  assert.doesNotMatch(text, / class=| style=|var\(/)
  const png = await saved(folder, 'sample-1.png', () => press('sample-1 as PNG'))
  // the points' colours are in it, and more than a few pixels of each
  const count = await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')
    context.drawImage(bitmap, 0, 0)
    const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height)
    const near = (i, [r, g, b]) =>
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

test('after the first visit the page needs no network, whatever its address says', async () => {
  const context = await browser.createBrowserContext()
  const { page } = await open(context, server.url)
  await page.evaluate(() => navigator.serviceWorker.ready)
  await page.setOfflineMode(true)
  // the worker's own requests, too
  const worker = await (await browser.waitForTarget((target) => target.type() === 'service_worker')).worker()
  await worker.client.send('Network.enable')
  await worker.client.send('Network.emulateNetworkConditions', {
    offline: true,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: -1,
  })
  await page.goto(`${server.url}?x11=2`, { waitUntil: 'load' })
  await page.waitForSelector('.trust')
  assert.equal(await value(page, 'x₁₁'), '2')
  await context.close()
})

test('the first load is at most 120 kB gzipped', async () => {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  const bodies = []
  page.on('response', (response) => {
    if (response.request().frame() === page.mainFrame()) bodies.push(response.buffer())
  })
  await page.goto(server.url, { waitUntil: 'networkidle0' })
  const sizes = (await Promise.all(bodies)).map((body) => gzipSync(body, { level: 9 }).length)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  assert.ok(sizes.length >= 4 && total <= FIRST_LOAD, `${sizes.length} files, ${total} bytes`)
  await context.close()
})
