// What layer normalization does for a deep stack, measured: `node tests/training/depth.js` after ./build.sh.
//
// The sources say of it that gradients which are multiplied from layer to layer vanish or explode, and that
// normalized activations keep them in range. So: stacks of Linear and ReLU, with and without a LayerNorm between the
// two, from PyTorch's own initial weights and from larger ones; the gradient's norm in each Linear's weight before
// training, and the loss after 200 steps of AdamW on a small regression.

import { pathToFileURL } from 'node:url'
import { load } from 'gpt-layers'

const WIDTH = 64
const SAMPLES = 128

/**
 * @param {Gpt} gpt
 * @param {object} options
 * @param {number} options.depth layers of Linear and ReLU
 * @param {boolean} options.norm whether with a LayerNorm in each
 * @param {number} [options.gain] what PyTorch's initial weights are multiplied with
 * @param {number} [options.steps]
 * @param {number} [options.seed]
 * @returns {{ gradients: number[], first: number, last: number }} the norm of the gradient in each weight, from the first
 *   layer to the last; the loss before and after
 */
export function train(gpt, { depth, norm, gain = 1, steps = 200, seed = 123 }) {
  const { Linear, LayerNorm, ReLU, Sequential } = gpt
  gpt.manualSeed(seed)
  const x = gpt.randn([SAMPLES, 8])
  // y: a smooth function of x, of mean 0 and variance 1, so that guessing the mean costs 1
  const target = gpt.scope(() => {
    const rows = /** @type {number[][]} */ (x.toArray())
    const y = gpt.tensor(rows.map((row) => [Math.sin(2 * row[0]) + row[1] * row[2] - 0.5 * row[3]]))
    return y.sub(y.mean()).div(y.var({ unbiased: false }).sqrt())
  })
  const block = (inputs) => [new Linear(inputs, WIDTH), ...(norm ? [new LayerNorm(WIDTH)] : []), new ReLU()]
  const layers = Array.from({ length: depth }, (_, i) => block(i === 0 ? 8 : WIDTH)).flat()
  const model = new Sequential(...layers, new Linear(WIDTH, 1))
  const weights = model.layers.filter((layer) => layer instanceof Linear).map(({ weight }) => weight)
  for (const { data } of weights.slice(0, -1)) data.forEach((value, i) => (data[i] = gain * value))
  const optimizer = new gpt.AdamW(model.parameters(), { lr: 3e-4 })
  const gradient = () =>
    gpt.scope(() => {
      optimizer.zeroGrad()
      const loss = gpt.mse(model.forward(x), target)
      model.backward(loss.backward())
      return loss.item()
    })
  const first = gradient()
  const gradients = weights.slice(0, -1).map(({ grad: { data } }) => Math.hypot(...data))
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
  const number = (value) => (value === 0 || !Number.isFinite(value) ? String(value) : value.toExponential(1))
  console.log(
    '| layers | weights | LayerNorm | gradient, first layer | middle | last | loss before | after 200 steps |',
  )
  console.log('| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |')
  for (const depth of [10, 30, 50]) {
    for (const gain of [1, 4]) {
      for (const norm of [false, true]) {
        const { gradients, first, last } = train(gpt, { depth, norm, gain })
        const three = [gradients[0], gradients[depth >> 1], gradients.at(-1)].map(number)
        const cells = [depth, gain === 1 ? "PyTorch's" : `${gain} times`, norm ? 'with' : 'without', ...three]
        console.log(
          `| ${[...cells, number(first), last < 1e3 ? last.toFixed(3) : number(last)].join(' | ')} |`,
        )
      }
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main()
