// A deep stack with and without layer norm, and its training in a worker.

/** @import { Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { Stack } from '../../build/demo/sections/deep-stack/stack.js'
import { factorOf, learning, power, short, told, travel } from '../../build/demo/sections/deep-stack/words.js'
import { golden, unpack } from '../lib/support.js'
import {
  click,
  eventually,
  focus,
  newPage,
  openMenu,
  press,
  test,
  text,
  type,
  useSite,
  waitInPage,
} from './browser.js'
import { countKernels, kernels } from './kernels.js'

const site = useSite({ saves: true })

const GAIN = '#deep-stack input[type=range]'
/** The section at rest. */
const show = (query = '', /** @type {OpenOptions} */ options = {}) =>
  site.open(`?embed=deep-stack${query}`, {
    ready: GAIN,
    features: { 'prefers-reduced-motion': 'reduce' },
    ...options,
  })
const gain = (/** @type {Page} */ page) => page.$eval(GAIN, (input) => Number(input.value))
/** What the figure says of the gradient and the training. */
const said = (/** @type {Page} */ page) => text(page, '#deep-stack .said')
/** The charts in words: the rows without and with, the signal, the gradient, the loss. @param {Page} page */
const sentences = (page) =>
  page.$$eval('#deep-stack .figure svg[role=img]', (charts) => charts.map((chart) => chart.ariaLabel ?? ''))
/** @param {Page} page @param {string} name of a button */
const pressButton = (page, name) =>
  click(page, `#deep-stack ::-p-xpath(.//button[normalize-space()="${name}"])`)
/** Waits until the figure says something. @param {Page} page @param {RegExp} pattern */
const untilSaid = (page, pattern) =>
  page.waitForFunction(
    (source) => {
      const said = document.querySelector('#deep-stack .said')?.textContent ?? ''
      return new RegExp(source).test(said.replace(/\s+/g, ' '))
    },
    {},
    pattern.source,
  )
/** Waits until the size of the weights has come to rest. @param {Page} page @param {number} at */
const untilAt = (page, at) =>
  page.waitForFunction(
    (at) => document.querySelector('#deep-stack output')?.textContent === at,
    {},
    `${at.toFixed(2)}/√inputs`,
  )
/** The number of workers that train; other sections have their own. */
const labs = (/** @type {Page} */ page) =>
  page.workers().filter((worker) => /\/deep-stack\.worker-[^/]*$/.test(worker.url())).length
/** Replaces the workers by ones that never answer. @param {Page} page */
const withoutWorkers = (page) =>
  page.evaluateOnNewDocument(() => {
    Object.assign(window, { Worker: EventTarget })
    Object.assign(EventTarget.prototype, { postMessage() {}, terminate() {} })
  })

/** @param {number[]} found @param {ArrayLike<number>} expected @param {number} tolerance relative to `sizes` */
function allNear(found, expected, tolerance, sizes = expected) {
  assert.equal(found.length, expected.length)
  found.forEach((one, i) => {
    const error = Math.abs(one - expected[i]) / Math.abs(sizes[i])
    assert.ok(error <= tolerance, `${i}: ${one}, expected ${expected[i]}`)
  })
}

for (const { settings, ...both } of golden('page_deep_stack')) {
  testInNode(`activations, gradients and losses are PyTorch’s: ${Object.values(settings)}`, async () => {
    const gpt = await load()
    for (const [key, packed] of Object.entries(both)) {
      const expected = Object.fromEntries(
        Object.entries(packed).map(([name, values]) => [name, unpack(values)]),
      )
      const stack = new Stack(gpt, settings, { norm: key === 'with' })
      const { loss, means, deviations, gradients } = stack.measure()
      allNear(deviations, expected.deviations, 1e-5)
      allNear(means, expected.means, 1e-5, expected.deviations)
      allNear(gradients, expected.gradients, 5e-4)
      const losses = [loss]
      while (losses.length < expected.losses.length) {
        stack.step()
        losses.push(stack.measure().loss)
      }
      allNear(losses, expected.losses, 1e-4)
      stack.dispose()
    }
  })
}

testInNode('the sentences follow from the numbers', () => {
  assert.deepEqual(travel([1, 0.1, 0.01, 0.001]).kind, 'vanishes')
  assert.equal(travel([2, 0.1, 0.01]).left, 0.005)
  assert.equal(told([1, 1e-3, 1e-6]), 'vanishes: in the end 1.0·10⁻⁶ of it is left')
  assert.equal(told([1, 1e3, 1e6]), 'explodes: in the end it is 1.0·10⁶ times as large')
  assert.equal(told([2, 1, 1]), 'keeps its size: in the end 0.50 of it is left')
  assert.equal(told([1, 0.5, 0.05]), 'shrinks: in the end 0.050 of it is left')
  assert.equal(told([1, 5, 50]), 'grows: in the end it is 50 times as large')
  assert.match(told([1, 1e-30, 0]), /^vanishes: it is too small for float32/)
  assert.match(told([1, Infinity, NaN]), /^explodes: it passes 3\.4·10³⁸/)
  assert.match(told([Infinity, Infinity]), /^explodes/)

  assert.equal(learning([1.5]), 'begins with a loss of 1.5')
  assert.equal(learning([1.5, 0.1]), 'learns: its loss falls from 1.5 to 0.10')
  assert.equal(learning([1.5, 0.7]), 'learns slowly: its loss falls from 1.5 to 0.70')
  assert.equal(learning([1, 1]), 'has learned nothing yet: its loss is 1.0')
  assert.equal(learning(Array(60).fill(1)), 'does not learn: its loss is 1.0, no better than guessing')
  assert.equal(learning([1e12, 1e6]), 'is worse than guessing: its loss falls from 1.0·10¹² to 1.0·10⁶')
  assert.equal(learning([1, 5]), 'is worse than guessing: its loss rises from 1.0 to 5.0')
  assert.equal(learning([5, 5]), 'is worse than guessing: its loss is 5.0')
  assert.equal(
    learning([1, 1e-6, 0.8]),
    'learns and forgets: its loss falls from 1.0 to 1.0·10⁻⁶, then rises to 0.80',
  )
  assert.equal(learning([0.7, 0.8]), 'has learned nothing yet: its loss is 0.80')
  assert.equal(learning(Array(60).fill(0.8)), 'does not learn: its loss is 0.80')
  assert.match(learning([1, NaN, NaN]), /^stops after step 1: its loss is too large/)
  assert.match(learning([Infinity]), /^cannot begin: its loss is too large/)

  assert.deepEqual(
    [short(0), short(-250.4), short(9999), short(12345), short(-9.51e-12), short(NaN)],
    ['0', '−250', '9999', '1.2·10⁴', '−9.5·10⁻¹²', 'too large'],
  )
  assert.deepEqual([1e-12, 1e-5, 1e-2, 0.1, 1, 10, 100, 1000, 1e12].map(power), [
    '10⁻¹²',
    '10⁻⁵',
    '10⁻²',
    '0.1',
    '1',
    '10',
    '100',
    '10³',
    '10¹²',
  ])
})

testInNode('the power of a printed factor is what is printed', () => {
  assert.deepEqual([factorOf(5.08e-12, 29), factorOf(1, 29)], ['0.408', '1'])
  for (let layers = 1; layers < 50; layers++) {
    for (let exponent = -37; exponent < 38; exponent += 0.31) {
      const left = 10 ** exponent
      const factor = factorOf(left, layers)
      assert.equal(short(Number(factor) ** layers), short(left), `${factor} to the power of ${layers}`)
    }
  }
})

test('the figure shows what the stacks measure, and the gradient from the last layer on', async () => {
  const { page, complaints } = await show()
  const gpt = await load()
  for (const [example, gain] of /** @type {const} */ ([
    ['exploding', 2],
    ['vanishing', 0.58],
  ])) {
    await pressButton(page, example)
    const [off, on] = [false, true].map((norm) =>
      new Stack(gpt, { depth: 30, gain, activation: 'relu', seed: 123 }, { norm }).measure(),
    )
    const both = { without: off, with: on }
    const [without, withNorm, signal, gradient] = await sentences(page)
    for (const [sentence, { deviations }] of /** @type {const} */ ([
      [without, both.without],
      [withNorm, both.with],
    ])) {
      for (const layer of [1, 2, 3, 5, 10, 20, 30])
        assert.ok(sentence.includes(`${short(deviations[layer - 1])} in layer ${layer}`), sentence)
    }
    assert.ok(signal.includes(`Without layer norm it ${told(both.without.deviations)}.`), signal)
    assert.ok(signal.includes(`With layer norm it ${told(both.with.deviations)}.`), signal)
    assert.ok(
      gradient.includes(`Without layer norm it ${told(both.without.gradients.toReversed())}.`),
      gradient,
    )
    assert.match(gradient, /With layer norm it keeps its size/)
    const product = await text(page, '#deep-stack .product')
    const [, factor, left] = / = ([\d.]+)²⁹ ≈ (\S+)$/.exec(product) ?? []
    assert.equal(left, short(travel(both.without.deviations).left))
    assert.equal(left, short(Number(factor) ** 29))
  }
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the signal’s axis counts the layers forward, and the gradient’s backward', async () => {
  const { page } = await show()
  const axes = await page.$$eval('#deep-stack .charts svg', (charts) =>
    charts.map((chart) => {
      const ticks = [...chart.querySelectorAll('.tick:not(.name)')]
      const sorted = ticks.toSorted((a, b) => Number(a.getAttribute('x')) - Number(b.getAttribute('x')))
      return [...sorted, chart.querySelector('.name')].map((text) => text?.textContent)
    }),
  )
  assert.deepEqual(axes, [
    ['1', '15', '30', 'layer'],
    ['30', '15', '1', 'layer, going back'],
    ['0', '100', '200', 'step'],
  ])
  await page.close()
})

test('the first frame is whole before any worker has answered', async () => {
  const page = await newPage(site.browser)
  await withoutWorkers(page)
  await page.goto(`${site.url}?embed=deep-stack`)
  await page.waitForSelector(GAIN)
  const curves = await page.$$eval('#deep-stack .figure path.curve', (all) =>
    all.map((one) => (one.getAttribute('d') ?? '').split('L').length),
  )
  assert.deepEqual(curves, [30, 30, 30, 30, 30, 30, 1, 1])
  assert.match(await said(page), /The stack begins with a loss of 1\.0\. With layer norm it begins with/)
  await page.close()
})

test('on arrival both stacks train; the one with layer norm learns', async () => {
  const { page, complaints } = await show()
  await untilSaid(page, /The stack does not learn: .* With layer norm it learns:/)
  assert.match(
    await said(page),
    /^Without layer norm the gradient vanishes: .* The stack does not learn: its loss is 1\.0, no better than guessing\. With layer norm it learns: its loss falls from 1\.2 to /,
  )
  const loss = (await sentences(page))[4]
  assert.match(loss, /Without layer norm the stack does not learn: .* With it, the stack learns/)
  // With weights of the right size both learn, and only the norm holds the signal's size.
  await pressButton(page, 'just right')
  await untilSaid(page, /The stack learns: .* With layer norm it learns:.*Meanwhile/)
  const words = await said(page)
  assert.match(words, /the gradient keeps its size/)
  const [, ...widths] =
    /σ in layer 30 went from (\S+) to (\S+) without, from (\S+) to (\S+) with/.exec(words) ?? []
  const gpt = await load()
  const settings = { depth: 30, gain: 1.41, activation: /** @type {const} */ ('relu'), seed: 123 }
  const first = new Stack(gpt, settings, { norm: false }).measure().deviations[29]
  allNear(widths.slice(0, 1).map(Number), [first], 0.05)
  assert.ok(Number(widths[1]) > 1.3 * Number(widths[0]), words)
  assert.deepEqual(widths.slice(2), ['1.0', '1.0'])
  assert.deepEqual(complaints, [])
  await page.close()
})

test('a fifth less and a quarter more are measured, and drawn beside the signal', async () => {
  const { page } = await show('&deep-stack.gain=1.41')
  const gpt = await load()
  const settings = { depth: 30, gain: 1.41, activation: /** @type {const} */ ('relu'), seed: 123 }
  const [less, now, more] = [0.8, 1, 1.25].map((times) => {
    const stack = new Stack(gpt, { ...settings, gain: 1.41 * times }, { norm: false })
    return travel(stack.measure().deviations).left
  })
  allNear([less / now, more / now], [0.8 ** 29, 1.25 ** 29], 1e-4)
  assert.match(
    await text(page, '#deep-stack .text'),
    /a fifth less .* 0\.8²⁹ ≈ 0\.0015 of the signal, a quarter more makes it 1\.25²⁹ ≈ 646 times/,
  )
  const names = await page.$$eval('#deep-stack .charts svg', ([signal]) =>
    [...signal.querySelectorAll('.end')].map(({ textContent }) => textContent),
  )
  assert.deepEqual(names, ['without', 'with', '× 0.8', '× 1.25'])
  await page.close()
})

test('a gradient that vanishes and a stack that learns are no contradiction', async () => {
  const { page } = await show('&deep-stack.gain=1.13')
  await untilSaid(
    page,
    /Without layer norm the gradient vanishes: .* left\. Yet the stack learns: .*, because AdamW/,
  )
  await page.close()
})

test('a guess doubles the weights: the rows with layer norm stay', async () => {
  const { page } = await show('', { features: {} })
  const [narrow, before] = await sentences(page)
  await pressButton(page, 'they explode')
  assert.match(await text(page, '#deep-stack .answer'), /^Not quite: nothing\. Twice the weights/)
  assert.equal(await gain(page), 1.16)
  await untilAt(page, 1.16)
  const [wide, after] = await sentences(page)
  assert.equal(after, before)
  assert.notEqual(wide, narrow)
  await press(page, 'Control', 'z')
  assert.equal(await gain(page), 0.58)
  await page.close()
})

test('a step of the slider computes each stack once: forward and backward, and forward with other weights', async () => {
  const { page } = await show('', { first: countKernels })
  await focus(page, GAIN)
  const before = await kernels(page)
  const [rows] = await sentences(page)
  await page.keyboard.press('ArrowRight')
  assert.equal(await gain(page), 0.59)
  assert.notEqual((await sentences(page))[0], rows)
  const now = await kernels(page)
  const calls = (/** @type {string} */ name) => now[name] - before[name]
  const depth = 30
  // The head is one more Linear. Only the stack with layer norm has LayerNorm.
  assert.deepEqual(
    ['gpt_layernorm_forward', 'gpt_layernorm_backward', 'gpt_linear_forward', 'gpt_linear_backward'].map(
      calls,
    ),
    [depth, depth, 2 * (depth + 1) + 2 * depth, 2 * (depth + 1)],
  )
  await page.keyboard.press('End')
  assert.match(await text(page, '#deep-stack .sides'), /off the axis/)
  await page.close()
})

test('the menu changes layers, activation and seed; what it refuses stays', async () => {
  const { page, complaints } = await show('&deep-stack.depth=12&deep-stack.activation=gelu&deep-stack.seed=7')
  await openMenu(page, 'deep-stack')
  const fields = () =>
    page.$$eval('#deep-stack .menu :is(input, .fields select)', (all) => all.map(({ value }) => value))
  assert.deepEqual(await fields(), ['12', 'gelu', '7'])
  await type(page, 'layers', '4')
  assert.match((await sentences(page))[0], /in 4 of the 4 layers/)
  const gpt = await load()
  for (const activation of /** @type {const} */ (['none', 'relu'])) {
    await page.select('#deep-stack .menu .fields select', activation)
    assert.equal((await fields())[1], activation)
    const settings = { depth: 4, gain: 0.58, activation, seed: 7 }
    for (const [i, norm] of [false, true].entries()) {
      const { deviations } = new Stack(gpt, settings, { norm }).measure()
      const expected = deviations.map((deviation, i) => `${short(deviation)} in layer ${i + 1}`).join(', ')
      const sentence = (await sentences(page))[i]
      assert.ok(sentence.includes(expected), `with ${activation}: ${sentence}, expected ${expected}`)
    }
    await page.waitForFunction(
      (activation) => new URLSearchParams(location.search).get('deep-stack.activation') === activation,
      {},
      activation === 'relu' ? null : activation,
    )
  }
  await type(page, 'layers', '51')
  assert.match(await text(page, '#deep-stack .menu'), /“51” is not a whole number from 2 to 50/)
  await type(page, 'seed of the weights', '8')
  await pressButton(page, 'Reset')
  assert.deepEqual(await fields(), ['30', 'relu', '123'])
  await press(page, 'Control', 'z')
  assert.equal((await fields())[2], '8')
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the saved picture has every chart of the figure, with its caption', async () => {
  const { page, complaints } = await show()
  await openMenu(page, 'deep-stack')
  const svg = String(await site.saved('deep-stack.svg', () => pressButton(page, 'Save as SVG')))
  assert.equal((svg.match(/<svg /g) ?? []).length, 1 + 5)
  const words = [...svg.matchAll(/<text [^>]*lengthAdjust[^>]*>([^<]*)</g)].map(([, word]) => word)
  assert.match(words.join(' '), /^Without layer norm With layer norm The signal .* The gradient .* The loss/)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the worker ends when the section leaves the screen, and begins again when it is back', async () => {
  const { page } = await site.open('?deep-stack.gain=1.41#deep-stack', { ready: GAIN })
  await page.$eval('#deep-stack', (section) => section.scrollIntoView())
  await eventually(() => labs(page) === 1, 'no worker came')
  await press(page, 'Home') // a key also ends the stay at the address's section
  await eventually(() => labs(page) === 0, 'the worker goes on')
  // The Home key's scroll may not be over, and sections that arrive above push this one away. So this scrolls
  // to it until the result is there.
  await waitInPage(page, () => {
    document.querySelector('#deep-stack')?.scrollIntoView()
    // What comes with the last step.
    return /Meanwhile/.test(document.querySelector('#deep-stack .said')?.textContent ?? '')
  })
  await eventually(async () => {
    await press(page, 'Home')
    return labs(page) === 0
  }, 'the worker stays once it is done')
  await page.close()
})

test('overflow is described in words, and NaN appears nowhere', async () => {
  const { page, complaints } = await show('&deep-stack.depth=50&deep-stack.gain=3&deep-stack.activation=none')
  await untilSaid(
    page,
    /The stack cannot begin: its loss is too large for float32\. With layer norm it learns/,
  )
  assert.match(await said(page), /Without layer norm the gradient explodes: it passes 3\.4·10³⁸/)
  const html = () => page.$eval('#deep-stack', (section) => section.outerHTML)
  assert.doesNotMatch(await html(), /NaN|Infinity|undefined/)
  await focus(page, GAIN)
  await page.keyboard.press('Home')
  assert.match(await said(page), /Without layer norm the gradient vanishes/)
  assert.doesNotMatch(await html(), /NaN|Infinity|undefined/)
  assert.deepEqual(complaints, [])
  await page.close()
})
