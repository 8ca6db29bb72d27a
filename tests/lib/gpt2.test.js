// GPT-2's classes FeedForward and Attention, written line for line with the package's parts, compute the same
// as the package's layers of these names.

/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadForTest } from './support.js'

const gpt = await loadForTest()
const { Conv1D, Dropout, GELU, Module, Softmax } = gpt

/** @param {Tensor} x @param {number} axis negative: from the last @returns {number} */
const sizeOf = (x, axis) => x.shape[x.shape.length + axis]

class FeedForward extends Module {
  /** @param {number} dropout */
  constructor(dropout, dModel = 768, nx = 768 * 4) {
    super()
    this.cFc = new Conv1D(nx, dModel)
    this.cProj = new Conv1D(dModel, nx)
    this.act = new GELU({ approximate: 'none' })
    this.dropout = new Dropout(dropout)
  }

  /** @override @param {Tensor} x */
  forward(x) {
    return this.dropout.forward(this.cProj.forward(this.act.forward(this.cFc.forward(x))))
  }
}

class Attention extends Module {
  constructor(dModel = 768, nHead = 12, nCtx = 1024, dropout = 0.1) {
    super()
    this.nHead = nHead
    this.dModel = dModel
    this.cAttn = new Conv1D(dModel * 3, dModel)
    this.softmax = new Softmax()
    this.mask = Array.from({ length: nCtx }, (_, i) => Array.from({ length: nCtx }, (_, j) => Number(j <= i)))
    this.dropout = new Dropout(dropout)
    this.cProj = new Conv1D(dModel, dModel)
  }

  /** @param {Tensor} x @returns {Tensor} [batch, head, sequence, features] */
  splitHeads(x) {
    const newShape = [...x.shape.slice(0, -1), this.nHead, sizeOf(x, -1) / this.nHead]
    return x.reshape(newShape).permute([0, 2, 1, 3])
  }

  /** @param {Tensor} q @param {Tensor} k @param {Tensor} v */
  attn(q, k, v) {
    let scores = q.matmul(k.permute([0, 1, 3, 2]))
    scores = scores.div(Math.sqrt(sizeOf(v, -1)))
    const [nd, ns] = scores.shape.slice(-2)
    const mask = gpt.tensor(this.mask.slice(ns - nd, ns).map((row) => row.slice(0, ns)))
    scores = scores.mul(mask).sub(gpt.ones([nd, ns]).sub(mask).mul(1e4))
    scores = this.softmax.forward(scores)
    scores = this.dropout.forward(scores)
    return scores.matmul(v)
  }

  /** @param {Tensor} x */
  mergeHeads(x) {
    const merged = x.permute([0, 2, 1, 3])
    return merged.reshape([...merged.shape.slice(0, -2), sizeOf(merged, -2) * sizeOf(merged, -1)])
  }

  /** @override @param {Tensor} x */
  forward(x) {
    x = this.cAttn.forward(x) // The new shape is [batch, tokens, 3 * dModel].
    let [q, k, v] = x.split(this.dModel, { dim: 2 })
    ;[q, k, v] = [this.splitHeads(q), this.splitHeads(k), this.splitHeads(v)]
    let out = this.attn(q, k, v)
    out = this.mergeHeads(out)
    return this.cProj.forward(out)
  }
}

/** @param {Tensor} a @param {Tensor} b @returns {number} the largest difference of two elements */
const largestDifference = (a, b) =>
  a.data.reduce((most, value, i) => Math.max(most, Math.abs(value - b.data[i])), 0)

test('GPT-2’s FeedForward, written from its parts, computes what FeedForward computes', () => {
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
  // The sums add in another order.
  assert.ok(largestDifference(y, expected) < 1e-5, `${largestDifference(y, expected)}`)
})

test('GPT-2’s Attention, written from its parts, computes what Attention computes', () => {
  gpt.manualSeed(2)
  const [written, own] = [
    new Attention(),
    new gpt.Attention({ embDim: 768, nHeads: 12, contextLength: 1024 }),
  ]
  own.loadStateDict(written.stateDict())
  const x = gpt.randn([2, 17, 768])
  const [y, expected] = [written.eval().forward(x), own.eval().forward(x)]
  assert.deepEqual(y.shape, [2, 17, 768])
  assert.ok(largestDifference(y, expected) < 2e-6, `${largestDifference(y, expected)}`)
  written.train() // In training mode a tenth of the weights is dropped.
  assert.ok(largestDifference(written.forward(x), expected) > 1e-4)
})
