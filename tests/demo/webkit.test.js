// Every section in WebKitGTK, which puppeteer cannot drive: by WebDriver, in a virtual display.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { load } from 'gpt-layers'
import { fileOf, gpt2Entries } from '../lib/gpt2file.js'
import { serve } from './browser.js'

/** Milliseconds that a busy machine may take for any single thing. */
const PATIENCE = 120_000

const has = (/** @type {string} */ command) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, command)))
const lacking = ['WebKitWebDriver', 'xvfb-run', 'xauth'].filter((command) => !has(command))
const skip = lacking.length > 0 && `no ${lacking.join(', ')}: see ./build.sh --help`

/** @returns {Promise<number>} */
const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

/** Waits until a function gives something. @template T @param {() => Promise<T>} ask */
async function eventually(ask) {
  const deadline = Date.now() + PATIENCE
  for (;;) {
    const result = await ask()
    if (result) return result
    assert.ok(Date.now() < deadline, `never true: ${ask}`)
    await sleep(50)
  }
}

/** A browser that speaks WebDriver, as w3.org/TR/webdriver2 describes it. */
class WebKit {
  /** @type {import('node:child_process').ChildProcess | undefined} */ #driver
  #base = ''
  #session = ''

  /** @param {string} method @param {string} path @param {object} [body] @returns {Promise<any>} */
  async #ask(method, path, body) {
    const response = await fetch(this.#base + path, { method, body: body && JSON.stringify(body) })
    const { value } = /** @type {{ value: any }} */ (await response.json())
    if (value?.error) throw new Error(`${path}: ${value.error}: ${value.message}`)
    return value
  }

  async start() {
    const port = await freePort()
    this.#base = `http://127.0.0.1:${port}`
    const screen = ['--auto-servernum', '--server-args=-screen 0 1600x1200x24']
    const command = [...screen, 'WebKitWebDriver', `--port=${port}`]
    this.#driver = spawn('xvfb-run', command, { stdio: 'ignore', detached: true })
    await eventually(() => fetch(`${this.#base}/status`).catch(() => null))
    const options = { 'webkitgtk:browserOptions': { args: ['--automation'] } }
    const { sessionId } = await this.#ask('POST', '/session', { capabilities: { alwaysMatch: options } })
    this.#session = `/session/${sessionId}`
  }

  async stop() {
    if (this.#session) await this.#ask('DELETE', this.#session).catch(() => {})
    if (this.#driver?.pid) process.kill(-this.#driver.pid)
  }

  /** @param {string} url */
  async open(url) {
    await this.#ask('POST', `${this.#session}/url`, { url })
  }

  /** @param {string} script the body of a function @param {...unknown} args @returns {Promise<any>} */
  run(script, ...args) {
    return this.#ask('POST', `${this.#session}/execute/sync`, { script, args })
  }

  /** @param {string} selector of a field for a file @param {string} path of the file */
  async choose(selector, path) {
    const value = { using: 'css selector', value: selector }
    const [id] = Object.values(await this.#ask('POST', `${this.#session}/element`, value))
    await this.#ask('POST', `${this.#session}/element/${id}/value`, { text: path })
  }

  /**
   * Opens a page in a frame: no window is as narrow as a phone.
   *
   * @param {string} site a folder, in which robots.txt is a page without anything
   * @param {string} query
   * @param {number} width
   * @param {number} height
   */
  async openIn(site, query, width, height) {
    const window = { width: 1400, height: 1000 }
    await this.#ask('POST', `${this.#session}/window/rect`, window)
    await this.open(`${site}robots.txt`)
    await this.run(
      `const frame = document.createElement('iframe')
      const [src, width, height] = arguments
      document.body.replaceChildren(Object.assign(frame, { src, width, height, frameBorder: 0 }))`,
      site + query,
      width,
      height,
    )
    await this.#ask('POST', `${this.#session}/frame`, { id: 0 })
  }
}

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
        await eventually(() => browser.run("return document.querySelector('main:not(.still)') !== null"))
        await browser.run(`
          window.complaints = []
          const say = (event) => complaints.push(String(event.reason ?? event.message ?? event.blockedURI))
          for (const name of ['error', 'unhandledrejection', 'securitypolicyviolation'])
            addEventListener(name, say)
          const error = console.error
          console.error = (...all) => (complaints.push(all.join(' ')), error(...all))
        `)
        const ids = await browser.run("return [...document.querySelectorAll('.section')].map(({ id }) => id)")
        assert.ok(ids.length >= 8, String(ids))
        for (const id of ids) {
          await browser.run('document.getElementById(arguments[0]).scrollIntoView()', id)
          await eventually(() =>
            browser.run(
              `const section = document.getElementById(arguments[0])
              if (section.matches('.waiting')) section.scrollIntoView() // others may have pushed it away
              return !section.matches('.waiting, :has([aria-busy="true"])')`,
              id,
            ),
          )
        }
        const seen = await browser.run(`
          const figures = [...document.querySelectorAll('.section')]
            .filter((section) => !section.querySelector('svg, table, canvas, [role="img"]'))
          return {
            complaints,
            inner: innerWidth,
            wide: document.documentElement.scrollWidth - innerWidth,
            empty: figures.map(({ id }) => id),
            failed: [...document.querySelectorAll('.section > .problem')].map((one) => one.textContent),
            wrong: document.body.innerText.match(/NaN|undefined/g) ?? [],
            ground: getComputedStyle(document.documentElement).backgroundColor,
          }`)
        const { inner, ground, ...rest } = seen
        assert.deepEqual(rest, { complaints: [], wide: 0, empty: [], failed: [], wrong: [] })
        assert.equal(inner, width)
        assert.equal(ground, theme === 'light' ? 'rgb(253, 253, 251)' : 'rgb(21, 23, 26)')
      })
    }
  }

  test('a chosen GPT-2 writes for this visit: under WebDriver WebKitGTK keeps no files', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'gpt-layers-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const gpt = await load()
    t.after(() => gpt.dispose())
    const sizes = { vocabSize: 50257, contextLength: 64, embDim: 64, nHeads: 1, nLayers: 2, tieWeights: true }
    const file = fileOf(gpt2Entries(new gpt.GPTModel(sizes)))
    const choose = async (/** @type {Uint8Array} */ bytes) => {
      writeFileSync(join(folder, 'model.safetensors'), bytes)
      await browser.choose('dialog input[type=file]', join(folder, 'model.safetensors'))
    }
    const said = (/** @type {string} */ sentence) =>
      eventually(() =>
        browser.run(
          `const text = document.querySelector('.gpt2')?.textContent.replace(/\\s+/g, ' ')
          return text.includes(arguments[0])`,
          sentence,
        ),
      )
    const writing = () =>
      browser.run(`return document.querySelector('.gpt2 [aria-pressed=true]').textContent`)

    await browser.open(`${url}?embed=writing`)
    await eventually(() => browser.run("return document.querySelector('.gpt2') !== null"))
    await choose(file.slice(0, 5e6))
    await said('This is not a whole GPT-2: source should be a safetensors file, got 5000000 bytes instead of')
    await said('The stories go on.')
    assert.equal(await writing(), 'Stories')
    await choose(file)
    await said('for this visit only')
    await said('It cannot be kept for your next visit: this browser keeps no files for a page')
    assert.equal(await writing(), 'GPT-2')
  })
})
