// Training compared with PyTorch's: the same weights, batches and optimizer.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readText, windows } from '../training/text.js'
import { golden, loadForTest } from './support.js'

const { training } = golden('gptmodel')
const gpt = await loadForTest()

for (const { tieWeights, losses } of training) {
  test(`20 AdamW steps of a small GPT, tieWeights ${tieWeights}, give PyTorch’s losses within 1e-4`, () => {
    const { tokens, characters } = readText()
    const config = {
      vocabSize: characters.length,
      contextLength: 32,
      embDim: 64,
      nHeads: 4,
      nLayers: 2,
      tieWeights,
    }
    gpt.manualSeed(123)
    const model = new gpt.GPTModel(config)
    const optimizer = new gpt.AdamW(model.parameters(), { lr: 3e-3 })
    const found = Array.from(losses, (_, step) =>
      gpt.scope(() => {
        const starts = [0, 1, 2, 3].map((i) => (101 * step + 503 * i) % (tokens.length - 33))
        const { ids, targets } = windows(tokens, starts, 32)
        optimizer.zeroGrad()
        const loss = gpt.crossEntropy(model.forward(ids), targets)
        loss.backward()
        optimizer.step()
        return loss.item()
      }),
    )
    const furthest = Math.max(...found.map((loss, i) => Math.abs(loss - losses[i])))
    assert.ok(furthest <= 1e-4, `largest difference ${furthest} of losses ${found}`)
  })
}
