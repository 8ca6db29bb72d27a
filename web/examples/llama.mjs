// One block of a Llama: RMSNorm, rotary positions, grouped queries, SwiGLU. Its parameters have the names of
// Hugging Face's LlamaDecoderLayer.
//   node llama.mjs

import { fileURLToPath } from 'node:url'
import * as gpt from 'gpt-layers'

await gpt.load()

/** y = weight · x / sqrt(mean(x²) + eps) */
class RMSNorm extends gpt.Module {
  constructor(embDim, eps = 1e-5) {
    super()
    this.eps = eps
    this.weight = gpt.parameter(gpt.ones([embDim]))
  }
  forward(x) {
    const square = x.pow(2).mean({ dim: -1, keepdim: true })
    return x.mul(square.add(this.eps).rsqrt()).mul(this.weight)
  }
}

/** Rotary positions of x [..., tokens, d]: turns (x[t, i], x[t, i + d/2]) by the angle t · base^(-2i/d). */
function rotate(x, base = 10000) {
  const [tokens, d] = x.shape.slice(-2)
  const exponents = gpt.arange(0, d, 2).div(-d)
  const frequencies = exponents.mul(Math.log(base)).exp()
  const angles = gpt.arange(tokens).unsqueeze(1).mul(frequencies)
  const [first, second] = x.chunk(2, { dim: -1 })
  const [cos, sin] = [angles.cos(), angles.sin()]
  return gpt.cat([first.mul(cos).sub(second.mul(sin)), second.mul(cos).add(first.mul(sin))], { dim: -1 })
}

/** Causal attention in which nHeads / nKvHeads queries share a key and a value. */
class Attention extends gpt.Module {
  constructor({ embDim, nHeads, nKvHeads }) {
    super()
    this.headDim = embDim / nHeads
    this.nKvHeads = nKvHeads
    this.qProj = new gpt.Linear(embDim, embDim, { bias: false })
    this.kProj = new gpt.Linear(embDim, nKvHeads * this.headDim, { bias: false })
    this.vProj = new gpt.Linear(embDim, nKvHeads * this.headDim, { bias: false })
    this.oProj = new gpt.Linear(embDim, embDim, { bias: false })
  }
  forward(x) {
    const [batch, tokens, embDim] = x.shape
    // [batch, nKvHeads, group, tokens, headDim]. A group has several queries, but one key and value: they broadcast.
    const heads = (y) => y.view([batch, tokens, this.nKvHeads, -1, this.headDim]).permute([0, 2, 3, 1, 4])
    const q = rotate(heads(this.qProj.forward(x)))
    const k = rotate(heads(this.kProj.forward(x)))
    const v = heads(this.vProj.forward(x))
    const mask = gpt.ones([tokens, tokens]).triu({ diagonal: 1 })
    const scores = q.matmul(k.transpose(-2, -1)).div(Math.sqrt(this.headDim)).maskedFill(mask, -Infinity)
    const context = scores.softmax({ dim: -1 }).matmul(v).permute([0, 3, 1, 2, 4])
    return this.oProj.forward(context.reshape([batch, tokens, embDim]))
  }
}

/** y = down(silu(gate(x)) · up(x)) */
class SwiGLU extends gpt.Module {
  constructor({ embDim, hiddenDim }) {
    super()
    this.gateProj = new gpt.Linear(embDim, hiddenDim, { bias: false })
    this.upProj = new gpt.Linear(embDim, hiddenDim, { bias: false })
    this.downProj = new gpt.Linear(hiddenDim, embDim, { bias: false })
  }
  forward(x) {
    return this.downProj.forward(this.gateProj.forward(x).silu().mul(this.upProj.forward(x)))
  }
}

export class LlamaBlock extends gpt.Module {
  constructor(config) {
    super()
    this.selfAttn = new Attention(config)
    this.mlp = new SwiGLU(config)
    this.inputLayernorm = new RMSNorm(config.embDim)
    this.postAttentionLayernorm = new RMSNorm(config.embDim)
  }
  forward(x) {
    const attended = x.add(this.selfAttn.forward(this.inputLayernorm.forward(x)))
    return attended.add(this.mlp.forward(this.postAttentionLayernorm.forward(attended)))
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  gpt.manualSeed(123)
  const block = new LlamaBlock({ embDim: 32, nHeads: 4, nKvHeads: 2, hiddenDim: 64 })
  console.log(String(block))
  console.log(String(block.forward(gpt.randn([1, 3, 32]))))
}
