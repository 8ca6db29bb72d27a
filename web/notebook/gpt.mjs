// A notebook of gpt-layers, cell by cell. Node runs it as it is; the page /notebook/ opens it, too. In Node no
// figure is drawn, and the file that it opens is the first argument.
for (const figure of ['plot', 'heatmap', 'dots']) globalThis[figure] ??= () => {}
globalThis.openFile ??= async () => (await import('node:fs')).readFileSync(process.argv[2])

// %% [markdown]
// # A GPT from its parts
// Four small classes make a GPT. This one reads ten letters and knows nothing yet: its weights are random.

// %%
import * as gpt from 'gpt-layers'
await gpt.load()

const config = { vocabSize: 27, contextLength: 16, embDim: 32, nHeads: 4, nLayers: 2 }

// %% [markdown]
// ## The norm and the feed-forward layer

// %%
class LayerNorm extends gpt.Module {
  constructor(embDim) {
    super()
    this.scale = gpt.parameter(gpt.ones([embDim]))
    this.shift = gpt.parameter(gpt.zeros([embDim]))
  }

  forward(x) {
    const centered = x.sub(x.mean({ dim: -1, keepdim: true }))
    const variance = x.var({ dim: -1, keepdim: true, correction: 0 })
    return centered.div(variance.add(1e-5).sqrt()).mul(this.scale).add(this.shift)
  }
}

const feedForward = ({ embDim }) =>
  new gpt.Sequential(new gpt.Linear(embDim, 4 * embDim), new gpt.GELU(), new gpt.Linear(4 * embDim, embDim))

// %% [markdown]
// ## Attention
// The only place where a token reads other tokens: itself and those before it.

// %%
class Attention extends gpt.Module {
  constructor({ embDim, nHeads, contextLength }) {
    super()
    this.nHeads = nHeads
    this.qkv = new gpt.Linear(embDim, 3 * embDim)
    this.out = new gpt.Linear(embDim, embDim)
    this.future = gpt.triu(gpt.ones([contextLength, contextLength]), { diagonal: 1 })
  }

  forward(x) {
    const [batch, tokens, embDim] = x.shape
    const split = (y) => y.view([batch, tokens, this.nHeads, -1]).transpose(1, 2)
    const [q, k, v] = this.qkv.forward(x).chunk(3, { dim: -1 }).map(split)
    const future = this.future.slice(0, tokens).slice(0, tokens, { dim: 1 })
    const scores = q.matmul(k.transpose(2, 3)).div(Math.sqrt(embDim / this.nHeads))
    const weights = scores.maskedFill(future, -Infinity).softmax({ dim: -1 })
    return this.out.forward(weights.matmul(v).transpose(1, 2).reshape(x.shape))
  }
}

// %% [markdown]
// ## The block
// Two norms, each before what it feeds. What comes out is added to what came in.

// %%
class Block extends gpt.Module {
  constructor(config) {
    super()
    this.norm1 = new LayerNorm(config.embDim)
    this.attn = new Attention(config)
    this.norm2 = new LayerNorm(config.embDim)
    this.ff = feedForward(config)
  }

  forward(x) {
    const h = x.add(this.attn.forward(this.norm1.forward(x)))
    return h.add(this.ff.forward(this.norm2.forward(h)))
  }
}

// %% [markdown]
// ## The model
// A vector for each token and each position, the blocks, a last norm, and a score for each token that may come
// next.

// %%
class GPT extends gpt.Module {
  constructor(config) {
    super()
    this.tokEmb = new gpt.Embedding(config.vocabSize, config.embDim)
    this.posEmb = new gpt.Embedding(config.contextLength, config.embDim)
    this.blocks = new gpt.Sequential(...Array.from({ length: config.nLayers }, () => new Block(config)))
    this.finalNorm = new LayerNorm(config.embDim)
    this.head = new gpt.Linear(config.embDim, config.vocabSize, { bias: false })
  }

  forward(ids) {
    const positions = gpt.arange(ids.shape[1])
    const x = this.tokEmb.forward(ids).add(this.posEmb.forward(positions))
    return this.head.forward(this.finalNorm.forward(this.blocks.forward(x)))
  }
}

gpt.manualSeed(123)
const model = new GPT(config)
console.log(model)
const count = model.parameters().reduce((sum, { size }) => sum + size, 0)
console.log(count, 'parameters')

// %% [markdown]
// ## What it says
// Letters as numbers in, scores out: one row for each letter.

// %%
const letters = ' abcdefghijklmnopqrstuvwxyz'
const encode = (text) => gpt.tensor([[...text].map((letter) => letters.indexOf(letter))])
const ids = encode('layer norm')
const logits = model.forward(ids)
console.log(...logits.shape)
console.log('After the last letter:', logits.at(0).at(-1))

// %% [markdown]
// The loss says how surprised it is by the next letter. Someone who guesses among 27 letters has ln 27 = 3.30.

// %%
const targets = [...encode('ayer norm ').data]
const loss = gpt.crossEntropy(logits.flatten(0, 1), targets)
console.log('Loss:', loss)

// %% [markdown]
// `backward` computes the gradients: how fast the loss changes with each weight.

// %%
model.zeroGrad()
loss.backward()
console.log('Gradient of the last scale:\n', model.finalNorm.scale.grad)
console.log('Norm of all gradients:', gpt.clipGradNorm(model.parameters(), 1).toFixed(4))
