// A GPT of the reader's own in the page: its file, its tokens, and what the page says where one is missing.

/** @import { Page } from 'puppeteer-core' */
/** @import { Opened } from './browser.js' */

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import * as gpt from 'gpt-layers'
import { Engine } from '../../build/demo/writer/engine.js'
import { gpt2Tokens } from '../../build/demo/writer/gpt2tokens.js'
import { readAs, readModel, sentenceOf } from '../../build/demo/writer/file.js'
import { SHAKESPEARE, tokensOf } from '../../build/demo/writer/tokens.js'
import { entryOf, fileOf, gpt2Entries } from '../lib/gpt2file.js'
import { shake } from '../lib/support.js'
import * as browser from './browser.js'

await gpt.load()
gpt.manualSeed(16) // the Shakespeare’s text has a line break

const goldenFile = (/** @type {string} */ name) =>
  readFileSync(new URL(`../golden/pretrained/${name}`, import.meta.url))
const newModel = (/** @type {number} */ vocabSize, config = {}) =>
  shake(
    gpt,
    new gpt.GPTModel({ vocabSize, contextLength: 16, embDim: 8, nHeads: 2, nLayers: 1, ...config }),
  ).eval()
/** A model that would write only tokens from 50257 on. */
const padded = newModel(50304)
padded.outHead.weight.data.fill(0)
padded.finalNorm.stateDict().shift.data.fill(1)
padded.outHead.weight.data.fill(9, 8 * 50257)

const NINETEEN = 'abcdefghijk lmno?!\n'

/** Files as people have them, and what is asked or given. */
const FILES = [
  { name: 'model.pth', bytes: goldenFile('model.pth'), nHeads: 3, says: '19 tokens, shown as numbers' },
  {
    name: 'model_and_optimizer.pth',
    bytes: goldenFile('model_and_optimizer.pth'),
    nHeads: 3,
    says: '19 tok',
  },
  { name: 'ckpt.pt', bytes: goldenFile('ckpt.pt'), characters: NINETEEN, says: '19 tokens, characters' },
  {
    name: 'shakespeare.safetensors',
    bytes: gpt.saveSafetensors(newModel(65)),
    says: '65 tokens, characters',
  },
  {
    name: 'padded.safetensors',
    bytes: gpt.saveSafetensors(padded, { names: 'ours' }),
    says: '50,304 tokens, GPT-2’s and unused ones',
  },
].map((one) => ({ nHeads: undefined, characters: undefined, ...one }))

const WORDS = 12

/** What a model writes at the page's first settings. @param {typeof FILES[number]} file */
async function textOf({ name, bytes, nHeads, characters }, seed = 5) {
  const model = await readModel([new File([new Uint8Array(bytes)], name)], { nHeads })
  const engine = new Engine({ model, slides: true, ...(await readAs(model.vocabSize)) })
  if (characters) engine.readAs(tokensOf(model.vocabSize, characters))
  const off = new Array(engine.model.norms).fill(false)
  const settings = { ...engine.settings, seed, temperature: 0.8, off }
  const prompt = engine.refusalOf('Once upon a time') ? settings.prompt : 'Once upon a time'
  engine.set({ ...settings, prompt })
  for (let i = 0; i < WORDS; i++) engine.step()
  return { engine, text: engine.texts(engine.with).join('').trim() }
}

test('the texts of tokens join to the text, with characters of several tokens', () => {
  const text = 'Once upon a time 😀 naïve 日本 \u{feff}<|endoftext|>'
  const ids = gpt2Tokens.encode(text)
  assert.equal(gpt2Tokens.texts(ids).join(''), text)
  assert.equal(gpt2Tokens.decode(ids), text)
  assert.deepEqual(gpt2Tokens.texts([33768, 98]), ['', '日'])
})

test('a token with a part of a character shows its bytes, and changes no other token', () => {
  const [space, rest] = gpt2Tokens.encode(' 😀')
  assert.equal(gpt2Tokens.decode([space]), ' \\xf0\\x9f\\x98')
  assert.equal(gpt2Tokens.decode([rest]), '\\x80')
  assert.deepEqual(gpt2Tokens.texts([space, 257]), [' ', '� a'])
  assert.equal(gpt2Tokens.decode([gpt2Tokens.stop]), '<|endoftext|>')
})

test('a padded vocabulary shows no token from 50257 on', async () => {
  const { engine } = await textOf(FILES.at(-1) ?? FILES[0])
  assert.equal(engine.with.ids.length, 4 + WORDS)
  const top = engine.with.step?.top.map(({ token }) => token) ?? []
  assert.ok(Math.max(...engine.with.ids, ...top) < 50257, `${engine.with.ids}; ${top}`)
})

test('65 tokens are the characters of nanoGPT’s Shakespeare, other tokens numbers, unless they are given', async () => {
  const { tokenizer } = await readAs(65)
  assert.equal(SHAKESPEARE.length, 65)
  assert.deepEqual([...SHAKESPEARE], [...SHAKESPEARE].sort())
  assert.deepEqual(tokenizer.encode('\nAz'), [0, 13, 64])
  const { tokenizer: numbers } = await readAs(19)
  assert.deepEqual(numbers.encode(' 3 18,0'), [3, 18, 0])
  for (const text of ['19', '-1', '1.5', 'a'])
    assert.throws(() => numbers.encode(text), { message: /^Type numbers from 0 to 18, / })
  const given = tokensOf(19, NINETEEN)
  assert.equal(given.decode(given.encode('a lone gnome!\n')), 'a lone gnome!\n')
  assert.throws(() => given.encode('z'), { message: 'The model does not know “z”.' })
})

test('a file that is damaged, or of something else, is refused in one sentence that says what is wrong', async () => {
  const small = newModel(7)
  const entries = gpt2Entries(small)
  const nan = entryOf('ln_f.bias', [8], new Float32Array(8).fill(NaN))
  const changed = fileOf(entries.map((entry) => (entry.name === nan.name ? nan : entry)))
  for (const [bytes, sentence] of /** @type {const} */ ([
    [gpt.saveSafetensors(small).slice(0, 99), /^The file should be a safetensors file, got [^\n]+\.$/],
    [goldenFile('model.pth').subarray(0, 3000), /^The file should be a file of torch\.save, got 3000 bytes/],
    [gpt.saveSafetensors(new gpt.Linear(2, 3)), /^The file should have wte\.weight or tok_emb\.weight .*\.$/],
    [
      Buffer.from('Once upon a time'),
      /^The file should be .* got one that starts with "Once upon a time"\.$/,
    ],
    [changed, 'The file should have finite numbers only, got others in final_norm.shift.'],
    [
      gpt.saveSafetensors(newModel(7, { nLayers: 49 })),
      'The file should have at most 48 blocks of 1600 numbers, as GPT-2 XL, got 49 blocks of 8.',
    ],
  ])) {
    const refused = readModel([new File([new Uint8Array(bytes)], 'model')]).catch(sentenceOf)
    const said = await refused
    if (typeof sentence === 'string') assert.equal(said, sentence)
    else assert.match(String(said), sentence)
  }
})

test('Hugging Face’s config.json and the parts of a model may come with it', async () => {
  const names = [1, 2].map((part) => `model-0000${part}-of-00002.safetensors`)
  const parts = names.map((name) => new File([goldenFile(name)], name))
  const config = new File(['{ "n_head": 3, "activation_function": "gelu" }'], 'config.json')
  const model = await readModel([config, ...parts])
  assert.equal(model.trfBlocks[0].attn.nHeads, 3)
})

const site = browser.useSite()
browser.after(browser.closePages)

/** What is said about the reader's GPT. */
const LINE = '.file'
const TEXT = '#story .run.with'

/** Remembers every text, also one that has ended and makes room for the next; in the page. */
function remember() {
  const texts = new Set()
  new MutationObserver(() => {
    const text = document.querySelector('#story .run.with')?.textContent.trim()
    if (text) texts.add(text)
  }).observe(document, { subtree: true, childList: true, characterData: true })
  Object.assign(window, { texts })
}

const open = (address = '?embed=story&story.all=yes', profile = site.browser) =>
  browser.open(profile, site.url + address, { ready: LINE, first: remember })

/** A test of the open page. @param {string} name @param {(opened: Opened) => Promise<void>} run */
const pageTest = (name, run) =>
  browser.test(name, async () => {
    const opened = await open()
    await run(opened)
    assert.deepEqual(opened.foreign, [])
    await opened.page.close()
  })

/** @param {Page} page @param {string} words */
const said = (page, words, selector = LINE) =>
  browser.waitInPage(
    page,
    `document.querySelector('${selector}').textContent.replace(/\\s+/g, ' ').includes(${JSON.stringify(words)})`,
  )

/** @param {Page} page @param {Uint8Array} bytes */
async function choose(page, bytes, name = 'model.safetensors') {
  const path = join(site.folder, name)
  writeFileSync(path, bytes)
  const input = /** @type {import('puppeteer-core').ElementHandle<HTMLInputElement>} */ (
    await page.$(`${LINE} input[type=file]`)
  )
  await input.uploadFile(path)
}

const press = async (/** @type {Page} */ page, /** @type {string} */ name) =>
  (await browser.get(page, `${LINE} ::-p-text(${name})`)).evaluate((button) => button.click())

/**
 * Gives fields their values, one right after the other.
 *
 * @param {Page} page
 * @param {[selector: string, value: string, event: string][]} fields
 */
const give = (page, ...fields) =>
  page.evaluate((fields) => {
    for (const [selector, value, event] of fields) {
      const field = /** @type {HTMLInputElement} */ (document.querySelector(selector))
      field.value = value
      field.dispatchEvent(new Event(event, { bubbles: true }))
    }
  }, fields)

/** Gives the number of heads. @param {Page} page */
async function giveHeads(page, heads = 3) {
  await browser.get(page, `${LINE} select`)
  await give(page, [`${LINE} select`, String(heads), 'change'])
  await press(page, 'Read it')
}

/** Types all characters. @param {Page} page @param {string} characters */
const spell = (page, characters) => give(page, [`${LINE} textarea`, characters, 'input'])

/**
 * A file that is chosen early ends the worker of the stories, and what that worker downloads.
 *
 * @param {string[]} complaints
 */
const unexpected = (complaints) => complaints.filter((one) => !/^failed: .*\.(safetensors|wasm)$/.test(one))

/** Waits until a text that begins in one of these ways has been written. @param {Page} page @param {string[]} begins */
async function writes(page, ...begins) {
  const all = JSON.stringify(begins)
  await browser.waitInPage(page, `[...texts].some((text) => ${all}.some((begin) => text.startsWith(begin)))`)
  await page.evaluate('texts.clear()')
}

for (const name of browser.BROWSERS) {
  const skip = browser.skipped[name]
  test(`files of the book, of nanoGPT and of GPT-2 write as in Node, in ${name}`, { skip }, async (t) => {
    const own = await browser.launch(name)
    t.after(() => own.close())
    const { page, complaints, foreign } = await open('?embed=story&story.all=yes', own)
    for (const file of FILES) {
      await choose(page, file.bytes, file.name)
      if (file.nHeads) await giveHeads(page, file.nHeads)
      if (file.characters) await said(page, `${file.name}: 19 tokens, shown as numbers`)
      if (file.characters) await spell(page, file.characters)
      await said(page, `${file.name}: ${file.says}`)
      // While a busy machine reads the file, a story may end: the next text has the next seed.
      const texts = await Promise.all([5, 6, 7].map((seed) => textOf(file, seed)))
      await writes(page, ...texts.map(({ text }) => text))
      await press(page, 'Back to the stories')
      await said(page, 'Your own GPT, from the book or nanoGPT: drop its file here.')
      await writes(page, 'Once upon a time')
    }
    assert.deepEqual([...unexpected(complaints), ...foreign], [])
    await page.reload()
    await page.waitForSelector(LINE)
    await said(page, 'drop its file here.')
    await writes(page, 'Once upon a time')
  })
}

pageTest('the heads that a file does not say are asked for: divisors of its width', async ({ page }) => {
  await choose(page, goldenFile('model.pth'), 'model.pth')
  await said(page, 'model.pth does not say how many attention heads it has.')
  const options = await page.$$eval(`${LINE} option`, (all) => all.map(({ textContent }) => textContent))
  assert.deepEqual(options.slice(1), ['1', '2', '3', '4', '6', '12'])
  await press(page, 'Not now')
  await said(page, 'drop its file here.')
  await writes(page, 'Once upon a time')
})

pageTest(
  'a prompt of numbers, or of characters, is read; what the model cannot read is refused',
  async (opened) => {
    const { page } = opened
    const begin = async (/** @type {string} */ text) => {
      await browser.click(page, '#story .prompt', { count: 3 })
      await page.keyboard.type(text)
      await page.keyboard.press('Enter')
    }
    await choose(page, goldenFile('ckpt.pt'), 'ckpt.pt')
    await said(page, 'It reads at most 8 at once.')
    await begin('3 18')
    await writes(page, '3 18 ')
    await begin('Once')
    await said(page, 'Type numbers from 0 to 18, with spaces between them.', '#story-refused')
    await spell(page, 'aab')
    await said(page, '“a” is there twice.')
    await spell(page, 'abc')
    await said(page, '3 of 19')
    await writes(page, '3 18 ')
    await give(page, [`${LINE} textarea`, NINETEEN, 'input'], ['#story .prompt', 'a lone gnome', 'change'])
    await writes(page, 'a lone gnome')
  },
)

pageTest(
  'a file that is dropped on the section writes; a wrong one leaves the model that writes',
  async (opened) => {
    const { page, complaints } = opened
    const drop = (/** @type {Uint8Array} */ bytes) =>
      page.$eval(
        '#story',
        (section, bytes) => {
          const data = new DataTransfer()
          data.items.add(new File([new Uint8Array(bytes)], 'dropped.pt'))
          return ['dragover', 'drop'].map((type) => {
            const options = { bubbles: true, cancelable: true, dataTransfer: data }
            return !section.dispatchEvent(new DragEvent(type, options))
          })
        },
        [...bytes],
      )
    await drop(Buffer.from('Once'))
    await said(page, 'The file should be a safetensors file, got 4 bytes')
    await writes(page, 'Once upon a time')
    const taken = await drop(goldenFile('ckpt.pt'))
    assert.deepEqual(taken, [true, true]) // else the browser would open the file instead of the page
    await said(page, 'dropped.pt: 19 tokens')
    await choose(page, gpt.saveSafetensors(new gpt.Linear(2, 3)))
    await said(page, 'The file should have wte.weight')
    await said(page, 'dropped.pt: 19 tokens')
    assert.deepEqual(unexpected(complaints), [])
  },
)

pageTest('reading is cancelled midway: the stories go on, and another file can be read', async ({ page }) => {
  await browser.waitInPage(
    page,
    "!document.querySelector('#story .pair').textContent.includes('(recording)')",
  )
  await page.evaluate(() => {
    const { postMessage } = Worker.prototype
    Worker.prototype.postMessage = function (message, /** @type {any} */ options) {
      if (message.path?.[0] !== 'read') return postMessage.call(this, message, options)
      Worker.prototype.postMessage = postMessage // the file does not come to its worker
    }
  })
  await choose(page, goldenFile('ckpt.pt'), 'ckpt.pt')
  await page.waitForSelector(`${LINE} progress`)
  const before = await browser.text(page, TEXT)
  await browser.waitInPage(page, `document.querySelector('${TEXT}').textContent.trim() !== '${before}'`)
  await press(page, 'Cancel')
  await said(page, 'drop its file here.')
  await choose(page, goldenFile('ckpt.pt'), 'ckpt.pt')
  await said(page, 'ckpt.pt: 19 tokens')
})

pageTest('weights of 3e38 give numbers beyond float32, and no error', async ({ page, complaints }) => {
  const huge = newModel(19)
  for (const { weight } of [huge.tokEmb, huge.posEmb]) weight.data.fill(3e38) // their sum is infinite
  await choose(page, gpt.saveSafetensors(huge))
  await said(page, 'its numbers grew beyond float32', '#story')
  for (const norm of await page.$$('#story [role=switch]')) {
    await norm.evaluate((button) => /** @type {HTMLButtonElement} */ (button).click())
  }
  assert.deepEqual(unexpected(complaints), [])
})
