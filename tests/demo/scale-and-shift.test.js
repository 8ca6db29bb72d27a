// “Why scale and shift?”: what a trained model's are worth, and what one γ does to the next word.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test as testInNode } from 'node:test'
import * as gpt from 'gpt-layers'
import { FEATURE, leadOf, nextWord, TEXT } from '../../build/demo/sections/scale-and-shift/compute.js'
import { LEARNED, SCALES } from '../../build/demo/sections/scale-and-shift/slice.js'
import { tokenizerOf } from '../../build/demo/words.js'
import { randomFrom, writeStory } from '../../web/examples/stories/grammar.js'
import { says } from './says.js'
import { near, test, useSite } from './browser.js'

const site = useSite()
async function loadModel() {
  await gpt.load()
  const stories = new URL('../../web/examples/stories/', import.meta.url)
  const tokenizer = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', stories), 'utf8')))
  const model = await gpt.GPTModel.fromPretrained(readFileSync(new URL('model.safetensors', stories)))
  const norms = /** @type {(gpt.LayerNorm & { scale: gpt.Tensor })[]} */ ([
    ...model.trfBlocks.flatMap(({ norm1, norm2 }) => [norm1, norm2]),
    model.finalNorm,
  ])
  return { model, norms, tokenizer, ids: [tokenizer.start, ...tokenizer.encode(TEXT)] }
}

testInNode(
  'a normalized row has mean 0 and variance σ² / (σ² + ε), also where its numbers are equal',
  async () => {
    await gpt.load()
    for (const row of [
      [0.2, 0.3, 0, 0.5],
      [1e-3, 2e-3, 0, 1e-3],
      [0.7, 0.7, 0.7, 0.7],
    ]) {
      const x = gpt.tensor([row])
      const variance = x.var({ dim: -1, unbiased: false }).item()
      const y = gpt.noGrad(() => new gpt.LayerNorm(4).forward(x))
      near(y.mean().item(), 0, 1e-5)
      near(y.var({ dim: -1, unbiased: false }).item(), variance / (variance + 1e-5), 1e-5)
    }
  },
)

testInNode('how likely the right next word is over 15 stories, with γ and β and without', async () => {
  const { model, norms, tokenizer } = await loadModel()
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
  const learned = typical()
  for (const { scale, shift } of norms) {
    scale.data.fill(1)
    shift?.data.fill(0)
  }
  says(
    `next word’s probability is ${typical().toFixed(2)}, not ${learned.toFixed(2)} (geometric means over 15`,
  )
})

testInNode(
  'feature 77 has the largest γ, and no other γ set to 1 changes the next word as much',
  async () => {
    const { model, norms, tokenizer, ids } = await loadModel()
    const all = norms.flatMap(({ scale }) => Array.from(scale.data))
    assert.equal(Math.max(...all), all[8 * 80 + FEATURE])
    says(`The ${all.length} γ of a trained GPT go from ${Math.min(...all).toFixed(2)} to ${LEARNED}.`)
    near(Math.max(...all), LEARNED, 0.005)
    const [name] = tokenizer.encode(' Ines')
    const likeliest = (/** @type {number[]} */ words) =>
      tokenizer.texts([words.indexOf(Math.max(...words))])[0]
    const learned = nextWord(model, ids).words
    const changed = nextWord(model, ids, 1).words
    assert.deepEqual([likeliest(learned), likeliest(changed)], [' Ines', ' Her'])
    for (const [n, { scale }] of norms.entries())
      scale.data.slice().forEach((was, i) => {
        scale.data[i] = 1
        const { words } = nextWord(model, ids)
        scale.data[i] = was
        if (n < 8 || i !== FEATURE) {
          assert.equal(likeliest(words), ' Ines', `${n} ${i}`)
          assert.ok(words[name] > changed[name] + 0.1, `norm ${n + 1}, feature ${i + 1}: ${words[name]}`)
        }
      })
    assert.deepEqual(nextWord(model, ids).words, learned) // each call puts γ back
  },
)

testInNode('by how much feature 77 puts Ines ahead of Her, and all others put Her ahead', async () => {
  const { model, norms, tokenizer, ids } = await loadModel()
  const pair = /** @type {const} */ ([tokenizer.encode('Ines')[0], tokenizer.encode('Her')[0]])
  const [learned, none, one] = [undefined, 0, 1].map((scale) => nextWord(model, ids, scale))
  const { slope, rest } = leadOf(none, one, pair)
  const [by, others, least] = [slope, -rest, -rest / slope].map((one) => one.toFixed(2))
  says(`so it puts Ines ahead by γ · ${by}, and all the rest puts Her ahead by`)
  says(`by ${others}: γ must be above ${least}. No other`)
  // A score is a sum: it goes with γ in a straight line.
  const lead = Math.log(learned.words[pair[0]] / learned.words[pair[1]])
  near(lead, rest + slope * norms[8].scale.data[FEATURE], 1e-3)
  // The feature before its γ, times what it counts for both words.
  const before = (learned.row[FEATURE] - (norms[8].shift?.data[FEATURE] ?? 0)) / norms[8].scale.data[FEATURE]
  says(
    `In this row feature ${FEATURE + 1} is ${before.toFixed(2)} before its γ; it counts 0.54 for Ines and −0.18 for Her`,
  )
  near(before * (0.54 + 0.18), slope, 0.02)
  const scores = [learned, none].map(({ words }) => pair.map((word) => words[word]))
  assert.ok(scores[0][0] > scores[0][1] && scores[1][0] < scores[1][1])
  for (const value of learned.row) assert.ok(Math.abs(value) < 6) // the figure's axis
})

testInNode(
  'Ines is likeliest from γ = 1.28 on, and Her below it, from one end of the slider to the other',
  async () => {
    const { model, tokenizer, ids } = await loadModel()
    for (let percent = 100 * SCALES.min; percent <= 100 * SCALES.max; percent += 4) {
      const { words } = nextWord(model, ids, percent / 100)
      const likeliest = tokenizer.texts([words.indexOf(Math.max(...words))])[0].trim()
      assert.equal(likeliest, percent > 128 ? 'Ines' : 'Her', `γ = ${percent / 100}`)
    }
  },
)

test('the hat of ŷ is as large as its y', async () => {
  const { page } = await site.open('?embed=scale-and-shift', { ready: '.formula' })
  const sizes = await page.$$eval('.formula mover > *', (parts) =>
    parts.map((one) => getComputedStyle(one).fontSize),
  )
  assert.deepEqual(sizes, [sizes[0], sizes[0]])
  await page.close()
})
