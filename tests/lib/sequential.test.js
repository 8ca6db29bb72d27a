import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { assertRefuses, loadForTest } from './support.js'

let gpt
before(async () => {
  gpt = await loadForTest()
})

test('Sequential runs its layers in order and names their parameters by number', () => {
  const layer = new gpt.Sequential(new gpt.Linear(5, 6), new gpt.ReLU(), new gpt.LayerNorm(6))
  assert.deepEqual(layer.forward(gpt.randn([2, 5])).shape, [2, 6])
  assert.deepEqual(Object.keys(layer.stateDict()), ['0.weight', '0.bias', '2.scale', '2.shift'])
})

test('an empty Sequential gives back what came in', () => {
  const x = gpt.ones([2])
  assert.equal(new gpt.Sequential().forward(x), x)
  assert.deepEqual(x.toArray(), [1, 1])
})

test('train and eval reach the layers inside', () => {
  const inner = new gpt.FeedForward({ embDim: 2 })
  const layer = new gpt.Sequential(inner)
  assert.equal(layer.training, true)
  assert.equal(layer.eval(), layer)
  assert.deepEqual([layer.training, inner.training, inner.layers[0].training], [false, false, false])
  layer.train()
  assert.deepEqual([layer.training, inner.training, inner.layers[0].training], [true, true, true])
})

test('loadStateDict copies, from another instance as well, or changes nothing', async () => {
  const other = await loadForTest()
  const source = new other.Linear(2, 1)
  const target = new gpt.Linear(2, 1)
  target.loadStateDict(source.stateDict())
  assert.deepEqual([...target.weight.data], [...source.weight.data])
  const before = [...target.weight.data, ...target.bias.data]
  const { weight, bias } = source.stateDict()
  assertRefuses(() => target.loadStateDict({ weight: other.ones([1, 2]) }), 'VALUE', /dict should have bias, got weight/)
  assertRefuses(() => target.loadStateDict({ weight, bias, gain: bias }), 'VALUE', /should have weight, bias, got "gain"/)
  assertRefuses(
    () => target.loadStateDict({ weight: other.ones([1, 2]), bias: other.ones([2]) }),
    'SHAPE',
    /bias should have shape \[1\], got \[2\]/,
  )
  assertRefuses(() => target.loadStateDict({ weight: other.ones([1, 2]), bias: [1] }), 'TYPE', /bias should be a Tensor/)
  assertRefuses(() => target.loadStateDict(null), 'TYPE', /dict should be an object, got null/)
  assert.deepEqual([...target.weight.data, ...target.bias.data], before)
})
