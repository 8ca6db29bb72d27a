// Measures what layer normalization does for a deep stack: `node tests/training/depth.js` after ./build.sh.
//
// Without it, gradients shrink or grow by a factor per layer, so they vanish or explode. This program trains
// stacks of Linear and ReLU, with and without a LayerNorm between the two, from PyTorch's initial weights and
// from larger ones. It prints the norm of each weight's gradient before training, and the loss after 200
// steps of AdamW on a small regression.

/** @import { Gpt } from 'gpt-layers' */

import { pathToFileURL } from 'node:url'
import { load } from 'gpt-layers'
import { gradientOf } from '../lib/support.js'

const WIDTH = 64
const SAMPLES = 128

/**
 * @param {Gpt} gpt
 * @param {object} options
 * @param {number} options.depth layers of Linear and ReLU
 * @param {boolean} options.norm whether each layer has a LayerNorm
 * @param {number} [options.gain] factor of PyTorch's initial weights
 * @param {number} [options.steps]
 * @param {number} [options.seed]
 * @returns {{ gradients: number[], first: number, last: number }} gradients: the norm of each weight's
 *   gradient, from the first layer to the last; first, last: the loss before and after training
 */
export function train(gpt, { depth, norm, gain = 1, steps = 200, seed = 123 }) {
  const { Linear, LayerNorm, ReLU, Sequential } = gpt
  gpt.manualSeed(seed)
  const x = gpt.randn([SAMPLES, 8])
  // A smooth function of x with mean 0 and variance 1: with the mean as the guess the loss is 1.
  const target = gpt.scope(() => {
    const rows = /** @type {number[][]} */ (x.toArray())
    const y = gpt.tensor(rows.map((row) => [Math.sin(2 * row[0]) + row[1] * row[2] - 0.5 * row[3]]))
    return y.sub(y.mean()).div(y.var({ unbiased: false }).sqrt())
  })
  const block = (/** @type {number} */ inputs) => [
    new Linear(inputs, WIDTH),
    ...(norm ? [new LayerNorm(WIDTH)] : []),
    new ReLU(),
  ]
  const layers = Array.from({ length: depth }, (_, i) => block(i === 0 ? 8 : WIDTH)).flat()
  const model = new Sequential(...layers, new Linear(WIDTH, 1))
  const weights = layers.filter((layer) => layer instanceof Linear).map(({ weight }) => weight)
  for (const { data } of weights) data.forEach((value, i) => (data[i] = gain * value))
  const optimizer = new gpt.AdamW(model.parameters(), { lr: 3e-4 })
  const gradient = () =>
    gpt.scope(() => {
      optimizer.zeroGrad()
      const loss = gpt.mse(model.forward(x), target)
      loss.backward()
      return loss.item()
    })
  const first = gradient()
  const gradients = weights.map((weight) => Math.hypot(...gradientOf(weight).data))
  for (let step = 0; step < steps; step++) {
    if (step > 0) gradient()
    optimizer.step()
  }
  const last = gpt.scope(() => gpt.mse(model.eval().forward(x), target).item())
  for (const held of [model, optimizer, x, target]) held.dispose()
  return { gradients, first, last }
}

async function main() {
  const gpt = await load()
  const number = (/** @type {number} */ value) =>
    value === 0 || !Number.isFinite(value) ? String(value) : value.toExponential(1)
  console.log(
    '| layers | weights | LayerNorm | gradient, first layer | middle | last | loss before | after 200 steps |',
  )
  console.log('| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |')
  for (const depth of [10, 30, 50]) {
    for (const gain of [1, 4]) {
      for (const norm of [false, true]) {
        const { gradients, first, last } = train(gpt, { depth, norm, gain })
        const three = [gradients[0], gradients[depth >> 1], gradients[depth - 1]].map(number)
        const cells = [depth, gain === 1 ? "PyTorch's" : `${gain} times`, norm ? 'with' : 'without', ...three]
        console.log(
          `| ${[...cells, number(first), last < 1e3 ? last.toFixed(3) : number(last)].join(' | ')} |`,
        )
      }
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main()
