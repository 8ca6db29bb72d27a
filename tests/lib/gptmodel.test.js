/** @import { GPTModel, Module, Tensor, TransformerBlock } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GPT_CONFIG_124M } from 'gpt-layers'
import {
  assertNear,
  assertRefuses,
  inheriting,
  loadForTest,
  memoryOf,
  pack,
  rowsOf,
  shake,
  untyped,
} from './support.js'

/** @typedef {ConstructorParameters<typeof gpt.GPTModel>[0]} Config */

const small = { vocabSize: 7, contextLength: 5, embDim: 4, nHeads: 2, nLayers: 2 }
const gpt = await loadForTest()
/** Two texts of seven tokens. */
const ids = [
  [1, 6, 11, 16, 4, 9, 14],
  [2, 7, 12, 0, 5, 10, 15],
]
const modelOfIds = () =>
  shake(gpt, new gpt.GPTModel({ vocabSize: 17, contextLength: 11, embDim: 6, nHeads: 2, nLayers: 2 }))

test('ids may be nested arrays, a typed array or a tensor, and evaluation mode gives the same logits', () => {
  const model = modelOfIds()
  const logits = model.forward(ids)
  assert.deepEqual(model.eval().forward(ids).toArray(), logits.toArray())
  assert.deepEqual(model.forward(gpt.tensor(ids)).toArray(), logits.toArray())
  assert.deepEqual(model.forward(untyped(ids.map((row) => Int32Array.from(row)))).toArray(), logits.toArray())
  assert.deepEqual(model.forward(Uint8Array.from(ids[1])).toArray(), rowsOf(logits)[1])
  assert.deepEqual(model.forward([[ids[0]], [ids[1]]]).shape, [2, 1, ids[0].length, 17])
})

test('what all objects inherit is no output of a layer', async () => {
  const model = modelOfIds().eval()
  const forward = () => model.forward(ids, { returnWeights: true }).toArray()
  assert.deepEqual(await inheriting(['inherited', 'output'], forward), forward())
})

/**
 * How many parameters a model has, counted on a model of one layer and one token, which is quick to make.
 *
 * @param {Config} config
 */
function count(config) {
  const model = new gpt.GPTModel({ ...config, nLayers: 1, vocabSize: 1 })
  const sizes = model.namedParameters().map(([name, { size }]) => {
    const times = name.startsWith('trf_blocks.')
      ? config.nLayers
      : /tok_emb|out_head/.test(name)
        ? config.vocabSize
        : 1
    return size * times
  })
  model.dispose()
  return sizes.reduce((sum, size) => sum + size, 0)
}

test('GPT_CONFIG_124M has 163,009,536 parameters, or 124,439,808 with GPT-2’s tied weights and biases', () => {
  assert.equal(count(GPT_CONFIG_124M), 163_009_536)
  assert.equal(count({ ...GPT_CONFIG_124M, tieWeights: true }), 124_412_160)
  assert.equal(count({ ...GPT_CONFIG_124M, tieWeights: true, qkvBias: true }), 124_439_808)
  const [one, two] = [1, 2].map((nLayers) => new gpt.GPTModel({ ...small, nLayers }))
  assert.equal(
    count({ ...small, nLayers: 2 }),
    two.parameters().reduce((sum, { size }) => sum + size, 0),
  )
  assert.ok(one.parameters().length < two.parameters().length)
})

test('onForward shows every layer of a model under its path, inner layers first, and the attention weights', () => {
  const model = new gpt.GPTModel(small).eval()
  const ids = [[1, 2, 3]]
  const logits = model.forward(ids).toArray()
  /** @type {string[]} */
  const seen = []
  /** @type {Tensor[]} */
  const kept = []
  const stop = model.onForward(({ name, module, input, output, weights }) => {
    seen.push(name)
    kept.push(output)
    assert.equal(weights !== undefined, module instanceof gpt.Attention, name)
    if (weights) assert.deepEqual(weights.shape, [1, small.nHeads, 3, 3])
    if (module === model) {
      assert.equal(input, ids)
      assert.deepEqual(output.toArray(), logits)
    }
    if (!(module instanceof gpt.LayerNorm)) return
    assert.deepEqual(output.shape, [1, 3, 4])
    for (const { data } of [output.mean({ dim: -1 }), output.var({ dim: -1, unbiased: false }).sub(1)]) {
      assert.ok(
        data.every((value) => Math.abs(value) < 1e-2),
        `${name}: ${data}`,
      )
    }
  })
  assert.deepEqual(gpt.noGrad(() => model.forward(ids, { returnWeights: true })).toArray(), logits)
  const block = (/** @type {number} */ i) =>
    [
      'norm1',
      'attn.c_attn',
      'attn.c_proj',
      'attn.resid_dropout',
      'attn',
      'norm2',
      'ff.layers.0',
      'ff.layers.1',
      'ff.layers.2',
      'ff',
      'dropout',
      '',
    ].map((name) => `trf_blocks.${i}${name && '.'}${name}`)
  const all = ['tok_emb', 'pos_emb', 'drop_emb', ...block(0), ...block(1), 'final_norm', 'out_head', '']
  assert.deepEqual(seen, all)
  assert.ok(kept.every((output) => output === kept.at(-1) || output.disposed))
  stop()
  stop()
  model.forward(ids)
  assert.equal(seen.length, all.length)
})

test('listeners see the embeddings in PyTorch’s shapes, and may put others in their place', () => {
  const model = new gpt.GPTModel(small).eval()
  const ids = [
    [1, 2, 3],
    [3, 0, 1],
  ]
  const logits = model.forward(ids).toArray()
  const embeddings = model.tokEmb.forward(ids).add(model.posEmb.forward([0, 1, 2]))
  /** @type {Record<string, unknown>} */
  const seen = {}
  const stop = model.onForward(({ name, input, output }) => {
    seen[name] = { input: input instanceof gpt.Tensor ? input.shape : input, output: output.shape }
    if (name === 'tok_emb') return embeddings
    if (name === 'pos_emb') return gpt.zeros([3, 4])
    return undefined
  })
  assert.deepEqual(model.forward(ids).toArray(), logits)
  assert.equal(embeddings.disposed, false)
  const { tok_emb, pos_emb, drop_emb } = seen
  assert.deepEqual(tok_emb, { input: ids, output: [2, 3, 4] })
  assert.deepEqual(pos_emb, { input: [0, 1, 2], output: [3, 4] })
  assert.deepEqual(drop_emb, { input: [2, 3, 4], output: [2, 3, 4] })
  stop()
  for (const [name, wrong, right] of /** @type {const} */ ([
    ['tokEmb', [6, 4], '2, 3, 4'],
    ['tokEmb', [3, 4], '2, 3, 4'],
    ['posEmb', [2, 3, 4], '3, 4'],
    ['dropEmb', [6, 4], '2, 3, 4'],
  ])) {
    const end = untyped(model)[name].onForward(() => gpt.zeros(wrong))
    const message = `GPTModel.forward: ${name}'s output should have shape [${right}], got [${wrong.join(', ')}]`
    assertRefuses(() => model.forward(ids), 'SHAPE', message)
    end()
  }
})

/**
 * Layers of the user's that return what is not theirs alone, or keep what they return. For each: the layer, and
 * what it holds after a `forward`.
 *
 * @type {Record<string, (shape: number[]) => { layer: Module, held: () => Tensor[] }>}
 */
const holders = {
  'its parameter': (shape) => {
    class Constant extends gpt.Module {
      value = gpt.parameter(gpt.randn(shape))
      /** @override */
      forward() {
        return this.value
      }
    }
    const layer = new Constant()
    return { layer, held: () => [layer.value] }
  },
  'its buffer, in another shape': (shape) => {
    class Constant extends gpt.Module {
      value = gpt.randn(shape).reshape([-1])
      /** @override */
      forward() {
        return this.value.reshape(shape)
      }
    }
    const layer = new Constant()
    return { layer, held: () => [layer.value] }
  },
  'a tensor of a closure': (shape) => {
    const value = gpt.randn(shape)
    const layer = new gpt.Module()
    layer.forward = () => value
    return { layer, held: () => [value] }
  },
  'what it keeps, with its input': (shape) => {
    class Last extends gpt.Module {
      weight = gpt.parameter(gpt.randn([shape[1]]))
      /** @type {Tensor | null} */
      input = null
      /** @type {Tensor | null} */
      output = null
      /** @override @param {Tensor} x */
      forward(x) {
        this.input = x
        this.output = x.slice(0, 1, { dim: -1 }).mul(this.weight)
        return this.output
      }
    }
    const layer = new Last()
    return { layer, held: () => [layer.input, layer.output].filter((tensor) => tensor !== null) }
  },
  'what it has kept of the calls before': (shape) => {
    class Sum extends gpt.Module {
      sum = gpt.zeros(shape)
      calls = 0
      /** @override @param {Tensor} x */
      forward(x) {
        this.sum = this.sum.add(x.slice(0, 1, { dim: -1 }))
        return this.sum.div(++this.calls)
      }
    }
    const layer = new Sum()
    return { layer, held: () => [] }
  },
}

/** @type {Record<string, (block: TransformerBlock, layer: Module) => void>} */
const places = {
  attn: (block, layer) => Reflect.set(block, 'attn', layer),
  'attn.cAttn': ({ attn }, layer) => Reflect.set(attn, 'cAttn', layer),
  norm1: (block, layer) => Reflect.set(block, 'norm1', layer),
  ff: (block, layer) => Reflect.set(block, 'ff', layer),
  'ff.layers[0]': ({ ff }, layer) => Reflect.set(ff.layers, 0, layer),
}

/**
 * Asserts that a model computes the same in every way: recorded, in noGrad, with a cache, and in generate.
 *
 * @param {GPTModel} model
 * @param {() => Tensor[]} held what is held after a `forward`
 */
function assertSameInEveryWay(model, held) {
  const ids = [1, 5]
  const values = () => held().map(({ data }) => data.slice())
  const expected = pack(model.forward(ids).data.slice(), [2, small.vocabSize])
  const kept = values()
  /** @type {Record<string, () => Tensor>} */
  const ways = {
    recorded: () => model.forward(ids),
    'in noGrad': () => gpt.noGrad(() => model.forward(ids)),
    'with a cache': () => model.forward(ids, { cache: model.newCache() }),
  }
  for (const [way, forward] of Object.entries(ways)) {
    assertNear(forward(), expected, 1e-5, way)
    values().forEach((data, i) => assertNear(gpt.tensor(data), pack(kept[i], [kept[i].length]), 1e-4, way))
  }
  const [{ token }] = model.generate(ids, { maxNewTokens: 1, temperature: 0 })
  assert.equal(token, model.forward(ids).argmax({ dim: -1 }).data[1])
  values().forEach((data, i) => assertNear(gpt.tensor(data), pack(kept[i], [kept[i].length]), 1e-4))
  assert.ok(gpt.saveSafetensors(model, { names: 'ours' }).length > 0)
  gpt.scope(() => {
    gpt.crossEntropy(model.forward(ids), [1, 2]).backward()
  })
}

for (const [what, make] of Object.entries(holders)) {
  test(`a layer of one’s own that returns ${what} gives the same in every way, and loses nothing`, () => {
    const threeBlocks = () => shake(gpt, new gpt.GPTModel({ ...small, nLayers: 3 })).eval()
    for (const place of [0, 1, 2]) {
      const model = threeBlocks()
      const { layer, held } = make([2, 4])
      Reflect.set(model.trfBlocks, place, layer.eval())
      assertSameInEveryWay(model, held)
    }
    for (const [place, put] of Object.entries(places)) {
      const model = threeBlocks()
      const { layer, held } = make([2, place === 'attn.cAttn' ? 12 : place === 'ff.layers[0]' ? 16 : 4])
      put(model.trfBlocks[1], layer.eval())
      assertSameInEveryWay(model, held)
    }
  })
}

test('a block that returns its input, or another view of it, gives the same in every way', () => {
  class Skip extends gpt.TransformerBlock {
    /** @override @param {Tensor} x */
    forward(x) {
      return x
    }
  }
  class View extends gpt.Module {
    /** @override @param {Tensor} x */
    forward(x) {
      return x.reshape([1, -1]).reshape(x.shape)
    }
  }
  for (const block of [
    new Skip(small),
    new View(),
    new gpt.Sequential(),
    new gpt.Identity(),
    new gpt.Dropout(),
  ]) {
    for (const place of [0, 1, 2]) {
      const model = shake(gpt, new gpt.GPTModel({ ...small, nLayers: 3 })).eval()
      Reflect.set(model.trfBlocks, place, block.eval())
      assertSameInEveryWay(model, () => [])
    }
  }
})

test('a block may read what an earlier block has kept', () => {
  class Last extends gpt.TransformerBlock {
    /** @type {Tensor | null} */
    output = null
    /** @override @param {Tensor} x */
    forward(x) {
      return (this.output = super.forward(x))
    }
  }
  class Shortcut extends gpt.TransformerBlock {
    from = /** @type {Last} */ (model.trfBlocks[0])
    /** @override @param {Tensor} x */
    forward(x) {
      return super.forward(x).add(/** @type {Tensor} */ (this.from.output))
    }
  }
  const model = shake(gpt, new gpt.GPTModel({ ...small, nLayers: 3 })).eval()
  model.trfBlocks[0] = new Last(small).eval()
  model.trfBlocks[2] = new Shortcut(small).eval()
  const expected = model.forward([1, 5]).toArray()
  assert.deepEqual(gpt.noGrad(() => model.forward([1, 5])).toArray(), expected)
})

test('in noGrad the memory of a model does not grow with the number of its blocks', () => {
  const memory = memoryOf(gpt)
  const peak = (/** @type {number} */ nLayers, listens = false) => {
    const model = new gpt.GPTModel({ ...GPT_CONFIG_124M, vocabSize: 7, embDim: 24, nLayers }).eval()
    if (listens) model.onForward(() => {})
    const ids = Array.from({ length: 1000 }, (_, i) => i % 7)
    let most = 0
    const { used } = memory
    const allocate = memory.allocate.bind(memory)
    memory.allocate = (/** @type {number} */ bytes) => {
      const offset = allocate(bytes)
      most = Math.max(most, memory.used - used)
      return offset
    }
    gpt.scope(() => gpt.noGrad(() => void model.forward(ids)))
    delete memory.allocate
    model.dispose()
    return most
  }
  assert.equal(peak(6), peak(2))
  assert.equal(peak(6, true), peak(2, true))
})
