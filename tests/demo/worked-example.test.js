// Section 1 of the page: its steps, formulas and presets, PyTorch's prints, and the code to paste.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { golden, unpack } from '../lib/support.js'
import { blur, click, field, focus, get, overflow, parse, test, text, useSite } from './browser.js'

const cells = golden('notebook')

const site = useSite()

/** The numbers of a table, row by row, with mean and variance; '' for a number that is not computed yet. */
const numbers = (/** @type {Page} */ page, /** @type {string} */ table) =>
  page.$$eval(`.${table} tbody tr`, (rows) =>
    rows.map((row) =>
      [...row.querySelectorAll('td.cell')].map((cell) => {
        return (
          cell.querySelector('input')?.value ??
          cell.querySelector('.computed')?.textContent ??
          cell.textContent.replace('not yet', '')
        )
      }),
    ),
  )
const formula = (/** @type {Page} */ page) => text(page, '.formula')
/** @param {Page} page @param {string} table @param {number} row @param {number} col both from 1 */
const cellAt = (page, table, row, col) =>
  get(page, `.${table} tbody tr:nth-child(${row}) td.cell:nth-child(${col + 1})`)
/** @param {Page} page @param {string} name of a button */
const pressButton = (page, name) =>
  click(page, `#worked-example ::-p-xpath(.//button[normalize-space()="${name}"])`)
const lit = (/** @type {Page} */ page) =>
  page.$$eval('td.lit', (all) =>
    all.map((cell) => {
      const table = cell.closest('.figure > div')?.className.split(' ')[0]
      const rows = [...(cell.closest('tbody')?.children ?? [])]
      return `${table} ${rows.findIndex((row) => row.contains(cell)) + 1} ${cell.cellIndex}`
    }),
  )
/** As the page writes numbers. @param {Iterable<number>} values */
const written = (values) =>
  Array.from(values, (value) =>
    value
      .toFixed(4)
      .replace(/^-(?=0\.0+$)/, '')
      .replace('-', '−'),
  )

test('buttons and arrow keys step forward and back; each step shows its own numbers and none of the next step’s', async () => {
  const { page, complaints } = await site.open()
  await pressButton(page, 'from the start')
  assert.match(await text(page, '.stepper p'), /^1 of 8: Input\. 2 samples/)
  assert.ok((await numbers(page, 'outputs')).flat().every((value) => value === ''))
  await pressButton(page, 'forward →')
  assert.match(await text(page, '.stepper p'), /^2 of 8: Linear/)
  const linear = (await numbers(page, 'outputs')).map((row) => row.slice(0, 6))
  assert.equal(linear.flat().filter((value) => value.startsWith('−')).length, 5)
  await blur(page)
  await page.keyboard.press('ArrowRight')
  assert.match(await text(page, '.stepper p'), /^3 of 8: ReLU/)
  const relu = (await numbers(page, 'outputs')).map((row) => row.slice(0, 6))
  assert.deepEqual(
    relu,
    linear.map((row) => row.map((value) => (value.startsWith('−') ? '0.0000' : value))),
  )
  assert.deepEqual((await numbers(page, 'outputs'))[0].slice(6), ['', ''])
  await page.keyboard.press('ArrowRight')
  assert.deepEqual((await numbers(page, 'outputs'))[0].slice(6), ['0.1324', ''])
  await page.keyboard.press('ArrowRight')
  assert.deepEqual((await numbers(page, 'outputs'))[0].slice(6), ['0.1324', '0.0231'])
  assert.ok((await numbers(page, 'normalised')).flat().every((value) => value === ''))
  await page.keyboard.press('ArrowRight')
  assert.deepEqual((await numbers(page, 'normalised'))[0].slice(0, 3), ['0.0935', '0.2145', '−0.1324'])
  await (await cellAt(page, 'normalised', 1, 1)).hover()
  assert.equal(await formula(page), 'y₁₁ − μ₁ = 0.225952 − 0.132418 = 0.093534')
  await page.keyboard.press('ArrowRight')
  assert.deepEqual((await numbers(page, 'normalised'))[0].slice(0, 3), ['0.6159', '1.4126', '−0.8719'])
  await page.keyboard.press('ArrowLeft')
  await pressButton(page, '← back')
  assert.match(await text(page, '.stepper p'), /^5 of 8: Variance/)
  await page.waitForFunction(() => location.search === '?step=variance')
  assert.ok(
    await page.$eval('.tools button', (undo) => undo.disabled),
    'a step of the figure is nothing to undo',
  )
  await pressButton(page, 'show all')
  assert.match(await text(page, '.stepper p'), /^All 8 steps/)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('“play” steps through the figure, and “pause” stops it', async () => {
  const { page } = await site.open('?step=subtract')
  // The page's clock: a timer fires when the test says so.
  await page.evaluate(() => {
    const timers = new Map()
    let id = 0
    const set = (/** @type {() => void} */ run) => (timers.set(++id, run), id)
    const clear = (/** @type {number} */ id) => timers.delete(id)
    const fire = () => {
      const due = [...timers.values()]
      timers.clear()
      for (const run of due) run()
    }
    Object.assign(window, { setTimeout: set, clearTimeout: clear, fire })
  })
  const passTime = () => page.evaluate('fire()')
  await pressButton(page, 'play')
  await passTime()
  assert.match(await text(page, '.stepper p'), /^7 of 8/)
  await passTime()
  assert.match(await text(page, '.stepper p'), /^8 of 8/)
  await pressButton(page, 'pause')
  await passTime()
  assert.match(await text(page, '.stepper p'), /^8 of 8/)
  await page.close()
})

test('pointing at a number shows its formula with numbers and highlights the numbers it depends on', async () => {
  const { page } = await site.open()
  await (await cellAt(page, 'normalised', 1, 1)).hover()
  assert.equal(await formula(page), 'ŷ₁₁ = (y₁₁ − μ₁) / √σ²₁ = (0.2260 − 0.1324) / √0.0231 = 0.6159')
  assert.deepEqual((await lit(page)).sort(), [
    'outputs 1 8',
    'outputs 1 9',
    'parameters 1 1',
    'parameters 2 1',
  ])
  await (await cellAt(page, 'outputs', 2, 3)).hover()
  assert.match(
    await formula(page),
    /^y₂₃ = max\(0, 0\.2093·0\.3818 \+ \(−0\.9724\)·0\.2136 \+ .* \+ 0\.1054\) = 0\.0000$/,
  )
  assert.equal((await lit(page)).length, 5 + 6)
  await (await get(page, '.outputs tbody tr:nth-child(1) td.gap + td')).hover()
  assert.equal(await formula(page), 'μ₁ = (0.2260 + 0.3470 + 0.0000 + 0.2216 + 0.0000 + 0.0000) / 6 = 0.1324')
  await (await get(page, '.outputs tbody tr:nth-child(1) td:last-child')).hover()
  assert.match(await formula(page), /^σ²₁ = \(\(0\.2260 − 0\.1324\)² \+ .*\) \/ \(6 − 1\) = 0\.0231$/)
  await (await get(page, '.normalised tbody tr:nth-child(1) td.gap + td')).hover()
  assert.match(await formula(page), /^μ of ŷ₁ = .* = 0\.0000, in full \d\.\d{4}e−\d+$/)
  await (await get(page, 'h1')).hover()
  assert.equal((await page.$$('td.lit')).length, 0)
  await page.close()
})

test('ε, scale and shift appear in the formula once they are not 0, 1 and 0', async () => {
  const { page } = await site.open('?eps=0.01&gamma1=2&beta1=1')
  await (await cellAt(page, 'normalised', 1, 1)).hover()
  const [value] = (await numbers(page, 'normalised'))[0]
  assert.equal(
    await formula(page),
    `ŷ₁₁ = γ₁·(y₁₁ − μ₁) / √(σ²₁ + ε) + β₁ = 2.0000·(0.2260 − 0.1324) / √(0.0231 + 0.01) + 1.0000 = ${value}`,
  )
  await page.close()
})

test('Tab reaches each table, and the arrow keys every number in it', async () => {
  const { page } = await site.open()
  const stops = await page.$$eval(
    '.outputs td[tabindex="0"], .normalised td[tabindex="0"]',
    (all) => all.length,
  )
  assert.equal(stops, 2)
  await focus(page, '.normalised td[tabindex="0"]')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowRight')
  assert.match(await formula(page), /^ŷ₂₂ = .* = 0\.1121$/)
  for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowRight')
  assert.match(await formula(page), /^μ of ŷ₂ = /)
  await page.close()
})

test('the whiteboard’s row is normalized as in the lecture', async () => {
  const { page } = await site.open()
  await pressButton(page, 'the whiteboard row')
  assert.deepEqual(await numbers(page, 'batch'), [
    [
      '1.1000',
      '0.8000',
      '2.3000',
      '4.4000',
      ...written([cells['the whiteboard row'].mean, cells['the whiteboard row'].var]),
    ],
  ])
  assert.deepEqual(await numbers(page, 'normalised'), [
    [...written(unpack(cells['the whiteboard row'].normed)), '0.0000', '1.0000'],
  ])
  assert.match(await text(page, '.trust'), /These are the lecture’s numbers, to its four decimals: 3 of 3/)
  await page.close()
})

test('the (5, 10, 3) tensor has PyTorch’s numbers, table by table', async () => {
  const { page } = await site.open()
  await pressButton(page, 'the (5, 10, 3) tensor')
  const expected = written(unpack(cells['the (5,10,3) tensor'].out))
  for (const block of [1, 2, 5]) {
    await page.select('select[aria-label="the shown table"]', String(block))
    const shown = (await numbers(page, 'normalised')).flatMap((row) => row.slice(0, 3))
    assert.deepEqual(shown, expected.slice((block - 1) * 30, block * 30))
  }
  await (await cellAt(page, 'normalised', 10, 3)).hover()
  assert.match(await formula(page), /^x̂₅,₁₀,₃ = \(x₅,₁₀,₃ − μ₅,₁₀\) \/ √\(σ²₅,₁₀ \+ ε\)/)
  await page.close()
})

test('a constant row gives zeros; with ε = 0 the page says everywhere why there is no result', async () => {
  const { page } = await site.open()
  await pressButton(page, 'a constant row')
  assert.deepEqual((await numbers(page, 'normalised'))[0], [
    '0.0000',
    '0.0000',
    '0.0000',
    '0.0000',
    '0.0000',
    '0.0000',
    '0.0000',
  ])
  await focus(page, field('ε'))
  await page.keyboard.type('0')
  assert.doesNotMatch(await text(page, '#app'), /NaN/)
  assert.match(await text(page, '.journeys'), /would divide 0 by 0/)
  await (await cellAt(page, 'normalised', 1, 2)).hover()
  assert.match(await formula(page), /would divide 0 by 0/)
  await pressButton(page, 'what PyTorch prints')
  assert.match(await text(page, '.printed'), /nan means “no number”.*would divide 0 by 0/)
  await page.close()
})

test('the page says so when numbers are too large for float32', async () => {
  const { page } = await site.open('?x11=3e38&x12=-3e38')
  assert.doesNotMatch(await text(page, '#app'), /NaN/)
  assert.match(await text(page, '.journeys'), /numbers are too large: a float32 ends at 3\.4·10³⁸/)
  await page.close()
})

test('an outlier and a large offset give the results that their presets describe', async () => {
  const { page } = await site.open()
  await pressButton(page, 'an outlier')
  const [outlier] = await numbers(page, 'normalised')
  assert.ok(Math.abs(Number(outlier[2]) - 2) < 0.02, outlier[2])
  for (const c of [0, 1, 3, 4])
    assert.ok(Math.abs(Number(outlier[c].replace('−', '-')) + 0.5) < 0.1, outlier[c])
  await pressButton(page, 'a large offset')
  const [first] = await numbers(page, 'normalised')
  const exact = unpack(cells['cell 7'].out)

  first.slice(0, 5).forEach((shown, c) => {
    const off = Math.abs(parse(shown) - exact[c])
    assert.ok(off < 0.005, `${shown} for ${exact[c]}`)
  })
  assert.ok(Math.abs(parse(first[5])) < 0.002 && first[6] === '1.0000', String(first))
  await page.close()
})

test('tensors are printed as PyTorch prints them, with and without scientific notation', async () => {
  const { page } = await site.open()
  await pressButton(page, 'what PyTorch prints')
  const printed = () => page.$$eval('.print pre', (all) => all.map((one) => one.textContent))
  const [out, mean, variance, norm, normMean, normVar] = await printed()
  assert.equal(out, cells['cell 2'].printed)
  assert.deepEqual([mean, variance], [cells['cell 3'].printed.mean, cells['cell 3'].printed.var])
  assert.deepEqual([norm, normVar], [cells['cell 4'].printed.normed, cells['cell 4'].printed.var])
  assert.match(normMean, /e-0\d/)
  assert.match(await text(page, '.dust'), /Why does a mean read \d\.\de-0\d and not 0\?/)
  await page.select('select[aria-label="scientific notation"]', 'off')
  assert.equal((await printed())[4], cells['cell 5'].printed.plain)
  await page.select('select[aria-label="scientific notation"]', 'on')
  assert.match((await printed())[0], /tensor\(\[\[2\.2595e-01, /)
  await page.close()
})

test('the page says what dim and keepdim do to the shape, and whether the mean can be subtracted', async () => {
  const { page } = await site.open('?panel=print')
  const said = () => text(page, '.along')
  assert.match(
    await said(),
    /turns \(2, 6\) into \(2, 1\): axis -1.*kept as an axis of 1.*takes from each row its own mean/,
  )
  await page.select('select[aria-label="keepdim"]', 'False')
  assert.match(await said(), /into \(2,\).*is refused: sub: .*\[2, 6\].*\[2\]/)
  await page.select('select[aria-label="dim"]', '0')
  assert.match(await said(), /into \(6,\).*no layer norm/)
  await page.close()
})

const states = [
  '',
  '?x12=0.5&w31=-2&b4=0.25&gamma2=2&beta6=-1&eps=0.001&variance=biased&seed=7',
  '?normalise=batch&sci=off',
  '?data=whiteboard',
  '?data=rand&x2.3.1=4&x1.1.1=1&x1.1.2=2&x1.1.3=4&sci=on',
]

/**
 * Replaces numbers that are only rounding errors, which differ between machines, by 0.
 *
 * @param {string} printed
 */
const withoutDust = (printed) =>
  printed
    .replace(/ *-?\d\.\d{4}e-0[6-9]| *-0\.0000| *0\.0000(e\+00)?/g, ' 0')
    .replace(/\s+/g, ' ')
    .trim()

test('the code, pasted into Python and Node, prints what the page shows', async (t) => {
  const { page } = await site.open()
  /** @type {{ state: string, shown: string, pytorch: string, javascript: string }[]} */
  const pasted = []
  for (const state of states) {
    await page.goto(`${site.url}${state}${state ? '&' : '?'}panel=print`)
    await page.waitForSelector('.print')
    const shown = (await page.$$eval('.print pre', (all) => all.map((one) => one.textContent))).join('\n')
    await pressButton(page, 'the code')
    await page.evaluate(() => {
      /** @type {string[]} */
      const copied = []
      Object.assign(window, { copied })
      navigator.clipboard.writeText = async (text) => void copied.push(text)
    })
    for (const button of await page.$$('.code .copy button')) await button.click()
    const [pytorch, javascript] = /** @type {string[]} */ (await page.evaluate('copied'))
    pasted.push({ state, shown, pytorch, javascript })
  }
  await page.close()
  // In a folder of the repository, where 'gpt-layers' resolves to dist.
  const folder = mkdtempSync(fileURLToPath(new URL('../../build/pasted-', import.meta.url)))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const { state, shown, javascript } of pasted) {
    writeFileSync(`${folder}/pasted.mjs`, javascript)
    const printed = execFileSync(process.execPath, [`${folder}/pasted.mjs`], { encoding: 'utf8' })
    assert.equal(withoutDust(printed), withoutDust(shown), `JavaScript, ${state}`)
  }
  const python = '/usr/bin/python3'
  if (spawnSync(python, ['-c', 'import torch']).status !== 0) return t.skip('no PyTorch here')
  // One process for all programs, because importing torch takes seconds.
  const again =
    'torch.set_printoptions(sci_mode=None); torch.set_printoptions(profile="default"); print("next")'
  const printed = execFileSync(python, ['-c', pasted.map(({ pytorch }) => pytorch).join(`\n${again}\n`)], {
    encoding: 'utf8',
  })
  printed
    .split('next\n')
    .forEach((one, i) =>
      assert.equal(withoutDust(one), withoutDust(pasted[i].shown), `PyTorch, ${states[i]}`),
    )
  assert.equal(printed.split('next\n').length, states.length)
})

for (const [width, height] of [
  [1440, 900],
  [1280, 800],
]) {
  test(`at ${width} by ${height} the section fits the screen with every preset and panel`, async () => {
    const { page } = await site.open('', { width, height })
    await pressButton(page, 'both') // and the answer
    for (const preset of [
      'the notebook',
      'the whiteboard row',
      'a constant row',
      'an outlier',
      'a large offset',
      'the (5, 10, 3) tensor',
    ]) {
      await pressButton(page, preset)
      for (const panel of ['the number lines', 'what PyTorch prints', 'the code']) {
        await pressButton(page, panel)
        const tall = await page.$eval('#worked-example', (section) => section.getBoundingClientRect().height)
        assert.ok(tall <= height, `${preset}, ${panel}: ${tall} pixels`)
      }
    }
    await page.close()
  })
}

test('at 360 pixels nothing scrolls sideways', async () => {
  const { page } = await site.open('', { width: 360, height: 800 })
  for (const state of [
    '?step=input',
    '?step=variance&x11=12345.678',
    '?panel=print&dim=1&keepdim=no',
    '?panel=code',
    '?data=rand',
  ]) {
    await page.goto(site.url + state)
    await page.waitForSelector('.trust')
    assert.ok((await overflow(page)) <= 0, `${state}: ${await overflow(page)} pixels too wide`)
  }
  await page.close()
})
