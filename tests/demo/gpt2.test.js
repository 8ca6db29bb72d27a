// GPT-2 in the page: its tokens as text, which files are read, and how it comes to write in the page.

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { Browser, Page } from 'puppeteer-core' */
/** @import { Opened } from './browser.js' */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer, get as httpGet } from 'node:http'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { load } from 'gpt-layers'
import { readCheckpoint } from '../../build/demo/sections/writing/checkpoint.js'
import { gpt2Tokens } from '../../build/demo/sections/writing/gpt2tokens.js'
import { entryOf, fileOf, gpt2Entries } from '../lib/gpt2file.js'
import { shake } from '../lib/support.js'
import * as browser from './browser.js'

/** GPT-2's tokens, but small. */
const CONFIG = { contextLength: 64, embDim: 64, nHeads: 1, nLayers: 2, tieWeights: true }

const gpt = await load()
after(() => gpt.dispose())

const model = shake(gpt, new gpt.GPTModel({ ...CONFIG, vocabSize: 50257 })).eval()
const entries = gpt2Entries(model)
const file = fileOf(entries)

test('the texts of tokens join to the text, with characters of several tokens', () => {
  const text = 'Once upon a time 😀 naïve 日本 \u{feff}<|endoftext|>'
  const ids = gpt2Tokens.encode(text)
  assert.equal(gpt2Tokens.texts(ids).join(''), text)
  assert.equal(gpt2Tokens.decode(ids), text)
  assert.deepEqual(gpt2Tokens.encode('日'), [33768, 98])
  assert.deepEqual(gpt2Tokens.texts([33768, 98]), ['', '日'])
})

test('a token with a part of a character shows its bytes, and changes no other token', () => {
  const [space, rest] = gpt2Tokens.encode(' 😀')
  assert.equal(gpt2Tokens.decode([space]), ' \\xf0\\x9f\\x98')
  assert.equal(gpt2Tokens.decode([rest]), '\\x80')
  assert.equal(gpt2Tokens.decode([257]), ' a')
  assert.deepEqual(gpt2Tokens.texts([space, 257]), [' ', '� a'])
  assert.equal(gpt2Tokens.decode([gpt2Tokens.stop]), '<|endoftext|>')
})

test('a GPT-2’s file, and our own of int8 weights, are read to the same int8 model', async () => {
  const read = await readCheckpoint(gpt, new Blob([file]))
  const saved = read.saveSafetensors()
  assert.deepEqual(saved, model.quantize().saveSafetensors())
  const again = await readCheckpoint(gpt, new Blob([new Uint8Array(saved)]))
  assert.deepEqual(again.saveSafetensors(), saved)
  read.dispose()
  again.dispose()
})

test('a file that is no whole GPT-2 is refused in a sentence', async () => {
  const other = new gpt.GPTModel({ ...CONFIG, vocabSize: 19 })
  const changed = (/** @type {import('../lib/gpt2file.js').Entry} */ one) =>
    fileOf(entries.map((entry) => (entry.name === one.name ? one : entry)))
  const headerOf = (/** @type {bigint} */ bytes) => new Uint8Array(new BigUint64Array([bytes]).buffer)
  // The package says what is wrong, in words that may change.
  const notWhole = /^This is not a whole GPT-2: .+\.$/
  for (const [bytes, message] of /** @type {const} */ ([
    [file.slice(0, 9e6), notWhole],
    [file.slice(0, 99), notWhole],
    [headerOf(2n ** 31n), notWhole],
    [fileOf(entries.filter(({ name }) => name !== 'h.1.ln_2.weight')), notWhole],
    [fileOf([...entries, entryOf('another', [1], new Float32Array(1))]), notWhole],
    [changed(entryOf('ln_f.bias', [8, 8], new Float32Array(64))), notWhole],
    [new TextEncoder().encode('<!doctype html><p>'), notWhole],
    [new Uint8Array(0), notWhole],
    [new gpt.Linear(2, 3).saveSafetensors(), notWhole],
    [
      changed(entryOf('ln_f.bias', [64], new Float32Array(64).fill(NaN))),
      'The file is damaged: not all numbers of its final_norm.shift are finite.',
    ],
    [
      changed(entryOf('wpe.weight', [8, 64], new Float32Array(512))),
      'It reads only 8 tokens at once: too few for a text.',
    ],
    [
      fileOf(entries, { nHeads: null }),
      /^The file does not say how many attention heads its model has, .*says it\.$/,
    ],
    [fileOf(gpt2Entries(other)), 'This model has 19 tokens instead of GPT-2’s 50257.'],
  ])) {
    await assert.rejects(readCheckpoint(gpt, new Blob([new Uint8Array(bytes)])), {
      name: 'CheckpointError',
      message,
    })
  }
})

test('a file that cannot be read is not called another one', async () => {
  const unreadable = new Blob([file])
  const fail = () => {
    throw new DOMException('gone', 'NotReadableError')
  }
  Object.assign(unreadable, { slice: fail, stream: fail })
  await assert.rejects(readCheckpoint(gpt, unreadable), { message: 'This browser cannot read the file.' })
})

test('a model larger than any GPT-2 is refused: the page would draw all its norms', async () => {
  const deep = new gpt.GPTModel({ ...CONFIG, vocabSize: 50257, nLayers: 49 })
  await assert.rejects(readCheckpoint(gpt, new Blob([fileOf(gpt2Entries(deep))])), {
    message: 'It has 49 blocks of 64 numbers: GPT-2 has at most 48 blocks of 1600 numbers.',
  })
})

/**
 * The page's server, and under the same origin the answers that a test gives.
 */
class Downloads {
  /** @type {Record<string, (response: ServerResponse, method: string) => void>} */
  answers = {}
  /** What was asked of `answers`: `HEAD /whole.safetensors`. @type {string[]} */
  asked = []
  url = ''
  #server = createServer((request, response) => {
    const { url = '', method = '' } = request
    const answer = this.answers[url]
    if (!answer) {
      const pass = (/** @type {IncomingMessage} */ page) => {
        response.writeHead(page.statusCode ?? 500, page.headers)
        page.pipe(response)
      }
      return void httpGet(new URL(url, site.url), pass)
    }
    this.asked.push(`${method} ${url}`)
    answer(response, method)
  })

  async start() {
    await new Promise((resolve) => this.#server.listen(0, '127.0.0.1', () => resolve(null)))
    const address = this.#server.address()
    assert.ok(typeof address === 'object' && address)
    this.url = `http://127.0.0.1:${address.port}/`
  }

  stop() {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

const site = browser.useSite()
const downloads = new Downloads()
browser.before(() => downloads.start())
browser.after(() => downloads.stop())

/** The line that says which model writes. */
const LINE = '.gpt2'

/**
 * Opens the page.
 *
 * @param {Pick<Browser, 'newPage'>} [profile]
 * @param {string} [address] with the section that writes
 */
const open = (profile = site.browser, address = '?embed=writing') =>
  browser.open(profile, downloads.url + address, { ready: LINE })

/** A test of the open page, which keeps nothing afterwards. */
const pageTest = (/** @type {string} */ name, /** @type {(opened: Opened) => Promise<void>} */ run) =>
  browser.test(name, async () => {
    const opened = await open()
    try {
      await run(opened)
    } finally {
      await opened.page.evaluate(async () => {
        const folder = await navigator.storage.getDirectory()
        for await (const file of folder.keys()) await folder.removeEntry(file)
      })
      await opened.page.close()
    }
  })

/**
 * Presses a button of the line or of the dialog. It may move while the sections above are fetched.
 *
 * @param {Page} page
 * @param {string} name
 */
const press = async (page, name) =>
  (await browser.get(page, `:is(${LINE}, dialog) ::-p-text(${name})`)).evaluate((button) => button.click())

/**
 * Waits until an element says something.
 *
 * @param {Page} page
 * @param {string} words
 * @param {string} [selector]
 */
const said = (page, words, selector = LINE) =>
  browser.waitInPage(
    page,
    `document.querySelector('${selector}').textContent.replace(/\\s+/g, ' ').includes(${JSON.stringify(words)})`,
  )

/** The model that writes. @param {Page} page */
const writing = (page) => browser.text(page, `${LINE} [aria-pressed="true"]`)

/** Waits until GPT-2 writes. @param {Page} page */
const gpt2Writes = (page) =>
  browser.waitInPage(page, `document.querySelector('${LINE} [aria-pressed="true"]').textContent === 'GPT-2'`)

/** Waits until the text goes on. @param {Page} page */
async function textGoesOn(page) {
  const text = '#writing .lane'
  const before = await browser.text(page, text)
  await browser.waitInPage(
    page,
    `document.querySelector('${text}').textContent.trim() !== ${JSON.stringify(before)}`,
  )
}

/** Asserts that the stories write. @param {Page} page */
async function assertStoriesGoOn(page) {
  assert.equal(await writing(page), 'Stories')
  await textGoesOn(page)
}

/** Chooses a file. @param {Page} page @param {Uint8Array} bytes @param {string} [name] */
async function choose(page, bytes, name = 'model.safetensors') {
  const path = join(site.folder, name)
  writeFileSync(path, bytes)
  const input = await page.$('dialog input[type=file]')
  assert.ok(input)
  await input.uploadFile(path)
}

/** Asks how large the file at an address is. @param {Page} page @param {string} address */
async function ask(page, address) {
  await press(page, 'GPT-2')
  const field = await browser.get(page, 'dialog[open] #gpt2-address')
  await field.evaluate((input) => /** @type {HTMLInputElement} */ (input).select())
  await field.type(address)
  await press(page, 'How large is it?')
}

for (const name of browser.BROWSERS) {
  const skip = browser.skipped[name]
  test(`a chosen file writes, and is kept for the next visit, in ${name}`, { skip }, async (t) => {
    const own = await browser.launch(name)
    t.after(() => own.close())
    const first = await open(own, '#writing')
    await choose(first.page, file.slice(0, 5e6))
    await said(first.page, 'This is not a whole GPT-2: ')
    await said(first.page, 'The stories go on.')
    await choose(first.page, file)
    await gpt2Writes(first.page)
    await said(first.page, 'kept in this browser')
    assert.deepEqual([...first.complaints, ...first.foreign], [])
    await first.page.close()

    const { page, complaints, foreign } = await open(own, '#writing')
    await said(page, 'kept in this browser')
    assert.equal(await writing(page), 'Stories')
    await press(page, 'GPT-2')
    await gpt2Writes(page)
    await press(page, 'Stories')
    await press(page, 'Delete')
    await said(page, 'GPT-2 …')
    // GPT-2 may take over while the stories' model is still on its way: its request then ends.
    const wrong = complaints.filter((one) => !/^failed: .*model-.*safetensors$/.test(one))
    assert.deepEqual([...wrong, ...foreign], [])

    const { page: third } = await open(own, '#writing')
    await press(third, 'GPT-2')
    await third.waitForSelector('dialog[open]')
  })
}

pageTest('weights of 1e38 give numbers beyond float32, and no error', async ({ page, complaints }) => {
  const huge = entries.map((entry) =>
    entry.name === 'wpe.weight' || entry.name === 'h.0.mlp.c_proj.weight'
      ? entryOf(entry.name, entry.shape, new Float32Array(entry.data.length / 4).fill(1e38))
      : entry,
  )
  await choose(page, fileOf(huge))
  await gpt2Writes(page)
  await said(page, 'its numbers grew beyond float32', '#writing')
  const norms = await page.$$('#writing .norm .name')
  assert.equal(norms.length, 5)
  for (const norm of norms) {
    await norm.evaluate((button) => /** @type {HTMLButtonElement} */ (button).click())
  }
  assert.deepEqual(complaints, [])
})

/** Drops files on the dialog; they come from `/dropped`. @param {Page} page @param {number} count */
const drop = (page, count) =>
  page.$eval(
    '.drop',
    async (zone, count) => {
      const data = new DataTransfer()
      const bytes = await (await fetch('/dropped')).blob()
      for (let i = 0; i < count; i++) data.items.add(new File([bytes], `model ${i}.safetensors`))
      return ['dragover', 'drop'].map((type) => {
        const options = { bubbles: true, cancelable: true, dataTransfer: data }
        return !zone.dispatchEvent(new DragEvent(type, options))
      })
    },
    count,
  )

pageTest('a file that is dropped writes; of two files none is read', async ({ page, complaints }) => {
  downloads.answers['/dropped'] = (response) => response.end(file)
  await press(page, 'GPT-2')
  await drop(page, 2)
  await said(page, 'Drop one file: model.safetensors. The stories go on.')
  await press(page, 'GPT-2')
  const taken = await drop(page, 1)
  assert.deepEqual(taken, [true, true]) // else the browser would open the file instead of the page
  await gpt2Writes(page)
  assert.deepEqual(complaints, [])
})

pageTest('Ctrl+Z in the dialog changes nothing behind it', async ({ page }) => {
  await browser.click(page, '#writing [role=switch][aria-label^="norm 2,"]')
  await page.waitForSelector('#writing .lane.without')
  await press(page, 'GPT-2')
  await browser.focus(page, 'dialog[open] #gpt2-address')
  await page.keyboard.type('!')
  for (const element of ['#gpt2-address', 'button:last-child']) {
    await browser.focus(page, `dialog[open] ${element}`)
    await browser.press(page, 'Control', 'z')
  }
  assert.notEqual(await page.$('#writing .lane.without'), null)
})

pageTest('a download says how large it is before it begins', async ({ page, complaints, foreign }) => {
  const headers = { 'Content-Length': file.length }
  downloads.answers['/known'] = (response, method) =>
    response.writeHead(200, headers).end(method === 'GET' ? file : undefined)
  downloads.asked = []
  await ask(page, '/known')
  await said(page, 'It is 13 MB.', 'dialog .answer')
  assert.deepEqual(downloads.asked, ['HEAD /known'])
  await press(page, 'Download 13 MB')
  await gpt2Writes(page)
  assert.deepEqual(downloads.asked, ['HEAD /known', 'GET /known'])
  assert.deepEqual([...complaints, ...foreign], [])
})

pageTest('a server that does not say how large the file is can be used all the same', async ({ page }) => {
  downloads.answers['/unknown'] = (response) => {
    response.writeHead(200, { 'Transfer-Encoding': 'chunked' })
    response.end(file)
  }
  await ask(page, '/unknown')
  await said(page, 'does not say it.', 'dialog .answer')
  await press(page, 'Download it anyway')
  await gpt2Writes(page)
})

browser.test('the stories go on where no GPT-2 comes', async (t) => {
  const { page } = await open()
  const refuses = (/** @type {string} */ name, /** @type {() => Promise<void>} */ run) =>
    t.test(name, async () => {
      await run()
      await page.keyboard.press('Escape') // the dialog may be open
    })

  await refuses(
    'a file that is truncated, of another model or of text is refused, and the stories go on',
    async () => {
      for (const [bytes, sentence] of /** @type {const} */ ([
        [file.slice(0, 5e6), '5000000'],
        [new gpt.Linear(2, 3).saveSafetensors(), 'wte.weight'],
        [new TextEncoder().encode('Once upon a time'), 'Once upon a time'],
      ])) {
        await choose(page, bytes)
        await said(page, sentence)
        await assertStoriesGoOn(page)
      }
    },
  )

  await refuses('a page of HTML that is downloaded is refused', async () => {
    downloads.answers['/html'] = (response) => response.end('<!doctype html><title>Sign in</title>')
    await ask(page, '/html')
    await press(page, 'Download')
    await said(page, '<!doctype html>')
    await assertStoriesGoOn(page)
  })

  await refuses('an address without a file is refused beside its field', async () => {
    downloads.answers['/missing'] = (response) => response.writeHead(404).end()
    downloads.answers['/moved'] = (response) =>
      response.writeHead(302, { Location: 'http://example.com/model.safetensors' }).end()
    for (const [address, sentence] of /** @type {const} */ ([
      ['/missing', 'has no such file: it answers 404.'],
      ['/moved', 'cannot be reached from here'], // the page's policy refuses an unencrypted connection
      ['example.com/model.safetensors', 'An address should begin with https://.'],
      ['http://example.com/model.safetensors', 'An address should begin with https://.'],
      ['https://127.0.0.1:1/model.safetensors', '127.0.0.1:1 cannot be reached from here'],
    ])) {
      await ask(page, address)
      await said(page, sentence, 'dialog .answer')
      await page.keyboard.press('Escape')
      await page.waitForSelector('dialog[open]', { hidden: true })
    }
    await assertStoriesGoOn(page)
  })

  await refuses('a download is cancelled midway: it ends, and the stories go on', async () => {
    let closed = false
    downloads.answers['/slow'] = (response, method) => {
      response.writeHead(200, { 'Content-Length': file.length })
      if (method === 'HEAD') return void response.end()
      response.write(file.subarray(0, 8e6)) // and no more
      response.on('close', () => (closed = true))
    }
    await ask(page, '/slow')
    await press(page, 'Download 13 MB')
    await said(page, 'of 13 MB')
    assert.equal(closed, false)
    await press(page, 'Cancel')
    await browser.eventually(() => closed, 'the download goes on')
    await assertStoriesGoOn(page)
    await press(page, 'GPT-2')
    await page.waitForSelector('dialog[open]')
  })

  await page.close()
})

pageTest(
  'where the browser has no room GPT-2 writes, and the page says that it is not kept',
  async ({ page }) => {
    const session = await page.createCDPSession()
    const origin = new URL(page.url()).origin
    await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1000 })
    await choose(page, file)
    await gpt2Writes(page)
    await said(page, 'It cannot be kept for your next visit: there is no room for it.')
    await said(page, 'for this visit only')
    await session.send('Storage.overrideQuotaForOrigin', { origin })
  },
)

/** The files that the browser keeps. @param {Page} page */
const kept = (page) =>
  page.evaluate(async () => {
    const names = []
    for await (const name of (await navigator.storage.getDirectory()).keys()) names.push(name)
    return names
  })

pageTest(
  'two tabs that read a file at once keep one; what one deletes the other misses',
  async ({ page }) => {
    const other = await open()
    await Promise.all([choose(page, file), choose(other.page, file, 'other.safetensors')])
    for (const tab of [page, other.page]) {
      await gpt2Writes(tab)
      await said(tab, 'kept in this browser')
    }
    assert.deepEqual(await kept(page), ['gpt2-int8.safetensors'])
    await press(other.page, 'Delete')
    await said(other.page, 'GPT-2 …')
    await other.page.close()
    await page.bringToFront()
    await press(page, 'Stories')
    await page.waitForSelector(`${LINE} button:first-child[aria-pressed="true"]`)
    await press(page, 'GPT-2')
    await said(page, 'GPT-2 is no longer kept in this browser. The stories go on.')
    await assertStoriesGoOn(page)
  },
)

pageTest('what a page that was closed too early has left is deleted at the next visit', async ({ page }) => {
  await page.evaluate(async () => {
    const folder = await navigator.storage.getDirectory()
    await folder.getFileHandle('gpt2-int8.safetensors.unfinished', { create: true })
  })
  assert.equal((await kept(page)).length, 1)
  await page.reload()
  await browser.waitInPage(page, async () => {
    const { done } = await (await navigator.storage.getDirectory()).keys().next()
    return done
  })
})
