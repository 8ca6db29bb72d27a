// Layers typed by hand from the operations of tensors, beside the built-in ones; and each operation beside
// `mul` and `exp`.
//   node tests/bench/handmade.js           --build relaxed, --only attention, --quick

import { parseArgs } from 'node:util'
import * as gpt from '../../dist/index.js'
import { QUICK, race, THOROUGH } from './measure.js'
import { DIM, EPS, HEADS, HIDDEN } from './operations.js'

const { values: options } = parseArgs({
  options: {
    build: { type: 'string', default: 'simd' },
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
  },
})
await gpt.load({ build: options.build === 'relaxed' ? 'relaxed' : 'simd' })
const effort = options.quick ? QUICK : THOROUGH

/** The book's attention: one Linear each for queries, keys and values, and a mask. */
class Attention extends gpt.Module {
  query = new gpt.Linear(DIM, DIM)
  key = new gpt.Linear(DIM, DIM)
  value = new gpt.Linear(DIM, DIM)
  out = new gpt.Linear(DIM, DIM)
  dropout = new gpt.Dropout(0)

  /** @param {number} tokens */
  constructor(tokens) {
    super()
    this.mask = gpt.triu(gpt.ones([tokens, tokens]), { diagonal: 1 })
  }

  /** @param {gpt.Tensor} x @returns {gpt.Tensor} */
  forward(x) {
    const [batch, tokens] = x.shape
    const [q, k, v] = [this.query, this.key, this.value].map((layer) =>
      layer
        .forward(x)
        .view([batch, tokens, HEADS, DIM / HEADS])
        .transpose(1, 2),
    )
    const scores = q.matmul(k.transpose(2, 3)).maskedFill(this.mask, -Infinity)
    const weights = this.dropout.forward(scores.div(Math.sqrt(DIM / HEADS)).softmax({ dim: -1 }))
    return this.out.forward(weights.matmul(v).transpose(1, 2).reshape([batch, tokens, DIM]))
  }
}

class GELU extends gpt.Module {
  /** @param {gpt.Tensor} x @returns {gpt.Tensor} */
  forward(x) {
    const inner = x.add(x.pow(3).mul(0.044715)).mul(Math.sqrt(2 / Math.PI))
    return x.mul(0.5).mul(inner.tanh().add(1))
  }
}

class LayerNorm extends gpt.Module {
  scale = gpt.parameter(gpt.ones([DIM]))
  shift = gpt.parameter(gpt.zeros([DIM]))

  /** @param {gpt.Tensor} x @returns {gpt.Tensor} */
  forward(x) {
    const mean = x.mean({ dim: -1, keepdim: true })
    const variance = x.var({ dim: -1, keepdim: true, correction: 0 })
    return x.sub(mean).div(variance.add(EPS).sqrt()).mul(this.scale).add(this.shift)
  }
}

class Block extends gpt.Module {
  /** @param {number} tokens */
  constructor(tokens) {
    super()
    this.attention = new Attention(tokens)
    this.norm1 = new LayerNorm()
    this.norm2 = new LayerNorm()
    this.ff = new gpt.Sequential(new gpt.Linear(DIM, HIDDEN), new GELU(), new gpt.Linear(HIDDEN, DIM))
  }

  /** @param {gpt.Tensor} x @returns {gpt.Tensor} */
  forward(x) {
    const h = x.add(this.attention.forward(this.norm1.forward(x)))
    return h.add(this.ff.forward(this.norm2.forward(h)))
  }
}

const config = { embDim: DIM, nHeads: HEADS, contextLength: 1024 }
/** @type {Record<string, { columns: number, make: (tokens: number) => [gpt.Module, gpt.Module] }>} makes the layer typed by hand, and the built-in one */
const LAYERS = {
  block: { columns: DIM, make: (tokens) => [new Block(tokens), new gpt.TransformerBlock(config)] },
  attention: { columns: DIM, make: (tokens) => [new Attention(tokens), new gpt.Attention(config)] },
  GELU: { columns: HIDDEN, make: () => [new GELU(), new gpt.GELU()] },
  LayerNorm: { columns: DIM, make: () => [new LayerNorm(), new gpt.LayerNorm(DIM)] },
}

const ms = (/** @type {number} */ seconds) => (1000 * seconds).toFixed(2)

const selected = Object.entries(LAYERS).filter(([name]) => name.includes(options.only))
if (selected.length > 0) {
  console.log('| layer | tokens | forward: by hand, built in | ratio | with backward | ratio |')
  console.log('| --- | ---: | ---: | ---: | ---: | ---: |')
}
for (const [name, { columns, make }] of selected) {
  for (const tokens of [32, 128, 512, 1024]) {
    const layers = make(tokens)
    const x = gpt.parameter(gpt.randn([1, tokens, columns]))
    const dy = gpt.randn(x.shape)
    const forward = layers.map((layer, i) => ({
      name: `${i}`,
      call: () => gpt.scope(() => gpt.noGrad(() => void layer.forward(x))),
    }))
    const backward = layers.map((layer, i) => ({
      name: `${i}`,
      call: () => {
        gpt.scope(() => layer.forward(x).backward(dy))
        layer.zeroGrad()
        x.grad?.dispose()
      },
    }))
    const cells = []
    for (const entries of [forward, backward]) {
      const { 0: byHand, 1: builtIn } = await race(entries, effort)
      cells.push(`${ms(byHand)}, ${ms(builtIn)} ms`, `${(byHand / builtIn).toFixed(2)}x`)
    }
    console.log(`| ${[name, tokens, ...cells].join(' | ')} |`)
    for (const one of [...layers, x, dy]) one.dispose()
  }
}

const [x, y] = [gpt.randn([512, DIM]), gpt.randn([512, DIM])]
const mask = gpt.triu(gpt.ones([512, DIM]))
const far = x.mul(1e10)
/** @type {Record<string, () => unknown>} */
const OPERATIONS = {
  mul: () => x.mul(y),
  exp: () => x.exp(),
  tanh: () => x.tanh(),
  sin: () => x.sin(),
  cos: () => x.cos(),
  'sin of numbers beyond 2^28': () => far.sin(),
  sigmoid: () => x.sigmoid(),
  silu: () => x.silu(),
  reciprocal: () => x.reciprocal(),
  rsqrt: () => x.rsqrt(),
  clamp: () => x.clamp({ min: -1, max: 1 }),
  eq: () => x.eq(y),
  gt: () => x.gt(y),
  maximum: () => gpt.maximum(x, y),
  where: () => gpt.where(mask, x, y),
  maskedFill: () => x.maskedFill(mask, -Infinity),
  transpose: () => x.transpose(0, 1),
}
if ('operations'.includes(options.only)) {
  const entries = Object.entries(OPERATIONS).map(([name, run]) => ({
    name,
    call: () => gpt.scope(() => void run()),
  }))
  const seconds = await race(entries, effort)
  console.log('\n| operation | ns an element | of mul | of exp |\n| --- | ---: | ---: | ---: |')
  for (const [name, time] of Object.entries(seconds)) {
    const ratios = [time / seconds.mul, time / seconds.exp].map((ratio) => `${ratio.toFixed(2)}x`)
    console.log(`| ${[name, ((1e9 * time) / x.size).toFixed(2), ...ratios].join(' | ')} |`)
  }
}
