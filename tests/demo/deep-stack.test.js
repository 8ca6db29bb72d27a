// A deep stack with and without layer norm, and its training in a worker.

/** @import { KeyInput, Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { Stack } from '../../web/demo/src/sections/deep-stack/stack.js'
import { drift, flow, learning, short } from '../../web/demo/src/sections/deep-stack/words.js'
import { golden } from '../lib/support.js'
import {
  assertOnScreen,
  click,
  drag,
  dragNumber,
  eventually,
  field,
  focus,
  matched,
  press,
  problem,
  SCREENS,
  test,
  text,
  type,
  useSite,
  value,
} from './browser.js'

const site = useSite()

const READY = '#deep-stack [aria-busy=false]'
const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=deep-stack${query}`, { ready: READY, ...options })
/** The two verdicts: on the gradient and on the training. */
const said = (/** @type {Page} */ page) =>
  page.$$eval('#deep-stack .verdict', (all) => all.map((one) => one.textContent.replace(/\s+/g, ' ').trim()))
const step = (/** @type {Page} */ page) =>
  text(page, '#deep-stack .count').then((count) => Number(matched(/step (\d+)/, count)))
const sentences = (/** @type {Page} */ page) =>
  page.$$eval('#deep-stack svg[role=img]', (charts) => charts.map((chart) => chart.ariaLabel ?? ''))
/** The activation and the speed. @param {Page} page */
const choices = (page) => page.$$eval('#deep-stack select', (all) => all.map((one) => one.value))
/** Waits until at least n steps are done. @param {Page} page @param {number} n */
const until = (page, n) =>
  page.waitForFunction(
    (n) =>
      Number(/step (\d+)/.exec(document.querySelector('#deep-stack .count')?.textContent ?? '')?.[1]) >= n,
    {},
    n,
  )
/** Waits until the button that runs the training has a label. @param {Page} page @param {string} label */
const untilButton = (page, label) =>
  page.waitForFunction(
    (label) => document.querySelector('#deep-stack .run button')?.textContent.trim() === label,
    {},
    label,
  )
/** The number of workers that train; other sections have their own. */
const labs = (/** @type {Page} */ page) =>
  page.workers().filter((worker) => /\/deep-stack\.worker-[^/]*$/.test(worker.url())).length
const settled = (/** @type {Page} */ page) =>
  page.waitForFunction(() => !document.querySelector('#deep-stack [aria-busy=true]'))

/** @param {Page} page @param {string} name of a button */
const pressButton = (page, name) =>
  click(page, `#deep-stack ::-p-xpath(.//button[normalize-space()="${name}"])`)

/**
 * Replaces a number and waits for its stacks.
 *
 * @param {Page} page
 * @param {string} label
 * @param {string} text
 */
async function typeSettled(page, label, text) {
  await type(page, label, text)
  await settled(page)
}

/** @param {number[]} found @param {number[]} expected @param {number} tolerance relative to `sizes` */
function allNear(found, expected, tolerance, sizes = expected) {
  assert.equal(found.length, expected.length)
  found.forEach((one, i) => {
    const error = Math.abs(one - expected[i]) / Math.abs(sizes[i])
    assert.ok(error <= tolerance, `${i}: ${one}, expected ${expected[i]}`)
  })
}

for (const { settings, ...both } of golden('page_deep_stack')) {
  test(`activations, gradients and losses are PyTorch’s: ${Object.values(settings)}`, async () => {
    const gpt = await load()
    for (const [key, expected] of Object.entries(both)) {
      const stack = new Stack(gpt, settings, { norm: key === 'with' })
      const { loss, means, deviations, gradients } = stack.measure()
      allNear(deviations, expected.deviations, 1e-5)
      allNear(means, expected.means, 1e-5, expected.deviations)
      allNear(gradients, expected.gradients, 5e-4)
      // Adam turns the signs of tiny gradients into full steps, so float32 and float64 soon differ at 50
      // layers.
      const [count, tolerance] = settings.depth < 50 ? [6, 1e-4] : [2, 1e-3]
      const losses = [loss]
      while (losses.length < count) {
        stack.step()
        losses.push(stack.measure().loss)
      }
      allNear(losses, expected.losses.slice(0, count), tolerance)
      stack.dispose()
    }
  })
}

testInNode('the sentences follow from the numbers', () => {
  const one = (/** @type {number[]} */ gradients, loss = 1, deviations = gradients.map(() => 1)) => ({
    loss,
    gradients,
    deviations,
    means: gradients.map(() => 0),
  })
  assert.deepEqual(flow(one([1e-6, 1e-3, 1])), {
    kind: 'vanishes',
    why: 'each layer passes back 0.0010 of it on average, and only 1.0·10⁻⁶ of what layer 3 gets comes to layer 1',
  })
  assert.deepEqual(flow(one([1e6, 1e3, 1])), {
    kind: 'explodes',
    why: 'each layer multiplies it by 1000 on average, and at layer 1 it is 1.0·10⁶ times layer 3’s',
  })
  assert.equal(flow(one([2, 1, 1])).kind, 'keeps its size')
  assert.match(flow(one([0, 1e-40, 1])).why, /too small for float32, and reads 0/)
  assert.match(flow(one([0, 0, 0], 1, [1, 0, 0])).why, /from layer 2 on the signal is 0/)
  assert.match(
    flow(one([NaN, NaN, NaN], NaN, [1, Infinity, NaN])).why,
    /forward the signal passes 3\.4·10³⁸.* in layer 2/,
  )
  assert.match(flow(one([NaN, Infinity, 1])).why, /back the gradient passes .* in layer 2/)
  assert.match(flow(one([1, 1, 1], Infinity)).why, /^the loss, a mean of squares, passes/)

  const history = (/** @type {number[]} */ ...losses) => losses.map((loss) => one([1, 1], loss))
  const long = Array(60).fill(1)
  assert.equal(learning(history(1.5)), 'begins with a loss of 1.5')
  assert.equal(learning(history(1.5, 0.1)), 'trains: its loss came from 1.5 to 0.10')
  assert.equal(learning(history(1.5, 0.7)), 'learns slowly: its loss came from 1.5 to 0.70')
  assert.equal(learning(history(1, 1)), 'has learnt nothing yet: its loss is 1.0')
  assert.equal(learning(history(...long)), 'does not learn: its loss is 1.0, no better than guessing')
  assert.match(
    learning(history(1e12, 1e6)),
    /^is worse than guessing: its loss came from 1\.0·10¹² to 1\.0·10⁶$/,
  )
  assert.match(
    learning(history(1, 1e-6, 0.2)),
    /^trains, and loses it again: .* to 1\.0·10⁻⁶, and is 0\.20 now$/,
  )
  assert.match(learning(history(1, NaN, NaN)), /^stopped after step 1: the loss/)
  assert.match(learning(history(Infinity)), /^cannot begin: the loss/)
  assert.deepEqual(drift([one([1]), { ...one([1], 1, [2]), means: [-0.5] }], 1), [
    'μ 0 → −0.500',
    'σ 1.00 → 2.00',
  ])
  assert.deepEqual(
    [short(0), short(-250.4), short(9999), short(12345), short(-9.51e-12)],
    ['0', '−250', '9999', '1.2·10⁴', '−9.5·10⁻¹²'],
  )
})

test('the page shows what the package computes and says in words whether the gradient vanishes', async () => {
  const { page, complaints } = await show()
  const gpt = await load()
  /** @type {[string, number][]} */
  const gains = [
    ['', 0.58],
    ['2', 2],
    ['1.41', 1.41],
  ]
  for (const [typed, gain] of gains) {
    if (typed) await typeSettled(page, 'gain', typed)
    const settings = { depth: 30, gain, activation: /** @type {const} */ ('relu'), seed: 123 }
    const [without, withNorm] = [false, true].map((norm) => {
      const stack = new Stack(gpt, settings, { norm })
      const found = stack.measure()
      stack.dispose()
      return found
    })
    const [verdict] = await said(page)
    assert.ok(
      verdict.includes(`Without layer norm the gradient ${flow(without).kind}: ${flow(without).why}.`),
      verdict,
    )
    assert.ok(verdict.includes(`With it, the gradient keeps its size: ${flow(withNorm).why}.`), verdict)
    const [signal, gradient] = await sentences(page)
    const three = (/** @type {number[]} */ all) => [all[0], all[14], all[29]].map((one) => short(one))
    const numbers = (/** @type {string} */ sentence) =>
      sentence.match(/(?<=(: |, ))−?[\d.]+(·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?(?= in layer|[,.])/g)
    assert.deepEqual(numbers(signal), [...three(without.deviations), ...three(withNorm.deviations)], signal)
    assert.deepEqual(numbers(gradient), [...three(without.gradients), ...three(withNorm.gradients)], gradient)
  }
  assert.deepEqual(complaints, [])
  await page.close()
})

test('200 steps train the stack with layer norm, and not the one without', async () => {
  const { page, complaints } = await show()
  await pressButton(page, 'the one with it')
  assert.match(await text(page, '#deep-stack .answer'), /Press train/)
  await pressButton(page, 'train')
  await until(page, 200)
  assert.match(
    (await said(page))[1],
    /^Without layer norm the stack does not learn: its loss is 1\.0, no better than guessing\. With layer norm it trains: its loss came from 1\.2 to /,
  )
  assert.match(await text(page, '#deep-stack .answer'), /With it, the stack trains/)
  const [, , loss, without, withNorm] = await sentences(page)
  assert.match(loss, /Without layer norm, the stack does not learn: .* With layer norm, it trains/)
  assert.match(without, /layer 15’s activation, without layer norm: μ .* to .*, σ .* to /)
  assert.match(withNorm, /σ 1\.00 to (0\.99\d|1\.0\d)\.$/)
  await pressButton(page, 'train again')
  await until(page, 3)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the training can be paused, continued, stepped and reset', async () => {
  // At this speed 200 steps take 50 seconds, so that the training does not end before the test has paused it.
  const { page } = await show('&deep-stack.depth=10&deep-stack.speed=slow')
  await pressButton(page, 'train')
  await until(page, 2)
  await pressButton(page, 'pause')
  await untilButton(page, 'train')
  const paused = await step(page)
  await pressButton(page, 'one step')
  await until(page, paused + 1)
  const at = await step(page)
  assert.ok(at <= paused + 2, 'one step may have been under way')
  await pressButton(page, 'one step')
  await until(page, at + 1)
  assert.equal(await step(page), at + 1)
  await pressButton(page, 'reset')
  assert.equal(await step(page), 0)
  assert.match((await said(page))[1], /begins with a loss of/)
  await focus(page, '#deep-stack .run button') // by keyboard
  await page.keyboard.press('Space')
  await until(page, 2)
  await page.keyboard.press('Space')
  await untilButton(page, 'train')
  // A changed stack starts from its first step.
  await typeSettled(page, 'layers', '8')
  assert.equal(await step(page), 0)
  await page.close()
})

test('two runs give the same numbers', async () => {
  const { page } = await show('&deep-stack.depth=6')
  const runs = []
  for (const name of ['train', 'train again']) {
    await pressButton(page, name)
    await untilButton(page, 'train again')
    runs.push(await said(page))
  }
  assert.equal(await step(page), 200)
  assert.deepEqual(runs[0], runs[1])
  await page.close()
})

test('the worker ends when the section leaves the screen, and a new one continues the training', async () => {
  const { page } = await site.open('?deep-stack.depth=6&deep-stack.speed=slow#deep-stack', { ready: READY })
  await page.$eval('#deep-stack', (section) => section.scrollIntoView())
  await pressButton(page, 'train')
  await until(page, 3)
  assert.equal(labs(page), 1)
  await page.evaluate(() => scrollTo(0, 0))
  await untilButton(page, 'train')
  await eventually(() => labs(page) === 0, 'the worker goes on')
  const at = await step(page)
  const before = await said(page)
  await page.$eval('#deep-stack', (section) => section.scrollIntoView())
  assert.deepEqual(await said(page), before)
  await pressButton(page, 'one step')
  await until(page, at + 1)
  assert.equal(await step(page), at + 1)
  const after = await said(page)
  // The same number of steps without a break.
  await pressButton(page, 'reset')
  for (let i = 1; i <= at + 1; i++) {
    await pressButton(page, 'one step')
    await until(page, i)
  }
  assert.deepEqual(await said(page), after)
  await page.close()
})

test('an embedded section’s worker ends with its frame', async () => {
  const { page } = await show('&deep-stack.depth=4')
  assert.equal(labs(page), 1)
  await page.goto('about:blank')
  await eventually(() => labs(page) === 0, 'the worker goes on')
  await page.close()
})

test('overflow is described in words, and NaN appears nowhere', async () => {
  const { page, complaints } = await show('&deep-stack.depth=50&deep-stack.gain=4&deep-stack.activation=none')
  assert.match(
    (await said(page))[0],
    /Without layer norm the gradient explodes: the loss, a mean of squares, passes 3\.4·10³⁸, the largest number that float32 has\. With it, the gradient keeps its size/,
  )
  await pressButton(page, 'one step')
  await until(page, 1)
  assert.match((await said(page))[1], /Without layer norm the stack cannot begin: the loss/)
  assert.doesNotMatch(
    await page.$eval('#deep-stack', (section) => section.outerHTML),
    /NaN|Infinity|undefined/,
  )
  await typeSettled(page, 'gain', '0.2')
  assert.match((await said(page))[0], /Without layer norm the gradient vanishes/)
  assert.doesNotMatch(
    await page.$eval('#deep-stack', (section) => section.outerHTML),
    /NaN|Infinity|undefined/,
  )
  assert.deepEqual(complaints, [])
  await page.close()
})

test('after many quick changes the last one is shown', async () => {
  const { page } = await show()
  await focus(page, field('gain'))
  for (let i = 0; i < 12; i++) await page.keyboard.press('ArrowUp')
  assert.equal(await value(page, 'gain'), 1.18)
  await settled(page)
  const quick = await said(page)
  await page.close()
  const slow = await show('&deep-stack.gain=1.18')
  assert.deepEqual(quick, await said(slow.page))
  await slow.page.close()
})

test('every setting can be changed by keyboard and by mouse, and each change undone', async () => {
  const { page, complaints } = await show()
  /** @type {[string, number, [KeyInput[], number][]][]} */
  const settings = [
    [
      'layers',
      30,
      [
        [['ArrowUp'], 31],
        [['Shift', 'ArrowUp'], 41],
        [['Alt', 'ArrowDown'], 40],
        [['Shift', 'ArrowUp'], 50],
      ],
    ],
    [
      'gain',
      0.58,
      [
        [['ArrowUp'], 0.63],
        [['Shift', 'ArrowUp'], 1.13],
        [['Alt', 'ArrowDown'], 1.125],
      ],
    ],
    [
      'seed of the weights',
      123,
      [
        [['ArrowDown'], 122],
        [['Shift', 'ArrowUp'], 132],
      ],
    ],
  ]
  for (const [label, first, keys] of settings) {
    await focus(page, field(label))
    for (const [pressed, expected] of keys) {
      await press(page, ...pressed)
      assert.equal(await value(page, label), expected, `${label} ${pressed}`)
    }
    for (const _ of keys) await press(page, 'Control', 'z')
    assert.equal(await value(page, label), first)
    await dragNumber(page, label, 40)
    assert.notEqual(await value(page, label), first, label)
    await press(page, 'Control', 'z')
    assert.equal(await value(page, label), first)
  }
  await focus(page, '#deep-stack select[aria-label=activation]')
  await page.keyboard.type('G')
  await settled(page)
  assert.equal((await choices(page))[0], 'gelu')
  await press(page, 'Control', 'z')
  assert.equal((await choices(page))[0], 'relu')
  for (const [name, kind] of [
    ['exploding', 'explodes'],
    ['neither', 'keeps its size'],
    ['overflow', 'explodes'],
    ['vanishing', 'vanishes'],
  ]) {
    await pressButton(page, name)
    await settled(page)
    assert.ok((await said(page))[0].startsWith(`Without layer norm the gradient ${kind}:`), name)
  }
  await typeSettled(page, 'gain', '9')
  await page.keyboard.press('Enter')
  assert.match(await problem(page), /“9” cannot stand for gain, which stays 0\.58/)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the cursor on the layers can be dragged and stepped, and undo does not move it', async () => {
  const { page, complaints } = await show()
  const sliders = await page.$$('#deep-stack .slider')
  assert.equal(sliders.length, 2)
  const at = () => page.$eval('#deep-stack .slider', (slider) => Number(slider.ariaValueNow))
  for (const slider of sliders) {
    await drag(page, slider, ({ x, y, width }) => ({ from: x + 5, to: x + width, y: y + 40 }))
    assert.equal(await at(), 30)
    await slider.focus()
    await page.keyboard.press('Home')
    assert.equal(await at(), 1)
    await press(page, 'ArrowRight')
    await press(page, 'Shift', 'ArrowRight')
    assert.equal(await at(), 12)
    await press(page, 'Alt', 'ArrowLeft')
    assert.equal(await at(), 11)
  }
  await typeSettled(page, 'layers', '9')
  assert.equal(await at(), 9) // the stack has no 11th layer
  await press(page, 'Control', 'z')
  await settled(page)
  assert.equal(await at(), 11)
  assert.match((await sentences(page)).at(-1) ?? '', /into layer 11’s activation/)
  await page.waitForFunction(() => /deep-stack\.layer=11/.test(location.search))
  // Typing 20 passes through a stack of 2 layers.
  await focus(page, field('layers'))
  await page.keyboard.type('2')
  await settled(page)
  await page.keyboard.press('End')
  await page.keyboard.press('0')
  assert.doesNotMatch(
    await page.$eval('#deep-stack', (section) => section.textContent),
    /too large|NaN|undefined/,
  )
  await settled(page)
  assert.equal(await at(), 11)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the address restores every setting; invalid values are named', async () => {
  const { page } = await show(
    '&deep-stack.depth=12&deep-stack.gain=1.5&deep-stack.activation=gelu&deep-stack.seed=7&deep-stack.layer=40&deep-stack.speed=slow',
  )
  assert.deepEqual(
    [await value(page, 'layers'), await value(page, 'gain'), await value(page, 'seed of the weights')],
    [12, 1.5, 7],
  )
  assert.deepEqual(await choices(page), ['gelu', 'slow'])
  // The stack has no 40th layer.
  assert.equal(await page.$eval('#deep-stack .slider', (slider) => slider.ariaValueText), 'layer 12')
  await page.close()
  const bad = await show('&deep-stack.depth=51&deep-stack.activation=tanh')
  assert.match(
    await problem(bad.page),
    /deep-stack\.depth=51, deep-stack\.activation=tanh, which means nothing/,
  )
  assert.equal(await value(bad.page, 'layers'), 30)
  await bad.page.close()
})

for (const [width, height] of SCREENS) {
  test(`at ${width} by ${height} the section fits the screen, and the console stays empty`, async () => {
    const features = {
      'prefers-reduced-motion': 'reduce',
      'prefers-color-scheme': width > 1300 ? 'dark' : 'light',
    }
    const opened = await show('&deep-stack.depth=50&deep-stack.gain=4&deep-stack.activation=gelu', {
      width,
      height,
      features,
    })
    const { page } = opened
    await pressButton(page, 'both')
    for (let i = 1; i <= 2; i++) {
      await pressButton(page, 'one step')
      await until(page, i)
    }
    await assertOnScreen(opened, 'deep-stack', width, height)
    await page.close()
  })
}
