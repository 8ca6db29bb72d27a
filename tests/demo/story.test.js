// “Inside a GPT”: a story is written twice, from the same random numbers, with all norms and with those that are
// left on; and the row of each word on its way through the norms. What is written is what the engine writes
// here, in Node.

/** @import { Browser } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import * as gpt from 'gpt-layers'
import { tokenizerOf } from '../../build/demo/words.js'
import { Engine } from '../../build/demo/writer/engine.js'
import { ablationName, deviationsOf } from '../../build/demo/writer/norms.js'
import { FIRST_AXIS, nextAxis } from '../../build/demo/sections/story/axis.js'
import slice, { ALL, NORMS, TEMPERATURE } from '../../build/demo/sections/story/slice.js'
import { record } from '../../web/demo/recordings.js'
import { randomFrom, readStory, writeStory } from '../../web/examples/stories/grammar.js'
import { all } from '../all.js'
import { assertFigures } from './figures.js'
import { says } from './says.js'
import {
  BROWSERS,
  closeBrowsers,
  hover,
  near,
  open,
  READERS,
  resize,
  serve,
  share,
  skipped,
  text,
  waitInPage,
} from './browser.js'

const folder = new URL('../../web/examples/stories/', import.meta.url)
await gpt.load()
const model = await gpt.GPTModel.fromPretrained(readFileSync(new URL('model.safetensors', folder)))
const tokenizer = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', folder), 'utf8')))

/** @typedef {Partial<ReturnType<typeof slice.defaults>>} Changes */

/** @param {Changes} changes of the section's state */
function engineOf(changes) {
  const { off, ...settings } = { ...slice.defaults(), ...changes }
  const engine = new Engine({ model, tokenizer })
  engine.set({
    ...settings,
    temperature: TEMPERATURE,
    off: ALL.map((number) => off.includes(number)),
  })
  return engine
}
const textOf = (/** @type {Engine['with']} */ { ids }) => tokenizer.texts(ids.slice(1)).join('').trim()
/** @param {Engine['with']} run @returns the σ before each norm, and after it */
const sigmas = ({ step }) => ALL.map((_, i) => deviationsOf(step, i))

/** What the page writes: both texts to their ends, and the σ before and after each norm. @param {Changes} [changes] */
function write(changes = {}) {
  const engine = engineOf(changes)
  while (!engine.ended) engine.step()
  const runs = engine.without ? [engine.with, engine.without] : [engine.with]
  return { texts: runs.map(textOf), widths: sigmas(runs[runs.length - 1]).flat() }
}

describe('what the text says, for the stories of several seeds', () => {
  const seeds = Array.from({ length: all ? 20 : 4 }, (_, seed) => seed)
  const isWhole = (/** @type {string} */ story) => readStory(story).some(({ complete }) => complete)

  test('with its norms, or with RMSNorm in their place, the model writes whole stories', () => {
    for (const changes of [{ off: [] }, { off: ALL, replacement: /** @type {const} */ ('rms') }]) {
      const broken = seeds
        .map((seed) => write({ seed, from: 0, ...changes }).texts.at(-1) ?? '')
        .filter((one) => !isWhole(one))
      assert.ok(broken.length <= 1, broken.join('\n'))
    }
  })

  test('without any norm, with only − μ, or with γ = 1 and β = 0 there is no story', () => {
    for (const replacement of /** @type {const} */ (['nothing', 'mean', 'plain']))
      for (const seed of seeds) {
        const engine = engineOf({ seed, from: 0, off: ALL, replacement })
        for (let words = 0; words < 40; words++) engine.step()
        assert.ok(engine.without)
        assert.deepEqual(readStory(textOf(engine.without)), [], textOf(engine.without))
      }
  })

  test('with γ = 1 and β = 0 it writes longer phrases than with only − μ', () => {
    /** The pairs of words that also follow one another in stories. */
    const known = new Set()
    const random = randomFrom(1)
    for (let story = 0; story < 500; story++) {
      const ids = tokenizer.encode(writeStory(random).text)
      ids.forEach((id, i) => known.add(`${ids[i - 1]} ${id}`))
    }
    const phrases = (/** @type {'mean' | 'plain'} */ replacement) => {
      const pairs = seeds.flatMap((seed) => {
        const engine = engineOf({ seed, from: 0, off: ALL, replacement })
        for (let words = 0; words < 60; words++) engine.step()
        const ids = engine.without?.ids.slice(6) ?? []
        return ids.slice(1).map((id, i) => known.has(`${ids[i]} ${id}`))
      })
      return pairs.filter(Boolean).length / pairs.length
    }
    const [noise, some] = [phrases('mean'), phrases('plain')]
    assert.ok(noise < 0.2 && some > 0.4, `${noise} and ${some} of the pairs of words`)
  })

  test('σ grows to between 1 and 25, and after each norm is between 0.5 and 1.7; without norms it ends above 50', () => {
    const [least, most, low, high, end] = [1, 25, 0.5, 1.7, 50]
    says(`to σ between ${least} and ${most}. But each part gets a row with σ between ${low} and ${high}.`)
    says(`Without norms σ ends above ${end}.`)
    for (const seed of seeds) {
      const engine = engineOf({ seed, off: ALL, replacement: 'nothing' })
      for (let words = 0; words < 60 && !engine.with.ended; words++) {
        const widths = sigmas(engine.with)
        const width = widths.map(([before]) => before)
        const after = widths.map(([, after]) => after)
        const said = `seed ${seed}, word ${engine.with.at}: ${width}`
        const last = width[NORMS - 1]
        assert.ok(last > width[0] && last > least && last < most, said)
        assert.ok(Math.min(...after) > low && Math.max(...after) < high, `${after}`)
        const without = sigmas(/** @type {Engine['with']} */ (engine.without))[NORMS - 1][0]
        assert.ok(without > end && without > 2 * last, `${said}, without ${without}`)
        engine.step()
      }
    }
  })
})

test('the axis has every number; half of its width is not enough for long, and it does not change with each word', () => {
  for (const off of [[], ALL]) {
    const engine = engineOf({ seed: 2, off, replacement: 'mean' })
    let axis = FIRST_AXIS
    let [narrower, changes] = [0, 0]
    for (let words = 0; words < 120; words++) {
      engine.step()
      const rows = (engine.without ?? engine.with).step.rows
      const { limit } = axis
      axis = nextAxis(axis, rows)
      const most = Math.max(...rows.map(Math.abs))
      assert.ok(most <= axis.limit && Number.isInteger(Math.log2(axis.limit) / 2), `${most} of ${axis.limit}`)
      narrower = most <= axis.limit / 4 ? narrower + 1 : 0
      assert.ok(narrower < 12, `half of ±${axis.limit} has been enough for ${narrower} words`)
      if (axis.limit !== limit) changes++
    }
    assert.ok(changes < 10, `the axis has changed ${changes} times`)
  }
  const wide = { limit: 1024, words: 0 }
  const limitFor = (/** @type {number} */ most) => nextAxis(wide, Float32Array.of(0, -most)).limit
  assert.deepEqual([2000, 200, 64, 1, Infinity, NaN].map(limitFor), [4096, 1024, 64, 1, 4 ** 9, 4 ** 9])
})

test('until the model is there, the page shows what it will write', async () => {
  const recorded = await record()
  const [recording, way] = await Promise.all(
    [recorded.story, recorded.way].map(
      async (source) =>
        (await import(`data:text/javascript,export default ${encodeURIComponent(source)}`)).default,
    ),
  )
  assert.equal(recording.seed, slice.defaults().seed)
  const shown = [recording.with, recording.without].map(({ texts }) => texts.join('').trim())
  write({ off: ALL }).texts.forEach((text, i) => assert.ok(text.startsWith(shown[i]), shown[i]))
  assert.notEqual(shown[0], shown[1])
  says(`before each part and at the end: ${NORMS} here, 2 · 12 + 1 = ${2 * 12 + 1} in the small GPT-2.`)
  says(`one at the end: ${2 * 12 + 1} in the small GPT-2. Without them it babbles.`)
  says(`The strokes are the ${model.embDim} numbers of the newest word, gray before a norm`)
  for (const { rows } of [way.with, way.without]) assert.equal(rows.length, 2 * NORMS * model.embDim)
})

test('the norms that are off have one name, and in the address a short one', () => {
  assert.deepEqual(
    [[2], [9], [2, 7], ALL].map((off) => ablationName('nothing', off)),
    ['without norm 2 of block 1', 'without final norm', 'without 2 norms', 'without any norm'],
  )
  assert.equal(ablationName('rms', ALL), 'no − μ in all 9 norms')
  for (const off of [[], ALL, [2, 7]]) {
    const query = slice.toQuery({ ...slice.defaults(), off })
    assert.deepEqual(slice.fromQuery(new Map(Object.entries(query))).state.off, off)
  }
  assert.equal(slice.toQuery({ ...slice.defaults(), off: ALL }).off, 'all')
})

after(closeBrowsers)

describe('inside a GPT', { concurrency: 2 }, () => {
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

      test('the axis has every number of the row, and a number is followed through every norm', async () => {
        for (const off of ['', '&story.off=all']) {
          const { page } = await still(off)
          await waitInPage(page, () => document.querySelector('#story .controls .note') === null)
          await assertFigures(page, off)
          const places = await page.$eval('#story .strokes', (one) =>
            (one.getAttribute('d')?.match(/M[-\d]+/g) ?? []).map((at) => Number(at.slice(1))),
          )
          await hover(page, '#story .way svg', ({ left, top, width }) => ({
            x: left + 0.62 * width,
            y: top + 20,
          }))
          const pointer = await page.$eval('#story .way svg', (svg) => 0.62 * svg.clientWidth)
          const far = places.map((at) => Math.abs(at - pointer))
          const number = 1 + far.indexOf(Math.min(...far))
          assert.match(
            await text(page, '#story .figure > .note'),
            new RegExp(
              `^Number ${number} of “.+”, norm 1 of block 1: −?[\\d.e−]+ before, −?[\\d.e−]+ after\\.$`,
            ),
          )
          const points = await page.$eval(
            '#story .followed',
            (one) => one.getAttribute('d')?.split('L').length,
          )
          assert.equal(points, 2 * NORMS)
          await page.mouse.move(0, 0)
          const hint = /^Point at a number, or tap it\. .*squeezed: (\d+) stands half as far out as (\d+)\./
          await waitInPage(page, `${hint}.test(document.querySelector('#story .figure > .note').innerText)`)
          const [closer, end] = hint.exec(await text(page, '#story .figure > .note'))?.slice(1) ?? []
          const [zero, half, whole] = await page.$$eval(
            '#story .tick',
            (all, named) =>
              named.map((name) =>
                Number(all.find(({ textContent }) => textContent === name)?.getAttribute('x')),
              ),
            ['0', closer, end],
          )
          near(whole - zero, 2 * (half - zero), 0.1)
          await page.close()
        }
      })

      test('no text is wider than its box, and no two numbers of the axis touch, however large the text is', async () => {
        const { page } = await still('&story.off=all')
        for (const [width, size] of /** @type {const} */ ([
          [320, 'usual'],
          [360, 'usual'],
          [360, 'large'],
          [1280, 'large'],
        ])) {
          await page.evaluate((size) => (document.documentElement.dataset.size = size), size)
          await resize(page, width, 900)
          await waitInPage(page, `document.querySelector('#story .way svg').clientWidth < ${width}`)
          const { tight, ticks } = await page.evaluate(() => {
            const all = (/** @type {string} */ part) => [
              .../** @type {NodeListOf<SVGElement>} */ (document.querySelectorAll(`#story .way ${part}`)),
            ]
            const box = (/** @type {Element} */ one) => one.getBoundingClientRect()
            const boxes = all('rect:not(.target)').map(box)
            const tight = all('.name').filter((name) => {
              const { left, right, top } = box(name)
              return !boxes.some(
                (one) =>
                  one.left < left - 2 && one.right > right + 2 && one.bottom > top && one.top < top + 9,
              )
            })
            const ticks = all('.tick').map(box)
            return {
              tight: tight.map(({ textContent }) => textContent),
              ticks: ticks.slice(1).map(({ left }, i) => left - ticks[i].right),
            }
          })
          assert.deepEqual(tight, [], `${width}, ${size}`)
          assert.ok(Math.min(...ticks) > 3, `${width}, ${size}: between numbers of the axis are ${ticks}`)
        }
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
