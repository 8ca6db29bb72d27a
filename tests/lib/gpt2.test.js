// GPT-2's classes, written line for line with the package, as its description has them (Conv1D, FeedForward, Attention),
// are the package's own layers.

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { loadForTest } from './support.js'

let gpt, FeedForward, Attention
before(async () => {
  gpt = await loadForTest()
  const { Conv1D, Dropout, GELU, Module, Softmax } = gpt

  FeedForward = class extends Module {
    constructor(dropout, dModel = 768, nx = 768 * 4) {
      super()
      this.cFc = new Conv1D(nx, dModel)
      this.cProj = new Conv1D(dModel, nx)
      this.act = new GELU({ approximate: 'none' })
      this.dropout = new Dropout(dropout)
    }

    forward(x) {
      return this.dropout.forward(this.cProj.forward(this.act.forward(this.cFc.forward(x))))
    }
  }

  Attention = class extends Module {
    constructor(dModel = 768, nHead = 12, nCtx = 1024, dropout = 0.1) {
      super()
      this.nHead = nHead
      this.dModel = dModel
      this.cAttn = new Conv1D(dModel * 3, dModel)
      this.softmax = new Softmax()
      this.mask = Array.from({ length: nCtx }, (_, i) =>
        Array.from({ length: nCtx }, (_, j) => Number(j <= i)),
      )
      this.dropout = new Dropout(dropout)
      this.cProj = new Conv1D(dModel, dModel)
    }

    /** @returns [batch, head, sequence, features] */
    splitHeads(x) {
      const newShape = [...x.shape.slice(0, -1), this.nHead, x.shape.at(-1) / this.nHead]
      return x.reshape(newShape).permute([0, 2, 1, 3])
    }

    attn(q, k, v) {
      let scores = q.matmul(k.permute([0, 1, 3, 2]))
      scores = scores.div(Math.sqrt(v.shape.at(-1)))
      const [nd, ns] = scores.shape.slice(-2)
      const mask = gpt.tensor(this.mask.slice(ns - nd, ns).map((row) => row.slice(0, ns)))
      scores = scores.mul(mask).sub(gpt.ones([nd, ns]).sub(mask).mul(1e4))
      scores = this.softmax.forward(scores)
      scores = this.dropout.forward(scores)
      return scores.matmul(v)
    }

    mergeHeads(x) {
      const merged = x.permute([0, 2, 1, 3])
      return merged.reshape([...merged.shape.slice(0, -2), merged.shape.at(-2) * merged.shape.at(-1)])
    }

    forward(x) {
      x = this.cAttn.forward(x) // new x shape: [1, 3, 2304]
      let [q, k, v] = x.split(this.dModel, { dim: 2 })
      ;[q, k, v] = [this.splitHeads(q), this.splitHeads(k), this.splitHeads(v)]
      let out = this.attn(q, k, v)
      out = this.mergeHeads(out)
      return this.cProj.forward(out)
    }
  }
})

/** The largest difference of two tensors' elements. */
const off = (a, b) => a.data.reduce((most, value, i) => Math.max(most, Math.abs(value - b.data[i])), 0)

test('GPT-2’s FeedForward, written from its parts, is FeedForward with its weights', () => {
  gpt.manualSeed(1)
  const [written, own] = [new FeedForward(0.1), new gpt.FeedForward({ embDim: 768, approximate: 'none' })]
  assert.deepEqual(Object.keys(written.stateDict()), [
    'c_fc.weight',
    'c_fc.bias',
    'c_proj.weight',
    'c_proj.bias',
  ])
  own.loadStateDict(written.stateDict())
  const x = gpt.randn([2, 3, 768])
  const [y, expected] = [written.eval().forward(x), own.eval().forward(x)]
  assert.deepEqual(y.shape, [2, 3, 768])
  assert.ok(off(y, expected) < 1e-5, `${off(y, expected)}`) // sums in another order
})

test('GPT-2’s Attention, written from its parts, is Attention with its weights', () => {
  gpt.manualSeed(2)
  const [written, own] = [
    new Attention(),
    new gpt.Attention({ embDim: 768, nHeads: 12, contextLength: 1024 }),
  ]
  own.loadStateDict(written.stateDict())
  const x = gpt.randn([2, 17, 768])
  const [y, expected] = [written.eval().forward(x), own.eval().forward(x)]
  assert.deepEqual(y.shape, [2, 17, 768])
  assert.ok(off(y, expected) < 2e-6, `${off(y, expected)}`)
  written.train() // drops a tenth of the weights
  assert.ok(off(written.forward(x), expected) > 1e-4)
})
