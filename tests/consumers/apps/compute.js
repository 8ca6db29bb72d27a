// What every environment computes: the same bits everywhere, because build `simd` rounds alike everywhere.

import {
  AdamW,
  GPTModel,
  clipGradNorm,
  crossEntropy,
  load,
  manualSeed,
  scope,
  threads,
  threadsReason,
} from 'gpt-layers'

/**
 * Trains a small GPT for 50 steps.
 *
 * @param {object} [options] of load
 * @returns {Promise<{ threads: number, reason: string | null, checksum: number }>} the checksum is of all
 *   parameters
 */
export async function compute(options) {
  await load({ threads: 2, build: 'simd', ...options })
  manualSeed(123)
  const sizes = { vocabSize: 50, contextLength: 16, embDim: 64, nHeads: 4, nLayers: 2 }
  const model = new GPTModel({ ...sizes, dropRate: 0.1 })
  const optimizer = new AdamW(model.parameters(), { lr: 3e-3, betas: [0.9, 0.97] })
  const tokens = Array.from({ length: 17 }, (_, i) => (i * i) % 50)
  for (let step = 0; step < 50; step++) {
    scope(() => {
      optimizer.zeroGrad()
      const loss = crossEntropy(model.forward(tokens.slice(0, 16)), tokens.slice(1))
      loss.backward()
      clipGradNorm(model.parameters(), 1)
      optimizer.step()
    })
  }
  return { threads, reason: threadsReason, checksum: checksumOf(model.parameters()) }
}

/** FNV-1a over the bits. @param {import('gpt-layers').Tensor[]} tensors @returns {number} */
function checksumOf(tensors) {
  let sum = 0x811c9dc5
  for (const { data } of tensors) {
    for (const word of new Uint32Array(data.buffer, data.byteOffset, data.length)) {
      sum = Math.imul(sum ^ word, 0x01000193)
    }
  }
  return sum >>> 0
}
