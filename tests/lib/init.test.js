// gpt.init: the draws of torch.nn.init.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertSame, golden, loadForTest, untyped } from './support.js'

const { initial: draws } = golden('draws')
const gpt = await loadForTest()
const init = untyped(gpt).init

for (const name of new Set(draws.map((/** @type {any} */ one) => one.name))) {
  test(`init.${name} draws what PyTorch draws, to the bit, in place`, () => {
    const cases = draws.filter((/** @type {any} */ one) => one.name === name)
    for (const { shape, options, out, next } of cases) {
      const tensor = gpt.parameter(gpt.zeros(shape))
      gpt.manualSeed(7)
      assert.equal(init[name](tensor, options), tensor)
      assertSame(tensor, out)
      assertSame(gpt.rand([1]), next)
      assert.ok(tensor.requiresGrad)
    }
  })
}

test('constant, zeros and ones fill a tensor, and a tensor without elements stays as it is', () => {
  const tensor = gpt.randn([2, 3])
  assert.deepEqual(init.constant(tensor, -0.5).toArray(), Array(2).fill(Array(3).fill(-0.5)))
  assert.ok(init.constant(tensor, NaN).data.every(Number.isNaN))
  assert.deepEqual([...init.ones(tensor).data], Array(6).fill(1))
  assert.deepEqual([...init.zeros(tensor).data], Array(6).fill(0))
  for (const [name, fill] of Object.entries(init)) {
    for (const shape of [
      [0, 3],
      [3, 0],
      [2, 0, 2],
    ]) {
      assert.equal(fill(gpt.zeros(shape), name === 'constant' ? 1 : undefined).size, 0)
    }
  }
})

test('apply with init gives a model its initial weights, also where fromPretrained makes it', async () => {
  class Mine extends gpt.GPTModel {
    /** @param {any} config */
    constructor(config) {
      super(config)
      this.apply((module) => {
        if (module instanceof gpt.Embedding) gpt.init.constant(module.weight, 3)
      })
    }
  }
  const model = new Mine({ vocabSize: 5, contextLength: 4, embDim: 4, nHeads: 2, nLayers: 1 })
  assert.ok(model.tokEmb.weight.data.every((value) => value === 3))
  gpt.init.normal(model.tokEmb.weight)
  const file = gpt.saveSafetensors(model, { names: 'ours' })
  const loaded = await Mine.fromPretrained(file, { config: { nHeads: 2 } })
  assert.deepEqual(loaded.tokEmb.weight.toArray(), model.tokEmb.weight.toArray())
})
