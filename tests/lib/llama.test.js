// The block of web/examples/llama.mjs against PyTorch’s numbers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as gpt from 'gpt-layers'
import { assertClose, assertNear, golden, unpack } from './support.js'

// The program has no types that this test could check.
const { LlamaBlock } = await import(new URL('../../web/examples/llama.mjs', import.meta.url).href)

test('a Llama block gives PyTorch’s output and gradients', () => {
  const { out, dx, grads, names, weights } = golden('llama')
  gpt.manualSeed(123)
  const block = new LlamaBlock({ embDim: 24, nHeads: 6, nKvHeads: 2, hiddenDim: 40 })
  const x = gpt.parameter(gpt.randn([2, 7, 24]))
  const dy = gpt.randn([2, 7, 24])
  for (const [i, norm] of [block.inputLayernorm, block.postAttentionLayernorm].entries()) {
    norm.weight.data.set(unpack(weights[i]))
  }
  const y = block.forward(x)
  y.backward(dy)
  assertClose(y, out, 1e-5)
  const parameters = Object.fromEntries(block.namedParameters())
  assert.deepEqual(Object.keys(parameters), names)
  for (const [name, gradient] of Object.entries({ ...grads, x: dx })) {
    const found = name === 'x' ? x.grad : parameters[name].grad
    assert.ok(found)
    assertNear(found, gradient, 1e-5, name)
  }
})
