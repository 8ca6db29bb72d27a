// How it is computed: its calculations and sentences, steps, edits, presets, PyTorch's code, print.

/** @import { Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { load, manualSeed, randn } from 'gpt-layers'
import { drawn, exampleOutputs, SEED, throughLayer } from '../../build/demo/example.js'
import { normalize } from '../../build/demo/norm.js'
import { cellText } from '../../build/demo/numbers.js'
import { pytorch } from '../../build/demo/sections/worked-example/code.js'
import { print } from '../../build/demo/sections/worked-example/compute.js'
import { explain } from '../../build/demo/sections/worked-example/explain.js'
import { STEPS } from '../../build/demo/sections/worked-example/steps.js'
import { LOOKS, PRESETS, why } from '../../build/demo/sections/worked-example/words.js'
import { EPS, MAX_EPS } from '../../build/demo/example-slice.js'
import { randomFrom } from '../../web/examples/stories/grammar.js'
import { golden } from '../lib/support.js'
import { click, eventually, field, focus, near, openLayer, overflow, press, resize } from './browser.js'
import { test, text, useSite, WHOLE_SECTION } from './browser.js'

const { notebook } = golden('notebooks')
await load()

/**
 * The section's numbers, as its model has them.
 *
 * @param {{ edits?: Record<string, number>, first?: number[], seed?: number, divisor?: 'n' | 'n-1', eps?: number }} [state]
 */
function example({ edits = {}, first, seed = SEED, divisor = 'n', eps = EPS } = {}) {
  const cells = { ...drawn(seed), ...edits }
  const computed = throughLayer(cells)
  const y = first ? [first.map(Math.fround), computed.y[1]] : computed.y
  const step = /** @type {const} */ ('mean')
  const shared = { edits, seed, divisor, eps, first: first ?? [], second: [] }
  const settings = { ...shared, step }
  const table = (/** @type {string} */ name) => y[0].map((_, c) => cells[`${name}${c + 1}`])
  const affine = Object.keys(edits).some((name) => /gamma|beta/.test(name))
  const result = y.map((row) => normalize(row, settings, ...(affine ? [table('gamma'), table('beta')] : [])))
  const at = (/** @type {'x' | 'w' | 'g'} */ table, /** @type {number} */ row, /** @type {number} */ col) =>
    cells[
      table === 'x'
        ? `x${row + 1}${col + 1}`
        : table === 'g'
          ? `${['gamma', 'beta'][row]}${col + 1}`
          : row < 5
            ? `w${col + 1}${row + 1}`
            : `b${col + 1}`
    ]
  const explained = (/** @type {number} */ row) => why(row, result, eps)
  return { at, cells, computed, moved: [Boolean(first), false], result, settings, why: explained, y }
}
const [FIRST] = exampleOutputs()
/** @param {keyof typeof PRESETS} name */
const preset = (name) => ({ look: LOOKS[name], row: FIRST.map(PRESETS[name]).map(Math.fround) })
const NAMES = /** @type {(keyof typeof PRESETS)[]} */ (Object.keys(PRESETS))

/** Rows as readers type them: of any size and sign, some of their numbers equal. @param {number} largest exponent of 10 */
function ownRows(largest) {
  const random = randomFrom(largest)
  const number = () => {
    const value = (2 * random() - 1) * 10 ** (largest * (2 * random() - 1))
    return Number(value.toPrecision(1 + Math.floor(4 * random())))
  }
  return Array.from({ length: 25 }, () => {
    const two = [number(), number()]
    return Array.from({ length: 6 }, (_, i) => (random() < 0.3 ? two[i % 2] : number()))
  })
}
const STATES = {
  ...Object.fromEntries(NAMES.map((name) => [name, { first: preset(name).row }])),
  ...Object.fromEntries([SEED, 1, 2, 7, 42].map((seed) => [`seed ${seed}`, { seed }])),
  'n - 1': { divisor: /** @type {const} */ ('n-1') },
  'no eps': { eps: 0 },
  'large eps': { eps: 1 },
  'tiny eps': { eps: 1e-7 },
  'constant without eps': { first: Array(6).fill(0.5), eps: 0 },
  underflow: { first: [1e-30, 0, 2e-30, 0, 0, 0], eps: 0 },
  'slider ends': { first: [2.5, -2.5, 2.5, -2.5, 2.5, -2.5] },
  'one at its end': { first: FIRST.with(4, -2.5) },
  'largest eps': { eps: MAX_EPS },
  'own: 1e30': { first: [1e30, 0, 0, 0, 0, 0] },
  'own: 3e38': { first: [3e38, -3e38, 3e38, -3e38, 0, 1] },
  'own: nearly equal': { first: [7, 7, 7, 7.0001, 7, 7] },
  'own: wide': { first: [-1, 2, -3, 4, -5, -100] },
  ...Object.fromEntries(ownRows(1).map((first, i) => [`own: usual ${i}`, { first }])),
  ...Object.fromEntries(ownRows(30).map((first, i) => [`own: extreme ${i}`, { first }])),
  'five edits': { edits: { x12: 0.5, w31: -2, b4: 0.25, gamma2: 2, beta6: -1 }, eps: 0.001 },
  'gamma and beta': { edits: { gamma1: -0.5, beta1: 0.0001, gamma4: 1e10, beta5: 1e-50 } },
  zero: { edits: { x11: 0 } },
  12345: { edits: { x11: 12345.678 } },
  '1e10': { edits: { x11: 1e10 } },
  '1e30': { edits: { x11: Math.fround(1e30) } },
  '3e38': { edits: { x11: 3e38, x12: -3e38 } },
}
/** States in which ten digits are not enough, or rounding to float32 changes the four printed decimals. */
const COARSE = /large offset|own: usual|own: extreme|12345|1e10|1e30|3e38|underflow/

/** What a calculation gives whose digits are typed into a calculator. @param {string} formula */
function typed(formula) {
  const expression = formula
    .replace(/[\d.]+·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+/g, (text) => {
      const [mantissa, power] = text.replace('⁻', '-').split('·10')
      return `${mantissa}e${power.replace(/[^-]/g, (digit) => String('⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(digit)))}`
    })
    .replaceAll('−', '-')
    .replaceAll('·', '*')
    .replaceAll('∞', 'Infinity')
    .replaceAll('²', '**2')
    .replaceAll('max', 'Math.max')
    .replace(/√(?=\()/g, 'Math.sqrt')
    .replace(/√([^ ]+)/g, 'Math.sqrt($1)')
  assert.match(expression, /^([\d\s.,()*/+-]|e[+-]?\d|Infinity|Math\.(max|sqrt))+$/)
  return Number(Function(`return ${expression}`)())
}

test('each calculation works out with the digits that it shows: every number of every step, preset and seed', () => {
  let count = 0
  for (const [name, state] of Object.entries(STATES)) {
    const all = example(state)
    for (const step of STEPS)
      for (const table of /** @type {const} */ (['z', 'y', 'n']))
        for (const row of [0, 1])
          for (const col of /** @type {const} */ ([0, 1, 2, 3, 4, 5, 'mean', 'variance'])) {
            if (table === 'z' && typeof col === 'string') continue
            if (table === 'n' && step.rows === 'before') continue
            const rows = all.result.map((row) => row[step.rows])
            const formula = explain({ table, row, col }, { ...all, rows, step })?.formula ?? ''
            assert.doesNotMatch(formula, /NaN|undefined|e[+-]\d|— /, name)
            if (!/ = \S+(, in float32 \S+)?$/.test(formula)) {
              const plain = /was set, not computed|float32,? (which )?ends|divided by 0/.test(formula)
              assert.ok(plain || COARSE.test(name), `${name}: ${formula}`)
              continue
            }
            const [operands, result] = formula
              .replace(/, in float32.*/, '')
              .split(' = ')
              .slice(-2)
            assert.equal(cellText(typed(operands)), result, `${name}: ${formula}`)
            count++
          }
  }
  assert.ok(count > 4000, String(count))
})

test('what the steps say of their numbers holds in every state', () => {
  for (const [name, state] of Object.entries(STATES)) {
    const { result, settings, why } = example(state)
    const [, subtract, , divide, scale] = STEPS.map(({ text }) => text(settings, result))
    for (const r of [0, 1]) {
      // “until its mean is 0”
      assert.match(subtract, /until its mean is 0\./)
      const { before, centered, divided, scaled } = result[r]
      const finite = before.values.every(Number.isFinite)
      if (finite) near(centered.mean / Math.max(1, Math.sqrt(before.variance)), 0, 5e-5, name)
      // “becomes σ²/(σ² + ε)”
      assert.ok(divide.includes(cellText(divided.variance)), `${name}: ${divide}`)
      const ratio = before.variance / (before.variance + settings.eps)
      if (!why(r)) near(divided.variance, ratio, 5e-5, name)
      // A row without numbers is explained.
      assert.equal(why(r) === '', scaled.values.every(Number.isFinite), `${name}: ${why(r)}`)
    }
    assert.equal(
      scale.includes('change nothing'),
      result.every(({ divided, scaled }) =>
        scaled.values.every((value, i) => Object.is(value, divided.values[i]) || value === 0),
      ),
      name,
    )
  }
  assert.match(
    example(STATES['constant without eps']).why(0),
    /^All numbers of row 1 are equal.*divided by 0/,
  )
  assert.equal(example(STATES.underflow).why(0), '')
})

test('what the presets say holds, whatever ε and the divisor are', () => {
  for (const divisor of /** @type {const} */ (['n', 'n-1']))
    for (const eps of [EPS, 0.01, 1, 1e6]) {
      const unchanged = example({ divisor, eps }).result[0].divided.values
      for (const name of NAMES) {
        const { row, look } = preset(name)
        const [first, second] = example({ first: row, divisor, eps }).result
        const { values } = first.divided
        const said = look(values, unchanged)
        if (name === 'outlier') {
          const [most, ...others] = [...values].sort((a, b) => b - a)
          assert.equal(values.indexOf(most), 2)
          assert.ok(first.before.variance > 100 && second.before.variance < 0.05)
          for (const value of [most, others[0], others[4]]) assert.ok(said.includes(cellText(value, 2)), said)
          assert.ok(others[0] - others[4] < 0.04)
          if (divisor === 'n' && eps === EPS)
            assert.match(said, /it is 2\.24, and the other 5 .* between −0\.46 and −0\.43\./)
        } else if (name === 'constant row') {
          assert.equal(first.before.variance, 0)
          assert.deepEqual(values, [0, 0, 0, 0, 0, 0])
        } else {
          const off = Math.max(...values.map((value, c) => Math.abs(value - unchanged[c])))
          assert.ok(said.endsWith(`off by up to ${cellText(off)}.`), said)
          near(2 ** -10, 0.001, 5e-5) // between two float32 from 8,192 to 16,384
          if (eps === EPS) assert.ok(off > 1e-3)
        }
      }
    }
})

const site = useSite()
const ROOT = '#worked-example'
const STILL = { 'prefers-reduced-motion': 'reduce' }
const PHONE = { width: 360, height: 740 }
/** The section alone. @param {string} [query] without `?` @param {OpenOptions} [options] */
const openStill = (query = '', options = {}) =>
  site.open(`?embed=worked-example&${query}`, { ready: WHOLE_SECTION, features: STILL, ...options })

/** The numbers of a table, row by row, with mean and variance. @param {Page} page @param {string} table */
const numbers = (page, table) =>
  page.$$eval(`${ROOT} table.${table} tbody tr`, (rows) =>
    rows.map((row) =>
      [...row.querySelectorAll('td.cell')].map(
        (cell) => cell.querySelector('input')?.value ?? cell.textContent?.trim() ?? '',
      ),
    ),
  )
/** @typedef {import('../../build/demo/norm.js').Row} Row */
/** Rows as the page writes them, with their statistics. @param {Row[]} rows @param {('mean' | 'variance')[]} names */
const written = (rows, ...names) =>
  rows.map((row) => [...row.values, ...names.map((name) => row[name])].map((value) => cellText(value)))
/** The example's rows at a step. @param {keyof import('../../build/demo/norm.js').Normalized} step */
const rowsAt = (step, state = {}) => example(state).result.map((row) => row[step])
const OUTPUTS = rowsAt('before')
const NORMALIZED = written(rowsAt('scaled'), 'mean', 'variance')
/** @param {Record<string, number>} edits */
const normalized = (edits) => written(rowsAt('scaled', { edits }))
const six = (/** @type {string[][]} */ rows) => rows.map((row) => row.slice(0, 6))

/** @param {Page} page @param {string} name of a button */
const pressButton = (page, name) => click(page, `${ROOT} ::-p-xpath(.//button[normalize-space()="${name}"])`)
const step = (/** @type {Page} */ page) => text(page, `${ROOT} .title`)
const said = (/** @type {Page} */ page) => text(page, `${ROOT} .explanation`)
const trust = (/** @type {Page} */ page) => text(page, `${ROOT} .trust`)
/** @param {string} table @param {number} row @param {number} col both from 1 */
const cellAt = (table, row, col) =>
  `${ROOT} table.${table} tbody tr:nth-child(${row}) td.cell:nth-child(${col + 1})`
/** Where a button stands. @param {Page} page @param {string} name */
const placeOf = (page, name) =>
  page.$eval(`${ROOT} ::-p-xpath(.//button[normalize-space()="${name}"])`, (button) => {
    const { left, top } = button.getBoundingClientRect()
    return [Math.round(left), Math.round(top)]
  })

test('each step shows its numbers; Next stays where it is and keeps the focus, to the last step and back', async () => {
  for (const size of [{}, PHONE]) {
    const { page, complaints } = await openStill('', size)
    const phone = size === PHONE
    assert.equal(await step(page), '1 of 5 The mean')
    assert.equal(await page.$(`${ROOT} table.n`), null)
    const outputs = OUTPUTS.map(({ values, mean }) =>
      [...values, mean].map((value) => cellText(value, phone ? 2 : 4)),
    )
    assert.deepEqual(await numbers(page, 'y'), outputs)
    const [some, many] = [6, 768].map((n) => Number((100 * (n / (n - 1) - 1)).toFixed(2)))
    const said = `With 6 numbers n − 1 gives ${some}% more, with GPT-2’s 768 it gives ${many}% more.`
    const place = await placeOf(page, 'Next →')
    const below = await placeOf(page, 'PyTorch code')
    await focus(page, `${ROOT} .next`)
    for (const title of ['2 of 5 Subtract', '3 of 5 The variance', '4 of 5 Divide', '5 of 5 Scale']) {
      await page.keyboard.press('Enter')
      assert.ok((await step(page)).startsWith(title))
      if (title.startsWith('3')) assert.ok((await text(page, `${ROOT} .step`)).includes(said))
      assert.deepEqual(await placeOf(page, 'Next →'), place)
      // The variance needs more words.
      if (!phone && !title.startsWith('3')) assert.deepEqual(await placeOf(page, 'PyTorch code'), below)
      assert.ok(await page.$eval(`${ROOT} .next`, (button) => button === document.activeElement))
      const { bottom } = await page.$eval(`${ROOT} svg`, (svg) => svg.getBoundingClientRect().toJSON())
      assert.ok(bottom <= 740, `the figure ends at ${bottom}`)
    }
    assert.equal(await page.$eval(`${ROOT} .next`, (button) => button.ariaDisabled), 'true')
    await page.keyboard.press('Enter')
    if (!phone) {
      assert.deepEqual(await numbers(page, 'y'), written(OUTPUTS, 'mean', 'variance'))
      assert.deepEqual(await numbers(page, 'n'), NORMALIZED)
    }
    await page.keyboard.press('ArrowLeft')
    // With another key they are the browser's: back and forth.
    const free = await page.$eval(`${ROOT} .next`, (button) =>
      ['shiftKey', 'ctrlKey', 'altKey', 'metaKey'].filter((other) =>
        button.dispatchEvent(
          new KeyboardEvent('keydown', { key: 'ArrowLeft', [other]: true, bubbles: true, cancelable: true }),
        ),
      ),
    )
    assert.equal(free.length, 4)
    await pressButton(page, '← Back')
    await page.waitForFunction(() => location.search.endsWith('&worked-example.step=variance'))
    assert.deepEqual(complaints, [])
    await page.close()
  }
})

test('of the formula the term that a step adds is lit, and the terms of later steps are pale', async () => {
  const [text, lit, pale] = ['rgb(34, 37, 42)', 'rgb(138, 28, 107)', 'rgb(93, 96, 104)']
  const { page } = await openStill('worked-example.step=subtract')
  for (const colors of [
    [lit, pale, pale],
    [], // the variance has another formula
    [text, lit, pale],
    [text, text, lit],
  ]) {
    const found = await page.$$eval(`${ROOT} .formula :is(.subtract, .divide, .scale)`, (all) =>
      all.map((one) => getComputedStyle(one).color),
    )
    assert.deepEqual(found, colors)
    await pressButton(page, 'Next →')
  }
  await page.close()
})

test('on the slide and on the stretch the dots move to their places; with reduced motion they stand there at once', async () => {
  const { page } = await site.open('?embed=worked-example', { ready: WHOLE_SECTION, byFrames: true })
  /** The dots of sample 1's last row. */
  const dots = () =>
    page.$$eval(`${ROOT} svg .dot`, (all) => all.slice(-6).map((dot) => Number(dot.getAttribute('cx'))))
  // From now on: the places of the dots in each frame.
  await page.evaluate((root) => {
    /** @type {string[]} */
    const seen = []
    const look = () => {
      const all = [...document.querySelectorAll(`${root} svg .dot`)]
      seen.push(all.map((dot) => dot.getAttribute('cx')).join())
      requestAnimationFrame(look)
    }
    look()
    Object.assign(window, { seen })
  }, ROOT)
  /** Goes on, and waits until the dots have moved and stand still. */
  const moved = async () => {
    await page.evaluate('seen.length = 0')
    await pressButton(page, 'Next →')
    await page.waitForFunction('new Set(seen).size > 10 && new Set(seen.slice(-20)).size === 1')
    return dots()
  }
  const outputs = await dots()
  const slid = await moved()
  const by = slid.map((x, i) => x - outputs[i])
  assert.ok(by[0] < -10)
  for (const one of by) near(one, by[0], 0.1)
  await pressButton(page, 'Next →') // the variance
  const stretched = await moved()
  const factor = (stretched[1] - stretched[0]) / (slid[1] - slid[0])
  assert.ok(factor > 2)
  stretched.forEach((x, i) => near(x - stretched[0], factor * (slid[i] - slid[0]), 0.2))
  await page.close()
  const still = await openStill()
  const now = await still.page.evaluate(async (root) => {
    const next = document.querySelector(`${root} .next`)
    if (next instanceof HTMLElement) next.click()
    for (let i = 0; i < 2; i++) await new Promise((resolve) => requestAnimationFrame(resolve))
    const all = [...document.querySelectorAll(`${root} svg .dot`)]
    return all.slice(-6).map((dot) => Number(dot.getAttribute('cx')))
  }, ROOT)
  now.forEach((x, i) => near(x, slid[i], 0.1))
  await still.page.close()
})

test('a number is taken at Enter or when its field is left, not at Escape; what is none is refused beside it', async () => {
  const { page } = await openStill('worked-example.step=divide')
  await openLayer(page)
  const first = async () => (await numbers(page, 'x'))[0][0]
  await focus(page, field('x₁₁'))
  await page.keyboard.type('1,5')
  assert.doesNotMatch(await trust(page), /You changed/)
  await page.keyboard.press('Tab')
  assert.match(await trust(page), /^You changed x₁₁\./)
  assert.equal(await first(), '1.5000')
  assert.deepEqual(six(await numbers(page, 'n')), normalized({ x11: 1.5 }))
  await focus(page, field('x₁₁'))
  // A phone's keypad may have no minus sign.
  const sign = `${ROOT} .sign`
  const session = await page.createCDPSession()
  for (const enabled of [true, false]) {
    await session.send('Emulation.setTouchEmulationEnabled', { enabled })
    assert.equal(await page.$eval(sign, (one) => one.checkVisibility()), enabled, `with fingers: ${enabled}`)
  }
  for (const typed of ['-1.5', '1.5']) {
    await page.$eval(sign, (one) => one.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true })))
    assert.equal(await page.$eval(field('x₁₁'), (one) => /** @type {HTMLInputElement} */ (one).value), typed)
  }
  await page.keyboard.type('7')
  await page.keyboard.press('Escape')
  assert.equal(await first(), '1.5000')
  for (const [wrong, why] of [
    ['abc', 'not a number'],
    ['1/3', 'not a number'],
    ['1e39', 'too large: float32 ends at 3.4·10³⁸'],
    ['', 'not a number'],
  ]) {
    await focus(page, field('x₁₁'))
    await page.keyboard.press('Backspace')
    await page.keyboard.type(wrong)
    await page.keyboard.press('Enter')
    assert.equal(await text(page, `${ROOT} .refused:not(:empty)`), `“${wrong}” is ${why}. x₁₁ stays 1.5000.`)
    assert.equal(await text(page, `${ROOT} .refused s`), wrong)
    assert.equal(await first(), '1.5000')
  }
  await press(page, 'Control', 'z')
  assert.equal(await first(), '−0.1115')
  assert.equal(await page.$(`${ROOT} .refused:not(:empty)`), null)
  await page.close()
})

test('a weight changes one output of every row; everything follows within the event', async () => {
  const { page } = await openStill()
  await openLayer(page)
  manualSeed(123)
  const batch = Array.from(randn([2, 5]).data, (value) => cellText(value))
  assert.deepEqual((await numbers(page, 'x')).flat(), batch)
  const names = await page.$$eval(`${ROOT} input.editable`, (all) => all.map(({ ariaLabel }) => ariaLabel))
  assert.equal(new Set(names).size, 10 + 30 + 6)
  const before = await numbers(page, 'y')
  const shown = await page.evaluate((root) => {
    const input = document.querySelector(`${root} input[aria-label="w₁₁"]`)
    if (!(input instanceof HTMLInputElement)) throw new Error('no w₁₁')
    input.focus()
    input.value = '-2'
    input.dispatchEvent(new InputEvent('input', { bubbles: true }))
    input.blur()
    return document.querySelector(`${root} table.y td.cell`)?.textContent // no frame and no task in between
  }, ROOT)
  const after = await numbers(page, 'y')
  assert.equal(after[0][0], shown)
  after.forEach((row, r) => {
    assert.notEqual(row[0], before[r][0])
    assert.deepEqual(row.slice(1, 6), before[r].slice(1, 6))
  })
  await pressButton(page, 'Where the rows come from')
  assert.equal(await page.$(`${ROOT} table.w`), null)
  await page.close()
})

/** Scrolls past the section: then no number is explained. @param {Page} page */
async function scrollAway(page) {
  await page.evaluate(() => {
    document.body.style.paddingBottom = '200vh'
    scrollTo(0, document.body.scrollHeight)
  })
  await eventually(async () => /^Drag a dot\./.test(await said(page)), 'a number is still explained')
}

test('a number that was clicked is explained until the section is off the screen, also for a second time', async () => {
  const { page } = await openStill()
  await openLayer(page)
  for (let i = 0; i < 2; i++) {
    await click(page, cellAt('z', 2, 3))
    await page.mouse.move(0, 0)
    assert.match(await said(page), /^z₂₃ = /)
    await scrollAway(page)
  }
  await page.close()
})

test('on a phone the explanation of a tapped number is on the screen as long as the number is, and no number is cut', async () => {
  const { page } = await openStill('example.edits=x11:12345.678&worked-example.step=scale', PHONE)
  await openLayer(page)
  for (const table of ['y', 'n', 'z'])
    for (const row of [1, 2]) {
      await page.$eval(cellAt(table, row, 2), (cell) => cell.scrollIntoView({ block: 'center' }))
      await page.tap(cellAt(table, row, 2))
      const [shown, cell] = await page.$$eval(`${ROOT} :is(.explanation p, td.pointed)`, (all) =>
        all.map((one) => one.getBoundingClientRect().toJSON()).sort((a, b) => b.width - a.width),
      )
      assert.ok(
        shown.top > 0 && shown.bottom <= 740 && cell.top >= 0,
        `${table}: ${shown.top} to ${shown.bottom}`,
      )
      assert.match(await said(page), new RegExp(`^${table === 'n' ? 'ŷ' : table}.* = `))
      await scrollAway(page)
    }
  for (const width of [360, 1280]) {
    await resize(page, width, 740)
    assert.ok((await overflow(page)) <= 0)
    const cut = await page.$$eval(`${ROOT} :is(td.cell, .formula)`, (all) =>
      all
        .map((cell) => cell.querySelector('input') ?? cell)
        .filter((one) => one.scrollWidth > one.clientWidth || getComputedStyle(one).overflowY === 'auto')
        .map((one) => `${one.textContent} ${one.scrollWidth} ${one.clientWidth}`),
    )
    assert.deepEqual(cut, [], String(width))
  }
  await page.close()
})

test('the code comes with what PyTorch prints, and says how many numbers of the example are the same, and why a mean is not 0; a row without numbers is explained, and what PyTorch gives where that is something else', async () => {
  const equal = /All numbers of row 1 are equal, .* divided by 0/
  const rounded = /The code rounds each operation to float32/
  for (const [query, why, figure = /^Drag a dot\./] of /** @type {[string, RegExp, RegExp?][]} */ ([
    ['', /Why does a mean read/],
    [
      'example.divisor=n-1&example.eps=0',
      /Why does a mean read -?\d\.\d{4}e-0\d and not 0\? .* scientific notation/,
    ],
    ['example.edits=beta1:0.0001', /With another scale or shift the mean need not be 0/],
    ['example.first=1,-1,1,-1,1,-1&example.second=2,-2,2,-2,2,-2', /Both means are exactly 0 here/],
    ['example.first=0.5,0.5,0.5,0.5,0.5,0.5&example.eps=0', equal, equal],
    ['example.edits=x11:3e38,x12:-3e38', rounded, /nn\.LayerNorm, .* gives only nan for row 1\./],
    [
      'example.first=10000.226,10000.347,10000,10000.222,10000,10000',
      rounded,
      /gives 0\.67\d\d, .* for row 1\./,
    ],
  ])) {
    const { page, complaints } = await openStill(`worked-example.step=divide&${query}`)
    assert.doesNotMatch(await text(page, ROOT), /NaN/)
    assert.match(await said(page), figure, query)
    await pressButton(page, 'PyTorch code')
    if (query === '') {
      await page.keyboard.press('Escape')
      await page.waitForSelector(`${ROOT} dialog:not([open])`)
      await pressButton(page, 'PyTorch code') // again
    }
    assert.match(await text(page, `${ROOT} dialog .why`), why, query)
    const agreeing = /32 of the figure’s 32 numbers are PyTorch’s, to four decimals\./
    const dialog = await text(page, `${ROOT} dialog[open]`)
    assert.equal(agreeing.test(dialog), query === '', query)
    if (figure === equal || why === rounded) assert.doesNotMatch(dialog, /the same: nn\.LayerNorm/)
    if (query.startsWith('example.divisor')) {
      const [out, mean, variance, norm, , normVar] = await page.$$eval(`${ROOT} .print pre`, (all) =>
        all.map((one) => one.textContent),
      )
      assert.equal(out, notebook[0].prints)
      assert.equal(`Mean: ${mean}\nVariance: ${variance}`, notebook[1].prints)
      assert.ok(notebook[2].prints.startsWith(`Normalized:\n ${norm}\nMean: `), norm)
      assert.ok(notebook[2].prints.endsWith(`\nVariance: ${normVar}`), normVar)
    }
    assert.deepEqual(complaints, [])
    await page.close()
  }
})

/** Replaces rounding errors, which differ between machines, by 0. @param {string} printed */
const withoutDust = (printed) =>
  printed
    .replace(/ *-?\d\.\d{4}e-0[6-9]| *0\.0000e\+00/g, ' 0')
    .replace(/\s+/g, ' ')
    .trim()

test('the code, pasted into Python, prints what the page shows, and LayerNorm gives what it says', async (t) => {
  const python = '/usr/bin/python3'
  const find = 'import importlib.util as i, sys; sys.exit(i.find_spec("torch") is None)'
  if (spawnSync(python, ['-c', find]).status !== 0) return t.skip('no PyTorch here')
  const names = Object.keys(STATES)
  /** @type {string[]} */
  const expected = []
  const programs = Object.values(STATES).map((state) => {
    const { cells, moved, result, settings, y } = example(state)
    expected.push(Object.values(print(settings, y, cells).texts).join('\n'))
    const code = pytorch(
      settings,
      y.map((row, r) => (moved[r] ? row : undefined)),
      result.map(({ before }) => before),
      print(settings, y, cells).norm,
    )
    const check = 'assert torch.allclose(norm, nn.LayerNorm(6)(out), atol=1e-4)\n'
    return code + (code.includes('the same') ? check : '')
  })
  // One process for all programs, because importing torch takes seconds.
  const { stdout, stderr } = spawnSync(python, ['-c', programs.join('\nprint("next")\n')], {
    encoding: 'utf8',
  })
  assert.equal(stderr, '')
  const printed = stdout.split('next\n')
  names.forEach((name, i) => {
    if (!COARSE.test(name)) assert.equal(withoutDust(printed[i]), withoutDust(expected[i]), name)
  })
  assert.match(printed[names.indexOf('1e30')], /-0\.0000/)
  assert.ok(programs[names.indexOf(`seed ${SEED}`)].includes('the same'))
})

test('where a number is too large to move by 1, the answer to the guess says so', async () => {
  const { page } = await openStill('example.first=1,2,3,4,5,16777216')
  await pressButton(page, 'nothing')
  assert.match(await text(page, `${ROOT} .answer`), /^Yes: nothing\. But in float32 a number from 224 on/)
  await page.close()
})

test('at 1280 by 720 every step fits 690 pixels, and no preset moves a number, or its own word', async () => {
  const { page } = await openStill('', { width: 1280, height: 720 })
  await pressButton(page, 'nothing')
  while (!(await step(page)).startsWith('1 ')) await pressButton(page, '← Back') // the guess leads to the 4th
  const places = () =>
    page.$eval(ROOT, (section) => {
      const { top } = section.getBoundingClientRect()
      return [...section.querySelectorAll('td.cell, div.under')].map((one) =>
        Math.round(one.getBoundingClientRect().top - top),
      )
    })
  for (const [i, { name, title }] of STEPS.entries()) {
    assert.equal(await step(page), `${i + 1} of 5 ${title}`)
    /** @type {number[] | undefined} */
    let before
    for (const preset of NAMES) {
      await pressButton(page, preset)
      before ??= await places()
      assert.deepEqual(await places(), before, `${preset}, ${name}`)
      const tall = await page.$eval(ROOT, (section) => {
        const ends = [...section.children].map((part) => part.getBoundingClientRect().bottom)
        return Math.max(...ends) - section.getBoundingClientRect().top
      })
      assert.ok(tall <= 690, `${preset}, ${name}: ${tall} pixels`)
    }
    await pressButton(page, 'Next →')
  }
  await page.close()
})
