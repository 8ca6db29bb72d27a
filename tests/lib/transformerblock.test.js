import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GPT_CONFIG_124M } from 'gpt-layers'
import { assertClose, loadForTest, pack, shake, transpose, untyped, usedMemory } from './support.js'

const gpt = await loadForTest()

test('a block is its layers with shortcuts, in both modes alike, and takes a single sequence', () => {
  const block = shake(gpt, new gpt.TransformerBlock({ embDim: 15, nHeads: 3, contextLength: 17 }))
  const x = gpt.randn([2, 5, 15])
  const { attn, ff, norm1, norm2 } = block
  const trained = block.forward(x)
  block.eval()
  const h = x.add(attn.forward(norm1.forward(x)))
  const y = h.add(ff.forward(norm2.forward(h)))
  assert.deepEqual(block.forward(x).toArray(), y.toArray())
  assert.deepEqual(trained.toArray(), y.toArray())
  const one = gpt.tensor(x.data.slice(0, 75), [5, 15])
  // A product of fewer rows may add in another order.
  assertClose(block.forward(one), pack(y.data.slice(0, 75), [5, 15]), 1e-5)
})

test('a block’s parameters have the book’s names, and GPT-2’s checkpoint names load too', () => {
  const block = new gpt.TransformerBlock({ embDim: 4, nHeads: 2, contextLength: 3 })
  const names = block.namedParameters().map(([name]) => name)
  assert.deepEqual(names, [
    'attn.c_attn.weight',
    'attn.c_attn.bias',
    'attn.c_proj.weight',
    'attn.c_proj.bias',
    'ff.layers.0.weight',
    'ff.layers.0.bias',
    'ff.layers.2.weight',
    'ff.layers.2.bias',
    'norm1.scale',
    'norm1.shift',
    'norm2.scale',
    'norm2.shift',
  ])
  const fc = gpt.randn([4, 16])
  block.loadStateDict({
    'ln_1.weight': gpt.ones([4]),
    'ln_1.bias': gpt.zeros([4]),
    'attn.bias': gpt.ones([1, 1, 3, 3]),
    'attn.masked_bias': gpt.tensor(-1e4),
    'attn.c_attn.weight': gpt.randn([4, 12]),
    'attn.c_attn.bias': gpt.randn([12]),
    'attn.c_proj.weight': gpt.randn([4, 4]),
    'attn.c_proj.bias': gpt.randn([4]),
    'ln_2.weight': gpt.ones([4]),
    'ln_2.bias': gpt.tensor([1, 2, 3, 4]),
    'mlp.c_fc.weight': fc,
    'mlp.c_fc.bias': gpt.randn([16]),
    'mlp.c_proj.weight': gpt.randn([16, 4]),
    'mlp.c_proj.bias': gpt.randn([4]),
  })
  assert.deepEqual(untyped(block.norm2).shift.toArray(), [1, 2, 3, 4])
  assert.deepEqual(block.ff.layers[0].weight.toArray(), transpose(gpt, fc).toArray())
})

test('in training mode two passes drop different elements, and a scope frees all tensors of a pass', () => {
  gpt.manualSeed(1)
  const block = new gpt.TransformerBlock({ embDim: 8, nHeads: 2, contextLength: 4, dropRate: 0.5 })
  assert.equal(untyped(new gpt.TransformerBlock({ ...GPT_CONFIG_124M, embDim: 12 }).dropout).p, 0.1)
  const x = gpt.randn([4, 8])
  const once = () => gpt.scope(() => block.forward(x).toArray())
  assert.notDeepEqual(once(), once())
  block.eval()
  assert.deepEqual(once(), once())
  block.train()
  const step = () => gpt.scope(() => block.forward(x).backward(x))
  step()
  const before = usedMemory(gpt)
  step()
  assert.equal(usedMemory(gpt), before)
})
