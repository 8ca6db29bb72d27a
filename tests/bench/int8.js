// How exact int8 weights are, by the size of their groups.
//   node tests/bench/int8.js                   random weights of GPT-2 124M's shape, also with large columns
//   node tests/bench/int8.js FILE TOKENS.json  a model in float32, on token ids [[...], ...]
// --groups 32,64,128,Infinity: the groups that are tried.
// --only REGEX: the random models whose title matches.

import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import * as gpt from '../../dist/index.js'

await gpt.load({ build: 'simd' })
const { values: options, positionals } = parseArgs({
  options: {
    groups: { type: 'string', default: '32,64,128,Infinity' },
    only: { type: 'string', default: '' },
  },
  allowPositionals: true,
})
const [path, tokensPath] = positionals

/** Makes the weights of some inputs larger. @typedef {(model: gpt.GPTModel) => void} Outliers */

/**
 * @param {Float32Array} weight
 * @param {(at: number) => number} inputOf the input of an element
 * @param {(input: number) => boolean} isLarge
 * @param {number} factor
 */
function grow(weight, inputOf, isLarge, factor) {
  for (let at = 0; at < weight.length; at++) if (isLarge(inputOf(at))) weight[at] *= factor
}

/** @type {Outliers} */
const everyWeight = (model) => {
  const isLarge = (/** @type {number} */ i) => i % 251 === 138
  grow(model.tokEmb.weight.data, (at) => at % 768, isLarge, 50)
  for (const { attn, ff } of model.trfBlocks) {
    for (const { weight, nf } of [attn.cAttn, attn.cProj])
      grow(weight.data, (at) => Math.floor(at / nf), isLarge, 50)
    for (const { weight, inFeatures } of [ff.layers[0], ff.layers[2]])
      grow(weight.data, (at) => at % inFeatures, isLarge, 50)
  }
}

/** @type {Outliers} GPT-2's c_fc is the first Linear of a FeedForward. */
const tenthOfCFc = (model) => {
  for (const { ff } of model.trfBlocks)
    grow(
      ff.layers[0].weight.data,
      (at) => at % 768,
      (i) => i % 10 === 0,
      20,
    )
}

/** The models. */
const VARIANTS = path
  ? [{ title: path, tieWeights: false }]
  : [
      { title: 'random weights', tieWeights: false },
      { title: 'random weights, tied', tieWeights: true },
      { title: 'random weights, tied, every 251st input times 50', tieWeights: true, outliers: everyWeight },
      { title: 'random weights, tied, every tenth of c_fc times 20', tieWeights: true, outliers: tenthOfCFc },
    ]

/**
 * @param {{ tieWeights: boolean, outliers?: Outliers }} variant
 * @returns {Promise<gpt.GPTModel>} the same at each call
 */
async function newModel({ tieWeights, outliers }) {
  if (path) return gpt.GPTModel.fromPretrained(readFileSync(path))
  gpt.manualSeed(7)
  const model = new gpt.GPTModel({ ...gpt.GPT_CONFIG_124M, tieWeights }).eval()
  outliers?.(model)
  return model
}

/** @returns {number[][]} */
function tokens() {
  if (tokensPath) return JSON.parse(readFileSync(tokensPath, 'utf8'))
  return [0, 1].map((row) =>
    Array.from({ length: 128 }, (_, i) => (7919 * i * i + 104729 * i + 31 * row) % 50257),
  )
}

/** @param {gpt.GPTModel} model @param {number[]} ids @returns {Float32Array} */
const logitsOf = (model, ids) => gpt.scope(() => model.forward(ids).data.slice())

/** @param {gpt.GPTModel} model @param {number[][]} rows @returns {number} nats per token */
const costOf = (model, rows) =>
  rows.reduce(
    (sum, ids) =>
      sum + gpt.scope(() => gpt.crossEntropy(model.forward(ids.slice(0, -1)), ids.slice(1)).item()),
    0,
  ) / rows.length

/** @param {Float32Array} row */
const best = (row) => row.indexOf(row.reduce((a, b) => Math.max(a, b)))

/** @param {Float32Array[]} expected @param {Float32Array[]} actual @param {number} vocabSize */
function compare(expected, actual, vocabSize) {
  let [error, size, same, close, count, margin] = [0, 0, 0, 0, 0, 0]
  expected.forEach((all, row) => {
    for (let begin = 0; begin < all.length; begin += vocabSize) {
      const [a, b] = [all, actual[row]].map((logits) => logits.subarray(begin, begin + vocabSize))
      let rowError = 0
      for (let i = 0; i < vocabSize; i++) {
        rowError += (a[i] - b[i]) ** 2
        size += a[i] ** 2
      }
      error += rowError
      const [top, other] = [best(a), best(b)]
      const tie = 4 * Math.sqrt(rowError / vocabSize) // of two logits that cannot be told apart
      same += Number(top === other)
      close += Number(a[top] - a[other] <= tie)
      margin += Number(a.filter((value) => value >= a[top] - tie).length > 1)
      count++
    }
  })
  return { error: Math.sqrt(error / size), same: same / count, close: close / count, ties: margin / count }
}

const percent = (/** @type {number} */ x, digits = 2) => `${(100 * x).toFixed(digits)} %`

for (const variant of VARIANTS.filter(({ title }) => RegExp(options.only).test(title))) {
  console.log(variant.title)
  const rows = tokens()
  const float = await newModel(variant)
  const { vocabSize } = float
  const expected = rows.map((ids) => logitsOf(float, ids))
  const cost = costOf(float, rows)
  float.dispose()
  console.log(
    '| group | MB | error of the logits | same top token | same, or a tie | ties | perplexity | of the same weights in float32 |',
  )
  console.log('| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |')
  for (const groupSize of options.groups.split(',').map(Number)) {
    const model = (await newModel(variant)).quantize({ groupSize })
    const actual = rows.map((ids) => logitsOf(model, ids))
    const { error, same, close, ties } = compare(expected, actual, vocabSize)
    const perplexity = Math.exp(costOf(model, rows) - cost) - 1
    const ids = rows[0].slice(0, 6)
    const int8 = logitsOf(model, ids)
    const judge = await newModel(variant)
    judge.loadStateDict(model.stateDict()) // the rounded weights as float32
    let [difference, largest] = [0, 0]
    logitsOf(judge, ids).forEach((value, i) => {
      difference = Math.max(difference, Math.abs(int8[i] - value))
      largest = Math.max(largest, Math.abs(value))
    })
    judge.dispose()
    const cells = [
      groupSize === Infinity ? 'one per output' : groupSize,
      (gpt.saveSafetensors(model, { names: 'ours' }).length / 1e6).toFixed(1),
      percent(error),
      percent(same, 1),
      percent(close, 1),
      percent(ties, 1),
      percent(perplexity, 3),
      (difference / largest).toExponential(1),
    ]
    console.log(`| ${cells.join(' | ')} |`)
    model.dispose()
  }
}
