// The section in which a story is written twice, from the same random numbers: with all norms, and with those
// that the switch leaves on. What is written is what the engine writes here, in Node.

/** @import { Browser, Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { load } from 'gpt-layers'
import { tokenizerOf } from '../../build/demo/words.js'
import { Engine } from '../../build/demo/writer/engine.js'
import slice, { BEGINNINGS, NORMS, STATES, TEMPERATURE } from '../../build/demo/sections/story/slice.js'
import { record } from '../../web/demo/recordings.js'
import { readStory } from '../../web/examples/stories/grammar.js'
import {
  BROWSERS,
  click,
  closeBrowsers,
  get,
  open,
  READERS,
  serve,
  share,
  skipped,
  text,
  waitInPage,
} from './browser.js'

/** Letters of a noisy text that are the same in every build. */
const SURE = 240

const folder = new URL('../../web/examples/stories/', import.meta.url)
const gpt = await load()
const model = await gpt.GPTModel.fromPretrained(readFileSync(new URL('model.safetensors', folder)))
const tokenizer = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', folder), 'utf8')))

/**
 * What the page writes: both texts to their ends.
 *
 * @param {object} [changes]
 * @param {string} [changes.prompt]
 * @param {number} [changes.seed]
 * @param {'none' | '2' | 'all'} [changes.off]
 * @param {number} [changes.from]
 */
function write(changes = {}) {
  const { off, ...own } = { ...slice.defaults(), ...changes }
  const left = STATES.find(({ key }) => key === off)?.off ?? []
  const engine = new Engine({ gpt, model, tokenizer })
  engine.set({
    ...own,
    temperature: TEMPERATURE,
    replacement: 'nothing',
    off: Array.from({ length: NORMS }, (_, i) => left.includes(i + 1)),
  })
  while (!engine.ended) engine.step()
  const runs = [engine.with, engine.without ?? engine.with]
  return {
    texts: runs.map(({ ids }) => tokenizer.decode(ids.slice(1))),
    /** What each layer gets at the last word. */
    widths: runs.map(({ step }) =>
      Array.from({ length: NORMS }, (_, i) => Math.sqrt(step?.stats[4 * i + 3] ?? NaN)),
    ),
  }
}

/** @param {Page} page */
const texts = (page) => page.$$eval('#story .run', (all) => all.map((one) => one.textContent?.trim()))
/**
 * Waits until the story is whole, and the other text begins as it should: two builds round differently, which
 * in the end makes a noisy text another one.
 *
 * @param {Page} page
 * @param {string[]} expected
 */
async function assertWrites(page, [story, other]) {
  const begins = other.slice(0, SURE)
  const condition = (/** @type {string[]} */ expected) => {
    const [story, other] = [...document.querySelectorAll('#story .run')].map((one) => one.textContent?.trim())
    return story === expected[0] && other?.startsWith(expected[1])
  }
  try {
    await waitInPage(page, `(${condition})(${JSON.stringify([story, begins])})`)
  } catch {
    assert.deepEqual(await texts(page), [story, other])
  }
}
/** @param {Page} page @param {string} label */
const press = (page, label) => click(page, `#story ::-p-xpath(.//button[normalize-space()="${label}"])`)

test('the model goes on with every beginning: of eight stories at least seven are whole', () => {
  const broken = BEGINNINGS.flatMap((prompt) =>
    [1, 2]
      .map((seed) => write({ prompt, seed, off: 'none' }).texts[0])
      .filter((story) => !readStory(story).some(({ complete }) => complete)),
  )
  assert.ok(broken.length <= 1, broken.join('\n'))
})

test('until the model is there, the page shows what it will write', async () => {
  const { story } = await record()
  const { default: recording } = await import(
    `data:text/javascript,export default ${encodeURIComponent(story)}`
  )
  const { seed, from } = slice.defaults()
  assert.deepEqual([recording.seed, recording.from], [seed, from])
  const shown = [recording.with, recording.without].map(({ texts }) => texts.join(''))
  write().texts.forEach((text, i) => assert.ok(text.startsWith(shown[i]), shown[i]))
  assert.notEqual(shown[0], shown[1])
})

after(closeBrowsers)

describe('a story without it', { concurrency: 2 }, () => {
  for (const name of BROWSERS) {
    describe(name, { skip: skipped[name], concurrency: 1 }, () => {
      /** @type {string} */
      let url
      /** The second one's reader wants no motion. @type {Browser[]} */
      let browsers
      before(async () => {
        url = await serve()
        browsers = await Promise.all(READERS.map((reader) => share(name, reader)))
      })
      /** @param {string} query @param {import('./browser.js').OpenOptions} [options] */
      const moving = (query, options) => open(browsers[0], `${url}?embed=story${query}`, options)
      /** @param {string} query */
      const still = (query) =>
        open(browsers[1], `${url}?embed=story${query}`, {
          features: name === 'chrome' ? READERS[1] : {},
        })

      test('with reduced motion both texts are there at once, and how wide the numbers are', async () => {
        for (const off of /** @type {const} */ (['2', 'all'])) {
          const { page, complaints, foreign } = await still(off === '2' ? '' : `&story.off=${off}`)
          const expected = write({ off })
          await assertWrites(page, expected.texts)
          const shown = await page.$$eval('#story .sigma', (all) => all.map((one) => Number(one.textContent)))
          const [widths] = expected.widths
          assert.ok(
            widths.every((width, i) => Math.abs(shown[i] - width) <= 0.006),
            `${shown}, expected ${widths}`,
          )
          const [first, second, ...others] = shown.slice(NORMS)
          assert.ok(second < 0.75 * shown[1], `after norm 2: ${second}, with it ${shown[1]}`)
          assert.ok(off === '2' ? first > 0.5 : first < 0.3 && (others.at(-1) ?? 0) > 5, String(shown))
          assert.deepEqual([...complaints, ...foreign], [])
          await page.close()
        }
      })

      test('a beginning that is pressed begins another story; with all norms on both are the same', async () => {
        const { page } = await still('')
        const prompt = BEGINNINGS[2]
        await press(page, `${prompt} …`)
        await assertWrites(page, write({ prompt, from: 0 }).texts)
        await press(page, `all ${NORMS} norms on`)
        const { texts } = write({ prompt, off: 'none' })
        assert.equal(texts[0], texts[1])
        await assertWrites(page, texts)
        await page.close()
      })

      test('the switch acts from the word that is written, and a link leads to both texts', async () => {
        const { page } = await moving('&story.off=none')
        const [story] = write({ off: 'none' }).texts
        // The model has written more than the recording has, and the story has not ended. The page itself
        // presses the button, so that it is in time on a busy machine, too.
        await waitInPage(page, () => {
          const [lane] = document.querySelectorAll('#story .run')
          if ((lane.textContent?.trim().length ?? 0) < 200) return false
          const buttons = [...document.querySelectorAll('#story button')]
          const off = buttons.find(({ textContent }) => textContent?.trim() === 'all off')
          if (off instanceof HTMLElement) off.click()
          return true
        })
        await waitInPage(page, () => location.search.includes('story.off=all'))
        const query = await page.evaluate(() => Object.fromEntries(new URLSearchParams(location.search)))
        const { texts } = write({ off: 'all', from: Number(query['story.from']) })
        assert.ok(Number(query['story.from']) > 40)
        const noise = await waitInPage(page, () => {
          const [, other] = document.querySelectorAll('#story .run')
          const parted = other.querySelector('.parted')?.textContent ?? ''
          return parted.length > 20 ? other.textContent?.trim() : undefined
        })
        assert.ok(noise && texts[1].startsWith(noise.slice(0, SURE)), noise)
        assert.notEqual(noise, story.slice(0, noise.length))
        await page.close()
      })

      test('the guess switches all norms off, and the answer says how wide the numbers become', async () => {
        const { page } = await moving('')
        await press(page, 'ever wider')
        await waitInPage(page, () =>
          /σ 0\.\d\d becomes \d{2,3}\.\d/.test(document.querySelector('#story .answer')?.textContent ?? ''),
        )
        assert.match(await text(page, '#story .answer'), /^Yes: ever wider\. /)
        await page.close()
      })

      test('the full instrument goes on with the same story', async () => {
        const { page } = await open(browsers[0], `${url}?story.off=all&story.seed=9#story`)
        await waitInPage(page, () => document.querySelector('#story .run') !== null)
        await click(page, '#story a[href="#writing"]')
        await waitInPage(page, () => location.search.includes('writing.off=1,2,3,4,5,6,7,8,9'))
        assert.equal(await page.evaluate(() => location.hash), '#writing')
        assert.equal(await page.evaluate(() => new URLSearchParams(location.search).get('writing.seed')), '9')
        await page.close()
      })

      test('it is written only while it is seen', async () => {
        const { page } = await open(browsers[0], `${url}#story`, { first: noteCalls })
        const last = (/** @type {string} */ call) =>
          waitInPage(page, `window.calls.at(-1) === ${JSON.stringify(call)}`)
        await last('play')
        for (const hidden of [true, false]) {
          await page.evaluate((hidden) => {
            Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
            document.dispatchEvent(new Event('visibilitychange'))
          }, hidden)
          await last(hidden ? 'pause' : 'play')
        }
        await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
        await waitInPage(page, () => /** @type {any} */ (window).calls.includes('pause'))
        await page.close()
      })

      test('on a phone the switch and both texts are on one screen', async () => {
        const { page } = await moving('', { width: 360, height: 740 })
        await get(page, '#story .run')
        const [top, bottom] = await page.evaluate(() => {
          const boxes = ['.switch', '.run.without'].map((one) =>
            document.querySelector(`#story ${one}`)?.getBoundingClientRect(),
          )
          return [boxes[0]?.top ?? NaN, boxes[1]?.bottom ?? NaN]
        })
        assert.ok(bottom - top <= 740, `${bottom - top} pixels`)
        await page.close()
      })
    })
  }
})

/** Notes what the page asks of its workers; in the page. */
function noteCalls() {
  /** @type {string[]} */
  const calls = []
  Object.assign(window, { calls })
  const post = Worker.prototype.postMessage
  Worker.prototype.postMessage = function (/** @type {any[]} */ ...all) {
    if (all[0]?.path) calls.push(all[0].path.join('.'))
    return Reflect.apply(post, this, all)
  }
}
