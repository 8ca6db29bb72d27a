// How it is computed: its steps and their numbers, derivations, edits, presets, PyTorch's code and prints.

/** @import { Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { load } from 'gpt-layers'
import { drawn, SEED, throughLayer } from '../../build/demo/example.js'
import { compute } from '../../build/demo/sections/worked-example/compute.js'
import { EPS } from '../../build/demo/example-slice.js'
import { golden, unpack } from '../lib/support.js'
import { click, drag, field, focus, get, hover, near, overflow, parse, press } from './browser.js'
import { test, text, type, useSite, value, WHOLE_SECTION } from './browser.js'

const notebook = golden('notebook')

const site = useSite()
const ROOT = '#worked-example'
const STILL = { 'prefers-reduced-motion': 'reduce' }
/** The whole page at the section. @param {string} [address] @param {OpenOptions} [options] */
const openWhole = (address = '', options = {}) =>
  site.open(address, { at: 'worked-example', features: STILL, ...options })
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
/** As the page writes numbers. @param {Iterable<number>} values */
const written = (values) =>
  Array.from(values, (value) =>
    value
      .toFixed(4)
      .replace(/^-(?=0\.0+$)/, '')
      .replace('-', '−'),
  )
const gpt = await load()
const cells = drawn(gpt, SEED)
/** What the section computes with some cells changed. @param {Record<string, number>} [changes] */
function computed(changes = {}) {
  const changed = { ...cells, ...changes }
  return compute(gpt, { divisor: 'n', eps: EPS }, throughLayer(gpt, changed).y, changed)
}
/** @param {Record<string, number>} changes */
const normalized = (changes) => computed(changes).scaled.values.map(written)
/** The tables of the example, with mean and variance. */
const tables = (() => {
  const { outputs, scaled } = computed()
  /** @param {number[][]} values @param {number[][]} ends */
  const table = (values, ...ends) => values.map((row, r) => written([...row, ...ends.map((end) => end[r])]))
  return {
    withMean: table(outputs.values, outputs.mean),
    summed: table(outputs.values, outputs.mean, outputs.variance),
    normalized: table(scaled.values, scaled.mean, scaled.variance),
  }
})()
const six = (/** @type {string[][]} */ rows) => rows.map((row) => row.slice(0, 6))

/** @param {Page} page @param {string} name of a button */
const pressButton = (page, name) => click(page, `${ROOT} ::-p-xpath(.//button[normalize-space()="${name}"])`)
/** @param {Page} page @param {string} name of a preset */
async function choose(page, name) {
  await pressButton(page, 'More')
  await pressButton(page, name)
  await pressButton(page, 'More')
}
const step = (/** @type {Page} */ page) => text(page, `${ROOT} .title`)
const told = (/** @type {Page} */ page) => text(page, `${ROOT} .told`)
const trust = (/** @type {Page} */ page) => text(page, `${ROOT} .trust`)
/** @param {string} table @param {number} row @param {number} col both from 1 */
const cellAt = (table, row, col) =>
  `${ROOT} table.${table} tbody tr:nth-child(${row}) td.cell:nth-child(${col + 1})`

test('each step shows its numbers and none of the next step’s; buttons and arrow keys lead on and back', async () => {
  const { page, complaints } = await openStill()
  assert.match(await step(page), /^1 of 5 The mean$/)
  assert.match(await text(page, `${ROOT} .step`), /One mean per row; no other row is involved.*dim=-1/)
  assert.deepEqual((await numbers(page, 'x')).flat(), written(unpack(notebook['cell 2'].batch)))
  assert.deepEqual(await numbers(page, 'y'), tables.withMean)
  assert.equal(await page.$(`${ROOT} table.n`), null)
  await pressButton(page, 'Next →')
  assert.match(await step(page), /^2 of 5 Subtract it: slide/)
  assert.deepEqual(await numbers(page, 'y'), tables.withMean)
  const centered = (await numbers(page, 'n'))[0]
  assert.deepEqual([...centered.slice(0, 3), centered[6]], ['0.0935', '0.2145', '−0.1324', '0.0000'])
  assert.equal(centered.length, 7)
  await page.keyboard.press('ArrowRight')
  assert.match(await step(page), /^3 of 5 The variance/)
  assert.deepEqual(await numbers(page, 'y'), tables.summed)
  await page.keyboard.press('ArrowRight')
  assert.deepEqual(await numbers(page, 'n'), tables.normalized)
  await page.keyboard.press('ArrowRight')
  assert.match(await step(page), /^5 of 5 Scale and shift/)
  assert.deepEqual(await numbers(page, 'n'), tables.normalized)
  assert.equal(await trust(page), '32 of 32 numbers match PyTorch.')
  await pressButton(page, '← Back')
  await page.keyboard.press('ArrowLeft')
  await page.waitForFunction(() => location.search.endsWith('&worked-example.step=variance'))
  await pressButton(page, 'More')
  const undo = `${ROOT} ::-p-xpath(.//button[text()="Undo"])`
  await get(page, undo)
  assert.ok(await page.$eval(undo, (one) => /** @type {HTMLButtonElement} */ (one).disabled))
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the layer opens at a press: its weights, and what Linear gives; all of it can be changed', async () => {
  const { page } = await openStill()
  assert.equal(await page.$(`${ROOT} table.w`), null)
  await pressButton(page, 'Linear(5, 6), ReLU')
  assert.deepEqual((await numbers(page, 'z')).flat(), throughLayer(gpt, cells).z.flatMap(written))
  assert.match(await text(page, `${ROOT} .layer`), /Batch\..*Linear\..*ReLU\. What is below 0 becomes 0/)
  await page.waitForFunction(() => location.search.endsWith('&worked-example.layer=yes'))
  await pressButton(page, 'Linear(5, 6), ReLU')
  assert.equal(await page.$(`${ROOT} table.z`), null)
  await page.close()
})

test('the rows are the opening’s: a dot that is moved here is moved there, and the other way round', async () => {
  const { page } = await openWhole('?worked-example.step=divide')
  const moved = (/** @type {string} */ root) =>
    page.$$eval(`${root} [role="slider"]`, (all) => all.map((dot) => Number(dot.ariaValueNow)))
  const before = await moved(ROOT)
  assert.deepEqual(await moved('#opening'), before)
  await drag(page, `${ROOT} [role="slider"][aria-label="y₁₂"]`, 100)
  const after = await moved(ROOT)
  assert.ok(after[1] > before[1] + 0.3)
  assert.deepEqual(after.toSpliced(1, 1), before.toSpliced(1, 1))
  assert.deepEqual(await moved('#opening'), after)
  assert.match(await trust(page), /You changed y₁₂ from 0\.3470 to/)
  await page.waitForFunction(() => location.search.includes('example.first='))

  await focus(page, '#opening [role="slider"][aria-label="sample 2, number 4"]')
  await press(page, 'ArrowRight')
  assert.deepEqual(await moved(ROOT), await moved('#opening'))
  assert.match(await trust(page), /You changed 2 numbers/)
  // A number of the batch: its row follows from the batch again, and the other row stays.
  await type(page, 'x₁₁', '-0.5')
  assert.match(await trust(page), /You changed 2 numbers/)
  assert.notEqual((await moved(ROOT))[1], after[1])
  assert.deepEqual(await moved('#opening'), await moved(ROOT))
  await press(page, 'Control', 'z')
  assert.deepEqual((await moved(ROOT)).slice(0, 6), after.slice(0, 6))
  await pressButton(page, 'Put back')
  assert.deepEqual(await moved(ROOT), before)
  assert.deepEqual(await moved('#opening'), before)
  await page.close()
})

test('both sections can be embedded with the rows as they are', async () => {
  for (const id of ['opening', 'worked-example']) {
    const { page } = await site.open(`?embed=${id}&example.first=1,0,0,0,0,0&example.edits=x21:1`, {
      ready: '.section',
      features: STILL, // or a dot of the opening sways
    })
    const values = await page.$$eval('[role="slider"]', (all) => all.map((dot) => Number(dot.ariaValueNow)))
    assert.deepEqual(values.slice(0, 6), [1, 0, 0, 0, 0, 0], id)
    near(values[6], 0.4633, 0.5)
    await page.waitForFunction(() => /example\.first=1.*x21:1/.test(location.search))
    await page.close()
  }
})

test('on the slide and on the stretch the dots move to their places; with reduced motion they stand there', async () => {
  const { page } = await site.open('', { at: 'worked-example', byFrames: true })
  /** The dots of sample 1's last row. */
  const dots = () =>
    page.$$eval(`${ROOT} svg circle`, (all) => all.slice(-6).map((dot) => Number(dot.getAttribute('cx'))))
  const outputs = await dots()
  // From now on: the places of the dots in each frame, until they stand still.
  await page.evaluate((root) => {
    /** @type {string[]} */
    const frames = []
    const look = () => {
      const all = [...document.querySelectorAll(`${root} svg circle`)]
      frames.push(all.map((dot) => dot.getAttribute('cx')).join())
      Object.assign(window, { places: new Set(frames).size, still: new Set(frames.slice(-20)).size === 1 })
      requestAnimationFrame(look)
    }
    look()
  }, ROOT)
  await pressButton(page, 'Next →')
  await page.waitForFunction('places > 10 && still')
  const there = await dots()
  const slid = there.map((x, i) => x - outputs[i])
  for (const by of slid) near(by, slid[0], 0.1)
  assert.ok(slid[0] < -10)
  await page.close()
  const still = await openStill('worked-example.step=subtract')
  assert.doesNotMatch(await text(still.page, ROOT), /Watch again/)
  const now = await still.page.$$eval(`${ROOT} svg circle`, (all) =>
    all.slice(-6).map((dot) => Number(dot.getAttribute('cx'))),
  )
  now.forEach((x, i) => near(x, there[i], 0.1))
  await still.page.close()
})

test('an edit changes its own sample and no other; undo and “Put back” take it back', async () => {
  const { page } = await openStill('worked-example.step=divide')
  const before = tables.normalized
  await drag(page, `${ROOT} [role="slider"][aria-label="y₁₅"]`, 200)
  const dragged = await numbers(page, 'n')
  assert.notDeepEqual(dragged[0], before[0])
  assert.deepEqual(dragged[1], before[1])
  await press(page, 'Control', 'z')
  assert.deepEqual(await numbers(page, 'n'), before)
  await type(page, 'x₁₅', '2')
  assert.deepEqual(six(await numbers(page, 'n')), normalized({ x15: 2 }))
  assert.match(
    await trust(page),
    /^\d+ of 32 numbers still match PyTorch\. You changed x₁₅ from −1\.1969 to 2\.0000\./,
  )
  await pressButton(page, 'Put back')
  assert.deepEqual(await numbers(page, 'n'), before)
  await page.close()
})

test('a number is taken at Enter or when its field is left; what is none is refused beside it', async () => {
  const { page } = await openStill()
  const first = async () => (await numbers(page, 'x'))[0][0]
  await focus(page, field('x₁₁'))
  await page.keyboard.type('1.5')
  assert.doesNotMatch(await trust(page), /You changed/)
  await page.keyboard.press('Tab')
  assert.match(await trust(page), /x₁₁ from −0\.1115 to 1\.5000/)
  for (const wrong of ['abc', '1/3', '1e39', '']) {
    await focus(page, field('x₁₁'))
    await page.keyboard.press('Backspace')
    await page.keyboard.type(wrong)
    await page.keyboard.press('Enter')
    const refused = await text(page, `${ROOT} .refused:not(:empty)`)
    assert.equal(refused, `“${wrong}” is not a number. x₁₁ stays 1.5000.`)
    const [table, said] = await page.$$eval(`${ROOT} :is(table.x, .refused:not(:empty))`, ([x, refused]) => [
      x.getBoundingClientRect().bottom,
      refused.getBoundingClientRect().top,
    ])
    assert.ok(said >= table - 2, `the sentence begins at ${said}, the table ends at ${table}`)
    assert.equal(await first(), '1.5000')
  }
  await press(page, 'Control', 'z')
  assert.equal(await first(), '−0.1115')
  assert.equal(await page.$(`${ROOT} .refused:not(:empty)`), null)
  await focus(page, field('x₁₁'))
  await page.keyboard.type('7')
  await page.keyboard.press('Escape')
  assert.equal(await first(), '−0.1115')
  await page.close()
})

test('a weight changes one output of every row; everything follows within the event', async () => {
  const { page } = await openStill('worked-example.layer=yes')
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
  near(await value(page, 'w₁₁'), -2, 0)
  await page.close()
})

test('pointing at a number tells how it was computed and marks the numbers and the dot', async () => {
  const { page } = await openStill('worked-example.step=divide&worked-example.layer=yes')
  /** @param {string} table @param {number} row @param {number} col @param {string | RegExp} formula */
  const tells = async (table, row, col, formula) => {
    await hover(page, cellAt(table, row, col))
    if (typeof formula === 'string') assert.equal(await told(page), formula)
    else assert.match(await told(page), formula)
  }
  await tells('n', 1, 1, 'ŷ₁₁ = (y₁₁ − μ₁) / √(σ²₁ + ε) = (0.2260 − 0.1324) / √(0.0192 + 0.00001) = 0.6745')
  assert.ok((await page.$$(`${ROOT} circle.lit`)).length >= 1)
  await tells('y', 1, 7, 'μ₁ = (0.2260 + 0.3470 + 0.0000 + 0.2216 + 0.0000 + 0.0000) / 6 = 0.1324')
  assert.equal((await page.$$(`${ROOT} td.lit`)).length, 6)
  await tells('y', 1, 8, /^σ²₁ = \(\(0\.2260 − 0\.1324\)² \+ .*\) \/ 6 = 0\.0192$/)
  await tells(
    'y',
    2,
    3,
    /^y₂₃ = max\(0, 0\.2093·0\.3818 \+ \(−0\.9724\)·0\.2136 \+ .* \+ 0\.1054\) = 0\.0000$/,
  )
  assert.equal((await page.$$(`${ROOT} table.x td.lit`)).length, 5)
  assert.equal((await page.$$(`${ROOT} table.w td.lit`)).length, 6)
  await tells('z', 2, 3, /^z₂₃ = 0\.2093·0\.3818 .* = −0\.1502$/)
  await pressButton(page, '← Back')
  await pressButton(page, '← Back')
  await tells('n', 1, 1, 'y₁₁ − μ₁ = 0.225952 − 0.132418 = 0.093534')
  await tells('n', 1, 7, /^μ of \(y − μ\)₁ = .* = −?0\.0000(, in full .*)?$/)
  await page.close()
})

test('Tab reaches a computed table once, and the arrow keys every number in it', async () => {
  const { page } = await openStill('worked-example.step=divide')
  assert.equal((await page.$$(`${ROOT} table.n [tabindex="0"]`)).length, 1)
  await focus(page, `${ROOT} table.n [tabindex="0"]`)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowRight')
  assert.match(await told(page), /^ŷ₂₂ = .* = 0\.1228$/)
  for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowRight')
  assert.match(await told(page), /^μ of ŷ₂ = /)
  assert.match(await step(page), /^4 of 5/)
  await page.close()
})

test('scale and shift change only their column, and stand in its derivation', async () => {
  const { page } = await openStill('worked-example.step=scale')
  await type(page, 'γ₂', '2')
  await type(page, 'β₂', '1')
  assert.deepEqual(six(await numbers(page, 'n')), normalized({ gamma2: 2, beta2: 1 }))
  await hover(page, cellAt('n', 1, 2))
  assert.match(await told(page), /^ŷ₁₂ = γ₂·\(y₁₂ − μ₁\) \/ √\(σ²₁ \+ ε\) \+ β₂ = 2\.0000·.* \+ 1\.0000 = /)
  await page.close()
})

test('a constant row gives zeros; without ε the page says why there is no result', async () => {
  const { page } = await openStill('worked-example.step=divide')
  await choose(page, 'a constant row')
  assert.deepEqual(new Set((await numbers(page, 'n'))[0]), new Set(['0.0000']))
  assert.match(await told(page), /variance is 0, and only ε keeps the division from being 0\/0/)
  await pressButton(page, 'More')
  await type(page, 'ε', '0')
  await pressButton(page, 'More')
  assert.doesNotMatch(await text(page, ROOT), /NaN/)
  assert.match(await told(page), /variance is 0\. With ε = 0 the row would be 0\/0/)
  await hover(page, cellAt('n', 1, 2))
  assert.match(await told(page), /0\/0/)
  await page.evaluate(() => document.querySelector('h1')?.scrollIntoView())
  await pressButton(page, 'PyTorch code')
  await pressButton(page, 'What PyTorch prints')
  assert.match(await text(page, `${ROOT} dialog`), /nan means “not a number”.*0\/0/)
  await page.close()
})

test('numbers too large for float32 are explained', async () => {
  const { page } = await openStill('example.edits=x11:3e38,x12:-3e38&worked-example.step=divide')
  assert.doesNotMatch(await text(page, ROOT), /NaN/)
  assert.match(await told(page), /too large: float32 ends at 3\.4·10³⁸/)
  await page.close()
})

test('at 1e30 the axis’s labels do not overlap', async () => {
  const { page } = await openStill('example.edits=x11:1e30&worked-example.step=divide')
  const ends = await page.$$eval(`${ROOT} .tick`, (all) =>
    all.map((tick) => tick.getBoundingClientRect()).map(({ left, right }) => [left, right]),
  )
  assert.ok(ends.length >= 3)
  ends.slice(1).forEach(([left], i) => assert.ok(left > ends[i][1] + 4, `${left} after ${ends[i][1]}`))
  await page.close()
})

test('an outlier and a large offset are computed, and every number keeps its place', async () => {
  const { page } = await openStill('worked-example.step=divide')
  const places = () =>
    page.$eval(ROOT, (section) => {
      const { top } = section.getBoundingClientRect()
      return [...section.querySelectorAll('td.cell')].map((one) => one.getBoundingClientRect().top - top)
    })
  const before = await places()
  const biases = [1, 2, 3, 4, 5, 6].map((i) => [`b${i}`, Math.fround(cells[`b${i}`] + 10000)])
  for (const [name, changes] of /** @type {[string, Record<string, number>][]} */ ([
    ['an outlier', { b3: 30 }],
    ['a large offset', Object.fromEntries(biases)],
  ])) {
    await choose(page, name)
    const shown = six(await numbers(page, 'n')).flat()
    normalized(changes)
      .flat()
      .forEach((value, i) => near(parse(shown[i]), parse(value), 1.01e-4, `${name}, ${i}:`))
    assert.deepEqual(await places(), before)
  }
  await choose(page, 'PyTorch’s example')
  assert.match(await trust(page), /^32 of 32/)
  await page.close()
})

test('seed, divisor and ε are in the menu, and the page says what was changed', async () => {
  const { page } = await openStill('worked-example.step=variance')
  await pressButton(page, 'More')
  await get(page, 'select[aria-label="variance divided by"]')
  await page.select('select[aria-label="variance divided by"]', 'n-1')
  await type(page, 'ε', '0.01')
  assert.match(await trust(page), /You changed 2 numbers/)
  await type(page, 'seed', '7')
  await page.waitForFunction(() => location.search.includes('example.seed=7'))
  const address = new URL(page.url()).search
  assert.match(address, /divisor=n-1.*eps=0\.01/)
  const shown = await numbers(page, 'y')
  await pressButton(page, 'Put back')
  assert.match(await trust(page), /^32 of 32/)
  await page.close()
  const again = await site.open(address, { ready: WHOLE_SECTION, features: STILL })
  assert.deepEqual(await numbers(again.page, 'y'), shown)
  await again.page.close()
})

test('an address can change numbers of every table, ε and the step', async () => {
  const { page } = await openStill(
    'example.edits=x12:0.5,w31:-2,b4:0.25,gamma2:2&example.eps=0.001&worked-example.step=scale',
  )
  assert.match(await trust(page), /You changed 5 numbers/)
  assert.match(await step(page), /^5 of 5/)
  assert.equal(await value(page, 'γ₂'), 2)
  assert.equal(await text(page, '.problems'), '')
  await page.close()
})

test('tensors are printed as PyTorch prints them, with and without scientific notation', async () => {
  const { page } = await openStill('example.divisor=n-1&example.eps=0')
  await pressButton(page, 'PyTorch code')
  await pressButton(page, 'What PyTorch prints')
  const prints = () => page.$$eval(`${ROOT} .print pre`, (all) => all.map((one) => one.textContent))
  const [out, mean, variance, norm, normMean, normVar] = await prints()
  assert.equal(out, notebook['cell 2'].printed)
  assert.deepEqual([mean, variance], [notebook['cell 3'].printed.mean, notebook['cell 3'].printed.var])
  assert.deepEqual([norm, normVar], [notebook['cell 4'].printed.normed, notebook['cell 4'].printed.var])
  assert.match(normMean ?? '', /e-0\d/)
  assert.match(await text(page, `${ROOT} .tiny`), /Why does a mean read \d\.\de-0\d and not 0\?/)
  await page.select('select[aria-label="scientific notation"]', 'off')
  assert.equal((await prints())[4], notebook['cell 5'].printed.plain)
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => !location.search.includes('panel'))
  await page.close()
})

test('the page says what dim and keepdim do to the shape, and whether the mean can be subtracted', async () => {
  const { page } = await openStill('worked-example.panel=print')
  const said = () => text(page, `${ROOT} .along`)
  await get(page, `${ROOT} .along`) // the panel is fetched after the section
  assert.match(
    await said(),
    /turns \(2, 6\) into \(2, 1\).*each row by itself.*subtracts from each row its own mean/,
  )
  await page.select('select[aria-label="keepdim"]', 'False')
  assert.match(await said(), /into \(2,\).*is refused: sub: .*\[2, 6\].*\[2\]/)
  await page.select('select[aria-label="dim"]', '0')
  assert.match(await said(), /into \(6,\).*not layer norm/)
  await page.close()
})

const STATES = [
  '',
  'example.divisor=n-1&example.eps=0&worked-example.sci=on',
  'example.edits=x12:0.5,w31:-2,b4:0.25,gamma2:2,beta6:-1&example.eps=0.001&example.seed=7',
  'example.edits=x11:1,x12:2,x13:3,x14:4,x15:5&worked-example.sci=off',
  'example.second=1,-0.5,0.25,2,0,1.1&example.edits=x12:0.5',
]

/** Replaces rounding errors, which differ between machines, by 0. @param {string} printed */
const withoutDust = (printed) =>
  printed
    .replace(/ *-?\d\.\d{4}e-0[6-9]| *-0\.0000| *0\.0000(e\+00)?/g, ' 0')
    .replace(/\s+/g, ' ')
    .trim()

test('the code, pasted into Python and Node, prints what the page shows', async (t) => {
  const { page } = await openStill()
  /** @type {{ shown: string, pytorch: string, javascript: string }[]} */
  const pasted = []
  for (const state of STATES) {
    await page.goto(`${site.url}?embed=worked-example&worked-example.panel=print&${state}`)
    await page.waitForSelector(`${ROOT} .print`)
    const shown = (await page.$$eval(`${ROOT} .print pre`, (all) => all.map((one) => one.textContent))).join(
      '\n',
    )
    await pressButton(page, 'The code')
    const [pytorch, javascript] = await page.$$eval(`${ROOT} .code pre`, (all) =>
      all.map((one) => one.textContent ?? ''),
    )
    pasted.push({ shown, pytorch, javascript })
  }
  await page.close()
  // In a folder of the repository, where 'gpt-layers' resolves to dist.
  const folder = mkdtempSync(fileURLToPath(new URL('../../build/pasted-', import.meta.url)))
  t.after(() => rmSync(folder, { recursive: true }))
  /** @param {string} printed by all programs @param {string} language */
  const assertPrinted = (printed, language) => {
    const results = printed.split('next\n')
    assert.equal(results.length, STATES.length)
    results.forEach((one, i) =>
      assert.equal(withoutDust(one), withoutDust(pasted[i].shown), `${language}, ${STATES[i]}`),
    )
  }
  pasted.forEach(({ javascript }, i) => writeFileSync(`${folder}/${i}.mjs`, javascript))
  const each = STATES.map((_, i) => `await import('./${i}.mjs')`).join("\nconsole.log('next')\n")
  writeFileSync(`${folder}/all.mjs`, each)
  assertPrinted(execFileSync(process.execPath, [`${folder}/all.mjs`], { encoding: 'utf8' }), 'JavaScript')
  const python = '/usr/bin/python3'
  const find = 'import importlib.util as i, sys; sys.exit(i.find_spec("torch") is None)'
  if (spawnSync(python, ['-c', find]).status !== 0) return t.skip('no PyTorch here')
  // One process for all programs, because importing torch takes seconds.
  const again =
    'torch.set_printoptions(sci_mode=None); torch.set_printoptions(profile="default"); print("next")'
  const printed = execFileSync(python, ['-c', pasted.map(({ pytorch }) => pytorch).join(`\n${again}\n`)], {
    encoding: 'utf8',
  })
  assertPrinted(printed, 'PyTorch')
})

/** Presses on to each step. @param {Page} page @param {(step: string) => Promise<void>} look */
async function eachStep(page, look) {
  for (let i = 0; i < 5; i++) {
    await look(await step(page))
    if (i < 4) await pressButton(page, 'Next →')
  }
  for (let i = 0; i < 4; i++) await pressButton(page, '← Back')
}

test('the guess is answered by the figure: sample 1 moves by 1, its normalized row stays', async () => {
  const { page } = await openStill()
  await pressButton(page, 'it gets wider')
  assert.match(await text(page, `${ROOT} .answer`), /^Not quite: nothing\. Its mean is larger by 1/)
  assert.match(await step(page), /^4 of 5/)
  const outputs = (await numbers(page, 'y'))[0].map(parse)
  outputs.slice(0, 7).forEach((value, c) => near(value, parse(tables.withMean[0][c]) + 1, 1e-4))
  const normalized = (await numbers(page, 'n'))[0].map(parse)
  normalized.slice(0, 6).forEach((value, c) => near(value, parse(tables.normalized[0][c]), 1.01e-4))
  await press(page, 'Control', 'z')
  assert.deepEqual(await numbers(page, 'n'), tables.normalized)
  await page.close()
})

test('at 1280 by 720 every step fits 690 pixels, with the guess answered and an example chosen', async () => {
  const { page } = await openWhole('', { width: 1280, height: 720 })
  await pressButton(page, 'nothing')
  assert.match(await text(page, `${ROOT} .answer`), /^Yes: nothing\./)
  for (let i = 0; i < 3; i++) await pressButton(page, '← Back')
  for (const preset of ['PyTorch’s example', 'a constant row', 'a large offset']) {
    await choose(page, preset)
    await eachStep(page, async (name) => {
      const tall = await page.$eval(ROOT, (section) => section.getBoundingClientRect().height)
      assert.ok(tall <= 690, `${preset}, ${name}: ${tall} pixels`)
    })
  }
  await page.close()
})

test('on a phone no step scrolls sideways or cuts a number, and rows are 36 pixels high', async () => {
  const { page } = await openStill('example.edits=x11:12345.678&worked-example.layer=yes', {
    width: 360,
    height: 740,
  })
  await eachStep(page, async (name) => {
    assert.ok((await overflow(page)) <= 0, `${name}: ${await overflow(page)} pixels too wide`)
    const wrong = await page.$$eval(`${ROOT} td.cell`, (all) =>
      all
        .map((cell) => cell.querySelector('input') ?? cell)
        .filter((one) => one.scrollWidth > one.clientWidth || one.getBoundingClientRect().height < 35.5)
        .map((one) => `${one.textContent} ${one.scrollWidth} ${one.clientWidth}`),
    )
    assert.deepEqual(wrong, [], name)
  })
  const { size, wide } = await page.$eval(`${ROOT} ${field('x₁₂')}`, (input) => ({
    size: parseFloat(getComputedStyle(input).fontSize),
    wide: input.getBoundingClientRect().width,
  }))
  assert.ok(size >= 16)
  assert.ok(wide >= 44, `${wide}`)
  await page.close()
})
