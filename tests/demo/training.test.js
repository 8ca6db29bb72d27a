// Two small GPTs, with layer norms and without, learn to sort letters.

/** @import { Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import * as gpt from 'gpt-layers'
import { QUESTION, STEPS, Training } from '../../build/demo/sections/training/compute.js'
import slice, { BLOCKS, LARGE, RATES, SMALL } from '../../build/demo/sections/training/slice.js'
import { lossOf, lossText, verdict } from '../../build/demo/sections/training/verdict.js'
import { all } from '../all.js'
import { assertClose, golden, unpack } from '../lib/support.js'
import { says } from './says.js'
import { click, drawn, eventually, focus, near, press, test, text, useSite, waitInPage } from './browser.js'

const site = useSite()

const RATE = '#training input[type=range]'
/** The build of the page's worker. */
await gpt.load({ build: 'simd', threads: 1 })

const { training, stacks } = golden('page_training')

for (const { settings, ...expected } of training)
  testInNode(`with norms and without, the losses are PyTorch’s: ${Object.values(settings)}`, () => {
    const both = new Training(settings)
    const losses = Array.from(unpack(expected.with), () => both.step())
    for (const key of /** @type {const} */ (['with', 'without']))
      assertClose(gpt.tensor(losses.map((one) => one[key])), expected[key], 1e-5)
  })

testInNode(
  'eight layers of Linear and ReLU give PyTorch’s deviations, and a row as small and as large as it says',
  () => {
    for (const { gain, deviations } of stacks) {
      gpt.manualSeed(123)
      let x = gpt.randn([1, 64])
      const found = Array.from({ length: 8 }, () => {
        const y = x.matmul(gpt.randn([64, 64]).mul(gain / 8))
        x = new gpt.ReLU().forward(y)
        return Math.sqrt(y.var({ unbiased: false }).item())
      })
      assertClose(gpt.tensor([0, 1, 3, 7].map((i) => found[i])), deviations, 2e-6)
    }
    const size = (/** @type {import('gpt-layers').Tensor} */ x) => Math.sqrt(x.mul(x).mean().item())
    /**
     * The median, over 101 stacks of eight layers, of the output's size divided by the input's.
     *
     * @param {number} times the initial weights of Linear are multiplied by this
     */
    const median = (times) =>
      Array.from({ length: 101 }, (_, seed) => {
        gpt.manualSeed(seed)
        const x = gpt.randn([1, 64])
        let y = x
        for (let i = 0; i < 8; i++)
          y = gpt.relu(new gpt.Linear(64, 64, { bias: false }).forward(y).mul(times))
        return size(y) / size(x)
      }).sort((one, other) => one - other)[50]
    near(1000 * gpt.noGrad(() => median(1)), 0.7, 0.35, 'of a thousandth')
    near(
      gpt.noGrad(() => median(3.5)),
      15,
      2.5,
    )
    says(
      'shrink a row to about a thousandth with the weights that PyTorch starts with. Weights 3.5 times as large',
    )
  },
)

testInNode('the verdict says what the losses are', () => {
  const of = (/** @type {number} */ norms, /** @type {number} */ none) =>
    verdict({ with: Array(STEPS).fill(norms), without: Array(STEPS).fill(none) })
  assert.equal(of(0.1, 0.2), 'Both learn. The loss is lower with norms.')
  assert.equal(of(0.2, 0.1), 'Both learn. The loss is lower without norms.')
  assert.equal(of(0.5, 0.7), 'The GPT with norms learns; without them it learns a part.')
  assert.equal(of(0.8, 1.7), 'The GPT with norms learns a part; without them it learns nothing.')
  assert.equal(of(1.7, 0.5), 'The GPT with norms learns nothing; without them it learns.')
  assert.equal(of(0.5, 1e6), 'The GPT with norms learns; without them its loss explodes.')
  assert.equal(of(0.5, Infinity), 'The GPT with norms learns; without them its loss explodes.')
  assert.equal(of(1e4, 1e5), 'Both losses explode. The loss is lower with norms.')
  // A loss that exploded and came back has exploded.
  const back = { with: [2, ...Array(20).fill(0.1)], without: [1e6, ...Array(20).fill(0.1)] }
  assert.equal(verdict(back), 'The GPT with norms learns; without them its loss explodes.')
})

/**
 * The losses and answers of a training. The page trains in the same build from the same seed: these are its
 * numbers.
 *
 * @param {ConstructorParameters<typeof Training>[0]} settings
 */
function train(settings) {
  const both = new Training(settings)
  const steps = Array.from({ length: STEPS }, () => both.step())
  const losses = { with: steps.map((one) => one.with), without: steps.map((one) => one.without) }
  const answers = both.answers()
  return { losses, answers }
}
const DEFAULTS = slice.defaults()
const trained = { large: train(DEFAULTS), small: train({ blocks: 3, rate: SMALL }) }

testInNode('with small steps both learn; with large steps, from three blocks on, only with norms', () => {
  assert.deepEqual(DEFAULTS, { blocks: 3, rate: LARGE })
  assert.equal((LARGE / SMALL).toFixed(6), '20.000000')
  says(`The learning rate is the size of a step: ${LARGE} is large.`)
  says(`Three blocks, and steps a twentieth as large, ${SMALL}. Which one learns?`)
  const { large, small } = trained
  assert.match(verdict(small.losses), /^Both learn\./)
  assert.deepEqual(small.answers, { with: 'abbcef', without: 'abbcef' })
  assert.equal(verdict(large.losses), 'The GPT with norms learns; without them its loss explodes.')
  assert.equal(large.answers.with, 'abbcef')
  for (const blocks of all ? [4, 6] : [])
    assert.match(
      verdict(train({ blocks, rate: LARGE }).losses),
      /^The GPT with norms learns( a part)?; without them its loss explodes\.$/,
    )
})

/**
 * At the ends of both sliders: what the losses say. Those of 1 block with small steps are 0.65 and 0.44. More
 * blocks take seconds each: test all has them.
 */
const ENDS = {
  '1, 0.0005': 'The GPT with norms learns a part; without them it learns.',
  '6, 0.0005': 'Both learn. The loss is lower without norms.',
  '1, 0.05': 'Both learn a part. The loss is lower with norms.',
  // The steps are too large for both; without norms nothing is learned there, either.
  '3, 0.05': 'The GPT with norms learns a part; without them its loss explodes.',
  '4, 0.05': 'The GPT with norms learns a part; without them its loss explodes.',
  '6, 0.05': 'The GPT with norms learns a part; without them its loss explodes.',
}
for (const [end, said] of Object.entries(ENDS)) {
  const [blocks, rate] = end.split(', ').map(Number)
  if (blocks > 1 && !all) continue
  testInNode(`the verdict holds where the sliders end: ${end}`, () => {
    assert.ok(BLOCKS.includes(blocks) && [RATES[0], RATES.at(-1)].includes(rate))
    assert.equal(verdict(train({ blocks, rate }).losses), said)
  })
}

/** @param {string} [query] @param {OpenOptions} [options] */
const show = (query = '', options = {}) => site.open(`?embed=training${query}`, { ready: RATE, ...options })
const step = (/** @type {Page} */ page) =>
  page.$eval('#training figure:has(path.curve) figcaption', (one) =>
    Number(/\d+/.exec(one.textContent ?? '')?.[0]),
  )
const untilTrained = (/** @type {Page} */ page) =>
  eventually(async () => (await step(page)) === STEPS, 'the training does not end')
/** What is to sort, and each network's name, answer and loss. @param {Page} page */
const answers = (page) =>
  page.$$eval('#training .answers > *', (all) => all.map((one) => one.textContent?.trim()))
const spaced = (/** @type {string} */ letters) => Array.from(letters).join(' ')

test('the page shows the losses, the answers and the verdict; its guess shows the small steps', async () => {
  const { page, complaints } = await show()
  const assertShows = async (/** @type {ReturnType<typeof train>} */ { losses, answers: letters }) => {
    await untilTrained(page)
    const shown = await answers(page)
    assert.deepEqual(shown.slice(0, 2), ['to sort', spaced(QUESTION)])
    assert.deepEqual(shown.slice(3), [
      ...['with norms', spaced(letters.with), lossText(lossOf(losses.with))],
      ...['without norms', spaced(letters.without), lossText(lossOf(losses.without))],
    ])
    assert.equal(await text(page, '#training .verdict'), verdict(losses))
  }
  await assertShows(trained.large)
  // Wherever the sliders are, the question and its answer are about three blocks.
  for (const [name, key] of /** @type {const} */ ([
    ['learning rate', 'Home'],
    ['blocks', 'End'],
  ])) {
    await focus(page, `#training input[aria-label="${name}"]`)
    await press(page, key)
  }
  await click(page, '#training .guess button')
  await waitInPage(page, `location.search.includes('training.rate=${SMALL}')`)
  await assertShows(trained.small)
  assert.doesNotMatch(await page.$eval('#training', ({ outerHTML }) => outerHTML), /NaN|Infinity|undefined/)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('with reduced motion the curves grow only with the answers; the verdict comes with the last; of the caption only the step changes, so that a slide still fits', async () => {
  const options = { features: { 'prefers-reduced-motion': 'reduce' }, first: holdWorkers }
  const { page } = await show('', options)
  const lengths = () =>
    page.$$eval('#training path.curve', (all) =>
      all.map((one) => (one.getAttribute('d') ?? '').split('L').length),
    )
  /** @type {Set<number>} */
  const seen = new Set()
  /** @type {Set<string>} */
  const captions = new Set()
  await eventually(async () => {
    for (const length of await lengths()) seen.add(length)
    captions.add((await text(page, '#training figcaption')).replace(/after \d+/, ''))
    await page.evaluate('asked.reply()')
    return seen.has(STEPS)
  }, 'no curve came')
  assert.deepEqual([...seen], [1, 5, 50, 100, STEPS])
  assert.equal(captions.size, 1, [...captions].join('; '))
  await focus(page, RATE)
  await press(page, 'Home')
  assert.deepEqual(await lengths(), [1, 1])
  assert.equal(await text(page, '#training .verdict'), '')
  await page.close()
})

/** Workers that count what they are asked, and answer when `reply` is called, or fail; in the page. */
function holdWorkers() {
  /** @type {(() => void)[]} */
  const waiting = []
  const asked = { count: 0, reply: () => waiting.splice(0).forEach((answer) => answer()), fail: () => {} }
  class Held extends EventTarget {
    constructor() {
      super()
      asked.fail = () => this.dispatchEvent(new Event('error'))
    }
    terminate() {}
    start() {}
    postMessage(/** @type {{ id: string, path?: string[] }} */ { id, path }) {
      if (!path) return
      asked.count++
      const value = path[0] === 'steps' ? Array(5).fill({ with: 4, without: 1 }) : { with: 'a', without: 'b' }
      waiting.push(() =>
        this.dispatchEvent(new MessageEvent('message', { data: { id, type: 'RAW', value } })),
      )
    }
  }
  Object.assign(window, { Worker: Held, asked })
}

test('the training pauses while it is not on the screen, and goes on where it was', async () => {
  const { page } = await show('', { first: holdWorkers })
  const count = () => page.evaluate('asked.count')
  const reply = () => page.evaluate('asked.reply()')
  await eventually(async () => (await count()) === 1, 'no worker is asked to begin')
  await reply()
  await eventually(async () => (await count()) === 2, 'no worker is asked for steps')
  await page.$eval('#training', (one) => one instanceof HTMLElement && (one.style.marginTop = '3000px'))
  await page.evaluate(drawn)
  await reply() // the steps
  await reply() // the answers
  await eventually(async () => (await step(page)) === 5, 'the steps do not come')
  assert.equal(await count(), 3)
  await page.$eval('#training', (section) => section.scrollIntoView())
  await eventually(async () => (await count()) === 4, 'it does not go on')
  assert.equal(await step(page), 5)
  await page.close()
})

test('a training that stopped in the middle begins anew when it is told to', async () => {
  const { page } = await show('', { first: holdWorkers })
  await eventually(async () => {
    await page.evaluate('asked.reply()')
    return (await step(page)) === 5
  }, 'the steps do not come')
  assert.equal((await answers(page))[4], 'a')
  await page.evaluate('asked.fail()')
  await click(page, '#training ::-p-xpath(.//button[.="Try again"])')
  assert.equal(await step(page), 0)
  assert.deepEqual((await answers(page)).slice(3), ['with norms', '…', '…', 'without norms', '…', '…'])
  await eventually(async () => {
    await page.evaluate('asked.reply()')
    return (await step(page)) === 5
  }, 'it does not begin anew')
  await page.close()
})
