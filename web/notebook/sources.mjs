// A notebook of gpt-layers, cell by cell. Node runs it as it is; the page /notebook/ opens it, too. In Node no
// figure is drawn, and the file that it opens is the first argument.
for (const figure of ['plot', 'heatmap', 'dots']) globalThis[figure] ??= () => {}
globalThis.openFile ??= async () => (await import('node:fs')).readFileSync(process.argv[2])

// %% [markdown]
// # The sources
// The examples that the notebook goes back to: a row at the whiteboard, a tensor with three axes, and the layers
// of GPT-2 as its code writes them.

// %%
import * as gpt from 'gpt-layers'
await gpt.load()

// %% [markdown]
// ## A row at the whiteboard
// Four outputs of a layer. Divided by n, their variance is 2.0025.

// %%
const row = gpt.tensor([1.1, 0.8, 2.3, 4.4])
const mean = row.mean()
const variance = row.var({ correction: 0 })
const normalized = row.sub(mean).div(variance.sqrt())
console.log('Mean:', mean)
console.log('Variance:', variance)
console.log('Normalized:', normalized)
dots({ before: row, after: normalized })

// %% [markdown]
// ## Five batches of ten tokens
// The last axis has three numbers, and each three are normalized by themselves. Here `eps` is 1e-6. The mean of
// each row is 0 up to rounding.

// %%
gpt.manualSeed(123)
const x = gpt.rand([5, 10, 3])
const norm = new gpt.LayerNorm(x.shape.at(-1), { eps: 1e-6 })
const result = norm.forward(x)
const means = result.mean({ dim: -1 })
console.log(...result.shape)
console.log(result.at(0))
console.log('Variance:', result.var({ dim: -1, correction: 0 }).at(0))
console.log('Means farther from 0 than 1e-5:', means.abs().gt(1e-5).sum().item())

// %% [markdown]
// ## Conv1D
// GPT-2’s linear layer has this name. Its weight is `[nx, nf]`, the transpose of Linear’s.

// %%
class Conv1D extends gpt.Module {
  constructor(nf, nx) {
    super()
    this.weight = gpt.parameter(gpt.init.normal(gpt.zeros([nx, nf]), { std: 0.02 }))
    this.bias = gpt.parameter(gpt.zeros([nf]))
  }

  forward(x) {
    return x.matmul(this.weight).add(this.bias)
  }
}

gpt.manualSeed(123)
const conv = new Conv1D(6, 4)
console.log(conv.forward(gpt.ones([2, 4])))

// %% [markdown]
// ## FeedForward
// Twice Conv1D, and GELU between. This source uses GELU’s exact form, `approximate: 'none'`. `eval()` turns
// dropout off.

// %%
class FeedForward extends gpt.Module {
  constructor({ dModel = 768, nx = 4 * dModel, dropout = 0.1 } = {}) {
    super()
    this.cFc = new Conv1D(nx, dModel)
    this.cProj = new Conv1D(dModel, nx)
    this.dropout = new gpt.Dropout(dropout)
  }

  forward(x) {
    const hidden = this.cFc.forward(x).gelu({ approximate: 'none' })
    return this.dropout.forward(this.cProj.forward(hidden))
  }
}

gpt.manualSeed(123)
const feedForward = new FeedForward().eval()
const wide = feedForward.forward(gpt.randn([2, 4, 768]))
console.log(...wide.shape)
console.log(wide)

// %% [markdown]
// ## Attention
// One product makes queries, keys and values. Each is split into heads. A token reads itself and those before
// it: the mask hides what comes later.

// %%
class Attention extends gpt.Module {
  constructor({ dModel = 768, nHead = 12, nCtx = 1024 } = {}) {
    super()
    this.nHead = nHead
    this.dModel = dModel
    this.cAttn = new Conv1D(3 * dModel, dModel)
    this.cProj = new Conv1D(dModel, dModel)
    this.mask = gpt.tril(gpt.ones([nCtx, nCtx])) // a buffer
  }

  // [batch, tokens, features] to [batch, head, tokens, features of a head]
  splitHeads(x) {
    const [batch, tokens] = x.shape
    return x.view([batch, tokens, this.nHead, -1]).permute([0, 2, 1, 3])
  }

  mergeHeads(x) {
    const [batch, , tokens] = x.shape
    return x.permute([0, 2, 1, 3]).reshape([batch, tokens, this.dModel])
  }

  weights(q, k) {
    const tokens = q.shape.at(-2)
    const mask = this.mask.slice(0, tokens).slice(0, tokens, { dim: 1 })
    const scores = q.matmul(k.transpose(-2, -1)).div(Math.sqrt(q.shape.at(-1)))
    return scores.maskedFill(mask.eq(0), -Infinity).softmax({ dim: -1 })
  }

  forward(x) {
    const [q, k, v] = this.cAttn
      .forward(x)
      .split(this.dModel, { dim: -1 })
      .map((part) => this.splitHeads(part))
    return this.cProj.forward(this.mergeHeads(this.weights(q, k).matmul(v)))
  }
}

gpt.manualSeed(123)
const attention = new Attention()
const sequence = gpt.randn([1, 5, 768])
console.log(attention)
console.log(attention.forward(sequence))

// %% [markdown]
// The weights of the first head: row i says how much token i reads of each token.

// %%
const [q, k] = attention.cAttn.forward(sequence).split(768, { dim: -1 })
const weights = attention.weights(attention.splitHeads(q), attention.splitHeads(k)).at(0).at(0)
console.log(weights)
heatmap(weights)
