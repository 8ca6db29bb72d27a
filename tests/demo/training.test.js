// Two small GPTs, with layer norms and without, learn to sort letters; and what a plain stack does to a row.

/** @import { Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import * as gpt from 'gpt-layers'
import {
  ANSWER,
  QUESTION,
  STACK,
  stack,
  STEPS,
  Training,
} from '../../build/demo/sections/training/compute.js'
import { FINDINGS, LARGE, SMALL } from '../../build/demo/sections/training/findings.js'
import { assertClose, golden, unpack } from '../lib/support.js'
import { click, drawn, eventually, focus, press, test, text, useSite } from './browser.js'

const site = useSite()

const GUESSING = Math.log(6)
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
    both.dispose()
  })

testInNode('in the plain stacks small weights shrink σ, and large ones stretch it; σ is PyTorch’s', () => {
  const [small, large] = stacks.map((/** @type {any} */ { gain, deviations }) => {
    const found = stack(gain).map(({ deviation }) => deviation)
    assertClose(gpt.tensor(found), deviations, 2e-6)
    return found
  })
  assert.deepEqual([stacks[0].gain, stacks[1].gain], [STACK.small, STACK.large])
  for (let i = 1; i < STACK.layers.length; i++)
    assert.ok(small[i] < small[i - 1] / 2 && large[i] > large[i - 1])
})

/** @type {Map<number, { with: number, without: number, answers: { with: string, without: string } }>} */
const trained = new Map()
/**
 * The mean loss of the last ten steps, as the page writes it, and the answers. The page trains in the same build
 * from the same seed: these are its numbers.
 *
 * @param {number} index of the finding
 */
function train(index, steps = STEPS) {
  const before = trained.get(index)
  if (before) return before
  const both = new Training(FINDINGS[index].settings)
  const losses = Array.from({ length: steps }, () => both.step()).slice(-10)
  const mean = (/** @type {'with' | 'without'} */ key) => losses.reduce((sum, one) => sum + one[key], 0) / 10
  const found = { with: mean('with'), without: mean('without'), answers: both.answers() }
  both.dispose()
  trained.set(index, found)
  return found
}

/** For each finding: the number of steps to train, and the condition that its sentence states. */
const CLAIMS = /** @type {[string, number, (found: ReturnType<typeof train>) => boolean][]} */ ([
  [
    'Both learn: with small steps, three blocks need no norms.',
    STEPS,
    ({ answers, ...loss }) =>
      answers.with === ANSWER && answers.without === ANSWER && loss.with < 0.2 && loss.without < 0.2,
  ],
  [
    'Both learn: with shortcuts and small steps, depth alone needs no norms.',
    60, // because a step takes long
    (loss) => loss.with < GUESSING / 2 && loss.without < GUESSING / 2,
  ],
  [
    'Only the GPT with norms learns. Without them the loss explodes.',
    STEPS,
    ({ answers, ...loss }) => answers.with === ANSWER && loss.with < GUESSING / 3 && loss.without > 1000,
  ],
  [
    'From weights as small as GPT-2’s, the GPT with norms learns much faster: its loss is below a third.',
    STEPS,
    (loss) => loss.with < loss.without / 3,
  ],
])
for (const [i, [says, steps, holds]] of CLAIMS.entries())
  testInNode(says, () => {
    assert.equal(FINDINGS[i].says, says)
    const found = train(i, steps)
    assert.ok(holds(found), JSON.stringify(found))
  })

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

test('the page shows the losses and answers of the same training; its guess shows the large steps', async () => {
  const { page, complaints } = await show()
  const factors = /by ([\d.]+) if .* by ([\d.]+) if they are large/.exec(
    await text(page, '#training .text p'),
  )
  for (const [i, gain] of [STACK.small, STACK.large].entries()) {
    const [first, , , last] = stack(gain).map(({ deviation }) => deviation)
    assert.equal(factors?.[i + 1], ((last / first) ** (1 / 7)).toPrecision(2))
  }
  await untilTrained(page)
  const [small, large] = [train(0), train(2)]
  const names = ['with norms', 'without norms']
  const sorted = [names[0], spaced(ANSWER), `loss ${small.with.toFixed(2)}`]
  const alone = [names[1], spaced(ANSWER), `loss ${small.without.toFixed(2)}`]
  assert.deepEqual(await answers(page), ['to sort', spaced(QUESTION), '', ...sorted, ...alone])
  await click(page, '#training .guess button')
  await untilTrained(page)
  assert.match(await text(page, '#training .finding'), /^Only the GPT with norms learns/)
  assert.equal((LARGE.rate / SMALL.rate).toFixed(6), '20.000000') // as the question says
  assert.deepEqual((await answers(page)).slice(3), [
    ...[names[0], spaced(ANSWER), `loss ${large.with.toFixed(2)}`],
    ...[names[1], spaced(large.answers.without), 'loss over 1000'],
  ])
  assert.doesNotMatch(await page.$eval('#training', ({ outerHTML }) => outerHTML), /NaN|Infinity|undefined/)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('with reduced motion the curves come as a whole; a finding is said of its settings only', async () => {
  const options = { features: { 'prefers-reduced-motion': 'reduce' }, first: holdWorkers }
  const { page } = await show('', options)
  const lengths = () =>
    page.$$eval('#training path.curve', (all) =>
      all.map((one) => (one.getAttribute('d') ?? '').split('L').length),
    )
  /** @type {Set<number>} */
  const seen = new Set()
  await eventually(async () => {
    for (const length of await lengths()) seen.add(length)
    await page.evaluate('asked.reply()')
    return seen.has(STEPS)
  }, 'no curve came')
  assert.deepEqual([...seen], [1, STEPS])
  await focus(page, RATE)
  await press(page, 'Home')
  assert.deepEqual(await lengths(), [1, 1])
  assert.equal(await text(page, '#training .finding'), '')
  await page.close()
})

/** Workers that count what they are asked, and answer when `reply` is called; in the page. */
function holdWorkers() {
  /** @type {(() => void)[]} */
  const waiting = []
  const asked = { count: 0, reply: () => waiting.splice(0).forEach((answer) => answer()) }
  class Held extends EventTarget {
    constructor() {
      super()
      setTimeout(() => this.dispatchEvent(new MessageEvent('message', { data: 'started' })))
    }
    terminate() {}
    start() {}
    postMessage(/** @type {{ id: string, path?: string[] }} */ { id, path }) {
      if (!path) return
      asked.count++
      const value = path[0] === 'steps' ? Array(5).fill({ with: 1, without: 1 }) : { with: 'a', without: 'b' }
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
