// Trains a small GPT until it knows a sentence by heart, saves it, loads it again and lets it write.
//   node train.js [folder for the two files]

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as gpt from 'gpt-layers'

const folder = process.argv[2] ?? '.'
await gpt.load()

// A token is a letter of the sentence.
const sentence = 'She sells seashells by the seashore.'
const letters = [...new Set(sentence)].sort()
const tokens = Array.from(sentence, (letter) => letters.indexOf(letter))

const config = {
  vocabSize: letters.length,
  contextLength: tokens.length,
  embDim: 32,
  nHeads: 4,
  nLayers: 2,
  tieWeights: true,
}
gpt.manualSeed(123)
const model = new gpt.GPTModel(config)

// Each token predicts the next one.
const inputs = tokens.slice(0, -1)
const targets = tokens.slice(1)
const optimizer = new gpt.AdamW(model.parameters(), { lr: 1e-2 })
for (let step = 0; step <= 40; step++) {
  // The scope frees the tensors that a step makes.
  gpt.scope(() => {
    optimizer.zeroGrad()
    const loss = gpt.crossEntropy(model.forward(inputs), targets)
    loss.backward()
    gpt.clipGradNorm(model.parameters(), 1)
    optimizer.step()
    if (step % 10 === 0) console.log(`step ${step}: loss ${loss.item().toFixed(2)}`)
  })
}

// A safetensors file holds the weights, but not the sizes: save the configuration beside it.
writeFileSync(join(folder, 'model.json'), JSON.stringify({ ...config, letters }))
writeFileSync(join(folder, 'model.safetensors'), gpt.saveSafetensors(model.stateDict()))

const { letters: alphabet, ...sizes } = JSON.parse(readFileSync(join(folder, 'model.json'), 'utf8'))
const loaded = new gpt.GPTModel(sizes)
loaded.loadStateDict(gpt.loadSafetensors(readFileSync(join(folder, 'model.safetensors'))))
loaded.eval() // no dropout, if the model has some

// Writes the most likely letter after the text so far, again and again.
const written = [alphabet.indexOf('S')]
while (written.length < sizes.contextLength) {
  // noGrad: keep nothing for a backward pass.
  const logits = gpt.scope(() => gpt.noGrad(() => loaded.forward(written)).data.slice(-sizes.vocabSize))
  written.push(logits.indexOf(Math.max(...logits)))
}
console.log(written.map((token) => alphabet[token]).join(''))
