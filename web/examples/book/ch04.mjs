// Chapter 4: the layers around attention, and the whole GPT.
//   node ch04.mjs

import { fileURLToPath } from 'node:url'
import * as gpt from 'gpt-layers'
import { decode, encode } from 'gpt-tokenizer/encoding/r50k_base'
import { MultiHeadAttention } from './ch03.mjs'

await gpt.load()

/** A small GPT. `gpt.GPT_CONFIG_124M` has the sizes of GPT-2 under the same names. */
export const CONFIG = {
  vocabSize: 50257,
  contextLength: 32,
  embDim: 64,
  nHeads: 4,
  nLayers: 2,
  dropRate: 0,
  qkvBias: false,
}

export class LayerNorm extends gpt.Module {
  constructor(embDim) {
    super()
    this.eps = 1e-5
    this.scale = gpt.parameter(gpt.ones([embDim]))
    this.shift = gpt.parameter(gpt.zeros([embDim]))
  }

  forward(x) {
    const mean = x.mean({ dim: -1, keepdim: true })
    const variance = x.var({ dim: -1, keepdim: true, correction: 0 })
    const normalized = x.sub(mean).div(variance.add(this.eps).sqrt())
    return normalized.mul(this.scale).add(this.shift)
  }
}

export class GELU extends gpt.Module {
  forward(x) {
    const inner = x.add(x.pow(3).mul(0.044715)).mul(Math.sqrt(2 / Math.PI))
    return inner.tanh().add(1).mul(x).mul(0.5)
  }
}

export class FeedForward extends gpt.Module {
  constructor({ embDim }) {
    super()
    this.layers = new gpt.Sequential(
      new gpt.Linear(embDim, 4 * embDim),
      new GELU(),
      new gpt.Linear(4 * embDim, embDim),
    )
  }

  forward(x) {
    return this.layers.forward(x)
  }
}

export class TransformerBlock extends gpt.Module {
  constructor({ embDim, contextLength, nHeads, dropRate, qkvBias }) {
    super()
    const attention = { contextLength, dropout: dropRate, numHeads: nHeads, qkvBias }
    this.att = new MultiHeadAttention(embDim, embDim, attention)
    this.ff = new FeedForward({ embDim })
    this.norm1 = new LayerNorm(embDim)
    this.norm2 = new LayerNorm(embDim)
    this.dropShortcut = new gpt.Dropout(dropRate)
  }

  forward(x) {
    const attended = x.add(this.dropShortcut.forward(this.att.forward(this.norm1.forward(x))))
    return attended.add(this.dropShortcut.forward(this.ff.forward(this.norm2.forward(attended))))
  }
}

export class GPTModel extends gpt.Module {
  constructor(config) {
    super()
    const { vocabSize, contextLength, embDim, nLayers, dropRate } = config
    this.tokEmb = new gpt.Embedding(vocabSize, embDim)
    this.posEmb = new gpt.Embedding(contextLength, embDim)
    this.dropEmb = new gpt.Dropout(dropRate)
    this.trfBlocks = new gpt.Sequential(
      ...Array.from({ length: nLayers }, () => new TransformerBlock(config)),
    )
    this.finalNorm = new LayerNorm(embDim)
    this.outHead = new gpt.Linear(embDim, vocabSize, { bias: false })
  }

  /** @returns logits [batch, tokens, vocabSize] of tokens [batch, tokens] */
  forward(inIdx) {
    const [, tokens] = inIdx.shape
    const embedded = this.tokEmb.forward(inIdx).add(this.posEmb.forward(gpt.arange(tokens)))
    const x = this.trfBlocks.forward(this.dropEmb.forward(embedded))
    return this.outHead.forward(this.finalNorm.forward(x))
  }
}

/** Continues each text of a batch, [batch, tokens], by its most probable tokens. */
export function generateTextSimple(model, idx, { maxNewTokens, contextSize }) {
  for (let i = 0; i < maxNewTokens; i++) {
    // The scope frees what a step makes, except the text.
    idx = gpt.scope(() => {
      const logits = gpt.noGrad(() => model.forward(idx.slice(-contextSize, undefined, { dim: 1 })))
      const last = logits.slice(-1, undefined, { dim: 1 }).squeeze(1)
      const next = last.softmax({ dim: -1 }).argmax({ dim: -1, keepdim: true })
      return gpt.cat([idx, next], { dim: 1 })
    })
  }
  return idx
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  gpt.manualSeed(123)
  const model = new GPTModel(CONFIG).eval()
  console.log(String(model))
  const sizes = model.parameters().map(({ size }) => size)
  console.log(`${sizes.reduce((sum, size) => sum + size)} parameters`)

  const idx = gpt.tensor([encode('The time has come')])
  console.log(`Logits:\n${model.forward(idx)}`)
  const written = generateTextSimple(model, idx, { maxNewTokens: 6, contextSize: CONFIG.contextLength })
  console.log(`An untrained GPT writes: ${JSON.stringify(decode([...written.data]))}`)
}
