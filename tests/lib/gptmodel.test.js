/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GPT_CONFIG_124M } from 'gpt-layers'
import {
  assertClose,
  assertNear,
  assertRefuses,
  assertSame,
  golden,
  gradientOf,
  loadForTest,
  nextAddress,
  pack,
  rowsOf,
  shake,
  transpose,
  untyped,
} from './support.js'

const { models } = golden('gptmodel')
/** @typedef {ConstructorParameters<typeof gpt.GPTModel>[0]} Config */

const small = { vocabSize: 7, contextLength: 5, embDim: 4, nHeads: 2, nLayers: 2 }
const gpt = await loadForTest()

/**
 * The model of a case of tests/golden/gptmodel.py.
 *
 * @param {{ seed: number, config: Config }} case
 */
function modelOf({ seed, config }) {
  gpt.manualSeed(seed)
  return shake(gpt, new gpt.GPTModel(config))
}

for (const { seed, ids, config, out, grads, parameters } of models) {
  const { qkvBias, tieWeights, nLayers } = config
  const options = `nLayers ${nLayers}, qkvBias ${qkvBias}, tieWeights ${tieWeights}`
  test(`a model with ${options} has PyTorch’s logits and gradients`, () => {
    const model = modelOf({ seed, config })
    if (parameters)
      for (const [name, parameter] of model.namedParameters()) assertSame(parameter, parameters[name])
    const dlogits = gpt.randn(out.shape)
    const logits = model.forward(ids)
    assertClose(logits, out, 1e-5)
    logits.backward(dlogits)
    const found = model.namedParameters()
    assert.deepEqual(
      found.map(([name]) => name),
      Object.keys(grads),
    )
    for (const [name, parameter] of found) assertNear(gradientOf(parameter), grads[name], 2e-5, name)
  })
}

test('ids may be nested arrays, a typed array or a tensor, and evaluation mode gives the same logits', () => {
  const model = modelOf(models[0])
  const { ids, out } = models[0]
  const logits = model.forward(ids)
  assert.deepEqual(model.eval().forward(ids).toArray(), logits.toArray())
  assert.deepEqual(model.forward(gpt.tensor(ids)).toArray(), logits.toArray())
  assert.deepEqual(
    model.forward(ids.map((/** @type {number[]} */ row) => Int32Array.from(row))).toArray(),
    logits.toArray(),
  )
  assert.deepEqual(model.forward(Uint8Array.from(ids[1])).toArray(), rowsOf(logits)[1])
  assert.deepEqual(model.forward([[ids[0]], [ids[1]]]).shape, [2, 1, ids[0].length, out.shape[2]])
})

test('a token’s logits do not depend on the tokens after it', () => {
  const model = modelOf(models[0]).eval()
  const [a, b] = [
    [1, 2, 3, 4, 5],
    [1, 2, 3, 9, 9],
  ].map((ids) => rowsOf(model.forward(ids)))
  assert.deepEqual(a.slice(0, 3), b.slice(0, 3))
  assert.notDeepEqual(a[3], b[3])
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

/** A model, and its checkpoint with GPT-2's names and layouts, as transformers writes it. */
function checkpoint(prefix = '') {
  const model = new gpt.GPTModel({ ...small, qkvBias: true, tieWeights: true })
  shake(gpt, model)
  const names = { norm1: 'ln_1', norm2: 'ln_2', 'ff.layers.0': 'mlp.c_fc', 'ff.layers.2': 'mlp.c_proj' }
  const rest = {
    tok_emb: 'wte',
    pos_emb: 'wpe',
    final_norm: 'ln_f',
    trf_blocks: 'h',
    scale: 'weight',
    shift: 'bias',
  }
  const theirs = (/** @type {string} */ name) =>
    Object.entries({ ...names, ...rest }).reduce((text, [own, other]) => text.replace(own, other), name)
  /** @type {Record<string, Tensor>} */
  const dict = {}
  for (const [name, tensor] of model.namedParameters()) {
    dict[prefix + theirs(name)] = /mlp.*weight/.test(theirs(name)) ? transpose(gpt, tensor) : tensor
  }
  for (let layer = 0; layer < small.nLayers; layer++) {
    dict[`${prefix}h.${layer}.attn.bias`] = gpt.ones([1, 1, 5, 5])
    dict[`${prefix}h.${layer}.attn.masked_bias`] = gpt.tensor(-1e4)
  }
  return { model, dict }
}

test('GPT-2’s checkpoint loads, with its names, layouts and mask buffers, with or without prefix and head', () => {
  const ids = [[1, 2, 3, 4, 6]]
  for (const prefix of ['', 'transformer.']) {
    const { model, dict } = checkpoint(prefix)
    assert.ok(
      `${prefix}h.1.mlp.c_proj.weight` in dict &&
        `${prefix}wte.weight` in dict &&
        `${prefix}ln_f.bias` in dict,
    )
    const logits = model.eval().forward(ids).toArray()
    for (const tieWeights of [true, false]) {
      /** @type {Record<string, Tensor>[]} */
      const heads = [{}, { 'lm_head.weight': dict[`${prefix}wte.weight`] }]
      for (const head of heads) {
        const loaded = new gpt.GPTModel({ ...small, qkvBias: true, tieWeights }).eval()
        loaded.loadSafetensors(gpt.saveSafetensors({ ...dict, ...head }))
        assert.deepEqual(loaded.forward(ids).toArray(), logits)
        assert.equal(loaded.tokEmb.weight === loaded.outHead.weight, tieWeights)
      }
    }
  }
})

test('a model loads what it or a tied model has saved', () => {
  for (const from of [true, false]) {
    const model = new gpt.GPTModel({ ...small, tieWeights: from })
    const file = model.saveSafetensors()
    const names = Object.keys(gpt.loadSafetensors(file))
    assert.equal(names.includes('out_head.weight'), !from)
    for (const tieWeights of from ? [true, false] : [false]) {
      const other = new gpt.GPTModel({ ...small, tieWeights })
      other.loadSafetensors(file)
      assert.deepEqual(other.eval().forward([1, 2]).toArray(), model.eval().forward([1, 2]).toArray())
    }
  }
  const [tied, untied] = [true, false].map((tieWeights) => new gpt.GPTModel({ ...small, tieWeights }))
  const before = tied.saveSafetensors()
  const why =
    /^GPTModel.loadSafetensors: tok_emb.weight should be out_head.weight, with which it is tied, got other values$/
  assertRefuses(() => tied.loadSafetensors(untied.saveSafetensors()), 'VALUE', why)
  assert.deepEqual(tied.saveSafetensors(), before)
})

test('a checkpoint of another model is refused and changes nothing', () => {
  const { dict } = checkpoint()
  const model = new gpt.GPTModel({ ...small, qkvBias: true })
  const before = model.saveSafetensors()
  const load = (/** @type {Record<string, Tensor>} */ given) => () => model.loadStateDict(given)
  const { 'wpe.weight': wpe, ...without } = dict
  assertRefuses(
    load(without),
    'VALUE',
    /^GPTModel.loadStateDict: dict should have pos_emb.weight, or wpe.weight, got .* and \d+ more$/,
  )
  assertRefuses(
    load({ ...dict, 'h.2.ln_1.weight': wpe }),
    'VALUE',
    /dict should have tok_emb.weight, .* got "h.2.ln_1.weight"$/,
  )
  assertRefuses(
    load({ ...dict, 'pos_emb.weight': wpe }),
    'VALUE',
    /should have pos_emb.weight once, got pos_emb.weight and wpe.weight$/,
  )
  const flat = { ...dict, 'h.1.mlp.c_fc.weight': gpt.ones([16, 4]) }
  assertRefuses(load(flat), 'SHAPE', /h.1.mlp.c_fc.weight should have shape \[4, 16\], got \[16, 4\]$/)
  assertRefuses(
    () => new gpt.GPTModel({ ...small, qkvBias: false }).loadStateDict(dict),
    'VALUE',
    /got "h.0.attn.c_attn.bias"$/,
  )
  assert.deepEqual(model.saveSafetensors(), before)
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

test('a model names a bad argument', () => {
  const make = (/** @type {object} */ more) => () => new gpt.GPTModel({ ...small, ...more })
  assertRefuses(
    () => new (untyped(gpt.GPTModel))(),
    'TYPE',
    /^GPTModel: config should be a plain object, got undefined$/,
  )
  assertRefuses(make({ vocabSize: 0 }), 'VALUE', /^GPTModel: vocabSize should be a positive integer, got 0$/)
  assertRefuses(
    make({ contextLength: '5' }),
    'TYPE',
    /^GPTModel: contextLength should be a positive integer, got "5"$/,
  )
  assertRefuses(
    make({ nLayers: 1.5 }),
    'VALUE',
    /^GPTModel: nLayers should be an integer from 1 to 10000, got 1.5$/,
  )
  assertRefuses(
    make({ nLayers: 2 ** 33 }),
    'VALUE',
    /nLayers should be an integer from 1 to 10000, got 8589934592$/,
  )
  assertRefuses(make({ tieWeights: 1 }), 'TYPE', /^GPTModel: tieWeights should be true or false, got 1$/)
  assertRefuses(make({ nHeads: 3 }), 'VALUE', /nHeads/)
  assertRefuses(make({ dropRate: 2 }), 'VALUE', /got 2$/)
  const model = new gpt.GPTModel(small)
  const forward = (/** @type {unknown} */ ids) => () => model.forward(untyped(ids))
  assertRefuses(forward('hello'), 'TYPE', /^GPTModel.forward: ids should be integers/)
  assertRefuses(
    forward([[1, 7]]),
    'VALUE',
    /^GPTModel.forward: ids\[0\]\[1\] should be an integer from 0 to 6, got 7$/,
  )
  assertRefuses(forward([1.5]), 'VALUE', /ids\[0\] should be an integer from 0 to 6, got 1.5$/)
  assertRefuses(
    forward(3),
    'SHAPE',
    /^GPTModel.forward: ids should end in 1 to 5 \(contextLength\) tokens, got shape \[\]$/,
  )
  assertRefuses(forward([[], []]), 'SHAPE', /got shape \[2, 0\]$/)
  assertRefuses(forward([1, 2, 3, 4, 5, 6]), 'SHAPE', /got shape \[6\]$/)
  assertRefuses(forward([[1, 2], [3]]), 'SHAPE', /ids\[1\] should have shape \[2\]/)
})

test('a model that does not fit into memory takes none', async () => {
  const tight = await loadForTest({ maxMemory: 4 })
  const before = nextAddress(tight)
  assertRefuses(() => new tight.GPTModel({ ...small, vocabSize: 150_000 }), 'MEMORY', /needs 2400000 bytes/)
  assert.equal(nextAddress(tight), before)
  const model = new tight.GPTModel({ ...small, tieWeights: true })
  model.dispose()
  assert.equal(nextAddress(tight), before)
})

test('the gradients of two half batches add up to those of the whole batch', () => {
  const model = modelOf(models[0])
  const ids = models[0].ids
  const d = gpt.randn([2, 7, 17])
  model.forward(ids).backward(d)
  const whole = model.parameters().map((parameter) => gradientOf(parameter).data.slice())
  model.zeroGrad()
  const half = d.size / 2
  for (const i of [0, 1]) {
    model.forward([ids[i]]).backward(gpt.tensor(d.data.slice(i * half, (i + 1) * half), [1, 7, 17]))
  }
  model.namedParameters().forEach(([name, parameter], i) => {
    assertNear(gradientOf(parameter), pack(whole[i], parameter.shape), 1e-5, name)
  })
})
