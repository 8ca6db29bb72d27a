/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefuses, backwardThrough, loadForTest, usedMemory } from './support.js'

const gpt = await loadForTest()

test('Sequential frees the tensors between its layers, and keeps nothing after backward', () => {
  const layer = new gpt.Sequential(new gpt.GELU(), new gpt.ReLU(), new gpt.GELU({ approximate: 'none' }))
  const x = gpt.ones([1000])
  const before = usedMemory(gpt)
  const y = gpt.noGrad(() => layer.forward(x))
  assert.equal(usedMemory(gpt), before + 4000)
  y.dispose()
  gpt.scope(() => {
    backwardThrough(layer, x, gpt.ones([1000])).dispose()
  })
  assert.equal(usedMemory(gpt), before)
})

test('a class that extends Sequential has its own parameters, buffers and layers, too', () => {
  class Own extends gpt.Sequential {
    scale = gpt.parameter(gpt.tensor([2]))
    offset = gpt.tensor([1])
    extra = new gpt.Dropout(0.5)
    heads = [new gpt.Linear(2, 1)]
    /** @override @param {Tensor} x */
    forward(x) {
      return this.extra.forward(super.forward(x).mul(this.scale).add(this.offset))
    }
  }
  gpt.manualSeed(3) // of which some pass ReLU
  const layer = gpt.scope(() => new Own(new gpt.Linear(2, 3), new gpt.ReLU()))
  const names = ['scale', 'offset', '0.weight', '0.bias', 'heads.0.weight', 'heads.0.bias'] // PyTorch's order
  assert.deepEqual(Object.keys(layer.stateDict()), names)
  assert.deepEqual(
    layer.namedParameters().map(([name]) => name),
    names.filter((name) => name !== 'offset'),
  )
  assert.equal(
    String(layer),
    `Own(
  (0): Linear(in_features=2, out_features=3, bias=True)
  (1): ReLU()
  (extra): Dropout(p=0.5)
  (heads): ModuleList(
    (0): Linear(in_features=2, out_features=1, bias=True)
  )
)`,
  )
  const x = gpt.randn([4, 2])
  const other = new Own(new gpt.Linear(2, 3), new gpt.ReLU())
  other.loadStateDict(gpt.loadSafetensors(gpt.saveSafetensors(layer, { names: 'ours' })))
  assert.deepEqual(layer.eval().forward(x).toArray(), other.eval().forward(x).toArray())
  assert.equal(layer.extra.training, false)
  const optimizer = new gpt.SGD(layer.parameters(), { lr: 0.5 })
  layer.forward(x).sum().backward()
  optimizer.step()
  assert.notDeepEqual(layer.scale.toArray(), [2])
  layer.zeroGrad()
  assert.equal(layer.scale.grad, null)
  layer.dispose()
  assert.ok(layer.scale.disposed && layer.offset.disposed)
})

test('an empty Sequential returns its argument', () => {
  const x = gpt.ones([2])
  const layer = new gpt.Sequential()
  assert.equal(layer.forward(x), x)
  assert.deepEqual(x.toArray(), [1, 1])
})

test('a tensor with two names loads from one of them, or from both where they agree', () => {
  const [first, second] = [1, 2].map(() => new gpt.Linear(1, 1, { bias: false }))
  const layer = new gpt.Sequential(first, second)
  second.weight = first.weight
  const [nan, two, three] = [NaN, 2, 3].map((value) => gpt.tensor([[value]]))
  layer.loadStateDict({ '0.weight': two })
  assert.equal(second.weight.item(), 2)
  for (const same of [nan, three]) {
    layer.loadStateDict({ '0.weight': same, '1.weight': same })
    assert.equal(first.weight.item(), same.item())
  }
  assertRefuses(
    () => layer.loadStateDict({ '0.weight': two, '1.weight': three }),
    'VALUE',
    'Sequential.loadStateDict: 1.weight should be 0.weight, with which it is tied, got other values',
  )
  assert.equal(first.weight.item(), 3)
})

test('a tied matrix loads where the file has it transposed under one name, or under both', () => {
  const [first, second] = [1, 2].map(() => new gpt.FeedForward({ embDim: 2, hiddenDim: 3 }))
  const layer = new gpt.Sequential(first, second)
  second.layers[0].weight = first.layers[0].weight
  const { '0.layers.0.weight': own, '1.layers.0.weight': _same, ...rest } = layer.stateDict()
  const weight = gpt.tensor([1, 2, 3, 4, 5, 6], [3, 2])
  const turned = weight.transpose(0, 1)
  const other = gpt.tensor([1, 2, 3, 4, 5, 6], [2, 3])
  layer.loadStateDict({ ...rest, '0.layers.0.weight': weight, '1.c_fc.weight': turned })
  assert.deepEqual(own.toArray(), weight.toArray())
  layer.loadStateDict({ ...rest, '0.c_fc.weight': other, '1.c_fc.weight': other })
  assert.deepEqual(own.toArray(), other.transpose(0, 1).toArray())
  assertRefuses(
    () => layer.loadStateDict({ ...rest, '0.layers.0.weight': weight, '1.c_fc.weight': other }),
    'VALUE',
    'Sequential.loadStateDict: 1.layers.0.weight should be 0.layers.0.weight, with which it is tied, got other values',
  )
})
