// `./build.sh bench-page`: how long the page takes from an edit to the updated document, in headless
// Chromium.

/** @import { Page } from 'puppeteer-core' */

import { field, focus, launch, matched, open, press, serve, text } from '../demo/browser.js'
import { median } from './measure.js'
import { table } from './table.js'

const UPDATES = 50
const WARM_UP = 5

/**
 * For each section the address, the element that gets the focus, and the keys that are pressed in turns.
 *
 * @type {{ section: string, what: string, address: string, target: string, keys:
 *   import('puppeteer-core').KeyInput[] }[]}
 */
const CASES = [
  {
    section: 'worked-example',
    what: 'a number of the batch',
    address: '#worked-example',
    target: '.batch input',
    keys: ['ArrowUp', 'ArrowDown'],
  },
  {
    section: 'divisor',
    what: 'n near its largest value',
    address: '?divisor.n=4096#divisor',
    target: '#divisor .slider',
    keys: ['ArrowDown', 'ArrowUp'],
  },
  {
    section: 'norms',
    what: 'a number of the largest batch',
    address: '?norms.batch=8#norms',
    target: '#norms .given input',
    keys: ['ArrowUp', 'ArrowDown'],
  },
  {
    section: 'gelu',
    what: 'the cursor',
    address: '#gelu',
    target: '#gelu .slider',
    keys: ['ArrowUp', 'ArrowDown'],
  },
  {
    section: 'feedforward',
    what: 'the cursor',
    address: '#feedforward',
    target: '#feedforward .map',
    keys: ['ArrowRight', 'ArrowLeft'],
  },
  {
    section: 'deep-stack',
    what: 'the weights’ size, without its worker',
    address: '#deep-stack',
    target: '#deep-stack input[type=range]',
    keys: ['ArrowUp', 'ArrowDown'],
  },
  {
    section: 'gpt',
    what: 'a character of the longest line',
    address: '?gpt.text=twinkle,+twinkle,+littl#gpt',
    target: field('the line'),
    keys: ['e', 'Backspace'],
  },
]

/** Milliseconds of the last update, as the page measures it. @param {Page} page */
const lastUpdate = async (page) => Number(matched(/took ([\d.]+) ms/, await text(page, 'footer')))

const server = await serve()
const browser = await launch()
const { head, line } = table([
  { title: 'section', width: 11, left: true, cell: ({ section }) => section },
  { title: 'what changes', width: 31, left: true, cell: ({ what }) => what },
  { title: 'median, ms', width: 10, cell: ({ times }) => median(times).toFixed(1) },
  { title: 'slowest, ms', width: 11, cell: ({ times }) => Math.max(...times).toFixed(1) },
])
try {
  console.log(head)
  for (const { section, what, address, target, keys } of CASES) {
    const { page } = await open(browser, server.url + address, { ready: target })
    await focus(page, target)
    await press(page, 'End')
    /** @type {number[]} */
    const times = []
    for (let i = -WARM_UP; i < UPDATES; i++) {
      await page.keyboard.press(keys[Math.abs(i) % keys.length])
      if (i >= 0) times.push(await lastUpdate(page))
    }
    console.log(line({ section, what, times }))
    await page.close()
  }
} finally {
  await browser.close()
  server.stop()
}
