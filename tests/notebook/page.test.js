// The notebook page in browsers: its cells print what PyTorch prints, and whatever is written ends in words.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as runner from 'node:test'
import { all } from '../all.js'
import {
  BROWSERS,
  click,
  closeBrowsers,
  eventually,
  fetchedFirst,
  findings,
  focus,
  get,
  goOffline,
  hover,
  listen,
  open,
  overflow,
  press as pressKeys,
  resize,
  serve,
  serveWithout,
  share,
  skipped,
  test,
  text,
  useSite,
  waitInPage,
} from '../demo/browser.js'
import { assertFigures } from '../demo/figures.js'
import { assertLooks, LAPTOP, PHONE, point, turnInto } from '../demo/looks.js'
import {
  fileOf,
  isIdle,
  linkOf,
  LOAD,
  look,
  MODEL,
  press,
  recorded,
  retype,
  runForeign,
  settle,
  upload,
  write,
} from './support.js'

const site = useSite({ saves: true })
const READY = { ready: '.cell' }
/** The pages that a test has opened. They are closed when it ends. @type {import('puppeteer-core').Page[]} */
const pages = []
runner.afterEach(async () => {
  for (const page of pages.splice(0)) await page.close()
})

/** Opens a notebook, and waits until it has run where it runs by itself. @param {string} fragment */
async function openAt(fragment) {
  const { page } = await site.open(`notebook/${fragment}`, READY)
  pages.push(page)
  await settle(page)
  return page
}

/** Opens cells as somebody who was sent a link, and runs them. @param {...string} cells */
async function runCells(...cells) {
  const page = await openAt(linkOf(fileOf(...cells)))
  return { page, cells: await runForeign(page) }
}

// “Train it” takes as long as all others together. By default it trains for 50 of its 500 steps, in a test below.
const tried = Object.entries(recorded).filter(([name]) => all || name !== 'train')

for (const browser of BROWSERS)
  for (const [name, cells] of tried)
    runner.test(
      `each cell of “${name}” prints what PyTorch prints, in ${browser}`,
      { skip: skipped[browser] },
      async () => {
        const url = `${await serve()}notebook/#${name}`
        const { page, complaints, foreign } = await open(await share(browser), url, READY)
        if (name === 'train' || name === 'own') await press(page, 'Run all')
        if (name === 'own') await upload(page, '.file input', MODEL)
        const seen = await settle(page)
        assert.deepEqual(
          seen.map(({ text, error, isSame }) => [text + error, isSame]),
          cells.map(({ prints }) => [prints, prints !== '']),
        )
        if (seen.some(({ figures }) => figures > 0)) await assertFigures(page, name)
        assert.deepEqual([...complaints, ...foreign], [])
        await page.close()
      },
    )
runner.after(closeBrowsers)

test('what is typed, named and drawn in the notebook looks as it was recorded', async () => {
  const { page } = await runCells(
    '',
    'plot({ a: [1, 5, 2], b: [4, 3, 9] }, { title: "Two" })\nheatmap([[1, -1]], { rows: ["r"], cols: ["a", "b"] })\ndots([1, 2])',
  )
  // A chart is drawn a moment after its cell has run, because its width is measured first.
  await waitInPage(page, () => document.querySelectorAll('.output :is(.frame, .rows) > svg').length === 2)
  await assertLooks(page, 'notebook-figures', '.output')
  await focus(page, '.cm-content')
  await write(page, 'gpt.layerN')
  await get(page, '.cm-tooltip-autocomplete li ::-p-text(layerNorm)')
  await assertLooks(page, 'notebook-completion', '#cell-1')
  await page.keyboard.press('Escape')
  await write(page, 'gpt.LayerNorm')
  await page.keyboard.press('Escape')
  await hover(page, '.cm-line', ({ left, top, height }) => ({ x: left + 70, y: top + height / 2 }))
  // The editor adds it above the screen, and moves it a frame later.
  await waitInPage(
    page,
    () => (document.querySelector('.cm-tooltip-hover')?.getBoundingClientRect().top ?? -1) >= 0,
  )
  await assertLooks(page, 'notebook-name', '.cm-tooltip-hover')
})

test('until the editor is there, the code looks as it was recorded', async (t) => {
  const server = await serveWithout(t, site.url, /editor-.+\.js$/)
  const { page } = await open(site.browser, `${server.url}notebook/#attention`, { ...LAPTOP, ...READY })
  pages.push(page)
  await assertLooks(page, 'notebook-still', '#cell-2 .code')
})

test('the notebook looks as it was recorded, on a laptop and on a phone', async () => {
  const { page } = await site.open('notebook/#attention', { ...LAPTOP, ...READY })
  pages.push(page)
  await settle(page)
  const parts = 'header, .bar, #cell-1, #cell-2, #cell-4'
  await page.evaluate(() => scrollTo(0, 400)) // the bar of a laptop stays at the top
  await assertLooks(page, 'notebook-laptop', parts)
  await turnInto(page, PHONE)
  await point(page, 'a, button, select, section, .editor')
  await assertLooks(page, 'notebook-phone', parts)
})

test('“train” with 50 steps in place of 500 prints PyTorch’s first lines', async () => {
  const page = await openAt('#train')
  // The editor draws the lines that are on the screen.
  await page.$eval('.cm-content[aria-label="Code of cell 3"]', (one) => one.scrollIntoView(false))
  await retype(page, '500', '50')
  await press(page, 'Run all')
  const shown = (await settle(page)).map(({ text, error, isSame }) => [text + error, isSame])
  const [text, model, training] = recorded.train.map(({ prints }) => prints)
  const started = training.slice(0, training.indexOf('\nStep 100'))
  assert.deepEqual(shown.slice(0, 3), [
    [text, true],
    [model, true],
    [started, false],
  ])
})

test('an edit takes the mark away; it is kept, not run, after a reload; to forget it brings the notebook back', async () => {
  const page = await openAt('#attention')
  await retype(page, '123', '1234')
  await pressKeys(page, 'Shift', 'Enter')
  const [first, second] = await settle(page)
  assert.match(first.text, /^tensor\(/)
  assert.notEqual(first.text, recorded.attention[0].prints)
  assert.deepEqual([first.isSame, second.isSame], [false, true])
  await pressKeys(page, 'Control', 'Enter') // cell 2 is as it came, but prints other numbers now
  assert.equal((await settle(page))[1].isSame, false)
  assert.match(await page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? ''), /cell 2$/)
  await get(page, 'header ::-p-text(Your changes are kept in this browser.)')
  // Another notebook is opened in the moment of the last edit.
  await focus(page, '.cm-content')
  await page.evaluate(() => {
    document.execCommand('insertText', false, '/* last */')
    location.hash = '#blank'
  })
  await waitInPage(page, () => document.querySelector('select')?.value === 'blank')
  await page.evaluate(() => (location.hash = '#attention'))
  await waitInPage(page, () => document.querySelector('select')?.value === 'attention')
  await page.reload()
  assert.equal((await settle(page))[0].text, '')
  assert.match(await text(page, '.cm-content'), /manualSeed\(1234\/\* last \*\/\)/)
  await press(page, 'Forget them')
  const [back] = await settle(page)
  assert.deepEqual([back.text, back.isSame], [recorded.attention[0].prints, true])
})

test('names of a cell exist in the next, may be declared again, and the last value is shown', async () => {
  const declare =
    "let q\nvar one = 1, { x, y: [z = 3] } = { x: 1, y: [] }\nfunction add(a) { return a + x }\nclass A { b = z }\nconst name = 'n'"
  const { page, cells } = await runCells(
    LOAD,
    declare,
    '({ sum: add(one), a: new A(), name, q })',
    'q = 5\nconst { zeros, tensor: t } = await import("gpt-layers")\nimport { ones as o } from \'gpt-layers\'\n;[zeros, t, o].map((f) => String(f === undefined))',
    'for (const i of [1, 2]) console.log(i, [i], new Float32Array(2))\nawait new Promise((r) => setTimeout(r, 5))\ngpt.arange(3)',
    'new gpt.Sequential(new gpt.ReLU())',
  )
  const shown = cells.map(({ text, error }) => text + error)
  assert.deepEqual(shown, [
    '',
    '',
    '{ sum: 2, a: A { b: 3 }, name: "n", q: undefined }',
    '[ "false", "false", "false" ]',
    '1 [ 1 ] Float32Array(2) [ 0, 0 ]\n2 [ 2 ] Float32Array(2) [ 0, 0 ]\ntensor([0., 1., 2.])',
    'Sequential(\n  (0): ReLU()\n)',
  ])
  await press(page, 'Run cell 2')
  await press(page, 'Run cell 3')
  assert.equal((await settle(page))[2].text, shown[2])
})

test('Stop lets a cell stop where it awaits: its variables are kept, and it goes on when it runs again', async () => {
  const cells = ['let n = 0, end = 1e9', 'for (; n < end; n++) await plot([n, 1])', 'end = n + 50', 'n']
  const page = await openAt(linkOf(fileOf(...cells)))
  await press(page, 'Run this notebook')
  await waitInPage(page, () => document.querySelector('figure') !== null)
  await press(page, 'Stop')
  await get(page, '.notice ::-p-text(Stopped. The cells’ variables are as they were.)')
  assert.equal((await settle(page))[2].text, '', 'what follows does not run')
  await press(page, 'Run cell 3')
  const end = Number((await settle(page))[2].text)
  assert.ok(end > 50, String(end))
  await press(page, 'Run cell 2')
  await press(page, 'Run cell 4') // waits for the other
  assert.equal((await settle(page))[3].text, String(end))
})

test('Stop ends an endless loop: the variables are gone, and Run all starts afresh', async () => {
  const page = await openAt(linkOf(fileOf('console.log("before")', 'for (;;) {}')))
  await press(page, 'Run this notebook')
  await click(page, '.gutter ::-p-text(Stop)') // comes after a second
  await get(page, '.notice ::-p-text(Stopped. The cells’ variables are gone with their worker.)')
  assert.equal(await page.evaluate(isIdle), true)
  await press(page, 'Run cell 1')
  assert.equal((await settle(page))[0].text, 'before')
})

test('a million prints: a thousand are shown, and how many are not', async () => {
  const { page } = await runCells('for (let i = 0; i < 1e6; i++) console.log(i)')
  const said = await page.$eval('.output', (one) => one.textContent)
  assert.match(said, /998\s*999\s*999,000 more prints are not shown\./)
})

test('an error is underlined in its line, and so is what a listener or a timer throws', async () => {
  const throwing =
    "const layer = new gpt.ReLU()\nlayer.onForward(() => {\n  throw new Error('from the listener')\n})"
  const { page, cells } = await runCells(LOAD, throwing, '// first\nlayer.forward(gpt.ones([2]))')
  assert.equal(cells[2].error, 'Error: from the listener\nin cell 2, line 3')
  assert.equal(await text(page, '.cm-lintRange-error'), "throw new Error('from the listener')")
  assert.deepEqual(await page.$$eval('.cell', (all) => all.map((one) => one.matches('.failed'))), [
    false,
    false,
    true,
  ])

  const later = await runCells(
    LOAD.replace('()', '({ maxMemory: 64 })'),
    'setTimeout(() => {\n  nn.Linear(2, 3)\n})\nawait new Promise((r) => setTimeout(r, 99))',
    "Promise.reject('no')\nawait new Promise((r) => setTimeout(r, 99))",
    'setTimeout(() => gpt.zeros([1e4, 1e4]))\nawait new Promise((r) => setTimeout(r, 99))',
    'const a = 1\nconst b = = 2',
    '1',
  )
  for (const [i, says] of [
    /^$/,
    /^ReferenceError: nn is not defined\nComing from PyTorch: gpt has what torch, .+\nin cell 2, line 2$/,
    /^Thrown: no$/,
    /^GptLayersError: zeros: needs \d+ bytes, and the heap of .+\nin cell 4, line 1$/,
    /^SyntaxError: Unexpected token\nin cell 5, line 2$/,
    /^$/,
  ].entries())
    assert.match(later.cells[i].error, says)
  assert.equal(later.cells[5].text, '', 'what follows an error does not run')
  await resize(later.page, 360, 740)
  const cut = await later.page.$$eval('.error', (all) =>
    all.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth).filter(Boolean),
  )
  assert.deepEqual(cut, [], 'an error is wider than a phone')
})

test('code from a link does not run by itself; it reaches no network, no storage and not the page, and prints no HTML', async (t) => {
  /** @type {string[]} */
  const asked = []
  const elsewhere = await listen(t, ({ url }, response) => {
    asked.push(String(url))
    response.writeHead(200, { 'Access-Control-Allow-Origin': '*', 'Content-Type': 'text/javascript' }).end()
  })
  const probe = `const tried = {
  fetch: () => fetch('${elsewhere}fetch'),
  own: () => fetch('${site.url}'),
  import: () => (0, eval)("import('${elsewhere}import')"),
  socket: () => new Promise((_, no) => { new WebSocket('${elsewhere.replace('http', 'ws')}').onerror = no }),
  caches: () => caches.open('x'),
  storage: () => new Promise((yes, no) => { const r = indexedDB.open('x'); r.onsuccess = yes; r.onerror = no }),
  page: () => document.title,
}
for (const [name, run] of Object.entries(tried)) {
  const reached = await (async () => run())().then(() => 'REACHED', () => 'refused')
  console.log(name, reached)
}
console.log('<img src=x onerror=alert(1)>')`
  const markdown =
    '// %% [markdown]\n// # <img src=x onerror=alert(1)> [a](javascript:alert(1)) [b](https://example.com)\n'
  const page = await openAt(linkOf(`${markdown}\n${fileOf(probe)}`))
  await page.evaluate(() => {
    window.alert = () => void (document.title = 'alerted')
  })
  assert.equal((await settle(page))[0].text, '')
  assert.match(await text(page, '.foreign'), /This code did not come with the page, and has not run\./)
  const [{ text: printed }] = await runForeign(page)
  const names = ['fetch', 'own', 'import', 'socket', 'caches', 'storage', 'page']
  assert.equal(
    printed,
    [...names.map((name) => `${name} refused`), '<img src=x onerror=alert(1)>'].join('\n'),
  )
  assert.equal(await page.$('main img'), null)
  assert.deepEqual(await page.$$eval('main .text a', (all) => all.map(({ href }) => href)), [
    'https://example.com/',
  ])
  assert.doesNotMatch(await page.title(), /alerted/)
  assert.deepEqual(asked, [])
})

test('a link that is wrong ends in words, and the first notebook is there', async () => {
  const page = await openAt('#blank')
  for (const [fragment, says] of /** @type {const} */ ([
    [`#code=${'A'.repeat(2e6)}`, 'the link has 2,001 kB, at most 64 kB are.'],
    [linkOf(fileOf('1')).slice(0, -9), 'a part of the link is missing or wrong.'],
    [linkOf('1\n'.repeat(15e6)), 'it has more than 1,000 kB.'],
    ['#nothing', 'There is no notebook “nothing”'],
  ])) {
    await page.goto(`${site.url}notebook/${fragment}`)
    await get(page, `.notice ::-p-text(${says})`)
    assert.equal((await settle(page))[0].text, recorded.notebook[0].prints)
  }
})

test('a link holds the notebook as it was shared; one that is too long is not made', async () => {
  const page = await openAt('#blank')
  await focus(page, '.cm-content')
  await write(page, '1 + 1 // “shared”')
  await press(page, 'Share')
  const field = await get(page, '.notice input')
  const link = await field.evaluate((one) => /** @type {HTMLInputElement} */ (one).value)
  const { page: other } = await open(site.browser, link, READY)
  assert.equal((await runForeign(other))[0].text, '2')
  await other.close()
  const long = join(site.folder, 'long.mjs')
  writeFileSync(long, Array.from({ length: 8000 }, (_, i) => Math.sin(i)).join('\n'))
  await upload(page, 'input[accept*=".mjs"]', long)
  await get(page, '.foreign ::-p-text(This code did not come with the page)')
  await press(page, 'Share')
  await get(page, `.notice ::-p-text(too long for most programs. Download it.)`)
})

test('what is downloaded runs in Node, opens again, and is kept', async () => {
  const page = await openAt(linkOf(fileOf(LOAD, 'console.log(gpt.arange(3))\nplot([1, 2])')))
  await press(page, '+ Text')
  await page.keyboard.type('A *new* cell')
  await page.keyboard.press('Escape')
  await get(page, '.text em ::-p-text(new)')
  const bytes = await site.saved('mine.mjs', () => press(page, 'Download'))
  const path = join(site.folder, 'mine.mjs')
  const entry = new URL('../../dist/index.js', import.meta.url)
  const program = join(site.folder, 'run.mjs')
  writeFileSync(program, String(bytes).replace("'gpt-layers'", `'${entry}'`))
  assert.equal(String(execFileSync(process.execPath, [program])), 'tensor([0., 1., 2.])\n')
  const next = await openAt('#blank')
  await upload(next, 'input[accept*=".mjs"]', path)
  await get(next, '.text ::-p-text(new)')
  await next.reload()
  await get(next, '.text em ::-p-text(new)')
  assert.equal((await runForeign(next))[1].figures, 1)
})

test('two tabs: one says that the other has changed the notebook, and shows it when asked', async () => {
  const [one, other] = [await openAt('#gpt'), await openAt('#gpt')]
  await focus(one, '.cm-content')
  await write(one, '40 + 2')
  await get(other, '.notice ::-p-text(This notebook was changed in another tab.)')
  await press(other, 'Show the other one')
  await waitInPage(other, () => document.querySelector('.cm-content')?.textContent === '40 + 2')
  await press(other, 'Forget them')
})

test('a worker whose process has ended, as Chrome ends it without memory, is missed in words', async () => {
  const page = await openAt('#sources')
  await page.$eval('iframe', (frame) => (frame.srcdoc = '')) // nobody is there any more
  await get(page, '.notice ::-p-text(The cells’ worker is gone: it has ended, perhaps for lack of memory.)')
  await press(page, 'Run all')
  assert.equal((await settle(page))[1].text, recorded.sources[1].prints)
  // Before it prints, a cell has the room of what it will print.
  const grown = await page.$$eval('.output:not(:has(figure))', (all) =>
    all.map((one) => {
      const { height } = one.getBoundingClientRect()
      one.replaceChildren()
      return Math.round(height - one.getBoundingClientRect().height)
    }),
  )
  assert.deepEqual(grown, Array(grown.length).fill(0))
  await page.select('select', 'attention')
  await get(page, '.cm-content ::-p-text(journey)') // until then the cells are those of before
  assert.equal((await settle(page))[0].text, recorded.attention[0].prints)
})

test('a figure at the same place is updated, and a wrong one is refused in words', async () => {
  const { page, cells } = await runCells(
    'for (let i = 2; i < 40; i++) plot([...Array(i).keys()], { title: `to ${i}` })\nplot({ a: [1, 2], b: [2, 1], c: [3, 0] })\nheatmap([[1, -1]], { rows: ["r"], cols: ["a", "b"] })',
    'try { plot(new Float32Array(100_001)) } catch (error) { console.log(error.message) }\nheatmap(3)',
  )
  assert.equal(cells[0].figures, 3)
  await eventually(async () => (await page.$$('path.without')).length === 1, 'of three curves one is dashed')
  await assertFigures(page, 'in one cell')
  assert.equal(await text(page, 'figcaption'), 'to 39')
  assert.match(cells[1].text, /^plot: the first argument should be .* at most 100000 numbers$/)
  assert.match(cells[1].error, /^TypeError: heatmap: matrix should be rows of numbers/)
})

test('cells are added, moved, deleted and brought back; all by keyboard', async () => {
  const page = await openAt(linkOf(fileOf('1', '2')))
  const codes = () => page.$$eval('.cm-content', (all) => all.map((one) => one.textContent))
  const pressAt = async (/** @type {number} */ place, /** @type {string} */ name) => {
    await focus(
      page,
      `section:nth-of-type(${place}) ::-p-xpath(.//button[normalize-space()="${name}" or @aria-label="${name}"])`,
    )
    assert.equal(await page.$eval('.tools:focus-within', (one) => getComputedStyle(one).opacity), '1')
    await page.keyboard.press('Enter')
  }
  const moves = await page.$$eval('[aria-label^="Move"]', (all) => all.map((one) => one.matches(':disabled')))
  assert.deepEqual(moves, [true, false, false, true]) // up and down, of both
  await pressAt(1, '+ Code')
  await page.keyboard.type('3')
  assert.deepEqual(await codes(), ['1', '3', '2'])
  await pressAt(1, 'Move down')
  assert.deepEqual(await codes(), ['3', '1', '2'])
  await get(page, '.cm-content[aria-label="Code of cell 1"] ::-p-text(3)')
  await pressAt(2, 'Move down')
  assert.deepEqual(await codes(), ['3', '2', '1'])
  await pressAt(3, 'Move up')
  assert.deepEqual(await codes(), ['3', '1', '2'])
  await pressAt(1, 'Delete')
  assert.deepEqual(await codes(), ['1', '2'])
  await press(page, 'Undo')
  assert.deepEqual(await codes(), ['3', '1', '2'])
  // Tab indents; after Escape it leaves the editor.
  await focus(page, '.cm-content')
  await page.keyboard.press('Tab')
  assert.match((await codes())[0] ?? '', /^ +3$|^3 +$/)
  await page.keyboard.press('Escape')
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement?.textContent?.trim()), '+ Code')
})

test('the editor completes names, and says what they are', async () => {
  const page = await openAt('#blank')
  const top = () => page.$eval('.cm-content', (one) => one.getBoundingClientRect().top)
  const before = await top()
  await focus(page, '.cm-content')
  await write(page, 'gpt.layerN')
  await get(page, '.cm-tooltip-autocomplete li ::-p-text(layerNorm)')
  await page.keyboard.press('Escape')
  await write(page, 'gpt.LayerNorm')
  await page.keyboard.press('Escape')
  await get(page, 'header ::-p-text(Forget them)')
  assert.equal(await top(), before, 'the note moves nothing')
  await hover(page, '.cm-line', ({ left, top, height }) => ({ x: left + 70, y: top + height / 2 }))
  const tip = await get(page, '.cm-tooltip-hover')
  assert.match(
    await tip.evaluate((one) => one.textContent ?? ''),
    /^new gpt\.LayerNorm\(embDim: .*\)Layer norm.*\.$/,
  )
  const [ground, around] = await tip.evaluate((one) =>
    [one, document.documentElement].map((part) => getComputedStyle(part).backgroundColor),
  )
  assert.equal(ground, around, 'the code behind it is seen')
})

test('axe finds nothing, light and dark, wide and narrow, and nothing is wider than the screen', async () => {
  const page = await openAt('#attention')
  await press(page, 'Show PyTorch')
  for (const width of [1280, 360]) {
    await resize(page, width, 740)
    for (const value of ['light', 'dark']) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }])
      assert.deepEqual(await findings(page), [], `${width} pixels, ${value}`)
    }
    assert.ok((await overflow(page)) <= 0)
  }
})

test('what the notebook needs to run is at most 230 kB gzipped, without fonts; its editor comes afterwards', async () => {
  const context = await site.newProfile()
  const started = () => document.querySelectorAll('.same').length === 7
  const { files, bytes } = await fetchedFirst(context, `${site.url}notebook/`, started)
  assert.ok(files >= 4 && bytes <= 230e3, `${files} files, ${bytes} bytes`)
  await context.close()
})

test('after the first visit the notebook works without a network', async () => {
  const context = await site.newProfile()
  const { page } = await open(context, `${site.url}notebook/`, READY)
  await goOffline(page)
  await page.goto(`${site.url}notebook/#sources`, { waitUntil: 'load' })
  await page.reload({ waitUntil: 'load' })
  await eventually(
    async () => (await page.evaluate(look)).filter(({ isSame }) => isSame).length === 6,
    'no cell ran',
  )
  await context.close()
})
