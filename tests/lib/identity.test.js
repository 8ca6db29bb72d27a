import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertClose, assertNear, gradientOf, loadForTest, pack, shake, untyped } from './support.js'

const gpt = await loadForTest()
const sizes = { vocabSize: 17, contextLength: 11, embDim: 6, nHeads: 2, nLayers: 2, qkvBias: true }

/** Replaces layers by their names in the model. @param {object} model @param {readonly string[]} names */
function remove(model, names) {
  for (const name of names) {
    const [, block, norm] = /^trf_blocks\.(\d)\.(\w+)$/.exec(name) ?? []
    const layer = new gpt.Identity()
    if (block) untyped(model).trfBlocks[block][norm] = layer
    else untyped(model).finalNorm = layer
  }
}

for (const norms of [['trf_blocks.0.norm1'], ['trf_blocks.1.norm2', 'final_norm']]) {
  test(`without ${norms.join(', ')} a cache gives the same logits, token by token`, () => {
    const model = shake(gpt, new gpt.GPTModel(sizes))
    remove(model, norms)
    model.eval()
    const ids = [1, 5, 16, 0, 3]
    const whole = model.forward(ids)
    const cache = model.newCache()
    ids.forEach((id, i) => {
      const { data, shape } = whole.slice(i, i + 1)
      assertClose(model.forward([id], { cache }), pack(data, shape), 1e-5)
    })
  })
}

test('Identity gives x in the same memory, passes the gradient on, and has no parameter', () => {
  const layer = new gpt.Identity()
  const x = gpt.parameter(gpt.tensor([[NaN, -0, Infinity]]))
  const y = layer.forward(x)
  assert.deepEqual([y.shape, y.byteOffset], [x.shape, x.byteOffset])
  y.backward(gpt.tensor([[1, 2, 3]]))
  assert.deepEqual(gradientOf(x).toArray(), [[1, 2, 3]])
  assert.deepEqual(layer.stateDict(), {})
  x.dispose()
  assert.ok(Object.is(y.data[1], -0))
})

test('a model without its final norm writes', () => {
  const model = new gpt.GPTModel(sizes).eval()
  remove(model, ['final_norm'])
  model.eval()
  assert.equal([...model.generate([1], { maxNewTokens: 3 })].length, 3)
})

test('Identity takes the place of any layer, attention included', () => {
  const model = new gpt.GPTModel(sizes).eval()
  Object.assign(model.trfBlocks[0], { attn: new gpt.Identity() })
  Object.assign(model.trfBlocks[1], { ff: new gpt.Identity(), dropout: new gpt.Identity() })
  const whole = model.forward([1, 2, 3])
  const cache = model.newCache()
  model.forward([1, 2], { cache })
  assertNear(model.forward([3], { cache }), pack(whole.at(-1).data, [1, 17]), 2e-6)
  whole.sum().backward()
})
