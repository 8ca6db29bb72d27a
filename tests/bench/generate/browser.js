// `./build.sh bench-browser generate`: in headless Chromium.

/** @import { Browser, Page } from 'puppeteer-core' */
/** @import { Message, Settings } from './program.js' */

import { readFileSync } from 'node:fs'
import { inNewPage, serve } from '../pages.js'
import { launch } from '../../demo/browser.js'
import { THREADS } from '../program.js'
import { program } from './program.js'

/** @typedef {Settings & { threads: number }} Task */

/**
 * The bytes of all pages of the browser that are in memory. Linux only.
 *
 * @param {Browser} browser
 * @param {Page} page whose garbage is collected first
 * @returns {Promise<number>} NaN on other systems
 */
async function memoryOf(browser, page) {
  const session = await page.createCDPSession()
  await session.send('HeapProfiler.collectGarbage')
  await session.detach()
  const root = await browser.target().createCDPSession()
  const { processInfo } = await root.send('SystemInfo.getProcessInfo')
  await root.detach()
  return processInfo
    .filter(({ type }) => type === 'renderer')
    .reduce((sum, { id }) => sum + residentBytes(id), 0)
}

/** @param {number} pid */
function residentBytes(pid) {
  if (process.platform !== 'linux') return NaN
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return 1024 * Number(kilobytes)
}

/** @param {string[]} args */
export async function main(args) {
  const peers = ['onnxruntime-web', '@wllama/wllama']
  await program('bench-browser', args, peers, async (settings, report) => {
    const server = await serve()
    const browser = await launch()
    try {
      report({ runtime: await browser.version() })
      for (const threads of THREADS) {
        await inNewPage(browser, server.url, 'generate', { ...settings, threads }, (page) => ({
          report: (/** @type {Message} */ message) => report(message),
          memory: () => memoryOf(browser, page),
        }))
      }
    } finally {
      await browser.close()
      await server.close()
    }
  })
}
