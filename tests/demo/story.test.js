// The section in which a story is written twice, from the same random numbers: with all norms, and with those
// that are left on. What is written is what the engine writes here, in Node.

/** @import { Browser, Page } from 'puppeteer-core' */
/** @import { Settings } from '../../build/demo/writer/engine.js' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import * as gpt from 'gpt-layers'
import { tokenizerOf } from '../../build/demo/words.js'
import { Engine } from '../../build/demo/writer/engine.js'
import { deviationsOf, REPLACEMENTS, saysOf } from '../../build/demo/writer/norms.js'
import slice, { ALL, BEGINNINGS, NORMS, ONE, TEMPERATURE } from '../../build/demo/sections/story/slice.js'
import { record } from '../../web/demo/recordings.js'
import { readStory } from '../../web/examples/stories/grammar.js'
import { all } from '../all.js'
import {
  BROWSERS,
  click,
  closeBrowsers,
  focus,
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
const SURE = 100

const folder = new URL('../../web/examples/stories/', import.meta.url)
await gpt.load()
const model = await gpt.GPTModel.fromPretrained(readFileSync(new URL('model.safetensors', folder)))
const tokenizer = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', folder), 'utf8')))

/** @typedef {Partial<ReturnType<typeof slice.defaults>>} Changes */

/** @param {Changes} changes of the section's state */
function engineOf(changes) {
  const { off, ...settings } = { ...slice.defaults(), ...changes }
  const engine = new Engine({ model, tokenizer })
  engine.set({ ...settings, temperature: TEMPERATURE, off: ALL.map((number) => off.includes(number)) })
  return engine
}
const textOf = (/** @type {Engine['with']} */ { ids }) => tokenizer.decode(ids.slice(1)).trim()
/** @param {Engine['with']} run @param {'before' | 'after'} side @returns the σ at each norm */
const sigmas = ({ step }, side) => ALL.map((_, i) => (step ? deviationsOf(step, i)[side] : NaN))

/** What the page writes: both texts to their ends, and the σ after each norm. @param {Changes} [changes] */
function write(changes = {}) {
  const engine = engineOf(changes)
  while (!engine.ended) engine.step()
  const runs = [engine.with, engine.without ?? engine.with]
  return { texts: runs.map(textOf), widths: runs.map((run) => sigmas(run, 'after')) }
}

describe('what the text says, for every beginning', () => {
  const seeds = all ? [1, 2, 3] : [1]
  const stories = BEGINNINGS.flatMap((prompt) => seeds.map((seed) => ({ prompt, seed, from: 0 })))
  const isWhole = (/** @type {string} */ story) => readStory(story).some(({ complete }) => complete)

  /**
   * At each word of all stories, from the beginning's first.
   *
   * @param {Changes} changes
   * @param {(at: { with: Engine['with'], without: Engine['with'] }) => void} look
   */
  function atEachWord(changes, look) {
    for (const story of stories) {
      const engine = engineOf({ ...story, ...changes })
      for (let at = 1; at < engine.promptLength - 1; at++) {
        engine.goTo(at)
        look({ with: engine.with, without: engine.without ?? engine.with })
      }
      for (let words = 0; words < 60 && !engine.with.ended; words++) {
        engine.step()
        look({ with: engine.with, without: engine.without ?? engine.with })
      }
    }
  }

  test('with its norms, or with RMSNorm in their place, the model writes whole stories', () => {
    for (const changes of [{ off: [] }, { off: ALL, replacement: /** @type {const} */ ('rms') }]) {
      const broken = stories
        .map((story) => write({ ...story, ...changes }).texts[1])
        .filter((one) => !isWhole(one))
      assert.ok(broken.length <= 1, broken.join('\n'))
    }
  })

  test('without norm 2 of block 1, without any, with only − μ, or with γ = 1 and β = 0 there is no story', () => {
    /** @type {[number[], Settings['replacement']][]} */
    const noisy = [
      [[ONE], 'nothing'],
      [ALL, 'nothing'],
      [ALL, 'mean'],
      [ALL, 'plain'],
    ]
    for (const [off, replacement] of noisy)
      for (const story of stories) {
        const engine = engineOf({ ...story, off, replacement })
        for (let words = 0; words < 40; words++) engine.step()
        assert.ok(engine.without)
        assert.deepEqual(readStory(textOf(engine.without)), [], textOf(engine.without))
      }
  })

  test('σ usually grows 8 to 60 times from the first norm to the last; after each it is between 0.5 and 1.7', () => {
    /** @type {number[]} */
    const factors = []
    atEachWord({ off: [] }, (runs) => {
      const widths = sigmas(runs.with, 'before')
      factors.push(widths[NORMS - 1] / widths[0])
      const after = sigmas(runs.with, 'after')
      assert.ok(Math.min(...after) > 0.5 && Math.max(...after) < 1.7, String(after))
    })
    const usual = factors.filter((factor) => factor >= 8 && factor <= 60)
    assert.ok(usual.length > 0.8 * factors.length, `${usual.length} of ${factors.length}`)
    assert.ok(Math.min(...factors) > 1)
  })

  test('without any norm each block makes the numbers wider, in the end more than 40 times as wide as with them', () => {
    atEachWord({ off: ALL, replacement: 'nothing' }, (runs) => {
      const after = sigmas(runs.without, 'after')
      const blocks = after.filter((_, i) => i % 2 === 0)
      assert.deepEqual(
        blocks,
        blocks.toSorted((a, b) => a - b),
      )
      if (runs.with.at !== runs.without.at) return // the story with norms has ended
      const factor = after[NORMS - 1] / sigmas(runs.with, 'after')[NORMS - 1]
      assert.ok(factor > 40, String(factor))
    })
  })
})

test('until the model is there, the page shows what it will write', async () => {
  const { story } = await record()
  const { default: recording } = await import(
    `data:text/javascript,export default ${encodeURIComponent(story)}`
  )
  const { seed, from } = slice.defaults()
  assert.deepEqual([recording.seed, recording.from], [seed, from])
  const shown = [recording.with, recording.without].map(({ texts }) => texts.join('').trim())
  write().texts.forEach((text, i) => assert.ok(text.startsWith(shown[i]), shown[i]))
  assert.notEqual(shown[0], shown[1])
})

test('the norms that are off have one name, and in the address a short one', () => {
  assert.deepEqual(
    [[], [2], [9], [2, 7], ALL].map((off) => saysOf('nothing', off, NORMS)),
    [
      'all norms on',
      'without norm 2 of block 1',
      'without final norm',
      'without 2 norms',
      'without any norm',
    ],
  )
  assert.equal(saysOf('rms', ALL, NORMS), 'no − μ in all 9 norms')
  for (const off of [[], ALL, [2, 7]]) {
    const query = slice.toQuery({ ...slice.defaults(), off })
    assert.deepEqual(slice.fromQuery(new Map(Object.entries(query))).state.off, off)
  }
  assert.equal(slice.toQuery({ ...slice.defaults(), off: ALL }).off, 'all')
})

after(closeBrowsers)

/** @param {Page} page @returns {Promise<string[]>} */
const texts = (page) => page.$$eval('#story .run', (all) => all.map((one) => one.textContent?.trim() ?? ''))
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
/** @param {Page} page @param {string} value */
const replace = (page, value) => page.select('#story select', value)
const inAddress = (/** @type {Page} */ page, /** @type {string} */ part) =>
  waitInPage(page, `location.search.includes(${JSON.stringify(part)})`)
/** Types the story's beginning. @param {Page} page @param {string} prompt */
async function begin(page, prompt) {
  await click(page, '#story .prompt', { count: 3 })
  await page.keyboard.type(prompt)
  await page.keyboard.press('Enter')
}

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
        for (const off of [[ONE], ALL]) {
          const { page, complaints, foreign } = await still(off === ALL ? '&story.off=all' : '')
          const expected = write({ off })
          await assertWrites(page, expected.texts)
          const shown = await page.$$eval('#story .sigma', (all) => all.map((one) => Number(one.textContent)))
          const [widths] = expected.widths
          assert.ok(
            widths.every((width, i) => Math.abs(shown[i] - width) <= 0.006),
            `${shown}, expected ${widths}`,
          )
          assert.deepEqual([...complaints, ...foreign], [])
          await page.close()
        }
      })

      test('a beginning is typed, or refused beside its field; with all norms on both texts are the same', async () => {
        const { page } = await still('')
        const [, , prompt] = BEGINNINGS
        await begin(page, prompt)
        await assertWrites(page, write({ prompt, from: 0 }).texts)
        await begin(page, 'She said')
        await waitInPage(page, () =>
          /begins with “She”\.\s+Try “Once/.test(document.querySelector('#story-refused')?.textContent ?? ''),
        )
        assert.equal(await page.$eval('#story .prompt', (input) => Object(input).value), prompt)
        await press(page, `all ${NORMS} norms on`)
        const { texts } = write({ prompt, off: [] })
        assert.equal(texts[0], texts[1])
        await assertWrites(page, texts)
        await page.close()
      })

      test('of two beginnings that are given at once the last one is written, and stays', async () => {
        const { page } = await still('')
        const [, first, last] = BEGINNINGS
        await assertWrites(page, write().texts)
        const values = await page.evaluate(
          async (prompts) => {
            const field = /** @type {HTMLInputElement} */ (document.querySelector('#story .prompt'))
            const values = new Set()
            for (const value of prompts)
              Object.assign(field, { value }).dispatchEvent(new Event('change', { bubbles: true }))
            for (let i = 0; i < 60; i++) {
              await new Promise((resolve) => requestAnimationFrame(resolve))
              values.add(field.value)
            }
            return [...values]
          },
          [first, last],
        )
        assert.deepEqual(values, [last])
        await assertWrites(page, write({ prompt: last, from: 0 }).texts)
        await page.close()
      })

      test('the switch acts from the word that is written, and a link leads to both texts', async () => {
        const { page } = await moving('&story.off=none')
        // The model has written more than the recording has, and the story has not ended. The page itself
        // presses the button and looks at the texts, so that it is in time on a busy machine, too.
        await page.evaluate(() => {
          let isPressed = false
          const timer = setInterval(() => {
            const [run, other] = document.querySelectorAll('#story .run')
            const length = run?.textContent?.trim().length ?? 0
            if (!isPressed && length >= 200 && length <= 400) {
              const buttons = [...document.querySelectorAll('#story button')]
              const off = buttons.find(({ textContent }) => textContent?.trim() === 'all off')
              if (off instanceof HTMLElement) off.click()
              isPressed = true
            }
            const parted = other?.querySelector('.parted')?.textContent ?? ''
            if (!isPressed || parted.length <= 20 || !location.search.includes('story.off=all')) return
            clearInterval(timer)
            Object.assign(window, {
              seen: { noise: other.textContent?.trim() ?? '', search: location.search },
            })
          }, 10)
        })
        const seen = await waitInPage(
          page,
          () => /** @type {{ noise: string, search: string } | undefined} */ (Object(window).seen),
        )
        assert.ok(seen)
        const { noise, search } = seen
        const query = Object.fromEntries(new URLSearchParams(search))
        // On a slow machine the first story may have ended, and the next one has another seed.
        const seed = Number(query['story.seed'] ?? 5)
        const [story] = write({ off: [], seed }).texts
        const { texts } = write({ off: ALL, seed, from: Number(query['story.from']) })
        assert.ok(Number(query['story.from']) > 30)
        assert.ok(texts[1].startsWith(noise.slice(0, SURE)), noise)
        assert.notEqual(noise, story.slice(0, noise.length))
        await page.close()
      })

      test('each guess switches, and its answer moves nothing', async () => {
        for (const [query, guess, expected] of [
          ['', 'ever wider', 'story.off=all'],
          ['&story.all=yes', '÷ deviation', 'story.replacement=mean'],
        ]) {
          const { page } = await moving(query, { width: 1280, height: 720 })
          const top = () => page.$eval('#story .figure', (one) => Object(one).offsetTop)
          const before = await top()
          await press(page, guess)
          await inAddress(page, expected)
          assert.match(await text(page, '#story .answer'), new RegExp(`^Yes: ${guess}\\. `))
          assert.equal(await top(), before)
          await page.close()
        }
      })

      test('every norm has a switch, in the same state; what stands in its place is chosen', async () => {
        const { page, complaints } = await still('')
        await assertWrites(page, write().texts)
        await press(page, 'Show all nine')
        await inAddress(page, 'story.all=yes')
        const states = () =>
          page.$$eval('#story [role=switch]', (all) =>
            all.flatMap((one, i) => (one.ariaChecked === 'true' ? [] : [i + 1])),
          )
        assert.deepEqual(await states(), [ONE])
        await press(page, 'norm 1 of block 4')
        assert.deepEqual(await states(), [ONE, 7])
        await inAddress(page, 'story.off=2,7')
        await press(page, 'all off')
        assert.deepEqual(await states(), ALL)
        for (const replacement of /** @type {(keyof typeof REPLACEMENTS)[]} */ (Object.keys(REPLACEMENTS))) {
          await replace(page, replacement)
          await waitInPage(
            page,
            `document.querySelectorAll('#story .title')[1].textContent.includes(${JSON.stringify(saysOf(replacement, ALL, NORMS))})`,
          )
          const from = await page.evaluate(() => new URLSearchParams(location.search).get('story.from'))
          await assertWrites(page, write({ off: ALL, replacement, from: Number(from ?? 10) }).texts)
        }
        await press(page, 'Show the story only')
        await press(page, 'all off') // now means that they are left out
        await waitInPage(page, () => !location.search.includes('replacement'))
        assert.deepEqual(complaints, [])
        await page.close()
      })

      test('back to a word: its numbers at the norm that keys choose', async () => {
        const { page } = await still('&story.all=yes&story.off=none')
        const engine = engineOf({ off: [] })
        while (!engine.ended) engine.step()
        await assertWrites(page, [textOf(engine.with), textOf(engine.with)])
        engine.goTo(13)
        await page.$eval('#story input[type=range]', (input) => {
          Object(input).value = 13
          input.dispatchEvent(new Event('input', { bubbles: true }))
        })
        await assertWrites(page, Array(2).fill(tokenizer.decode(engine.with.ids.slice(1, 14)).trim()))
        await focus(page, '#story .strips')
        await page.keyboard.press('ArrowUp')
        await inAddress(page, 'story.norm=6')
        const { before, after } = deviationsOf(/** @type {any} */ (engine.with.step), 5)
        assert.equal(
          await page.$eval('#story .strips', (one) => one.ariaValueText),
          `norm 2 of block 3, on: σ ${before.toFixed(2)} before, ${after.toFixed(2)} after`,
        )
        await page.close()
      })

      test('it is written only while it is seen', async () => {
        const { page } = await moving('', { first: noteCalls })
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
        const push = (/** @type {number} */ pixels) =>
          page.$eval(
            '#story',
            (one, top) => one instanceof HTMLElement && (one.style.marginTop = top),
            `${pixels}px`,
          )
        await push(3000)
        await last('pause')
        await push(0)
        await last('play')
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

/** Notes what the page asks of its workers, and of the texts in them; in the page. */
function noteCalls() {
  /** @type {string[]} */
  const calls = []
  Object.assign(window, { calls })
  for (const { prototype } of [Worker, MessagePort]) {
    const post = prototype.postMessage
    prototype.postMessage = function (/** @type {any[]} */ ...all) {
      if (all[0]?.path) calls.push(all[0].path.join('.'))
      return Reflect.apply(post, this, all)
    }
  }
}
