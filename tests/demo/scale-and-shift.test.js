// “Why scale and shift?”: what a trained model's are worth, and a scale and a shift that two rows share.

/** @import { Page } from 'puppeteer-core' */
/** @import { OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test as testInNode } from 'node:test'
import { load } from 'gpt-layers'
import { Engine } from '../../build/demo/writer/engine.js'
import { tokenizerOf } from '../../build/demo/words.js'
import { randomFrom, writeStory } from '../../web/examples/stories/grammar.js'
import { click, drag, near, press, test, text, useSite, WHOLE_SECTION } from './browser.js'

const site = useSite()
const ROOT = '#scale-and-shift'

/** @param {string} [query] @param {OpenOptions} [options] */
const openAlone = (query = '', options = {}) =>
  site.open(`?embed=scale-and-shift${query}`, { ready: WHOLE_SECTION, ...options })
const pressButton = (/** @type {Page} */ page, /** @type {string} */ name) =>
  click(page, `${ROOT} ::-p-xpath(.//button[normalize-space()="${name}"])`)
/** The numbers of both rows after scale and shift, from the dots. @param {Page} page */
const after = (page) =>
  page.$$eval(`${ROOT} [role="slider"]`, (all) => all.map((dot) => Number(dot.ariaValueNow)))
/** The example's rows, normalized with a scale and a shift. @param {number[]} scale @param {number[]} shift */
async function normalized(scale, shift) {
  const gpt = await load()
  gpt.manualSeed(123)
  const batch = gpt.randn([2, 5])
  const outputs = new gpt.Sequential(new gpt.Linear(5, 6), new gpt.ReLU()).forward(batch)
  const norm = new gpt.LayerNorm(6)
  norm.scale.data.set(scale)
  norm.shift?.data.set(shift)
  return Array.from(gpt.noGrad(() => norm.forward(outputs)).data)
}
const SCALE = [0.5, 0, 1.5, 2, 2.5, 3]
const SHIFT = [-1, -0.5, 0, 0.5, 1, 1.5]
/** @param {number[]} shown @param {number[]} expected */
function assertNear(shown, expected) {
  assert.equal(shown.length, 12)
  expected.forEach((exact, i) => near(shown[i], exact, 1e-5, String(i)))
}

async function loadModel() {
  const gpt = await load()
  const stories = new URL('../../web/examples/stories/', import.meta.url)
  const tokenizer = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', stories), 'utf8')))
  const model = await gpt.GPTModel.fromPretrained(readFileSync(new URL('model.safetensors', stories)))
  return { gpt, model, tokenizer }
}

testInNode('over stories the right next word gets some 0.68 with γ and β, 0.37 without', async () => {
  const { gpt, model, tokenizer } = await loadModel()
  const norms = [...model.trfBlocks.flatMap(({ norm1, norm2 }) => [norm1, norm2]), model.finalNorm]
  const typical = () => {
    const random = randomFrom(99)
    let [loss, count] = [0, 0]
    for (let story = 0; story < 15; story++) {
      const ids = [tokenizer.start, ...tokenizer.encode(writeStory(random).text)]
      const taken = ids.slice(0, model.contextLength)
      gpt.noGrad(() =>
        gpt.scope(() => {
          const logits = model.forward(taken.slice(0, -1))
          loss += gpt.crossEntropy(logits, taken.slice(1)).item() * (taken.length - 1)
        }),
      )
      count += taken.length - 1
    }
    return Math.exp(-loss / count)
  }
  near(typical(), 0.68, 0.02)
  for (const { scale, shift } of /** @type {InstanceType<typeof gpt.LayerNorm>[]} */ (norms)) {
    scale.data.fill(1)
    shift?.data.fill(0)
  }
  near(typical(), 0.37, 0.03)
})

test('a guess sets γ to 1 and β to 0; the story is the one that the model then writes', async () => {
  const { page, complaints } = await openAlone()
  await page.waitForSelector(`${ROOT} .pair .with .run`)
  assert.equal(await page.$(`${ROOT} .pair .without`), null)
  await page.waitForFunction(() => /The model’s 720 γ go/.test(document.body.textContent ?? ''))
  const { gpt, model, tokenizer } = await loadModel()
  assert.match(
    await text(page, ROOT),
    /The model’s 720 γ go from 0\.40 to 1\.84, its β from −0\.47 to 0\.55\./,
  )
  await pressButton(page, 'nothing')
  assert.match(await text(page, `${ROOT} .answer`), /^Not quite: it falls apart\. .* 0\.37 instead of 0\.68/)
  await page.waitForSelector(`${ROOT} .pair .without .run`)
  assert.match(await text(page, ROOT), /Every γ is 1, every β is 0/)
  const engine = new Engine({ gpt, model, tokenizer })
  const off = Array.from({ length: 9 }, () => true)
  const prompt = 'Two little pigs'
  engine.set({ prompt, seed: 5, temperature: 0.8, off, replacement: 'plain', from: 0 })
  for (let word = 0; word < 36; word++) engine.step()
  const { without } = engine
  assert.ok(without)
  for (const [kind, run] of /** @type {const} */ ([
    ['with', engine.with],
    ['without', without],
  ])) {
    const shown = await text(page, `${ROOT} .pair .${kind} .run`)
    assert.equal(shown, engine.texts(run).join('').trim())
  }
  assert.match(
    engine.texts(without).join(''),
    /lived in an sleep a Freya Pavel\. named More than anything, windy island\./,
  )
  await press(page, 'Control', 'z')
  assert.equal(await page.$(`${ROOT} .pair .without`), null)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('at the start scale is 1 and shift is 0; a slider scales all features, and no stack of dots reaches into the row above', async () => {
  const { page, complaints } = await openAlone()
  const start = await normalized([1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0])
  assertNear(await after(page), start)
  const rows = await page.$$eval(`${ROOT} .figure svg:has([role="slider"]) [role="slider"]`, (all) =>
    all.map((dot) => dot.getBoundingClientRect()).map(({ top, bottom }) => ({ top, bottom })),
  )
  const lowest = Math.max(...rows.slice(0, 6).map(({ bottom }) => bottom))
  const highest = Math.min(...rows.slice(6).map(({ top }) => top))
  assert.ok(highest > lowest + 20, `${highest} and ${lowest}`)
  await page.focus(`${ROOT} [aria-label="scale γ of all features"]`)
  await press(page, 'ArrowRight')
  const shown = await after(page)
  start.forEach((exact, i) => near(shown[i], 1.01 * exact, 1e-4))
  assert.deepEqual(complaints, [])
  await page.close()
})

test('each feature has its own scale and shift in both rows; the shift of one moves it alone', async () => {
  const { page } = await openAlone(
    `&scale-and-shift.scale=${SCALE}&scale-and-shift.shift=${SHIFT}&scale-and-shift.feature=2`,
  )
  const shown = await after(page)
  assertNear(shown, await normalized(SCALE, SHIFT))
  for (const value of [shown[1], shown[7]]) near(value, SHIFT[1], 1e-6) // scaled by 0
  await page.focus(`${ROOT} [aria-label="shift β of feature 2"]`)
  await press(page, 'ArrowRight')
  const shifted = await after(page)
  for (const value of [shifted[1], shifted[7]]) near(value, SHIFT[1] + 0.01, 1e-6)
  assert.deepEqual(shifted.toSpliced(7, 1).toSpliced(1, 1), shown.toSpliced(7, 1).toSpliced(1, 1))
  await page.close()
})

test('a dot that is dragged shifts its feature in both rows and no other', async () => {
  const { page } = await openAlone()
  const before = await after(page)
  await drag(page, `${ROOT} [role="slider"][aria-label="y₁₂"]`, -80)
  const moved = (await after(page)).map((value, i) => value - before[i])
  assert.ok(moved[1] < -0.3, String(moved))
  near(moved[7], moved[1], 1e-4)
  moved.forEach((by, i) => i % 6 === 1 || near(by, 0, 1e-6))
  await page.waitForFunction(() => location.search.includes('scale-and-shift.shift='))
  const again = await site.open(new URL(page.url()).search, { ready: WHOLE_SECTION })
  assert.deepEqual(await after(again.page), await after(page))
  await again.page.close()
  await page.close()
})
