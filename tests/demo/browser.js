// The built page in a real browser: what the page's tests share.

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

/** @returns {Promise<import('puppeteer-core').Browser>} */
export function launch() {
  return puppeteer.launch({ browser: 'chrome', executablePath: process.env.CHROMIUM, headless: true, args: FLAGS })
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
  await page.emulateMediaFeatures(Object.entries(features).map(([name, value]) => ({ name, value })))
  await page.goto(url, { waitUntil: 'load' })
  await page.waitForSelector(ready)
  return { page, complaints, foreign }
}
