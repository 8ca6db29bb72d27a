// What the tests of the page share: a server, a browser, and how to press, type, point and read in it.
//
// No test depends on the machine's speed. A test waits for a condition, at most PATIENCE long, and never for
// a while. Frames come from here, too: see sendFrames.

/** @import { AxeResults } from 'axe-core' */
/** @import { Browser, CDPSession, ElementHandle, KeyInput, Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, get as httpGet } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import * as runner from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import puppeteer, { BrowserContext } from 'puppeteer-core'
import { all } from '../all.js'
import { mayRead } from '../passed.js'

/** Why tests in a browser are skipped, or false. build.sh looks for the browsers. */
export const skipped = {
  chrome: !process.env.CHROMIUM && 'no Chromium or Chrome that tests can control: see ./build.sh --help',
  firefox: !process.env.FIREFOX && 'no Firefox that tests can control: see ./build.sh --help',
  window: !process.env.CHROMIUM_BROWSER && 'no Chromium with a window here',
}

/** The browsers in which tests of several browsers run. @type {('chrome' | 'firefox')[]} */
export const BROWSERS = all ? ['chrome', 'firefox'] : ['chrome']

// `test`, `before` and `after` of node:test, for tests that need Chromium: without it every test is skipped
// with the same reason, and no hook runs.
const skip = skipped.chrome
const nothing = () => {}
/** @param {string} name @param {(t: import('node:test').TestContext) => void | Promise<void>} run */
export const test = (name, run) => void runner.test(name, { skip, timeout: HUNG }, run)
/** @type {(run: () => void | Promise<void>) => void} */
export const before = skip ? nothing : runner.before
/** @type {(run: () => void | Promise<void>) => void} */
export const after = skip ? nothing : runner.after

/** The file that runs: of tests, or one of the halves. */
const FILE = relative('', process.argv[1])

/** Milliseconds that a busy machine may take for any single thing. */
export const PATIENCE = 120_000

/** Milliseconds after which a test counts as hanging. It fails with its name, and the tests after it run. */
const HUNG = 900_000

const FLAGS = [
  '--no-sandbox', // Chromium refuses to run as root with a sandbox
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--font-render-hinting=none', // widths of text as in Chromium with a window
  '--renderer-process-limit=1', // a process for each page would compile the page's code again
  '--enable-begin-frame-control', // it draws a page when it is told to: see sendFrames
  '--run-all-compositor-stages-before-draw', // beginFrame refuses to run without it
]

/** @type {Promise<string> | undefined} */
let address

/** @returns {Promise<string>} the address of the page, which one server serves to all files of this process */
export const serve = () => (address ??= startServer())

/**
 * The page's server, but without the files that match `missing`, also for workers.
 *
 * @param {import('node:test').TestContext} t
 * @param {string} origin where the page is served
 * @param {RegExp} missing
 * @returns its address; with `missing` null the files are there
 */
export async function serveWithout(t, origin, missing) {
  const without = { url: '', missing: /** @type {RegExp | null} */ (missing) }
  without.url = await listen(t, ({ url = '' }, response) => {
    if (without.missing?.test(url)) return void response.writeHead(404).end()
    httpGet(new URL(url, origin), (page) => {
      response.writeHead(page.statusCode ?? 500, page.headers)
      page.pipe(response)
    })
  })
  return without
}

/**
 * Starts a server, which ends with the test.
 *
 * @param {import('node:test').TestContext} t
 * @param {import('node:http').RequestListener} answer
 * @returns its address
 */
export async function listen(t, answer) {
  const server = createServer(answer)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert.ok(typeof address === 'object' && address)
  return `http://127.0.0.1:${address.port}/`
}

/** Serves the page as `./build.sh demo` does, until this process ends. */
async function startServer() {
  const script = fileURLToPath(new URL('../../web/demo/serve.js', import.meta.url))
  const env = { ...process.env, DISPLAY: '', WAYLAND_DISPLAY: '' } // opens no window on a desktop
  const server = spawn(process.execPath, [script, '--port', '0'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.on('exit', () => server.kill())
  server.unref()
  /** @type {string} */
  const url = await new Promise((resolve, reject) => {
    server.stdout.on('data', (data) => resolve(String(data).trim().split('\n').at(-1) ?? ''))
    server.on('exit', (code) => reject(new Error(`the demo's server ended with ${code}`)))
  })
  server.stdout.destroy()
  return url
}

/**
 * Firefox's preferences for media features. No protocol sets them in an open page.
 *
 * @type {Record<string, Record<string, number>>}
 */
const PREFERENCES = {
  'prefers-color-scheme: light': { 'layout.css.prefers-color-scheme.content-override': 1 },
  'prefers-color-scheme: dark': { 'layout.css.prefers-color-scheme.content-override': 0 },
  'prefers-reduced-motion: reduce': { 'ui.prefersReducedMotion': 1 },
}

/**
 * The settings of every Firefox here. It paints fewer frames per second, because a frame takes long without a
 * graphics card. All pages share one process, as in Chromium. It starts no process in advance.
 */
const FIREFOX_PREFERENCES = {
  'layout.frame_rate': 20,
  'dom.ipc.processCount': 1,
  'dom.ipc.processCount.webIsolated': 1,
  'dom.ipc.processPrelaunch.enabled': false,
}

/**
 * Starts a browser with an empty profile, which is deleted when the browser ends.
 *
 * @param {'chrome' | 'firefox'} [browser]
 * @param {Record<string, string>} [features] of media, for Firefox; in Chromium `open` sets them, page by
 *   page
 * @param {string} [chromium] the program
 * @returns {Promise<Browser>}
 */
export async function launch(browser = 'chrome', features = {}, chromium = process.env.CHROMIUM) {
  const options = { browser, headless: true, timeout: PATIENCE, protocolTimeout: 2 * PATIENCE }
  if (browser === 'chrome') {
    const started = await puppeteer.launch({ ...options, executablePath: chromium, args: FLAGS })
    if ((await started.version()).startsWith('HeadlessChrome')) {
      const frames = { control: await started.target().createCDPSession(), sessions: new Set() }
      driven.set(started, frames)
      void sendFrames(started, frames)
    }
    return started
  }
  const set = Object.entries(features).map(([name, value]) => PREFERENCES[`${name}: ${value}`])
  const extraPrefsFirefox = Object.assign({}, FIREFOX_PREFERENCES, ...set)
  return puppeteer.launch({ ...options, executablePath: process.env.FIREFOX, extraPrefsFirefox })
}

/** Two readers' media features: the usual ones, and everything else. @type {Record<string, string>[]} */
export const READERS = [
  { 'prefers-color-scheme': 'light' },
  { 'prefers-color-scheme': 'dark', 'prefers-reduced-motion': 'reduce' },
]

/** The browsers that the test files of this process share. @type {Map<string, Promise<Browser>>} */
const shared = new Map()

/**
 * Chromium, or a reader's Firefox: one for all test files of this process. A file that uses it calls
 * `after(closeBrowsers)`.
 *
 * @param {'chrome' | 'firefox'} [browser]
 * @param {Record<string, string>} [reader] one of READERS
 * @param {string} [chromium] the program
 * @returns {Promise<Browser>}
 */
export function share(browser = 'chrome', reader = READERS[0], chromium = process.env.CHROMIUM) {
  const key = browser === 'chrome' ? `${chromium}` : JSON.stringify(reader)
  const started = shared.get(key) ?? launch(browser, browser === 'chrome' ? {} : reader, chromium)
  shared.set(key, started)
  return started
}

/** Closes the browsers of `share`, once all test files of this process are done. */
export async function closeBrowsers() {
  const all = [...shared.values()]
  shared.clear()
  for (const browser of all) await (await browser).close()
}

/**
 * Sets the size of the window's content. Firefox 140 sets the size, but then refuses to set the screen
 * orientation.
 *
 * @param {Page} page
 * @param {number} width
 * @param {number} height
 */
export async function setSize(page, width, height) {
  try {
    await page.setViewport({ width, height })
  } catch (error) {
    if (!/setScreenOrientationOverride/.test(String(error))) throw error
    await page.waitForFunction((w, h) => innerWidth === w && innerHeight === h, {}, width, height)
  }
}

/** Resizes an open page, and waits until its new size is drawn. @type {typeof setSize} */
export async function resize(page, width, height) {
  await setSize(page, width, height)
  await page.evaluate(drawn)
}

/**
 * @typedef {object} Frames
 * @property {CDPSession} control the session with the browser
 * @property {Set<CDPSession>} sessions one with each page
 */

/** The browsers that `sendFrames` tells to draw. @type {WeakMap<Browser, Frames>} */
const driven = new WeakMap()

/**
 * Tells chromium-headless-shell to draw its pages, some 60 times per second, until it is closed.
 *
 * By itself Chromium 156 without a window stops drawing for good in 1 of some 100 pages. No animation frame
 * comes then, no observer is called, and no movement of the mouse arrives. Chromium with a window has no
 * `beginFrame`, and Firefox neither: they draw by themselves.
 *
 * @param {Browser} browser
 * @param {Frames} frames
 */
async function sendFrames(browser, { sessions }) {
  for (; browser.connected; await sleep(16))
    for (const session of sessions) {
      try {
        // One page at a time: two frames at once end Chromium's process for graphics.
        await session.send('HeadlessExperimental.beginFrame')
      } catch (error) {
        if (!session.detached) throw error
        sessions.delete(session) // the page has been closed
      }
    }
}

/**
 * An empty page in a window of its own: of the tabs of a window only one is drawn. In Chromium it also has
 * the focus.
 *
 * @param {Browser | BrowserContext} profile
 */
export async function newPage(profile) {
  const context = profile instanceof BrowserContext ? profile : profile.defaultBrowserContext()
  const frames = driven.get(context.browser())
  const page = await (frames ? newDrivenPage(context, frames) : context.newPage({ type: 'window' }))
  page.setDefaultTimeout(PATIENCE)
  // Sometimes Chromium does not close a page, and Puppeteer waits forever. A second request closes it.
  const close = page.close.bind(page)
  page.close = async (options) => {
    const again = setInterval(() => void close(options).catch(nothing), 2000)
    await close(options).finally(() => clearInterval(again))
  }
  if (!/firefox/i.test(await page.browser().version())) await page.emulateFocusedPage(true)
  return page
}

/**
 * Puppeteer cannot open a page that is drawn only when it is told to.
 *
 * @param {BrowserContext} context
 * @param {Frames} frames
 */
async function newDrivenPage(context, frames) {
  const url = `about:blank#${randomUUID()}` // only this page has it
  await frames.control.send('Target.createTarget', {
    url,
    browserContextId: context.id,
    newWindow: true,
    enableBeginFrameControl: true,
  })
  const target = await context.waitForTarget((one) => one.url() === url, { timeout: PATIENCE })
  const page = await target.page()
  assert.ok(page)
  frames.sessions.add(await page.createCDPSession())
  return page
}

/**
 * @typedef {object} OpenOptions
 * @property {number} [width]
 * @property {number} [height]
 * @property {Record<string, string>} [features] of media
 * @property {string} [ready] a selector: the page is open once it matches
 * @property {string} [at] the id of a section to scroll to
 * @property {boolean} [touch] a phone: fingers, and no mouse
 * @property {boolean} [byFrames] the page's clock goes on by a thirtieth of a second with each frame, so that
 *   a busy machine, too, shows every part of a movement
 * @property {() => void} [first] runs in the page before its scripts
 *
 * @typedef {object} Opened
 * @property {Page} page
 * @property {string[]} complaints console messages, uncaught errors and failed requests
 * @property {string[]} foreign requests to other origins
 */

/**
 * Opens a page, waits for what is on its screen, and records what it should not do. Fails at the first error
 * that nothing in the page catches.
 *
 * @param {Browser | BrowserContext} browser
 * @param {string} url
 * @param {OpenOptions} [options]
 * @returns {Promise<Opened>}
 */
export async function open(browser, url, options = {}) {
  const { width = 1440, height = 900, features = {}, ready = 'h1', at, byFrames, first, touch } = options
  const page = await newPage(browser)
  /** @type {string[]} */
  const complaints = []
  /** @type {string[]} */
  const foreign = []
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText
    // When the page ends a worker, Firefox reports what the worker was downloading as failed.
    if (why !== 'NS_BINDING_ABORTED') complaints.push(`failed: ${request.url()}, ${why}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()}: ${response.url()}`)
  })
  page.on('request', (request) => {
    const { origin, pathname, protocol } = new URL(request.url())
    if (!/^(data|blob):/.test(protocol) && origin !== new URL(url).origin) foreign.push(request.url())
    const isInput = !FILE.startsWith('tests/demo/') || mayRead(FILE, `web/demo/dist${pathname}`)
    assert.ok(isInput, `${FILE} reads ${pathname}: see tests/passed.js`)
  })
  if (touch) await page.setViewport({ width, height, isMobile: true, hasTouch: true })
  else await setSize(page, width, height)
  const media = Object.entries(features).map(([name, value]) => ({ name, value }))
  if (media.length) await page.emulateMediaFeatures(media)
  // Chromium reports on the console what its policy forbade; Firefox does not.
  await page.evaluateOnNewDocument(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      console.error(`against the policy: ${violatedDirective} ${blockedURI}`)
    })
  })
  if (byFrames) await page.evaluateOnNewDocument(goByFrames)
  if (first) await page.evaluateOnNewDocument(first)
  const start = async () => {
    await page.goto(url, { waitUntil: 'load' })
    // The opening in the HTML is still: the page has not started.
    await page.waitForSelector('body:not(:has(main.still))')
    await page.waitForSelector(ready)
    await waitInPage(page, settled)
    if (at) await reach(page, at)
  }
  const uncaught = new Promise((_, reject) => page.on('pageerror', reject))
  try {
    await Promise.race([start(), uncaught])
  } catch (error) {
    throw new Error(`${url} did not open; the page said: ${complaints.join('; ')}`, { cause: error })
  }
  return { page, complaints, foreign }
}

/** Sets the clock of animations; in the page. */
function goByFrames() {
  let now = 0
  performance.now = () => now
  const frame = () => {
    now += 1000 / 30
    requestAnimationFrame(frame)
  }
  frame()
}

/**
 * Starts a server of the page, and Chromium, for the tests of a file.
 *
 * @param {{ saves?: boolean, chromium?: string }} [options] saves: the tests save files, which takes a profile of
 *   their own; chromium: the program
 * @returns {Site}
 */
export function useSite({ saves = false, chromium } = {}) {
  const site = new Site()
  before(() => site.start(saves, chromium))
  after(() => site.stop())
  return site
}

class Site {
  url = ''
  /** For files that the browser reads, or saves. */
  folder = ''
  /**
   * How many files the browser has saved. That a file exists is not enough: the browser creates it empty and
   * fills it later.
   */
  #saved = 0
  /** @type {BrowserContext | undefined} */ #own
  /** @type {Browser | undefined} */ #browser

  #started() {
    assert.ok(this.#browser, 'the browser has not been started')
    return this.#browser
  }

  /** The profile of the file's tests. @returns {Browser | BrowserContext} */
  get browser() {
    return this.#own ?? this.#started()
  }

  /** @param {boolean} saves @param {string} [chromium] */
  async start(saves, chromium) {
    this.url = await serve()
    this.#browser = await share('chrome', READERS[0], chromium)
    this.folder = mkdtempSync(join(tmpdir(), 'gpt-layers-'))
    if (!saves) return
    this.#own = await this.newProfile()
    const session = await this.#browser.target().createCDPSession()
    session.on('Browser.downloadProgress', ({ state }) => void (state === 'completed' && this.#saved++))
    await session.send('Browser.setDownloadBehavior', {
      behavior: 'allow',
      browserContextId: this.#own.id,
      downloadPath: this.folder,
      eventsEnabled: true,
    })
  }

  async stop() {
    await closeBrowsers()
    if (this.folder) rmSync(this.folder, { recursive: true, force: true })
  }

  /** A new profile, which is empty. */
  async newProfile() {
    return this.#started().createBrowserContext()
  }

  /** @param {string} [address] after the page's own, such as ?embed=training @param {OpenOptions} [options] */
  open(address = '', options = {}) {
    return open(this.browser, this.url + address, options)
  }

  /**
   * The file that the browser saves.
   *
   * @param {string} name
   * @param {() => Promise<unknown>} act makes the browser save it
   */
  async saved(name, act) {
    const before = this.#saved
    await act()
    await eventually(() => this.#saved > before, `no ${name} was saved`)
    return readFileSync(join(this.folder, name))
  }
}

/**
 * Waits for a condition outside the page; for one inside use page.waitForFunction.
 *
 * @param {() => boolean | Promise<boolean>} condition
 * @param {string} otherwise the message if it does not come true
 */
export async function eventually(condition, otherwise) {
  const deadline = Date.now() + PATIENCE
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, otherwise)
    await sleep(20)
  }
}

/** Waits until what has changed is on the screen, and what follows from its size; in the page. */
export const drawn = () =>
  new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))

/** Whether all sections are there, and their fonts; in the page. */
export const settled = () =>
  new Promise((resolve) => {
    const waits = () =>
      document.fonts.status !== 'loaded' || document.querySelector('.section[aria-busy="true"]') !== null
    // What was fetched is on the screen in the next frame.
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(!waits())))
  })

/**
 * Waits until an expression or a function is true in the page, like page.waitForFunction. In Firefox 140 the
 * Content-Security-Policy of the page forbids that one.
 *
 * @template T
 * @param {Page} page
 * @param {string | (() => T)} condition
 * @returns {Promise<T>} its value
 */
export async function waitInPage(page, condition) {
  const deadline = Date.now() + PATIENCE
  for (;;) {
    const value = /** @type {T} */ (await page.evaluate(condition))
    if (value) return value
    assert.ok(Date.now() < deadline, `never true in the page: ${condition}`)
    await sleep(20)
  }
}

/** Matches what is complete: there, and not waiting for a worker's result. */
const whole = ':not([aria-busy="true"], :has([aria-busy="true"]))'
export const WHOLE_SECTION = `.section${whole}`

/**
 * Scrolls down the page until every section is complete.
 *
 * @param {Page} page
 * @returns {Promise<string[]>} their ids
 */
export async function openAll(page) {
  const ids = await page.evaluate(() => [...document.querySelectorAll('.section')].map(({ id }) => id))
  for (const id of ids) await reach(page, id)
  return ids
}

/**
 * Scrolls to a section and waits until it is complete: its worker starts when it is on the screen.
 *
 * @param {Page} page
 * @param {string} id
 */
export async function reach(page, id) {
  await page.$eval(`#${id}`, (section) => section.scrollIntoView())
  await waitInPage(page, `document.querySelector(${JSON.stringify(`#${id}${whole}`)}) !== null`)
}

/** The selector of a field, by its accessible name. @param {string} label */
export const field = (label) => `input[aria-label="${label}"]`

/**
 * Waits for an element.
 *
 * @param {Page} page
 * @param {string} selector
 * @returns {Promise<ElementHandle<HTMLElement>>}
 */
export async function get(page, selector) {
  const element = await page.waitForSelector(selector)
  assert.ok(element, selector)
  return /** @type {ElementHandle<HTMLElement>} */ (element)
}

/**
 * @typedef {{ left: number, top: number, width: number, height: number }} Box in the window
 *
 * @typedef {(box: Box) => { x: number, y: number }} At a place of an element, by its box
 */

/** @type {At} */
const middle = ({ left, top, width, height }) => ({ x: left + width / 2, y: top + height / 2 })

/**
 * Watches what a press hits; in the page. What arrives above an element moves it, also at the moment in which
 * it is pressed. A press that would hit something else hits nothing.
 *
 * @param {Element} element
 */
function watch(element) {
  const box = () => {
    const { left, top, width, height } = element.getClientRects()[0] ?? element.getBoundingClientRect()
    return { left, top, width, height }
  }
  /** Whether a place is the element's. A dot is behind the surface of its figure. */
  const has = (/** @type {number} */ x, /** @type {number} */ y) => {
    const { left, top, width, height } = box()
    const within = x >= left && x <= left + width && y >= top && y <= top + height
    return within && (element.closest('svg') ?? element).contains(document.elementFromPoint(x, y))
  }
  const done = { down: false, clicked: false }
  const ends = new AbortController()
  const look = (/** @type {Event} */ event) => {
    const { type, clientX, clientY } = /** @type {PointerEvent} */ (event)
    if (type === 'pointerdown') done.down = has(clientX, clientY)
    if (type === 'click') done.clicked = done.down && has(clientX, clientY)
    if (type === 'click' ? done.clicked : done.down) return
    event.preventDefault()
    event.stopImmediatePropagation()
  }
  for (const type of ['pointerdown', 'mousedown', 'touchstart', 'pointerup', 'mouseup', 'touchend', 'click'])
    addEventListener(type, look, { capture: true, passive: false, signal: ends.signal })
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
  return {
    done,
    has,
    /** Scrolls to the element. @returns its box, if it was the same in two frames */
    async find() {
      const { left, top, width, height } = box()
      const [right, bottom] = [left + width, top + height]
      const inside = left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight
      if (!inside || !has((left + right) / 2, (top + bottom) / 2))
        element.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' })
      await frame()
      const before = box()
      await frame()
      const now = box()
      return now.width > 0 && JSON.stringify(before) === JSON.stringify(now) ? now : null
    },
    end: () => ends.abort(),
  }
}

/** @typedef {import('puppeteer-core').JSHandle<ReturnType<typeof watch>>} Watch */

/**
 * Acts at a place of an element, again until it was there.
 *
 * @param {Page} page
 * @param {string | ElementHandle<Element>} target a selector or an element
 * @param {At} at
 * @param {(place: { x: number, y: number }, watch: Watch) => Promise<boolean>} act whether it was there
 * @returns {Promise<{ x: number, y: number, box: Box }>} where it was
 */
async function aim(page, target, at, act) {
  const deadline = Date.now() + PATIENCE
  for (;;) {
    const element = typeof target === 'string' ? await get(page, target) : target
    const watched = await element.evaluateHandle(watch)
    const box = await watched.evaluate((one) => one.find())
    const place = box && at(box)
    const done = place && (await act(place, watched))
    await watched.evaluate((one) => one.end())
    if (box && done) return { ...place, box }
    assert.ok(Date.now() < deadline, `cannot be reached: ${target}`)
  }
}

/**
 * Clicks an element.
 *
 * @param {Page} page
 * @param {string | ElementHandle<Element>} target a selector or an element
 * @param {{ at?: At, count?: number }} [options]
 */
export const click = (page, target, { at = middle, count = 1 } = {}) =>
  aim(page, target, at, async ({ x, y }, watched) => {
    await page.mouse.click(x, y, { count })
    return watched.evaluate(({ done }) => done.clicked)
  })

/** Opens the page's menu. @param {Page} page */
export async function openMenu(page) {
  await click(page, '.topbar .more button')
  return get(page, '#menu:popover-open')
}

/** Presses a button of the page's menu, which is open. @param {Page} page @param {string} name */
export const choose = (page, name) => click(page, `#menu ::-p-xpath(.//button[normalize-space()="${name}"])`)

/**
 * Presses the mouse's button at a place of an element, and holds it.
 *
 * @param {Page} page
 * @param {string | ElementHandle<Element>} target a selector or an element
 * @param {At} [at]
 */
export const hold = (page, target, at = middle) =>
  aim(page, target, at, async ({ x, y }, watched) => {
    await page.mouse.move(x, y)
    await page.mouse.down()
    const down = await watched.evaluate(({ done }) => done.down)
    if (!down) await page.mouse.up()
    return down
  })

/**
 * Points at a place of an element.
 *
 * @param {Page} page
 * @param {string | ElementHandle<Element>} target a selector or an element
 * @param {At} [at]
 */
export const hover = (page, target, at = middle) =>
  aim(page, target, at, async ({ x, y }, watched) => {
    await page.mouse.move(x, y)
    return watched.evaluate((one, x, y) => one.has(x, y), x, y)
  })

/**
 * Drags an element sideways with the mouse.
 *
 * @param {Page} page
 * @param {string | ElementHandle<Element>} target a selector or an element
 * @param {number} pixels
 */
export async function drag(page, target, pixels) {
  const { x, y } = await hold(page, target)
  await page.mouse.move(x + pixels, y, { steps: 8 })
  await page.mouse.up()
}

/**
 * Drags an element with a finger.
 *
 * @param {Page} page
 * @param {string | ElementHandle<Element>} target a selector or an element
 * @param {number} across pixels to the right
 * @param {number} [along] pixels down
 */
export const dragByFinger = (page, target, across, along = 0) =>
  aim(page, target, middle, async ({ x, y }, watched) => {
    const finger = await page.touchscreen.touchStart(x, y)
    const down = await watched.evaluate(({ done }) => done.down)
    for (let i = 1; down && i <= 8; i++) await finger.move(x + (across * i) / 8, y + (along * i) / 8)
    await finger.end()
    return down
  })

/** @param {Page} page @param {string} selector */
export const focus = async (page, selector) => (await get(page, selector)).evaluate((one) => one.focus())

/** @param {Page} page */
export const blur = (page) =>
  page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur())

/** Presses the last key while the others are held. @param {Page} page @param {...KeyInput} keys */
export async function press(page, ...keys) {
  const last = keys.pop()
  assert.ok(last)
  for (const key of keys) await page.keyboard.down(key)
  await page.keyboard.press(last)
  for (const key of keys) await page.keyboard.up(key)
}

/**
 * Replaces a number: the focus selects the old one, and Enter takes the new one.
 *
 * @param {Page} page
 * @param {string} label
 * @param {string} text
 */
export async function type(page, label, text) {
  await blur(page)
  await focus(page, field(label))
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
}

/** Drags a number sideways. @param {Page} page @param {string} label @param {number} pixels */
export const dragNumber = (page, label, pixels) => drag(page, field(label), pixels)

/** An element's text, spaces collapsed. @param {Page} page @param {string} selector */
export const text = (page, selector) =>
  page.$eval(selector, (element) => (element.textContent ?? '').replace(/\s+/g, ' ').trim())

/** What the page says is wrong. @param {Page} page */
export const problem = (page) => text(page, '.notice')

/** A number that can be edited. @param {Page} page @param {string} label */
export const value = (page, label) => page.$eval(field(label), (input) => Number(input.ariaValueNow))

/** A number as the page writes it. @param {string} written */
export const parse = (written) => Number(written.replace('−', '-'))

/**
 * @param {number} actual
 * @param {number} expected
 * @param {number} tolerance
 * @param {string} [what] the number is, for the message
 */
export const near = (actual, expected, tolerance, what = '') =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what} ${actual}, expected ${expected}`.trim())

/**
 * How many pixels of the page are beyond the right edge of the screen, or beyond the left one, where no
 * scrolling reaches them.
 *
 * @param {Page} page
 */
export const overflow = (page) =>
  page.evaluate(() => {
    const seen = [...document.querySelectorAll('body *:not(.unseen)')].filter((one) => one.checkVisibility())
    const left = Math.min(...seen.map((one) => one.getBoundingClientRect().left))
    return Math.max(document.documentElement.scrollWidth - innerWidth, -left)
  })

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Every violation of any of axe's rules. @param {Page} page @returns {Promise<string[]>} rule and element */
export async function findings(page) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  const { violations } = /** @type {AxeResults} */ (
    await page.evaluate("axe.run({ resultTypes: ['violations'] })")
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`),
  )
}

/** Waits until the service worker serves the page, then takes the network from both. @param {Page} page */
export async function goOffline(page) {
  await waitInPage(page, () => navigator.serviceWorker.controller !== null)
  await page.setOfflineMode(true)
  const isServiceWorker = (/** @type {import('puppeteer-core').Target} */ one) =>
    one.type() === 'service_worker'
  const target = await page.browserContext().waitForTarget(isServiceWorker, { timeout: PATIENCE })
  const worker = await target.worker()
  assert.ok(worker)
  await worker.client.send('Network.enable')
  await worker.client.send('Network.emulateNetworkConditions', {
    offline: true,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: -1,
  })
}

/**
 * Opens a page without a service worker. A service worker would answer with its own copies of files.
 *
 * @param {Browser | BrowserContext} browser
 */
export async function withoutServiceWorker(browser) {
  const page = await newPage(browser)
  await page.evaluateOnNewDocument(() => {
    navigator.serviceWorker.register = () => new Promise(() => {})
  })
  return page
}

/**
 * Measures what a page fetches until it has started: all files but fonts. The page gets no idle time and no
 * service worker, so it fetches nothing for later.
 *
 * @param {Browser | BrowserContext} browser
 * @param {string} url
 * @param {() => boolean} started in the page
 * @returns the page, the addresses of all requests, how many files are counted, and their bytes, gzipped
 */
export async function fetchedFirst(browser, url, started) {
  const page = await withoutServiceWorker(browser)
  await page.evaluateOnNewDocument(() => {
    window.requestIdleCallback = () => 0 // no idle moment comes
  })
  /** @type {Promise<Uint8Array>[]} */
  const bodies = []
  /** @type {string[]} */
  const urls = []
  page.on('response', (response) => {
    const request = response.request()
    urls.push(request.url())
    if (request.frame() === page.mainFrame() && request.resourceType() !== 'font')
      bodies.push(response.buffer())
  })
  await page.goto(url)
  await waitInPage(page, started)
  await page.waitForNetworkIdle()
  const sizes = (await Promise.all(bodies)).map((body) => gzipSync(body, { level: 9 }).length)
  return { page, urls, files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

/** Opens the tables from which the rows of "How it is computed" come: fields to change. @param {Page} page */
export async function openLayer(page) {
  await click(page, '#worked-example button ::-p-text(Where the rows come from)')
}
