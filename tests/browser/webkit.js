// WebKitGTK, which puppeteer cannot drive: by WebDriver, in a virtual display.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { eventually } from '../demo/browser.js'

const has = (/** @type {string} */ command) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, command)))

/** The commands that this system lacks for it. */
export const lacking = ['WebKitWebDriver', 'xvfb-run', 'xauth'].filter((command) => !has(command))

/** @returns {Promise<number>} a port that nothing uses */
export const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

/** A browser that speaks WebDriver, as w3.org/TR/webdriver2 describes it. */
export class WebKit {
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
    const answers = () => fetch(`${this.#base}/status`).then(Boolean, () => false)
    await eventually(answers, 'WebKitWebDriver did not start')
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
