// Loads a GPT-2 checkpoint and continues a list of tokens.
//   node gpt2.js model.safetensors 15496 11 314 716
//
// The file is the `model.safetensors` of any GPT-2 (124M to 1.5B) with GPT-2's own names, such as
// "h.0.attn.c_attn.weight".
// Tokens are integers; any package with GPT-2's byte pair encoding translates text to tokens and back.
// Without a file the program makes a very small checkpoint of random weights.

import { readFileSync } from 'node:fs'
import { load } from 'gpt-layers'

const [file, ...words] = process.argv.slice(2)
const gpt = await load()
gpt.manualSeed(123)
const bytes = file ? readFileSync(file) : tinyCheckpoint()
const tokens = words.length > 0 ? words.map(Number) : [7, 3, 9]

const model = gpt.scope(() => {
  const weights = gpt.loadSafetensors(bytes)
  const [vocabSize, embDim] = weights['wte.weight'].shape
  const [contextLength] = weights['wpe.weight'].shape
  const nLayers = Object.keys(weights).filter((name) => /^h\.\d+\.ln_1\.weight$/.test(name)).length
  const nHeads = embDim / 64 // every GPT-2 has heads of 64
  const model = new gpt.GPTModel({
    vocabSize,
    contextLength,
    embDim,
    nHeads,
    nLayers,
    qkvBias: true,
    tieWeights: true,
  })
  model.loadStateDict(weights)
  return model // the scope keeps what it returns and frees the rest
})
model.eval()

const count = model.parameters().reduce((sum, parameter) => sum + parameter.size, 0)
console.log(`${model.trfBlocks.length} blocks, ${model.embDim} wide, ${count} parameters`)

for (let i = 0; i < 5; i++) {
  const logits = gpt.scope(() => model.forward(tokens).data.slice(-model.vocabSize))
  tokens.push(logits.indexOf(Math.max(...logits)))
}
console.log(tokens.join(' '))

/** A checkpoint with GPT-2's names and shapes: 2 blocks, 64 wide, 20 tokens. */
function tinyCheckpoint() {
  const [vocab, context, width, blocks] = [20, 16, 64, 2]
  const weights = {
    'wte.weight': gpt.randn([vocab, width]),
    'wpe.weight': gpt.randn([context, width]).mul(2),
    'ln_f.weight': gpt.ones([width]),
    'ln_f.bias': gpt.zeros([width]),
  }
  for (let i = 0; i < blocks; i++) {
    Object.assign(weights, {
      [`h.${i}.ln_1.weight`]: gpt.ones([width]),
      [`h.${i}.ln_1.bias`]: gpt.zeros([width]),
      [`h.${i}.attn.c_attn.weight`]: gpt.randn([width, 3 * width]).mul(0.3),
      [`h.${i}.attn.c_attn.bias`]: gpt.zeros([3 * width]),
      [`h.${i}.attn.c_proj.weight`]: gpt.randn([width, width]).mul(0.3),
      [`h.${i}.attn.c_proj.bias`]: gpt.zeros([width]),
      [`h.${i}.ln_2.weight`]: gpt.ones([width]),
      [`h.${i}.ln_2.bias`]: gpt.zeros([width]),
      [`h.${i}.mlp.c_fc.weight`]: gpt.randn([width, 4 * width]).mul(0.3),
      [`h.${i}.mlp.c_fc.bias`]: gpt.zeros([4 * width]),
      [`h.${i}.mlp.c_proj.weight`]: gpt.randn([4 * width, width]).mul(0.3),
      [`h.${i}.mlp.c_proj.bias`]: gpt.zeros([width]),
    })
  }
  return gpt.saveSafetensors(weights)
}
