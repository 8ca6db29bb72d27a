// Section 1: step by step, what each number comes from, presets, what PyTorch prints, and the code to paste.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { golden, unpack } from '../lib/support.js'
import { after, before, launch, open, serve, test } from './browser.js'

const UPDATE = 4 // milliseconds that an update may take
const cells = golden('notebook')

let server, browser
before(async () => {
  server = await serve()
  browser = await launch()
})
after(async () => {
  await browser?.close()
  server?.stop()
})

/** The numbers of a table, row by row, mean and variance included; '' for what is still to come. */
const numbers = (page, table) =>
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
const text = (page, selector) =>
  page.$eval(selector, (element) => element.textContent.replace(/\s+/g, ' ').trim())
const formula = (page) => text(page, '.formula')
const cellAt = (page, table, row, col) =>
  page.$(`.${table} tbody tr:nth-child(${row}) td.cell:nth-child(${col + 1})`)
const press = async (page, name) =>
  (await page.waitForSelector(`#layer ::-p-xpath(.//button[normalize-space()="${name}"])`)).click()
const lit = (page) =>
  page.$$eval('td.lit', (all) =>
    all.map((cell) => {
      const table = cell.closest('.figure > div').className.split(' ')[0]
      return `${table} ${cell.closest('tbody') ? [...cell.closest('tbody').children].indexOf(cell.parentElement) + 1 : 0} ${cell.cellIndex}`
    }),
  )
/** As the page writes a number. */
const written = (values) =>
  Array.from(values, (value) =>
    value
      .toFixed(4)
      .replace(/^-(?=0\.0+$)/, '')
      .replace('-', '−'),
  )

test('forward and back, by button and by arrow key, show what each step adds, and nothing of the next', async () => {
  const { page, complaints } = await open(browser, server.url)
  await press(page, 'from the start')
  assert.match(await text(page, '.stepper p'), /^1 of 8: Input\. 2 samples/)
  assert.ok((await numbers(page, 'outputs')).flat().every((value) => value === ''))
  await press(page, 'forward →')
  assert.match(await text(page, '.stepper p'), /^2 of 8: Linear/)
  const linear = (await numbers(page, 'outputs')).map((row) => row.slice(0, 6))
  assert.equal(linear.flat().filter((value) => value.startsWith('−')).length, 5)
  await page.evaluate(() => document.activeElement.blur())
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
  await press(page, '← back')
  assert.match(await text(page, '.stepper p'), /^5 of 8: Variance/)
  await page.waitForFunction(() => location.search === '?step=variance')
  assert.ok(await page.$eval('.tools button', (undo) => undo.disabled), 'a look is nothing to undo')
  await press(page, 'show all')
  assert.match(await text(page, '.stepper p'), /^All 8 steps/)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('played, the steps follow one another, and can be stopped', async () => {
  const { page } = await open(browser, `${server.url}?step=divide`)
  await press(page, 'play')
  await page.waitForFunction(() => /8 of 8/.test(document.querySelector('.stepper p').textContent), {
    timeout: 10000,
  })
  await press(page, 'pause')
  assert.match(await text(page, '.stepper p'), /^8 of 8/)
  await page.close()
})

test('a number pointed at says its formula with the numbers in it, and lights up what it comes from', async () => {
  const { page } = await open(browser, server.url)
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
  await (await page.$('.outputs tbody tr:nth-child(1) td.gap + td')).hover()
  assert.equal(await formula(page), 'μ₁ = (0.2260 + 0.3470 + 0.0000 + 0.2216 + 0.0000 + 0.0000) / 6 = 0.1324')
  await (await page.$('.outputs tbody tr:nth-child(1) td:last-child')).hover()
  assert.match(await formula(page), /^σ²₁ = \(\(0\.2260 − 0\.1324\)² \+ .*\) \/ \(6 − 1\) = 0\.0231$/)
  await (await page.$('.normalised tbody tr:nth-child(1) td.gap + td')).hover()
  assert.match(await formula(page), /^μ of ŷ₁ = .* = 0\.0000, in full \d\.\d{4}e−\d+$/)
  await (await page.$('h1')).hover()
  assert.equal((await page.$$('td.lit')).length, 0)
  await page.close()
})

test('ε, scale and shift stand in the formula once they count', async () => {
  const { page } = await open(browser, `${server.url}?eps=0.01&gamma1=2&beta1=1`)
  await (await cellAt(page, 'normalised', 1, 1)).hover()
  const [value] = (await numbers(page, 'normalised'))[0]
  assert.equal(
    await formula(page),
    `ŷ₁₁ = γ₁·(y₁₁ − μ₁) / √(σ²₁ + ε) + β₁ = 2.0000·(0.2260 − 0.1324) / √(0.0231 + 0.01) + 1.0000 = ${value}`,
  )
  await page.close()
})

test('the keyboard gets to every computed number: by Tab to the table, by arrow keys from there', async () => {
  const { page } = await open(browser, server.url)
  const stops = await page.$$eval(
    '.outputs td[tabindex="0"], .normalised td[tabindex="0"]',
    (all) => all.length,
  )
  assert.equal(stops, 2)
  await (await page.$('.normalised td[tabindex="0"]')).focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowRight')
  assert.match(await formula(page), /^ŷ₂₂ = .* = 0\.1121$/)
  for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowRight')
  assert.match(await formula(page), /^μ of ŷ₂ = /)
  await page.close()
})

test('the whiteboard’s row is normalised as the lecture does it', async () => {
  const { page } = await open(browser, server.url)
  await press(page, 'the whiteboard row')
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
  const { page } = await open(browser, server.url)
  await press(page, 'the (5, 10, 3) tensor')
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

test('a constant row is zeros thanks to ε, and without it every place says why there is none', async () => {
  const { page } = await open(browser, server.url)
  await press(page, 'a constant row')
  assert.deepEqual((await numbers(page, 'normalised'))[0], [
    '0.0000',
    '0.0000',
    '0.0000',
    '0.0000',
    '0.0000',
    '0.0000',
    '0.0000',
  ])
  await (await page.$('input[aria-label="ε"]')).focus()
  await page.keyboard.type('0')
  assert.doesNotMatch(await text(page, '#app'), /NaN/)
  assert.match(await text(page, '.journeys'), /would divide 0 by 0/)
  await (await cellAt(page, 'normalised', 1, 2)).hover()
  assert.match(await formula(page), /would divide 0 by 0/)
  await press(page, 'what PyTorch prints')
  assert.match(await text(page, '.printed'), /nan means “no number”.*would divide 0 by 0/)
  await page.close()
})

test('numbers too large for a float32 are said to be that', async () => {
  const { page } = await open(browser, `${server.url}?x11=3e38&x12=-3e38`)
  assert.doesNotMatch(await text(page, '#app'), /NaN/)
  assert.match(await text(page, '.journeys'), /numbers are too large: a float32 ends at 3\.4·10³⁸/)
  await page.close()
})

test('an outlier and a large offset come out as their presets say', async () => {
  const { page } = await open(browser, server.url)
  await press(page, 'an outlier')
  const [outlier] = await numbers(page, 'normalised')
  assert.ok(Math.abs(Number(outlier[2]) - 2) < 0.02, outlier[2])
  for (const c of [0, 1, 3, 4])
    assert.ok(Math.abs(Number(outlier[c].replace('−', '-')) + 0.5) < 0.1, outlier[c])
  await press(page, 'a large offset')
  const [first] = await numbers(page, 'normalised')
  const exact = unpack(cells['cell 7'].out)
  const value = (text) => Number(text.replace('−', '-'))
  first.slice(0, 5).forEach((shown, c) => {
    const off = Math.abs(value(shown) - exact[c])
    assert.ok(off < 0.005, `${shown} for ${exact[c]}`)
  })
  assert.ok(Math.abs(value(first[5])) < 0.002 && first[6] === '1.0000', String(first))
  await page.close()
})

test('the tensors are printed as PyTorch prints them, in scientific notation or without', async () => {
  const { page } = await open(browser, server.url)
  await press(page, 'what PyTorch prints')
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

test('dim and keepdim say what they do to the shape, and whether the mean can then be subtracted', async () => {
  const { page } = await open(browser, `${server.url}?panel=print`)
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

/** What is only dust, and differs from one machine to the next, is 0. */
const dusted = (printed) =>
  printed
    .replace(/ *-?\d\.\d{4}e-0[6-9]| *-0\.0000| *0\.0000(e\+00)?/g, ' 0')
    .replace(/\s+/g, ' ')
    .trim()

test('the code, pasted into Python and into Node, prints what the page shows', async (t) => {
  const { page } = await open(browser, server.url)
  const pasted = []
  for (const state of states) {
    await page.goto(`${server.url}${state}${state ? '&' : '?'}panel=print`)
    await page.waitForSelector('.print')
    const shown = (await page.$$eval('.print pre', (all) => all.map((one) => one.textContent))).join('\n')
    await press(page, 'the code')
    await page.evaluate(() => {
      window.copied = []
      navigator.clipboard.writeText = async (text) => void window.copied.push(text)
    })
    for (const button of await page.$$('.code .copy button')) await button.click()
    const [pytorch, javascript] = await page.evaluate(() => window.copied)
    pasted.push({ state, shown, pytorch, javascript })
  }
  await page.close()
  // in a folder of the repository, from where the package's name leads to dist
  const folder = mkdtempSync(fileURLToPath(new URL('../../build/pasted-', import.meta.url)))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const { state, shown, javascript } of pasted) {
    writeFileSync(`${folder}/pasted.mjs`, javascript)
    const printed = execFileSync(process.execPath, [`${folder}/pasted.mjs`], { encoding: 'utf8' })
    assert.equal(dusted(printed), dusted(shown), `JavaScript, ${state}`)
  }
  const python = '/usr/bin/python3'
  if (spawnSync(python, ['-c', 'import torch']).status !== 0) return t.skip('no PyTorch here')
  // one process for all, for importing torch takes seconds
  const again =
    'torch.set_printoptions(sci_mode=None); torch.set_printoptions(profile="default"); print("next")'
  const printed = execFileSync(python, ['-c', pasted.map(({ pytorch }) => pytorch).join(`\n${again}\n`)], {
    encoding: 'utf8',
  })
  printed
    .split('next\n')
    .forEach((one, i) => assert.equal(dusted(one), dusted(pasted[i].shown), `PyTorch, ${states[i]}`))
  assert.equal(printed.split('next\n').length, states.length)
})

test(`an update takes less than ${UPDATE} ms`, async () => {
  const { page } = await open(browser, server.url)
  const times = await page.evaluate(() => {
    const input = document.querySelector('.batch input')
    input.focus()
    return Array.from({ length: 100 }, (_, i) => {
      input.value = String(i / 10)
      const start = performance.now()
      input.dispatchEvent(new InputEvent('input', { bubbles: true }))
      return performance.now() - start
    })
  })
  // the machine may be busy with other things: what a quarter of the updates took, the rest could have
  const [quarter] = times.sort((a, b) => a - b).slice(25)
  assert.ok(quarter < UPDATE, `${quarter} ms`)
  await page.close()
})

for (const [width, height] of [
  [1440, 900],
  [1280, 800],
]) {
  test(`at ${width} by ${height} the section fits the screen, whatever it shows`, async () => {
    const { page } = await open(browser, server.url, { width, height })
    await press(page, 'both') // and the answer
    for (const preset of [
      'the notebook',
      'the whiteboard row',
      'a constant row',
      'an outlier',
      'a large offset',
      'the (5, 10, 3) tensor',
    ]) {
      await press(page, preset)
      for (const panel of ['the number lines', 'what PyTorch prints', 'the code']) {
        await press(page, panel)
        const tall = await page.$eval('#layer', (section) => section.offsetHeight)
        assert.ok(tall <= height, `${preset}, ${panel}: ${tall} pixels`)
      }
    }
    await page.close()
  })
}

test('at 360 pixels nothing scrolls sideways, whatever the section shows', async () => {
  const { page } = await open(browser, server.url, { width: 360, height: 800 })
  for (const state of [
    '?step=input',
    '?step=variance&x11=12345.678',
    '?panel=print&dim=1&keepdim=no',
    '?panel=code',
    '?data=rand',
  ]) {
    await page.goto(server.url + state)
    await page.waitForSelector('.trust')
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(overflow <= 0, `${state}: ${overflow} pixels too wide`)
  }
  await page.close()
})
