// An allocator that fails the k-th allocation of a call, for every k, through every constructor, layer, loss,
// optimizer and tensor method, and through a training step. For each k:
//
// - The call throws MEMORY.
// - The call's scope frees what it made: only gradients and an optimizer's state may be new in memory.
// - Only tensors of the call's objects and the generator have changed.
// - The same call without a failure, from the same generator and running statistics, then gives the bits of a
//   run in which nothing failed.

/** @import { Gpt, Tensor } from 'gpt-layers' */
/** @import { Random } from './safetensors.js' */

import { createHash } from 'node:crypto'
import { GptLayersError, load } from 'gpt-layers'
import { randomOf } from './safetensors.js'
import { partsOf, rangesOf } from './world.js'
import { Finding, Witness } from './witness.js'

/**
 * A call, and the objects that it uses.
 *
 * @typedef {object} Prepared
 * @property {() => any} call
 * @property {any[]} objects what the call may change: layers, optimizers, tensors, losses
 */

/** @typedef {() => Prepared} Scenario */

/** @typedef {{ rows: number, dim: number }} Sizes */

/**
 * @param {Random} random
 * @param {number} threads
 * @returns {Sizes} large enough that threads share the calls
 */
const sizesOf = (random, threads) =>
  threads > 1 ? { rows: 160 + random(32), dim: 64 } : { rows: 1 + random(5), dim: 4 * (1 + random(2)) }

/**
 * How to make one layer of each class, and an input for it.
 *
 * @type {Record<string, (gpt: Gpt, sizes: Sizes) => { layer: () => any, input: () => any }>}
 */
const LAYERS = {
  Linear: (gpt, { rows, dim }) => ({
    layer: () => new gpt.Linear(dim, dim + 1),
    input: () => gpt.randn([rows, dim]),
  }),
  Conv1D: (gpt, { rows, dim }) => ({
    layer: () => new gpt.Conv1D(dim + 1, dim),
    input: () => gpt.randn([rows, dim]),
  }),
  ReLU: (gpt, { rows, dim }) => ({
    layer: () => new gpt.ReLU(),
    input: () => gpt.randn([8 * rows, 4 * dim]),
  }),
  Identity: (gpt, { rows, dim }) => ({
    layer: () => new gpt.Identity(),
    input: () => gpt.randn([rows, dim]),
  }),
  GELU: (gpt, { rows, dim }) => ({ layer: () => new gpt.GELU(), input: () => gpt.randn([rows, 4 * dim]) }),
  LayerNorm: (gpt, { rows, dim }) => ({
    layer: () => new gpt.LayerNorm(4 * dim),
    input: () => gpt.randn([2 * rows, 4 * dim]),
  }),
  BatchNorm: (gpt, { rows, dim }) => ({
    layer: () => new gpt.BatchNorm(4 * dim),
    input: () => gpt.randn([2 * rows, 4 * dim]),
  }),
  RMSNorm: (gpt, { rows, dim }) => ({
    layer: () => new gpt.RMSNorm(4 * dim),
    input: () => gpt.randn([2 * rows, 4 * dim]),
  }),
  Dropout: (gpt, { rows, dim }) => ({
    layer: () => new gpt.Dropout(0.5),
    input: () => gpt.randn([2 * rows, 4 * dim]),
  }),
  Embedding: (gpt, { rows, dim }) => ({
    layer: () => new gpt.Embedding(5, 8 * dim),
    input: () => new Array(4 * rows).fill(3),
  }),
  Softmax: (gpt, { rows, dim }) => ({
    layer: () => new gpt.Softmax(),
    input: () => gpt.randn([rows, 4 * dim]),
  }),
  FeedForward: (gpt, { rows, dim }) => ({
    layer: () => new gpt.FeedForward({ embDim: dim }),
    input: () => gpt.randn([rows, dim]),
  }),
  Attention: (gpt, { rows, dim }) => ({
    layer: () => new gpt.Attention({ embDim: dim, nHeads: 2, contextLength: rows, dropRate: 0.1 }),
    input: () => gpt.randn([rows, dim]),
  }),
  TransformerBlock: (gpt, { rows, dim }) => ({
    layer: () => new gpt.TransformerBlock({ embDim: dim, nHeads: 2, contextLength: rows, dropRate: 0.1 }),
    input: () => gpt.randn([rows, dim]),
  }),
  Sequential: (gpt, { rows, dim }) => ({
    layer: () =>
      gpt.scope(
        () =>
          new gpt.Sequential(
            new gpt.Dropout(0.1),
            new gpt.BatchNorm(dim),
            new gpt.Linear(dim, dim),
            new gpt.ReLU(),
            new gpt.Linear(dim, 3),
          ),
      ),
    input: () => gpt.randn([rows + 1, dim]),
  }),
  GPTModel: (gpt, { rows, dim }) => ({
    layer: () => modelOf(gpt, { rows, dim }),
    input: () => new Array(rows).fill(2),
  }),
}

/** The classes that are no layers with a forward of their own. */
const NO_LAYERS = new Set(['Module', 'SGD', 'AdamW'])

/** @param {Gpt} gpt @param {Sizes} sizes */
const modelOf = (gpt, { rows, dim }) =>
  new gpt.GPTModel({
    vocabSize: 5,
    contextLength: rows,
    embDim: dim,
    nHeads: 2,
    nLayers: 2,
    dropRate: 0.1,
    tieWeights: true,
  })

/** @type {Record<string, (x: Tensor, other: Tensor, square: Tensor) => unknown>} */
const TENSOR_METHODS = {
  clone: (x) => x.clone(),
  reshape: (x) => x.reshape([-1]),
  add: (x, other) => x.add(other),
  'add of a number': (x) => x.add(2),
  sub: (x, other) => x.sub(other),
  mul: (x, other) => x.mul(other),
  div: (x, other) => x.div(other),
  sqrt: (x) => x.sqrt(),
  log: (x) => x.log(),
  neg: (x) => x.neg(),
  abs: (x) => x.abs(),
  tanh: (x) => x.tanh(),
  pow: (x) => x.pow(3),
  exp: (x) => x.exp(),
  mean: (x) => x.mean({ dim: 0 }),
  'mean of all': (x) => x.mean(),
  sum: (x) => x.sum({ dim: 0 }),
  max: (x) => x.max({ dim: 0 }),
  argmax: (x) => x.argmax({ dim: 0 }),
  var: (x) => x.var({ dim: 0 }),
  matmul: (x, _, square) => x.matmul(square),
  permute: (x) => x.permute([1, 0]),
  transpose: (x) => x.transpose(0, 1),
  split: (x) => x.split(1, { dim: 0 }),
  slice: (x) => x.slice(0, 1),
  at: (x) => x.at(0),
}

/**
 * @param {Gpt} gpt
 * @param {Sizes} sizes
 * @returns {Record<string, Scenario>} by name
 */
function scenarios(gpt, sizes) {
  const { rows, dim } = sizes
  /** @type {Record<string, Scenario>} */
  const all = {}
  for (const name of Object.keys(gpt).filter((name) => /^[A-Z]/.test(name) && !NO_LAYERS.has(name))) {
    if (!(name in LAYERS)) throw new Finding(`no scenario for ${name}`)
    const { layer: makeLayer, input: makeInput } = LAYERS[name](gpt, sizes)
    const make = () => ({ layer: makeLayer(), input: makeInput() })
    all[`new ${name}`] = () => ({ call: makeLayer, objects: [] })
    all[`${name}.forward`] = () => {
      const { layer, input } = make()
      return { call: () => layer.forward(input), objects: [layer, input] }
    }
    all[`${name}.forward in noGrad`] = () => {
      const { layer, input } = make()
      return { call: () => gpt.noGrad(() => layer.forward(input)), objects: [layer, input] }
    }
    all[`${name}.forward and backward`] = () => {
      const { layer, input } = make()
      const x = Array.isArray(input) ? input : gpt.parameter(input)
      const call = () => {
        layer.zeroGrad()
        if (!Array.isArray(x)) x.grad?.dispose()
        const y = layer.forward(x)
        y.backward(y)
      }
      return { call, objects: [layer, x] }
    }
    all[`${name}.loadSafetensors`] = () => {
      const layer = makeLayer()
      const bytes = makeLayer().saveSafetensors()
      return { call: () => layer.loadSafetensors(bytes), objects: [layer] }
    }
  }
  all['Linear.quantize'] = () => {
    const layer = new gpt.Linear(dim, rows)
    layer.weight.data[0] *= 100 // an input with a factor of its own
    return { call: () => layer.quantize({ groupSize: 2 }), objects: [layer] }
  }
  all['int8 Linear.forward'] = () => {
    const layer = new gpt.Linear(dim, rows).eval()
    layer.weight.data[0] *= 100
    layer.quantize({ groupSize: 2 })
    const input = gpt.randn([rows, dim])
    return { call: () => layer.forward(input), objects: [layer, input] }
  }
  all['int8 Linear.loadSafetensors'] = () => {
    const layer = new gpt.Linear(dim, rows).quantize()
    const bytes = new gpt.Linear(dim, rows).quantize().saveSafetensors()
    return { call: () => layer.loadSafetensors(bytes), objects: [layer] }
  }
  all['Attention.forward with returnWeights'] = () => {
    const attention = LAYERS.Attention(gpt, sizes)
    const [layer, input] = [attention.layer(), attention.input()]
    return { call: () => layer.forward(input, { returnWeights: true }), objects: [layer, input] }
  }
  for (const [name, method] of Object.entries(TENSOR_METHODS)) {
    all[`tensor.${name}`] = () => {
      const [x, other, square] = [gpt.rand([rows, dim]), gpt.randn([rows, dim]), gpt.randn([dim, dim])]
      return { call: () => method(x, other, square), objects: [x, other, square] }
    }
    if (name === 'argmax') continue
    all[`tensor.${name}, backward`] = () => {
      const values = [gpt.rand([rows, dim]), gpt.randn([rows, dim]), gpt.randn([dim, dim])]
      const inputs = values.map((tensor) => gpt.parameter(tensor))
      const call = () => {
        for (const { grad } of inputs) grad?.dispose()
        const result = /** @type {any} */ (method(inputs[0], inputs[1], inputs[2]))
        const y = Array.isArray(result) ? result[0] : (result.values ?? result)
        y.mul(y).sum().backward()
      }
      return { call, objects: inputs }
    }
  }
  for (const name of /** @type {const} */ (['zeros', 'ones', 'randn', 'rand'])) {
    all[name] = () => ({ call: () => gpt[name]([rows, dim]), objects: [] })
  }
  all.tensor = () => ({
    call: () =>
      gpt.tensor([
        [1, 2],
        [3, 4],
      ]),
    objects: [],
  })
  all.loadSafetensors = () => {
    const bytes = gpt.saveSafetensors({ x: gpt.ones([3]), y: gpt.ones([rows]), z: gpt.ones([]) })
    return { call: () => gpt.loadSafetensors(bytes), objects: [] }
  }
  all.scope = () => ({
    call: () => gpt.scope(() => [gpt.ones([2]), gpt.randn([3]).add(gpt.ones([]))]),
    objects: [],
  })
  for (const kind of /** @type {const} */ (['crossEntropy', 'mse'])) {
    const make = () => {
      const [x, target] = [gpt.parameter(gpt.randn([8 * rows, dim])), gpt.zeros([8 * rows, dim])]
      const loss = () =>
        kind === 'mse' ? gpt.mse(x, target) : gpt.crossEntropy(x, new Array(8 * rows).fill(1))
      return { objects: [x, target], loss }
    }
    all[kind] = () => {
      const { objects, loss } = make()
      return { call: loss, objects }
    }
    all[`${kind}, backward`] = () => {
      const { objects, loss } = make()
      const call = () => {
        objects[0].grad?.dispose()
        loss().backward()
      }
      return { call, objects }
    }
  }
  for (const kind of /** @type {const} */ (['SGD', 'AdamW'])) {
    const make = () => {
      const layer = new gpt.Linear(dim, dim)
      layer
        .forward(gpt.randn([rows, dim]))
        .sum()
        .backward()
      const optimizer =
        kind === 'SGD'
          ? new gpt.SGD(layer.parameters(), { lr: 0.1, momentum: 0.9 })
          : new gpt.AdamW(layer.parameters())
      return { layer, optimizer }
    }
    for (const times of [1, 2]) {
      all[`${kind}.step ${times}`] = () => {
        const { layer, optimizer } = make()
        for (let i = 1; i < times; i++) optimizer.step()
        return { call: () => optimizer.step(), objects: [layer, optimizer] }
      }
    }
    all[`${kind}.loadStateDict`] = () => {
      const { layer, optimizer } = make()
      const other = make()
      other.optimizer.step()
      optimizer.step()
      return {
        call: () => optimizer.loadStateDict(other.optimizer.stateDict()),
        objects: [layer, optimizer, other.optimizer],
      }
    }
  }
  all.clipGradNorm = () => {
    const layer = new gpt.Linear(dim, dim)
    layer
      .forward(gpt.randn([rows, dim]))
      .sum()
      .backward()
    return { call: () => gpt.clipGradNorm(layer.parameters(), 1e-3), objects: [layer] }
  }
  for (const steps of [1, 2]) {
    all[`training step ${steps}`] = () => {
      const model = modelOf(gpt, sizes)
      const optimizer = new gpt.AdamW(model.parameters(), { lr: 1e-2 })
      const tokens = Array.from({ length: rows }, (_, i) => (i * 3) % 5)
      const step = () =>
        gpt.scope(() => {
          optimizer.zeroGrad()
          const loss = gpt.crossEntropy(model.forward(tokens), tokens)
          loss.backward()
          gpt.clipGradNorm(model.parameters(), 1)
          optimizer.step()
          return loss.item()
        })
      for (let i = 1; i < steps; i++) step()
      return { call: step, objects: [model, optimizer] }
    }
  }
  return all
}

/** @param {any} layer @returns {{ tensor: Tensor, values: Float32Array }[]} its running statistics */
const buffersOf = (layer) =>
  partsOf(layer)
    .flatMap(({ runningMean, runningVar }) => (runningMean ? [runningMean, runningVar] : []))
    .map((tensor) => ({ tensor, values: tensor.data.slice() }))

/** @param {any} value @returns {any[]} the tensors in a result or an object of the package */
function tensorsOf(value) {
  if (typeof value !== 'object' || value === null) return []
  if (typeof value.stateDict === 'function') {
    return Object.entries(value.stateDict()).flatMap(([, tensor]) => [
      tensor,
      ...(tensor.grad ? [tensor.grad] : []),
    ])
  }
  if ('byteOffset' in value && 'reshape' in value)
    return value.disposed ? [] : [value, ...(value.grad ? [value.grad] : [])]
  if (Array.isArray(value)) return value.flatMap(tensorsOf)
  return Object.getPrototypeOf(value) === Object.prototype ? Object.values(value).flatMap(tensorsOf) : []
}

/** @param {Tensor} tensor */
const snapshot = (tensor) => ({
  shape: tensor.shape,
  disposed: tensor.disposed,
  data: tensor.disposed ? new Float32Array(0) : tensor.data.slice(),
  int8Weight: tensor.int8Weight,
})

/** @param {any[]} values @returns {string} their shapes and bits */
function bitsOf(values) {
  const hash = createHash('sha1')
  for (const value of values) {
    if (typeof value === 'number') hash.update(String(value))
    for (const { shape, disposed, data, int8Weight } of tensorsOf(value).map(snapshot)) {
      hash.update(`[${shape}]`)
      if (!disposed) hash.update(new Uint8Array(data.buffer))
      else if (int8Weight) hash.update(int8Weight.values()).update(String(int8Weight.scales()))
    }
  }
  return hash.digest('hex')
}

/** @param {any} value */
function dispose(value) {
  if (typeof value?.dispose === 'function') value.dispose()
  else for (const tensor of tensorsOf(value)) tensor.dispose()
}

/** Runs scenarios in one instance. */
export class Refuser {
  /** @param {Gpt} gpt @param {Sizes} sizes */
  constructor(gpt, sizes) {
    this.gpt = gpt
    this.witness = new Witness(gpt)
    this.scenarios = scenarios(gpt, sizes)
  }

  /** @param {number} seed @param {number} threads */
  static async make(seed, threads) {
    const gpt = await load({ build: 'simd', threads })
    if (gpt.threads !== threads) throw new Error(`${gpt.threads} threads instead of ${threads}`)
    return new Refuser(gpt, sizesOf(randomOf(seed), threads))
  }

  /** Ends the threads. */
  dispose() {
    this.gpt.dispose()
  }

  /**
   * @param {string} name the name of a scenario
   * @returns {number} how many allocations were failed
   * @throws {Finding}
   */
  check(name) {
    const scenario = this.scenarios[name]
    let expected
    try {
      expected = this.#run(scenario, 0)
    } catch (error) {
      throw new Finding(`${name}: ${/** @type {Error} */ (error).stack}`, { cause: error })
    }
    for (let k = 1; k <= expected.allocations; k++) {
      try {
        const actual = this.#run(scenario, k)
        if (actual.bits !== expected.bits) throw new Finding('the same call gives other bits afterwards')
        if (actual.used !== expected.used) {
          throw new Finding(`the same call leaves ${actual.used} bytes in use instead of ${expected.used}`)
        }
      } catch (error) {
        const { message, stack } = /** @type {Error} */ (error)
        const text = error instanceof Finding ? message : stack
        throw new Finding(`${name}, allocation ${k} of ${expected.allocations}: ${text}`, { cause: error })
      }
    }
    return expected.allocations
  }

  /** @param {Scenario} scenario @param {number} k which allocation fails first; 0 for none */
  #run(scenario, k) {
    const { gpt, witness } = this
    witness.begin()
    gpt.manualSeed(7)
    // The scope frees what the tape holds.
    const found = gpt.scope(() => {
      // This scope frees what a scenario needs only to prepare itself.
      const { call, objects } = gpt.scope(scenario)
      if (k > 0) this.#fail(call, objects, k)
      gpt.manualSeed(8)
      witness.failFrom(0)
      const result = gpt.scope(call)
      const { allocations, used } = witness
      const bits = bitsOf([result, ...objects]) + witness.generatorState()
      for (const object of [result, ...objects]) dispose(object)
      return { allocations, used, bits }
    })
    if (witness.blocks.size > 0) throw new Finding(`${witness.blocks.size} blocks are in use at the end`)
    return found
  }

  /** @param {() => any} call @param {any[]} objects @param {number} k */
  #fail(call, objects, k) {
    const { gpt, witness } = this
    gpt.manualSeed(8)
    const buffers = objects.flatMap((object) => ('training' in Object(object) ? buffersOf(object) : []))
    const writable = () => rangesOf(witness, objects.flatMap(tensorsOf))
    const before = writable()
    witness.end([{ begin: 0, end: witness.size }])
    const blocks = new Map(witness.blocks)
    witness.begin()
    witness.failFrom(k)
    let thrown = null
    try {
      gpt.scope(call)
    } catch (error) {
      thrown = error
    }
    witness.failFrom(0)
    if (thrown === null) throw new Finding('the call returned')
    if (!(thrown instanceof GptLayersError)) throw new Finding(`threw ${/** @type {Error} */ (thrown).stack}`)
    if (thrown.code !== 'MEMORY') throw new Finding(`threw ${thrown.code}: ${thrown.message}`)
    witness.end([...before, ...writable(), witness.generator])
    const held = new Set(writable().map(({ begin }) => begin))
    for (const [address, bytes] of witness.blocks) {
      if (blocks.get(address) === bytes || held.has(address)) continue
      throw new Finding(`left a block of ${bytes} bytes`)
    }
    for (const { tensor, values } of buffers) tensor.data.set(values)
  }
}

/**
 * Every scenario.
 *
 * @param {number} seed decides the sizes
 * @param {number} threads
 * @param {(name: string) => boolean} [isChosen]
 * @returns {Promise<{ count: number, findings: string[] }>} count: allocations that were failed
 */
export async function fuzz(seed, threads, isChosen = () => true) {
  let refuser = await Refuser.make(seed, threads)
  let count = 0
  const findings = []
  for (const name of Object.keys(refuser.scenarios).filter(isChosen)) {
    try {
      count += refuser.check(name)
    } catch (error) {
      findings.push(/** @type {Error} */ (error).message)
      refuser.dispose()
      refuser = await Refuser.make(seed, threads)
    }
  }
  refuser.dispose()
  return { count, findings }
}
