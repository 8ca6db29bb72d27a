// Chapter 3: attention, from a dot product to many heads.
//   node ch03.mjs

import { fileURLToPath } from 'node:url'
import * as gpt from 'gpt-layers'

await gpt.load()

/** Attention without weights: every token is the average of all, by how similar they are. */
export function simpleSelfAttention(x) {
  const scores = x.matmul(x.transpose(0, 1))
  const weights = scores.softmax({ dim: -1 })
  return weights.matmul(x)
}

/** Attention of [tokens, dIn] to [tokens, dOut], its weights written as parameters. */
export class SelfAttention_v1 extends gpt.Module {
  constructor(dIn, dOut) {
    super()
    this.W_query = gpt.parameter(gpt.rand([dIn, dOut]))
    this.W_key = gpt.parameter(gpt.rand([dIn, dOut]))
    this.W_value = gpt.parameter(gpt.rand([dIn, dOut]))
  }

  forward(x) {
    const keys = x.matmul(this.W_key)
    const queries = x.matmul(this.W_query)
    const values = x.matmul(this.W_value)
    const scores = queries.matmul(keys.transpose(0, 1))
    const weights = scores.div(keys.shape[1] ** 0.5).softmax({ dim: -1 })
    return weights.matmul(values)
  }
}

/** The same with linear layers. */
export class SelfAttention_v2 extends gpt.Module {
  constructor(dIn, dOut, { qkvBias = false } = {}) {
    super()
    this.W_query = new gpt.Linear(dIn, dOut, { bias: qkvBias })
    this.W_key = new gpt.Linear(dIn, dOut, { bias: qkvBias })
    this.W_value = new gpt.Linear(dIn, dOut, { bias: qkvBias })
  }

  forward(x) {
    const keys = this.W_key.forward(x)
    const queries = this.W_query.forward(x)
    const values = this.W_value.forward(x)
    const scores = queries.matmul(keys.transpose(0, 1))
    const weights = scores.div(keys.shape[1] ** 0.5).softmax({ dim: -1 })
    return weights.matmul(values)
  }
}

/** Attention of [batch, tokens, dIn] in which a token sees itself and those before it. */
export class CausalAttention extends gpt.Module {
  constructor(dIn, dOut, { contextLength, dropout = 0, qkvBias = false }) {
    super()
    this.W_query = new gpt.Linear(dIn, dOut, { bias: qkvBias })
    this.W_key = new gpt.Linear(dIn, dOut, { bias: qkvBias })
    this.W_value = new gpt.Linear(dIn, dOut, { bias: qkvBias })
    this.dropout = new gpt.Dropout(dropout)
    this.mask = gpt.triu(gpt.ones([contextLength, contextLength]), { diagonal: 1 }) // a buffer
  }

  forward(x) {
    const [, tokens] = x.shape
    const keys = this.W_key.forward(x)
    const queries = this.W_query.forward(x)
    const values = this.W_value.forward(x)
    const mask = this.mask.slice(0, tokens).slice(0, tokens, { dim: 1 })
    const scores = queries.matmul(keys.transpose(1, 2)).maskedFill(mask, -Infinity)
    const weights = scores.div(keys.shape[2] ** 0.5).softmax({ dim: -1 })
    return this.dropout.forward(weights).matmul(values)
  }
}

/** Several heads beside each other. */
export class MultiHeadAttentionWrapper extends gpt.Module {
  constructor(dIn, dOut, { contextLength, dropout = 0, numHeads, qkvBias = false }) {
    super()
    const head = () => new CausalAttention(dIn, dOut, { contextLength, dropout, qkvBias })
    this.heads = Array.from({ length: numHeads }, head)
  }

  forward(x) {
    return gpt.cat(
      this.heads.map((head) => head.forward(x)),
      { dim: -1 },
    )
  }
}

/** All heads in one product. */
export class MultiHeadAttention extends gpt.Module {
  constructor(dIn, dOut, { contextLength, dropout = 0, numHeads, qkvBias = false }) {
    super()
    if (dOut % numHeads !== 0) throw new RangeError(`${dOut} is not a multiple of ${numHeads} heads`)
    this.numHeads = numHeads
    this.W_query = new gpt.Linear(dIn, dOut, { bias: qkvBias })
    this.W_key = new gpt.Linear(dIn, dOut, { bias: qkvBias })
    this.W_value = new gpt.Linear(dIn, dOut, { bias: qkvBias })
    this.outProj = new gpt.Linear(dOut, dOut)
    this.dropout = new gpt.Dropout(dropout)
    this.mask = gpt.triu(gpt.ones([contextLength, contextLength]), { diagonal: 1 })
  }

  forward(x) {
    const [batch, tokens] = x.shape
    // [batch, tokens, dOut] to [batch, heads, tokens, headDim]
    const heads = (y) => y.view([batch, tokens, this.numHeads, -1]).transpose(1, 2)
    const keys = heads(this.W_key.forward(x))
    const queries = heads(this.W_query.forward(x))
    const values = heads(this.W_value.forward(x))
    const mask = this.mask.slice(0, tokens).slice(0, tokens, { dim: 1 })
    const scores = queries.matmul(keys.transpose(2, 3)).maskedFill(mask, -Infinity)
    const weights = scores.div(keys.shape[3] ** 0.5).softmax({ dim: -1 })
    const context = this.dropout.forward(weights).matmul(values).transpose(1, 2)
    return this.outProj.forward(context.reshape([batch, tokens, -1]))
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  gpt.manualSeed(123)
  const inputs = gpt.rand([6, 3]) // six tokens, each a vector of three numbers
  console.log(`simpleSelfAttention:\n${simpleSelfAttention(inputs)}`)
  console.log(`SelfAttention_v1:\n${new SelfAttention_v1(3, 2).forward(inputs)}`)
  console.log(`SelfAttention_v2:\n${new SelfAttention_v2(3, 2).forward(inputs)}`)

  const batch = gpt.stack([inputs, inputs])
  const contextLength = 6
  console.log(`CausalAttention:\n${new CausalAttention(3, 2, { contextLength }).forward(batch)}`)
  const wrapper = new MultiHeadAttentionWrapper(3, 1, { contextLength, numHeads: 2 })
  console.log(`MultiHeadAttentionWrapper:\n${wrapper.forward(batch)}`)
  const attention = new MultiHeadAttention(3, 2, { contextLength, numHeads: 2 })
  console.log(`MultiHeadAttention:\n${attention.forward(batch)}`)
  console.log(Object.keys(attention.stateDict()).join(', '))
}
