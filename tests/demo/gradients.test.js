// Section 6: a deep stack with layer norm and without, and its training in a worker.

import assert from 'node:assert/strict'
import { load } from 'gpt-layers'
import { Stack } from '../../web/demo/src/sections/gradients/stack.js'
import { drift, flow, learning, short } from '../../web/demo/src/sections/gradients/words.js'
import { golden } from '../lib/support.js'
import {
  after,
  assertInFrame,
  assertOnScreen,
  before,
  launch,
  open,
  press,
  SCREENS,
  serve,
  test,
} from './browser.js'

const RUN = 60_000 // milliseconds that 200 steps may take where much else runs; alone it is a few seconds

let server, browser
before(async () => {
  browser = await launch()
  server = await serve()
})
after(async () => {
  await browser?.close()
  server?.stop()
})

const READY = '#gradients [aria-busy=false]'
const show = (query = '', options = {}) =>
  open(browser, `${server.url}?embed=gradients${query}`, { ready: READY, ...options })
const said = (page) =>
  page.$$eval('#gradients .verdict', (all) => all.map((one) => one.textContent.replace(/\s+/g, ' ').trim()))
const step = (page) =>
  page.$eval('#gradients .count', (count) => Number(/step (\d+)/.exec(count.textContent)[1]))
const sentences = (page) =>
  page.$$eval('#gradients svg[role=img]', (charts) => charts.map((chart) => chart.ariaLabel))
const input = (page, label) => page.$(`#gradients input[aria-label="${label}"]`)
const value = (page, label) =>
  page.$eval(`#gradients input[aria-label="${label}"]`, (one) => Number(one.ariaValueNow))
const steps = (page, test, ...args) => page.waitForFunction(test, { timeout: RUN }, ...args)
const until = (page, n) =>
  steps(
    page,
    (n) => Number(/step (\d+)/.exec(document.querySelector('#gradients .count').textContent)[1]) >= n,
    n,
  )
/** How many workers train; other sections have their own. */
const labs = (page) => page.workers().filter((worker) => /\/trainer-[^/]*$/.test(worker.url())).length
const settled = (page) => page.waitForFunction(() => !document.querySelector('#gradients [aria-busy=true]'))

async function click(page, name) {
  const all = await page.$$('#gradients button')
  for (const button of all) {
    if ((await button.evaluate((one) => one.textContent.trim())) === name) return button.click()
  }
  throw new Error(`no button “${name}”`)
}

/** Types over a number: to focus it selects it. */
async function type(page, label, text) {
  await page.evaluate(() => document.activeElement.blur())
  await (await input(page, label)).focus()
  await page.keyboard.type(text)
  await settled(page)
}

/** @param {number[]} found @param {number[]} expected relative to `sizes` */
function near(found, expected, tolerance, sizes = expected) {
  assert.equal(found.length, expected.length)
  found.forEach((one, i) => {
    const error = Math.abs(one - expected[i]) / Math.abs(sizes[i])
    assert.ok(error <= tolerance, `${i}: ${one}, expected ${expected[i]}`)
  })
}

for (const { settings, ...both } of golden('page_gradients')) {
  test(`what goes forward, comes back and is learnt is PyTorch’s: ${Object.values(settings)}`, async () => {
    const gpt = await load()
    for (const [key, expected] of Object.entries(both)) {
      const stack = new Stack(gpt, settings, { norm: key === 'with' })
      const { loss, means, deviations, gradients } = stack.measure()
      near(deviations, expected.deviations, 1e-5)
      near(means, expected.means, 1e-5, expected.deviations)
      near(gradients, expected.gradients, 5e-4)
      // Adam takes the signs of the smallest gradients for full steps: 50 layers tell float32 from float64 soon
      const [count, tolerance] = settings.depth < 50 ? [6, 1e-4] : [2, 1e-3]
      const losses = [loss]
      while (losses.length < count) {
        stack.step()
        losses.push(stack.measure().loss)
      }
      near(losses, expected.losses.slice(0, count), tolerance)
      stack.dispose()
    }
  })
}

test('the words follow from the numbers', () => {
  const one = (gradients, loss = 1, deviations = gradients.map(() => 1)) => ({
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

  const history = (...losses) => losses.map((loss) => one([1, 1], loss))
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

test('the page shows what the package computes, and says in words that it vanishes', async () => {
  const { page, complaints } = await show()
  const gpt = await load()
  for (const [typed, gain] of [
    ['', 0.58],
    ['2', 2],
    ['1.41', 1.41],
  ]) {
    if (typed) await type(page, 'gain', typed)
    const settings = { depth: 30, gain, activation: 'relu', seed: 123 }
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
    const three = ({ [0]: first, [14]: middle, [29]: last }) => [first, middle, last].map((one) => short(one))
    const numbers = (/** @type {string} */ sentence) =>
      sentence.match(/(?<=(: |, ))−?[\d.]+(·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?(?= in layer|[,.])/g)
    assert.deepEqual(numbers(signal), [...three(without.deviations), ...three(withNorm.deviations)], signal)
    assert.deepEqual(numbers(gradient), [...three(without.gradients), ...three(withNorm.gradients)], gradient)
  }
  assert.deepEqual(complaints, [])
  await page.close()
})

test('it trains for 200 steps in its worker: the loss falls with layer norm, and without it does not', async () => {
  const { page, complaints } = await show()
  await click(page, 'the one with it')
  assert.match(await page.$eval('#gradients .answer', (answer) => answer.textContent), /Press train/)
  await click(page, 'train')
  await until(page, 200)
  assert.match(
    (await said(page))[1],
    /^Without layer norm the stack does not learn: its loss is 1\.0, no better than guessing\. With layer norm it trains: its loss came from 1\.2 to /,
  )
  assert.match(
    await page.$eval('#gradients .answer', (answer) => answer.textContent),
    /With it, the stack trains/,
  )
  const [, , loss, without, withNorm] = await sentences(page)
  assert.match(loss, /Without layer norm, the stack does not learn: .* With layer norm, it trains/)
  assert.match(without, /layer 15’s activation, without layer norm: μ .* to .*, σ .* to /)
  assert.match(withNorm, /σ 1\.00 to (0\.99\d|1\.0\d)\.$/)
  await click(page, 'train again')
  await until(page, 3)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('it pauses between two steps, goes on, takes one step, and begins anew', async () => {
  const { page } = await show('&gradients.depth=10')
  const pace = await page.$('#gradients .run select')
  await pace.select('medium')
  await click(page, 'train')
  await until(page, 5)
  await click(page, 'pause')
  const paused = await step(page)
  await new Promise((resolve) => setTimeout(resolve, 200)) // five steps long
  assert.ok((await step(page)) - paused <= 1, 'the one that was under way')
  const at = await step(page)
  await click(page, 'one step')
  await until(page, at + 1)
  assert.equal(await step(page), at + 1)
  await click(page, 'reset')
  assert.equal(await step(page), 0)
  assert.match((await said(page))[1], /begins with a loss of/)
  await page.focus('#gradients .run button') // by keyboard
  await page.keyboard.press('Space')
  await until(page, 3)
  await page.keyboard.press('Space')
  assert.equal(await page.$eval('#gradients .run button', (button) => button.textContent.trim()), 'train')
  // a change of the stack is a new one, from its first step
  await type(page, 'layers', '8')
  assert.equal(await step(page), 0)
  await page.close()
})

test('the same run comes to the same numbers', async () => {
  const { page } = await show('&gradients.depth=6')
  const runs = []
  for (const name of ['train', 'train again']) {
    await click(page, name)
    await page.waitForFunction(
      () => document.querySelector('#gradients .run button').textContent.trim() === 'pause',
    )
    await steps(
      page,
      () => document.querySelector('#gradients .run button').textContent.trim() === 'train again',
    )
    runs.push(await said(page))
  }
  assert.equal(await step(page), 200)
  assert.deepEqual(runs[0], runs[1])
  await page.close()
})

test('the worker ends when the section is left, and comes back to where it was', async () => {
  const { page } = await open(browser, `${server.url}?gradients.depth=6#gradients`, { ready: READY })
  await page.$eval('#gradients', (section) => section.scrollIntoView())
  await click(page, 'train')
  await until(page, 10)
  assert.equal(labs(page), 1)
  await page.evaluate(() => scrollTo(0, 0))
  await page.waitForFunction(
    () => document.querySelector('#gradients .run button').textContent.trim() === 'train',
  )
  for (let i = 0; i < 50 && labs(page) > 0; i++) await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(labs(page), 0)
  const at = await step(page)
  const before = await said(page)
  await page.$eval('#gradients', (section) => section.scrollIntoView())
  assert.deepEqual(await said(page), before)
  await click(page, 'one step')
  await until(page, at + 1)
  assert.equal(await step(page), at + 1)
  const after = await said(page)
  // the same from the beginning, without a stop
  await click(page, 'reset')
  for (let i = 1; i <= at + 1; i++) {
    await click(page, 'one step')
    await until(page, i)
  }
  assert.deepEqual(await said(page), after)
  await page.close()
})

test('an embedded section’s worker ends with its frame', async () => {
  const { page } = await show('&gradients.depth=4')
  assert.equal(labs(page), 1)
  await page.goto('about:blank')
  assert.equal(labs(page), 0)
  await page.close()
})

test('what overflows is said in words, and nothing reads NaN', async () => {
  const { page, complaints } = await show('&gradients.depth=50&gradients.gain=4&gradients.activation=none')
  assert.match(
    (await said(page))[0],
    /Without layer norm the gradient explodes: the loss, a mean of squares, passes 3\.4·10³⁸, the largest number that float32 has\. With it, the gradient keeps its size/,
  )
  await click(page, 'one step')
  await until(page, 1)
  assert.match((await said(page))[1], /Without layer norm the stack cannot begin: the loss/)
  assert.doesNotMatch(
    await page.$eval('#gradients', (section) => section.outerHTML),
    /NaN|Infinity|undefined/,
  )
  await type(page, 'gain', '0.2')
  assert.match((await said(page))[0], /Without layer norm the gradient vanishes/)
  assert.doesNotMatch(
    await page.$eval('#gradients', (section) => section.outerHTML),
    /NaN|Infinity|undefined/,
  )
  assert.deepEqual(complaints, [])
  await page.close()
})

test('of many changes the last one is shown', async () => {
  const { page } = await show()
  await (await input(page, 'gain')).focus()
  for (let i = 0; i < 12; i++) await page.keyboard.press('ArrowUp')
  assert.equal(await value(page, 'gain'), 1.18)
  await settled(page)
  const quick = await said(page)
  await page.close()
  const slow = await show('&gradients.gain=1.18')
  assert.deepEqual(quick, await said(slow.page))
  await slow.page.close()
})

test('every setting by keyboard and by mouse, each a step to undo', async () => {
  const { page, complaints } = await show()
  for (const [label, first, keys] of [
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
  ]) {
    await (await input(page, label)).focus()
    for (const [press1, expected] of keys) {
      await press(page, ...press1)
      assert.equal(await value(page, label), expected, `${label} ${press1}`)
    }
    for (const _ of keys) await press(page, 'Control', 'z')
    assert.equal(await value(page, label), first)
    const box = await (await input(page, label)).boundingBox()
    await page.mouse.move(box.x + 10, box.y + 8)
    await page.mouse.down()
    await page.mouse.move(box.x + 50, box.y + 8, { steps: 4 })
    await page.mouse.up()
    assert.notEqual(await value(page, label), first, label)
    await press(page, 'Control', 'z')
    assert.equal(await value(page, label), first)
  }
  await page.focus('#gradients select[aria-label=activation]')
  await page.keyboard.type('G')
  await settled(page)
  assert.equal(await page.$eval('#gradients select[aria-label=activation]', (one) => one.value), 'gelu')
  await press(page, 'Control', 'z')
  assert.equal(await page.$eval('#gradients select[aria-label=activation]', (one) => one.value), 'relu')
  for (const [name, kind] of [
    ['exploding', 'explodes'],
    ['neither', 'keeps its size'],
    ['overflow', 'explodes'],
    ['vanishing', 'vanishes'],
  ]) {
    await click(page, name)
    await settled(page)
    assert.ok((await said(page))[0].startsWith(`Without layer norm the gradient ${kind}:`), name)
  }
  await type(page, 'gain', '9')
  await page.keyboard.press('Enter')
  assert.match(
    await page.$eval('.problems', (element) => element.textContent),
    /“9” cannot stand for gain, which stays 0\.58/,
  )
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the cursor on the layers is dragged and stepped, and undo leaves it alone', async () => {
  const { page, complaints } = await show()
  const sliders = await page.$$('#gradients .slider')
  assert.equal(sliders.length, 2)
  const at = () => page.$eval('#gradients .slider', (slider) => Number(slider.ariaValueNow))
  for (const slider of sliders) {
    const box = await slider.boundingBox()
    await page.mouse.move(box.x + 5, box.y + 40)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width, box.y + 40, { steps: 3 })
    await page.mouse.up()
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
  await type(page, 'layers', '9')
  assert.equal(await at(), 9) // there is no 11th
  await press(page, 'Control', 'z')
  await settled(page)
  assert.equal(await at(), 11)
  assert.match((await sentences(page)).at(-1), /into layer 11’s activation/)
  await page.waitForFunction(() => /gradients\.layer=11/.test(location.search))
  // while one goes from 2 layers to 20, too, nothing goes wrong
  await (await input(page, 'layers')).focus()
  await page.keyboard.type('2')
  await settled(page)
  await page.keyboard.press('End')
  await page.keyboard.press('0')
  assert.doesNotMatch(
    await page.$eval('#gradients', (section) => section.textContent),
    /too large|NaN|undefined/,
  )
  await settled(page)
  assert.equal(await at(), 11)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the address restores all of it; what it cannot be is refused with a sentence', async () => {
  const { page } = await show(
    '&gradients.depth=12&gradients.gain=1.5&gradients.activation=gelu&gradients.seed=7&gradients.layer=40&gradients.speed=slow',
  )
  assert.deepEqual(
    [await value(page, 'layers'), await value(page, 'gain'), await value(page, 'seed of the weights')],
    [12, 1.5, 7],
  )
  assert.deepEqual(await page.$$eval('#gradients select', (all) => all.map((one) => one.value)), [
    'gelu',
    'slow',
  ])
  assert.equal(await page.$eval('#gradients .slider', (slider) => slider.ariaValueText), 'layer 12') // there is no 40th
  await page.close()
  const bad = await show('&gradients.depth=51&gradients.activation=tanh')
  assert.match(
    await bad.page.$eval('.problems', (element) => element.textContent),
    /gradients\.depth=51, gradients\.activation=tanh, which means nothing/,
  )
  assert.equal(await value(bad.page, 'layers'), 30)
  await bad.page.close()
})

test('an update fits into a frame: the stacks are built in the worker', async () => {
  const { page } = await open(browser, `${server.url}#gradients`, { ready: READY })
  await (await input(page, 'gain')).focus()
  await assertInFrame(page, async () => {
    await settled(page)
    await page.keyboard.press('ArrowUp')
  })
  await page.close()
})

for (const [width, height] of SCREENS) {
  test(`${width} wide: a screen of its own, no sideways scrolling, a clean console`, async () => {
    const features = {
      'prefers-reduced-motion': 'reduce',
      'prefers-color-scheme': width > 1300 ? 'dark' : 'light',
    }
    const opened = await show('&gradients.depth=50&gradients.gain=4&gradients.activation=gelu', {
      width,
      height,
      features,
    })
    const { page } = opened
    await click(page, 'both')
    for (let i = 1; i <= 2; i++) {
      await click(page, 'one step')
      await until(page, i)
    }
    await assertOnScreen(opened, 'gradients', width, height)
    await page.close()
  })
}
