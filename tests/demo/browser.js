// The built page in real browsers: what the page's tests share.

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import puppeteer from 'puppeteer-core'

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
  const server = spawn(process.execPath, [script, '--port', '0'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
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
  await page.setViewport({ width, height })
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
