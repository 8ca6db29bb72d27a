// Chapter 2: from a text to batches of tokens, and from tokens to vectors.
//   node ch02.mjs

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as gpt from 'gpt-layers'
import { decode, encode } from 'gpt-tokenizer/encoding/r50k_base'

await gpt.load()

/** "The Walrus and the Carpenter" by Lewis Carroll, from "Through the Looking-Glass" (1871). */
export const text = readFileSync(new URL('walrus.txt', import.meta.url), 'utf8')

/** The windows of a text: `maxLength` tokens each, and the same moved on by one token, the targets. */
export class GPTDatasetV1 {
  /** @param {string} text */
  constructor(text, { maxLength, stride }) {
    const tokens = encode(text)
    const windowAt = (/** @type {number} */ start) => gpt.tensor(tokens.slice(start, start + maxLength))
    this.inputIds = []
    this.targetIds = []
    for (let start = 0; start < tokens.length - maxLength; start += stride) {
      this.inputIds.push(windowAt(start))
      this.targetIds.push(windowAt(start + 1))
    }
  }

  get length() {
    return this.inputIds.length
  }
}

/** Batches of a dataset, as torch.utils.data.DataLoader makes them. A loop over it is an epoch. */
export class DataLoader {
  /** @param {GPTDatasetV1} dataset */
  constructor(dataset, { batchSize = 1, shuffle = false, dropLast = false } = {}) {
    this.dataset = dataset
    this.options = { batchSize, shuffle, dropLast }
  }

  /** How many batches. */
  get length() {
    const { batchSize, dropLast } = this.options
    return Math[dropLast ? 'floor' : 'ceil'](this.dataset.length / batchSize)
  }

  *[Symbol.iterator]() {
    const { dataset, length } = this
    const { batchSize, shuffle } = this.options
    const order = shuffle ? randperm(dataset.length) : [...dataset.inputIds.keys()]
    for (let i = 0; i < length; i++) {
      const chosen = order.slice(i * batchSize, (i + 1) * batchSize)
      yield [
        gpt.stack(chosen.map((window) => dataset.inputIds[window])),
        gpt.stack(chosen.map((window) => dataset.targetIds[window])),
      ]
    }
  }
}

/** The integers below n in random order, with the draws of torch.randperm. @param {number} n */
function randperm(n) {
  const order = [...Array(n).keys()]
  for (let i = 0; i < n - 1; i++) {
    const j = i + gpt.randint(0, n - i, []).item()
    ;[order[i], order[j]] = [order[j], order[i]]
  }
  return order
}

/** @param {string} text */
export function createDataloaderV1(
  text,
  { batchSize = 4, maxLength = 256, stride = 128, shuffle = true, dropLast = true } = {},
) {
  return new DataLoader(new GPTDatasetV1(text, { maxLength, stride }), { batchSize, shuffle, dropLast })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const tokens = encode(text)
  console.log(`${text.length} characters, ${tokens.length} tokens, the first of them:`)
  for (const token of tokens.slice(0, 4)) console.log(`${token}: ${JSON.stringify(decode([token]))}`)

  const loader = createDataloaderV1(text, { batchSize: 2, maxLength: 4, stride: 4, shuffle: false })
  const [[inputs, targets]] = loader
  console.log('Inputs:', inputs.toArray())
  console.log('Targets:', targets.toArray())

  gpt.manualSeed(123)
  const tokenEmbedding = new gpt.Embedding(50257, 8)
  const positionEmbedding = new gpt.Embedding(4, 8)
  const embedded = tokenEmbedding.forward(inputs).add(positionEmbedding.forward(gpt.arange(4)))
  console.log(`Embedded:\n${embedded}`)
}
