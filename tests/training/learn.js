// A small GPT learns a text by heart, character by character: `node tests/training/learn.js [STEPS]` after
// ./build.sh.
//
// The model has 2 layers, embDim 64, 4 heads and tied weights. This file shows a training loop as a caller
// writes it, with a learning rate schedule and progress messages.

/** @import { Gpt } from '../lib/support.js' */

import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import * as gpt from 'gpt-layers'

/**
 * Windows of a text, and for each token in them the token that follows.
 *
 * @param {Int32Array} tokens
 * @param {number[]} starts
 * @param {number} length
 */
function windows(tokens, starts, length) {
  const slice = (/** @type {number} */ start) => [...tokens.subarray(start, start + length)]
  return { ids: starts.map(slice), targets: starts.map((start) => slice(start + 1)) }
}

/**
 * @param {Gpt} gpt loaded
 * @param {object} options
 * @param {number} options.steps
 * @param {number} options.batch windows per step
 * @param {number} options.length tokens per window
 * @param {number} options.lr the highest learning rate, reached after 1/20 of the steps
 * @param {number} [options.characters] how many characters of the text to learn; all by default
 * @param {(progress: { step: number, loss: number, norm: number }) => void} [options.onStep]
 * @returns {{ text: string, loss: number, parameters: number, say: (start: string, count: number) => string
 *   }} loss: of the whole text in windows, in evaluation mode; say: continues a text with the likeliest
 *   characters
 */
export function learn(gpt, { steps, batch, length, lr, characters: many, onStep = () => {} }) {
  // The opening of Lewis Carroll's "Alice's Adventures in Wonderland" (1865), which is in the public domain. Its
  // quotation marks are replaced by ASCII ones.
  const text = readFileSync(new URL('alice.txt', import.meta.url), 'utf8')
  const characters = [...new Set(text)].sort()
  const all = Int32Array.from(text, (character) => characters.indexOf(character))
  const tokens = all.subarray(0, many)
  gpt.manualSeed(123)
  const sizes = { vocabSize: characters.length, contextLength: length, embDim: 64, nHeads: 4, nLayers: 2 }
  const model = new gpt.GPTModel({ ...sizes, tieWeights: true })
  const parameters = model.parameters()
  const optimizer = new gpt.AdamW(parameters, { lr, betas: [0.9, 0.99] })
  const room = tokens.length - length
  for (let step = 0; step < steps; step++) {
    // The learning rate rises linearly, then falls along a cosine.
    const warmUp = steps / 20
    const turn = Math.max(0, step - warmUp) / (steps - warmUp)
    optimizer.lr = lr * Math.min(1, (step + 1) / warmUp) * (0.5 + 0.5 * Math.cos(Math.PI * turn))
    gpt.scope(() => {
      const starts = [...gpt.rand([batch]).data].map((u) => Math.floor(u * room))
      const { ids, targets } = windows(tokens, starts, length)
      optimizer.zeroGrad()
      const loss = gpt.crossEntropy(model.forward(ids), targets)
      loss.backward()
      const norm = gpt.clipGradNorm(parameters, 1)
      optimizer.step()
      onStep({ step, loss: loss.item(), norm })
    })
  }
  optimizer.dispose()
  model.zeroGrad()
  model.eval()

  const starts = Array.from({ length: Math.floor(room / length) }, (_, i) => i * length)
  const loss = gpt.scope(() => {
    const { ids, targets } = windows(tokens, starts, length)
    return gpt.crossEntropy(model.forward(ids), targets).item()
  })
  const say = (/** @type {string} */ start, /** @type {number} */ count) => {
    const said = Array.from(start, (character) => characters.indexOf(character))
    for (let i = 0; i < count; i++) {
      const next = gpt.scope(() => {
        const { data, shape } = model.forward(said.slice(-length))
        const last = data.subarray(data.length - shape[1])
        return last.indexOf(Math.max(...last))
      })
      said.push(next)
    }
    return said.map((token) => characters[token]).join('')
  }
  return { loss, text, parameters: parameters.reduce((sum, { size }) => sum + size, 0), say }
}

async function main() {
  await gpt.load({ threads: 1 })
  const begun = performance.now()
  const seconds = () => ((performance.now() - begun) / 1000).toFixed(1)
  const cpuSeconds = () => (process.cpuUsage().user / 1e6).toFixed(1)
  const { text, loss, parameters, say } = learn(gpt, {
    steps: Number(process.argv[2] ?? 1500),
    batch: 8,
    length: 64,
    lr: 6e-3,
    onStep: ({ step, loss, norm }) => {
      if (step % 100 === 0)
        console.log(`step ${step}, ${seconds()} s: loss ${loss.toFixed(3)}, gradient ${norm.toFixed(2)}`)
    },
  })
  console.log(`${gpt.build}, ${parameters} parameters, ${text.length} characters: loss ${loss.toFixed(3)}`)
  console.log(`${seconds()} s, of which ${cpuSeconds()} s on a CPU`)
  const start = 'So she was '
  const said = say(start, 300)
  console.log(`${said}\nthe text contains this: ${text.includes(said)}`)
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main()
