// The built page in real browsers: what the page's tests share.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as runner from 'node:test'
import { fileURLToPath } from 'node:url'
import puppeteer from 'puppeteer-core'

/** Why tests in a browser are skipped, or false. build.sh looks for the browsers. */
export const skipped = {
  chrome: !process.env.CHROMIUM && 'no Chromium or Chrome that tests can control: see ./build.sh --help',
  firefox: !process.env.FIREFOX && 'no Firefox that tests can control: see ./build.sh --help',
}

// `test`, `before` and `after` of node:test, for tests that need Chromium: without it every test is skipped with the
// same reason, and no hook runs.
const skip = skipped.chrome
const nothing = () => {}
/** @type {typeof runner.test} */
export const test = skip ? (name) => runner.test(name, { skip }) : runner.test
/** @type {typeof runner.before} */
export const before = skip ? nothing : runner.before
/** @type {typeof runner.after} */
export const after = skip ? nothing : runner.after

const FLAGS = [
  '--no-sandbox', // Chromium refuses to run as root with one
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Serves the page as `./build.sh demo` does. @returns {Promise<{ url: string, stop: () => void }>} */
export async function serve() {
  const script = fileURLToPath(new URL('../../web/demo/serve.js', import.meta.url))
  const env = { ...process.env, DISPLAY: '', WAYLAND_DISPLAY: '' } // no window on the desktop of whoever runs the tests
  const server = spawn(process.execPath, [script, '--port', '0'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise((resolve, reject) => {
    server.stdout.on('data', (data) => resolve(String(data).trim().split('\n').at(-1)))
    server.on('exit', (code) => reject(new Error(`the demo's server ended with ${code}`)))
  })
  return { url, stop: () => server.kill() }
}

/** What Firefox wants at its start, and in its profile: no protocol sets it in a page that is open. */
const PREFERENCES = {
  'prefers-color-scheme: light': { 'layout.css.prefers-color-scheme.content-override': 1 },
  'prefers-color-scheme: dark': { 'layout.css.prefers-color-scheme.content-override': 0 },
  'prefers-reduced-motion: reduce': { 'ui.prefersReducedMotion': 1 },
}

/**
 * Starts a browser with a profile of its own, empty, which goes when it ends.
 *
 * @param {'chrome' | 'firefox'} [browser]
 * @param {Record<string, string>} [features] of media; in Chromium `open` sets them, page by page
 * @returns {Promise<import('puppeteer-core').Browser>}
 */
export function launch(browser = 'chrome', features = {}) {
  if (browser === 'chrome') {
    return puppeteer.launch({ browser, executablePath: process.env.CHROMIUM, headless: true, args: FLAGS })
  }
  const set = Object.entries(features).map(([name, value]) => PREFERENCES[`${name}: ${value}`])
  const extraPrefsFirefox = Object.assign({}, ...set)
  return puppeteer.launch({ browser, executablePath: process.env.FIREFOX, headless: true, extraPrefsFirefox })
}

/**
 * Sets the size of the window's content. Firefox 140 sets the size, but then refuses to set the screen orientation.
 *
 * @param {import('puppeteer-core').Page} page
 * @param {number} width
 * @param {number} height
 */
async function setSize(page, width, height) {
  try {
    await page.setViewport({ width, height })
  } catch (error) {
    if (!/setScreenOrientationOverride/.test(String(error))) throw error
    await page.waitForFunction((w, h) => innerWidth === w && innerHeight === h, {}, width, height)
  }
}

/**
 * Opens a page and keeps account of what it should not do.
 *
 * @param {import('puppeteer-core').Browser} browser
 * @param {string} url
 * @param {{ width?: number, height?: number, features?: Record<string, string>, ready?: string }} [options]
 */
export async function open(browser, url, { width = 1440, height = 900, features = {}, ready = 'h1' } = {}) {
  const page = await browser.newPage()
  /** Console messages, uncaught errors and requests that failed. @type {string[]} */
  const complaints = []
  /** Requests to anywhere but the page's own origin. @type {string[]} */
  const foreign = []
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('requestfailed', (request) => complaints.push(`failed: ${request.url()}`))
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()}: ${response.url()}`)
  })
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== new URL(url).origin) {
      foreign.push(request.url())
    }
  })
  await setSize(page, width, height)
  const media = Object.entries(features).map(([name, value]) => ({ name, value }))
  if (media.length) await page.emulateMediaFeatures(media)
  // Chromium says on the console what its policy forbade; Firefox does not.
  await page.evaluateOnNewDocument(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      console.error(`against the policy: ${violatedDirective} ${blockedURI}`)
    })
  })
  await page.goto(url, { waitUntil: 'load' })
  await page.waitForSelector(ready)
  return { page, complaints, foreign }
}

/** Sections that are all there: fetched, and not waiting for what a worker computes. */
const whole = ':not(.waiting, :has([aria-busy="true"]))'
export const WHOLE_SECTION = `.section${whole}`

/** Goes down the page until each section is there. @returns {Promise<string[]>} their ids */
export async function openAll(page) {
  const ids = await page.evaluate(() => [...document.querySelectorAll('.section')].map(({ id }) => id))
  for (const id of ids) {
    await page.$eval(`#${id}`, (section) => section.scrollIntoView())
    await page.waitForSelector(`#${id}${whole}`)
  }
  return ids
}

/** Presses the last key while the others are held. */
export async function press(page, ...keys) {
  for (const key of keys.slice(0, -1)) await page.keyboard.down(key)
  await page.keyboard.press(keys.at(-1))
  for (const key of keys.slice(0, -1)) await page.keyboard.up(key)
}

/**
 * The file that the browser saves.
 *
 * @param {string} folder that it saves into
 * @param {string} name
 * @param {() => Promise<void>} act what makes it
 */
export async function saved(folder, name, act) {
  await act()
  const path = join(folder, name)
  for (let tries = 0; !existsSync(path); tries++) {
    assert.ok(tries < 100, `no ${name} was saved`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return readFileSync(path)
}

const FRAME = 16 // milliseconds

/**
 * That an update fits into a frame, as the footer times it: the best of some, since the first are slow code yet.
 *
 * @param {import('puppeteer-core').Page} page
 * @param {(i: number) => Promise<void>} change makes the i-th of them
 * @param {number} [count]
 */
export async function assertInFrame(page, change, count = 8) {
  const times = []
  for (let i = 0; i < count; i++) {
    await change(i)
    times.push(Number(/took ([\d.]+) ms/.exec(await page.$eval('footer', (footer) => footer.textContent))[1]))
  }
  assert.ok(Math.min(...times) < FRAME, `${times}`)
}

/** Width and height of a desktop's screen, of a laptop's and of a phone's. */
export const SCREENS = [
  [1440, 900],
  [1280, 800],
  [360, 780],
]

/**
 * That a section, embedded, fits its screen, on a phone to the side, and that nothing was complained of or asked of others.
 *
 * @param {Awaited<ReturnType<typeof open>>} opened
 * @param {string} id
 * @param {number} width
 * @param {number} height
 */
export async function assertOnScreen({ page, complaints, foreign }, id, width, height) {
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0)
  const tall = await page.$eval(`#${id}`, (section) => section.offsetHeight)
  if (width >= 1280) assert.ok(tall <= height, `${tall} pixels tall`)
  assert.deepEqual([...complaints, ...foreign], [])
}
