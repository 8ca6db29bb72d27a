// Chapter 5: the loss, the training, and texts drawn with a temperature.
//   node ch05.mjs [epochs, 10 by default]

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as gpt from 'gpt-layers'
import { decode, encode } from 'gpt-tokenizer/encoding/r50k_base'
import { createDataloaderV1, text } from './ch02.mjs'
import { CONFIG, generateTextSimple, GPTModel } from './ch04.mjs'

await gpt.load()

/** @param {string} text @returns a batch of one text, [1, tokens] */
export const textToTokenIds = (text) => gpt.tensor([encode(text)])

/** @param {gpt.Tensor} ids [1, tokens] */
export const tokenIdsToText = (ids) => decode([...ids.data])

export function calcLossBatch(inputs, targets, model) {
  const logits = model.forward(inputs)
  return gpt.crossEntropy(logits.flatten(0, 1), targets.flatten())
}

/** The mean loss of the first batches of a loader. */
export function calcLossLoader(loader, model, numBatches = loader.length) {
  let [sum, count] = [0, 0]
  for (const [inputs, targets] of loader) {
    if (count === numBatches) break
    sum += gpt.scope(() => calcLossBatch(inputs, targets, model).item())
    count++
  }
  return sum / count
}

/** The losses in training and in validation, without dropout. */
export function evaluateModel(model, { trainLoader, valLoader, evalIter }) {
  model.eval()
  const [trainLoss, valLoss] = gpt.noGrad(() => [
    calcLossLoader(trainLoader, model, evalIter),
    calcLossLoader(valLoader, model, evalIter),
  ])
  model.train()
  return { trainLoss, valLoss }
}

export function generateAndPrintSample(model, startContext) {
  model.eval()
  const contextSize = model.posEmb.weight.shape[0]
  const ids = generateTextSimple(model, textToTokenIds(startContext), { maxNewTokens: 30, contextSize })
  console.log(JSON.stringify(tokenIdsToText(ids)))
  model.train()
}

/** @returns the loss of each step, and those of each evaluation */
export function trainModelSimple(
  model,
  { trainLoader, valLoader, optimizer, numEpochs, evalFreq, evalIter, startContext },
) {
  const losses = []
  const evaluations = []
  for (let epoch = 1; epoch <= numEpochs; epoch++) {
    for (const [inputs, targets] of trainLoader) {
      optimizer.zeroGrad()
      // The scope frees what a step makes. PyTorch needs none.
      gpt.scope(() => {
        const loss = calcLossBatch(inputs, targets, model)
        loss.backward()
        losses.push(loss.item())
      })
      optimizer.step()

      if ((losses.length - 1) % evalFreq !== 0) continue
      const evaluation = evaluateModel(model, { trainLoader, valLoader, evalIter })
      evaluations.push(evaluation)
      const [training, validation] = Object.values(evaluation).map((loss) => loss.toFixed(3))
      const step = losses.length - 1
      console.log(`epoch ${epoch}, step ${step}: loss ${training} in training, ${validation} in validation`)
    }
    generateAndPrintSample(model, startContext)
  }
  return { losses, evaluations }
}

/** Continues each text of a batch by tokens that are drawn. A temperature of 0 takes the most probable one. */
export function generate(
  model,
  idx,
  { maxNewTokens, contextSize, temperature = 0, topK = Infinity, eosId = -1 },
) {
  for (let i = 0; i < maxNewTokens; i++) {
    const choose = () => {
      let logits = model.forward(idx.slice(-contextSize, undefined, { dim: 1 }))
      logits = logits.slice(-1, undefined, { dim: 1 }).squeeze(1)
      if (topK < logits.shape[1]) {
        const least = logits.topk(topK).values.slice(-1, undefined, { dim: 1 })
        logits = logits.maskedFill(logits.lt(least), -Infinity)
      }
      if (temperature === 0) return logits.argmax({ dim: -1, keepdim: true })
      return gpt.multinomial(logits.div(temperature).softmax({ dim: -1 }), 1)
    }
    const next = gpt.scope(() => gpt.noGrad(choose))
    if (next.data[0] === eosId) break
    idx = gpt.cat([idx, next], { dim: 1 })
  }
  return idx
}

/** The loaders, the model and the optimizer, from one seed. */
export function setting() {
  const border = Math.floor(0.9 * text.length)
  const options = { batchSize: 2, maxLength: CONFIG.contextLength, stride: CONFIG.contextLength }
  gpt.manualSeed(123)
  const model = new GPTModel(CONFIG)
  return {
    model,
    trainLoader: createDataloaderV1(text.slice(0, border), options),
    valLoader: createDataloaderV1(text.slice(border), { ...options, shuffle: false, dropLast: false }),
    optimizer: new gpt.AdamW(model.parameters(), { lr: 5e-3, weightDecay: 0.1 }),
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { model, ...training } = setting()
  const startContext = '"The time has come,"'
  const numEpochs = Number(process.argv[2] ?? 10)
  trainModelSimple(model, { ...training, numEpochs, evalFreq: 10, evalIter: 1, startContext })

  writeFileSync('book.safetensors', gpt.saveSafetensors(model))
  const loaded = new GPTModel(CONFIG).eval()
  loaded.loadStateDict(gpt.loadSafetensors(readFileSync('book.safetensors')))

  gpt.manualSeed(123)
  const options = { maxNewTokens: 20, contextSize: CONFIG.contextLength, temperature: 1.4, topK: 25 }
  const drawn = generate(loaded, textToTokenIds(startContext), options)
  console.log(`Drawn: ${JSON.stringify(tokenIdsToText(drawn))}`)
}
