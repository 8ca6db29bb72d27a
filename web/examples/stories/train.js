// Trains the model of this folder on stories of the grammar, and writes model.safetensors, words.json,
// loss.json and loss.svg beside this program.
//   node train.js [folder for the checkpoint]
//
// Every 200 steps, the checkpoint keeps the model and the optimizer in float32. Training goes on from the
// checkpoint that it finds, so you may interrupt it. With build `simd`, one version of the package computes
// the same bits on every machine, and so does this program.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as gpt from 'gpt-layers'
import { END, randomFrom, splitWords, vocabulary, writeStory } from './grammar.js'
import { lossCurve } from './plot.js'

const words = vocabulary()
export const config = {
  vocabSize: words.length,
  contextLength: 192,
  embDim: 80,
  nHeads: 4,
  nLayers: 4,
  qkvBias: true,
  tieWeights: true,
}

const SEED = 123
const STEPS = 6500
const HIGHEST_RATE = 3e-3
const WARM_UP = 200 // steps

/** From this step on, the learning rate falls once more: the model then confuses fewer names. */
const SECOND_FALL = { step: 5000, rate: 1e-3 }

/**
 * The first steps train on beginnings of stories. There, a name comes back after a few words, so the model
 * soon learns to repeat names.
 */
const BEGINNINGS = { steps: 1000, stories: 16, tokens: 48 }

/** The stories of all later steps. */
const STORIES = 8

/**
 * PyTorch's initial weights of a Linear make the output of a block much larger than an embedding of GPT-2's
 * deviation, 0.02. With this factor a token is not lost in it.
 */
const EMBEDDING_FACTOR = 4

/** Step i trains on the stories of seed i. The held-out stories have seeds from here on. */
const HELD_OUT = 1_000_000

/** The target of a row that does not count. */
const IGNORED = -100

/** @param {number} step @returns {number} rises linearly, then falls to 0 along a cosine, twice */
function rateOf(step) {
  const fall = (/** @type {number} */ from, /** @type {number} */ to) =>
    0.5 + 0.5 * Math.cos(Math.PI * (Math.max(0, step - from) / (to - from)))
  if (step >= SECOND_FALL.step) return SECOND_FALL.rate * fall(SECOND_FALL.step, STEPS)
  return HIGHEST_RATE * Math.min((step + 1) / WARM_UP, fall(WARM_UP, SECOND_FALL.step))
}

/**
 * A batch of stories.
 *
 * @param {number} seed
 * @param {number} count
 * @param {number} [most] at most this many tokens of each story
 * @returns {{ ids: number[][], targets: number[][], tokens: number, cost: number }} ids: END and a story in
 *   each row, then padding; targets: the token after each, -100 in the padding; tokens: of the whole stories,
 *   with END; cost: of the whole stories for a reader who knows the grammar, in nats
 */
function storiesOf(seed, count, most = Infinity) {
  const random = randomFrom(seed)
  const stories = Array.from({ length: count }, () => writeStory(random))
  const rows = stories.map(({ text }) => [END, ...splitWords(text)].map((word) => words.indexOf(word)))
  const longest = Math.min(most, Math.max(...rows.map(({ length }) => length)))
  const padded = (/** @type {number[]} */ row, /** @type {number} */ token) =>
    Array.from({ length: longest }, (_, i) => row[i] ?? token)
  const end = words.indexOf(END)
  return {
    ids: rows.map((row) => padded(row, end)),
    targets: rows.map((row) => padded([...row.slice(1), end], IGNORED)),
    tokens: rows.reduce((sum, { length }) => sum + length, 0),
    cost: stories.reduce((sum, { cost }) => sum + cost, 0),
  }
}

/** @returns {{ model: gpt.GPTModel, optimizer: gpt.AdamW }} before the first step */
export function newTraining() {
  gpt.manualSeed(SEED)
  const model = new gpt.GPTModel(config)
  model.tokEmb.weight.data.forEach((value, i, data) => (data[i] = value * EMBEDDING_FACTOR))
  return { model, optimizer: new gpt.AdamW(model.parameters(), { betas: [0.9, 0.98] }) }
}

/**
 * One step.
 *
 * @param {{ model: gpt.GPTModel, optimizer: gpt.AdamW }} training
 * @param {number} step
 * @param {number} [rate] the learning rate
 * @returns {number} the loss, nats per token
 */
export function trainStep({ model, optimizer }, step, rate = rateOf(step)) {
  const { stories, tokens } = step < BEGINNINGS.steps ? BEGINNINGS : { stories: STORIES, tokens: Infinity }
  const { ids, targets } = storiesOf(step, stories, tokens)
  optimizer.lr = rate
  return gpt.scope(() => {
    optimizer.zeroGrad()
    const loss = gpt.crossEntropy(model.forward(ids), targets)
    loss.backward()
    gpt.clipGradNorm(optimizer.parameters, 1)
    optimizer.step()
    return loss.item()
  })
}

/**
 * The cost of stories that are not trained on.
 *
 * @param {gpt.GPTModel} model in evaluation mode
 * @param {number} count of stories
 * @returns {{ loss: number, entropy: number }} nats per token, of the model and of the grammar
 */
export function heldOut(model, count) {
  let [loss, cost, tokens] = [0, 0, 0]
  for (let i = 0; i < count; i += STORIES) {
    const batch = storiesOf(HELD_OUT + i, Math.min(STORIES, count - i))
    const mean = () => gpt.noGrad(() => gpt.crossEntropy(model.forward(batch.ids), batch.targets))
    loss += batch.tokens * gpt.scope(() => mean().item())
    cost += batch.cost
    tokens += batch.tokens
  }
  return { loss: loss / tokens, entropy: cost / tokens }
}

/**
 * Trains the model of a file for three more steps, from float32 weights and a new optimizer.
 *
 * @param {Uint8Array} bytes of model.safetensors
 * @returns {Promise<number[]>} the loss of each step
 */
export async function continueTraining(bytes) {
  const quantized = await gpt.GPTModel.fromPretrained(bytes)
  const model = new gpt.GPTModel(config)
  model.loadStateDict(quantized.stateDict())
  const optimizer = new gpt.AdamW(model.parameters())
  return [0, 1, 2].map((i) => trainStep({ model, optimizer }, STEPS + i, 1e-4))
}

/** @typedef {{ step: number, seconds: number, losses: number[] }} Progress the loss of each step so far */

/** @param {number[]} values */
const meanOf = (values) => values.reduce((sum, value) => sum + value, 0) / values.length

async function main() {
  const folder = process.argv[2] ?? 'checkpoint'
  mkdirSync(folder, { recursive: true })
  const [weights, progress] = ['checkpoint.safetensors', 'progress.json'].map((name) => join(folder, name))
  await gpt.load({ build: 'simd' })
  const training = newTraining()
  const { model, optimizer } = training

  /** @type {Progress} */
  let done = { step: 0, seconds: 0, losses: [] }
  if (existsSync(progress)) {
    done = JSON.parse(readFileSync(progress, 'utf8'))
    gpt.scope(() => {
      const state = Object.entries(gpt.loadSafetensors(readFileSync(weights)))
      const isOptimizers = (/** @type {string} */ name) => name.startsWith('state.')
      model.loadStateDict(Object.fromEntries(state.filter(([name]) => !isOptimizers(name))))
      optimizer.loadStateDict(Object.fromEntries(state.filter(([name]) => isOptimizers(name))))
    })
  }

  while (done.step < STEPS) {
    const begun = performance.now()
    const loss = trainStep(training, done.step)
    done.step++
    done.seconds += (performance.now() - begun) / 1000
    done.losses.push(loss)
    if (done.step % 100 === 0) {
      const loss = meanOf(done.losses.slice(-100)).toFixed(3)
      console.log(`step ${done.step}, ${done.seconds.toFixed(0)} s: loss ${loss}`)
    }
    if (done.step % 200 === 0 || done.step === STEPS) {
      writeFileSync(weights, gpt.saveSafetensors({ ...model.stateDict(), ...optimizer.stateDict() }))
      writeFileSync(progress, JSON.stringify(done))
    }
  }
  await writeResults(model, done)
}

/**
 * Writes the files of this folder.
 *
 * @param {gpt.GPTModel} model
 * @param {Progress} progress
 */
async function writeResults(model, { seconds, losses }) {
  const write = (/** @type {string} */ name, /** @type {string | Uint8Array} */ content) =>
    writeFileSync(new URL(name, import.meta.url), content)
  const parameters = model.parameters().reduce((sum, { size }) => sum + size, 0)
  model.eval()
  const float32 = heldOut(model, 200)
  model.quantize()
  const int8 = heldOut(model, 200)
  const bytes = gpt.saveSafetensors(model)

  // Means of 10 steps at the beginning, then of 50.
  const curve = losses.flatMap((_, i) => {
    const step = i + 1
    const count = step <= 200 ? 10 : 50
    return step % count ? [] : [{ step, loss: Number(meanOf(losses.slice(step - count, step)).toFixed(3)) }]
  })
  const results = {
    config,
    parameters,
    bytes: bytes.length,
    seed: SEED,
    steps: STEPS,
    beginnings: BEGINNINGS,
    storiesPerStep: STORIES,
    highestRate: HIGHEST_RATE,
    seconds: Math.round(seconds),
    heldOut: { stories: 200, entropy: float32.entropy, float32: float32.loss, int8: int8.loss },
    firstLosses: losses.slice(0, 3),
    continuedLosses: await continueTraining(bytes),
    curve,
  }
  write('model.safetensors', bytes)
  write('words.json', `${JSON.stringify(words)}\n`)
  write('loss.json', `${JSON.stringify(results, null, 1)}\n`)
  write('loss.svg', lossCurve(results))
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main()
