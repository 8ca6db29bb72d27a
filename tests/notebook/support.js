// What the tests of the notebook page share.

/** @import { Page } from 'puppeteer-core' */

import { fileURLToPath } from 'node:url'
import { deflateRawSync } from 'node:zlib'
import { golden } from '../lib/support.js'
import { click, get, press as pressKeys, waitInPage } from '../demo/browser.js'

/** What PyTorch prints, by notebook and cell. @type {Record<string, { code: string, prints: string }[]>} */
export const recorded = golden('notebooks')

export const MODEL = fileURLToPath(new URL('../golden/pretrained/ckpt.pt', import.meta.url))

/** The first cell of most notebooks. */
export const LOAD = "import * as gpt from 'gpt-layers'\nawait gpt.load()"

/** A notebook's file. @param {...string} cells */
export const fileOf = (...cells) => cells.map((code) => `// %%\n${code}\n`).join('\n')

/** The fragment of a link with a notebook. @param {string} file */
export const linkOf = (file) => `#code=${deflateRawSync(file).toString('base64url')}`

/** What the cells show; in the page. */
export const look = () =>
  [...document.querySelectorAll('.cell')].map((cell) => {
    const textOf = (/** @type {string} */ selector) =>
      [...cell.querySelectorAll(selector)].map((one) => one.textContent).join('\n')
    return {
      text: textOf('.output pre.text'),
      error: textOf('.output pre.error'),
      isSame: [...cell.querySelectorAll('.same')].some((one) =>
        /✓/.test(getComputedStyle(one, '::before').content),
      ),
      figures: cell.querySelectorAll('figure:not(figure figure)').length,
    }
  })

/** Whether nothing runs any more; in the page. */
export const isIdle = () => !document.querySelector('.bar button')?.textContent?.includes('Stop')

/** Waits until the editor is there, and until nothing runs. @param {Page} page */
export async function settle(page) {
  await get(page, '.cm-content')
  await waitInPage(page, isIdle)
  return page.evaluate(look)
}

/** Presses a button by its text, or by its name. @param {Page} page @param {string} name */
export const press = (page, name) =>
  click(page, `::-p-xpath(//button[normalize-space()="${name}" or @aria-label="${name}"])`)

/** Gives a file to a field. @param {Page} page @param {string} selector @param {string} path */
export async function upload(page, selector, path) {
  const field = await page.waitForSelector(selector)
  await /** @type {import('puppeteer-core').ElementHandle<HTMLInputElement>} */ (field).uploadFile(path)
}

/** Opens code that comes in a link, and runs it. @param {Page} page */
export async function runForeign(page) {
  await press(page, 'Run this notebook')
  return settle(page)
}

/** Replaces the code of the focused cell. @param {Page} page @param {string} code in one line */
export async function write(page, code) {
  await pressKeys(page, 'Control', 'a')
  await page.keyboard.type(code)
}

/** Replaces a number of the code: a double click selects it. @param {Page} page @param {string} from @param {string} to */
export async function retype(page, from, to) {
  await click(page, `.cm-line ::-p-xpath(.//span[.="${from}"])`, { count: 2 })
  await page.keyboard.type(to)
}
