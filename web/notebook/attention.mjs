// A notebook of gpt-layers, cell by cell. Node runs it as it is; the page /notebook/ opens it, too. In Node no
// figure is drawn, and the file that it opens is the first argument.
for (const figure of ['plot', 'heatmap', 'dots']) globalThis[figure] ??= () => {}
globalThis.openFile ??= async () => (await import('node:fs')).readFileSync(process.argv[2])

// %% [markdown]
// # Attention by hand
// Six tokens, each a vector of three numbers. Attention makes a new vector of each token: a mixture of the
// vectors of all tokens that it may read.

// %%
import * as gpt from 'gpt-layers'
await gpt.load()

gpt.manualSeed(123)
const words = ['your', 'journey', 'starts', 'with', 'one', 'step']
const inputs = gpt.rand([words.length, 3])
console.log(inputs)

// %% [markdown]
// ## How much does a token read of another?
// The dot product says how similar two vectors are. Softmax makes weights of the scores: positive, with sum 1
// in each row.

// %%
const scores = inputs.matmul(inputs.transpose(0, 1))
const weights = scores.softmax({ dim: -1 })
console.log(weights)
console.log('Sum of each row:', weights.sum({ dim: -1 }))
heatmap(weights, { rows: words, cols: words })

// %% [markdown]
// The mixture of token 2 is the sum of all vectors, each times its weight. One product does it for all tokens.

// %%
console.log('Token 2:', weights.at(1).matmul(inputs))
console.log(weights.matmul(inputs))

// %% [markdown]
// ## Queries, keys and values
// Three matrices that are learned turn each vector into what it asks for, what it offers, and what it gives.
// Divided by the root of their size, the scores stay small, and softmax does not become all or nothing.

// %%
class SelfAttention extends gpt.Module {
  constructor(dIn, dOut) {
    super()
    this.wQuery = new gpt.Linear(dIn, dOut, { bias: false })
    this.wKey = new gpt.Linear(dIn, dOut, { bias: false })
    this.wValue = new gpt.Linear(dIn, dOut, { bias: false })
  }

  forward(x) {
    const queries = this.wQuery.forward(x)
    const keys = this.wKey.forward(x)
    const values = this.wValue.forward(x)
    const scores = queries.matmul(keys.transpose(-2, -1)).div(Math.sqrt(keys.shape.at(-1)))
    return scores.softmax({ dim: -1 }).matmul(values)
  }
}

gpt.manualSeed(789)
const attention = new SelfAttention(3, 2)
console.log(attention)
console.log(attention.forward(inputs))

// %% [markdown]
// ## No look ahead
// A GPT writes the next token, so a token may not read what comes after it. The scores there become −∞, and
// softmax makes 0 of them.

// %%
const queries = attention.wQuery.forward(inputs)
const keys = attention.wKey.forward(inputs)
const future = gpt.triu(gpt.ones([6, 6]), { diagonal: 1 })
const masked = queries.matmul(keys.transpose(0, 1)).maskedFill(future, -Infinity)
const causal = masked.div(Math.sqrt(2)).softmax({ dim: -1 })
console.log(causal)
heatmap(causal, { rows: words, cols: words })

// %% [markdown]
// ## Many heads
// Each head has queries, keys and values of its own. Their outputs stand beside each other, and one more
// linear layer mixes them.

// %%
class MultiHeadAttention extends gpt.Module {
  constructor(dIn, dOut, { contextLength, numHeads }) {
    super()
    this.numHeads = numHeads
    this.wQuery = new gpt.Linear(dIn, dOut, { bias: false })
    this.wKey = new gpt.Linear(dIn, dOut, { bias: false })
    this.wValue = new gpt.Linear(dIn, dOut, { bias: false })
    this.outProj = new gpt.Linear(dOut, dOut)
    this.mask = gpt.triu(gpt.ones([contextLength, contextLength]), { diagonal: 1 })
  }

  forward(x) {
    const [batch, tokens] = x.shape
    // [batch, tokens, dOut] to [batch, heads, tokens, size of a head]
    const split = (y) => y.view([batch, tokens, this.numHeads, -1]).transpose(1, 2)
    const queries = split(this.wQuery.forward(x))
    const keys = split(this.wKey.forward(x))
    const values = split(this.wValue.forward(x))
    const mask = this.mask.slice(0, tokens).slice(0, tokens, { dim: 1 })
    const scores = queries.matmul(keys.transpose(2, 3)).maskedFill(mask, -Infinity)
    const weights = scores.div(Math.sqrt(keys.shape.at(-1))).softmax({ dim: -1 })
    const context = weights.matmul(values).transpose(1, 2).reshape([batch, tokens, -1])
    return this.outProj.forward(context)
  }
}

gpt.manualSeed(123)
const heads = new MultiHeadAttention(3, 4, { contextLength: 6, numHeads: 2 })
const batch = gpt.stack([inputs, inputs])
console.log(heads.forward(batch))

// %% [markdown]
// The package has it as one function, faster and with its gradient.

// %%
const q = heads.wQuery.forward(batch).view([2, 6, 2, 2]).transpose(1, 2)
const k = heads.wKey.forward(batch).view([2, 6, 2, 2]).transpose(1, 2)
const v = heads.wValue.forward(batch).view([2, 6, 2, 2]).transpose(1, 2)
const context = gpt.scaledDotProductAttention(q, k, v, { isCausal: true })
console.log(heads.outProj.forward(context.transpose(1, 2).reshape([2, 6, 4])).at(0))
