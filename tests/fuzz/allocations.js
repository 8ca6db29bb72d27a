// An allocator that fails the k-th allocation of a call, for every k: of every layer, loss, optimizer and
// operation of tests/layers.js, at random sizes. For each k:
//
// - The call throws MEMORY.
// - The call's scope frees what it made: only gradients and an optimizer's state may be new in memory.
// - Only tensors of the call's objects and the generator have changed.
// - The same call without a failure, from the same generator and running statistics, then gives the bits of a
//   run in which nothing failed.

/** @import { Tensor } from 'gpt-layers' */
/** @import { Gpt } from '../lib/support.js' */
/** @import { Sizes } from '../layers.js' */

import fc from 'fast-check'
import { createHash } from 'node:crypto'
import { GptLayersError } from 'gpt-layers'
import { load } from '../lib/support.js'
import { LAYERS, LOSSES, OPTIMIZERS, TENSOR_OPERATIONS } from '../layers.js'
import { findingOf } from './find.js'
import { Finding, Witness } from './witness.js'
import { keptBy, partsOf, rangesOf } from './world.js'

/**
 * A call, and the objects that it may change: layers, optimizers, tensors.
 *
 * @typedef {{ call: () => unknown, objects?: any[] }} Prepared
 */

/** @type {Record<string, (gpt: Gpt, sizes: Sizes) => Prepared>} what fails, by name */
export const CALLS = {}

for (const [name, make] of Object.entries(LAYERS)) {
  CALLS[`new ${name}`] = (gpt, sizes) => ({ call: () => make(gpt, sizes)[0] })
  CALLS[`${name}: forward`] = (gpt, sizes) => {
    const [layer, input] = make(gpt, sizes)
    return { call: () => layer.forward(input), objects: [layer, input] }
  }
  CALLS[`${name}: forward in noGrad`] = (gpt, sizes) => {
    const [layer, input] = make(gpt, sizes)
    return { call: () => gpt.noGrad(() => layer.forward(input)), objects: [layer, input] }
  }
  CALLS[`${name}: forward and backward`] = (gpt, sizes) => {
    const [layer, input] = make(gpt, sizes)
    const x = Array.isArray(input) ? null : gpt.parameter(input)
    const call = () => {
      layer.zeroGrad()
      x?.grad?.dispose()
      const y = layer.forward(x ?? input)
      y.backward(y)
    }
    return { call, objects: [layer, x] }
  }
  CALLS[`${name}: loadSafetensors`] = (gpt, sizes) => {
    const [[layer], [other]] = [make(gpt, sizes), make(gpt, sizes)]
    const bytes = gpt.saveSafetensors(other, { names: 'ours' })
    return { call: () => layer.loadStateDict(gpt.loadSafetensors(bytes)), objects: [layer] }
  }
  CALLS[`${name}: quantize`] = (gpt, sizes) => {
    const [layer] = make(gpt, sizes)
    return { call: () => layer.quantize({ groupSize: 2 }), objects: [layer] }
  }
  CALLS[`${name}: forward with int8 weights`] = (gpt, sizes) => {
    const [layer, input] = make(gpt, sizes)
    layer.eval().quantize({ groupSize: 2 })
    return { call: () => layer.forward(input), objects: [layer, input] }
  }
  CALLS[`${name}: loadSafetensors with int8 weights`] = (gpt, sizes) => {
    const [layer, other] = [make(gpt, sizes), make(gpt, sizes)].map(([layer]) => layer.quantize())
    const bytes = gpt.saveSafetensors(other, { names: 'ours' })
    return { call: () => layer.loadStateDict(gpt.loadSafetensors(bytes)), objects: [layer] }
  }
}
CALLS['Attention: forward with returnWeights'] = (gpt, sizes) => {
  const [layer, input] = LAYERS.Attention(gpt, sizes)
  return { call: () => layer.forward(input, { returnWeights: true }), objects: [layer, input] }
}

for (const [name, operation] of Object.entries(TENSOR_OPERATIONS)) {
  const inputs = (/** @type {Gpt} */ gpt, /** @type {Sizes} */ { rows, cols }) =>
    [rows, rows, cols].map((rows) => gpt.parameter(gpt.rand([rows, cols])))
  CALLS[name] = (gpt, sizes) => {
    const [x, y, z] = inputs(gpt, sizes)
    return { call: () => operation(x, y, z, gpt), objects: [x, y, z] }
  }
  CALLS[`${name}: backward`] = (gpt, sizes) => {
    const [x, y, z] = inputs(gpt, sizes)
    const call = () => {
      for (const { grad } of [x, y, z]) grad?.dispose()
      const result = operation(x, y, z, gpt)
      result.mul(result).sum().backward()
    }
    return { call, objects: [x, y, z] }
  }
}

for (const [name, loss] of Object.entries(LOSSES)) {
  CALLS[name] = (gpt, { rows, cols }) => {
    const x = gpt.parameter(gpt.randn([8 * rows, cols]))
    return { call: () => loss(gpt, x), objects: [x] }
  }
  CALLS[`${name}: backward`] = (gpt, { rows, cols }) => {
    const x = gpt.parameter(gpt.randn([8 * rows, cols]))
    const call = () => {
      x.grad?.dispose()
      loss(gpt, x).backward()
    }
    return { call, objects: [x] }
  }
}

/** Parameters with gradients. @param {Gpt} gpt @param {Sizes} sizes */
function trained(gpt, { rows, cols }) {
  const layer = new gpt.Linear(cols, cols)
  layer
    .forward(gpt.randn([rows, cols]))
    .sum()
    .backward()
  return layer
}
for (const [name, make] of Object.entries(OPTIMIZERS)) {
  for (const before of [0, 1]) {
    CALLS[`${name}: step after ${before}`] = (gpt, sizes) => {
      const layer = trained(gpt, sizes)
      const optimizer = make(gpt, layer.parameters())
      for (let i = 0; i < before; i++) optimizer.step()
      return { call: () => optimizer.step(), objects: [layer, optimizer] }
    }
  }
  CALLS[`${name}: loadStateDict`] = (gpt, sizes) => {
    const layer = trained(gpt, sizes)
    const [optimizer, other] = [0, 1].map(() => make(gpt, layer.parameters()))
    optimizer.step()
    other.step()
    const call = () => optimizer.loadStateDict(other.stateDict())
    return { call, objects: [layer, optimizer, other] }
  }
}

/** @type {Record<string, (gpt: Gpt, sizes: Sizes) => Prepared>} */
const OTHERS = {
  zeros: (gpt, { rows, cols }) => ({ call: () => gpt.zeros([rows, cols]) }),
  ones: (gpt, { rows, cols }) => ({ call: () => gpt.ones([rows, cols]) }),
  rand: (gpt, { rows, cols }) => ({ call: () => gpt.rand([rows, cols]) }),
  randn: (gpt, { rows, cols }) => ({ call: () => gpt.randn([rows, cols]) }),
  tensor: (gpt, { cols }) => ({ call: () => gpt.tensor(new Array(cols).fill([1, 2])) }),
  loadSafetensors(gpt, { rows }) {
    const bytes = gpt.saveSafetensors({ x: gpt.ones([3]), y: gpt.ones([rows]), z: gpt.ones([]) })
    return { call: () => gpt.loadSafetensors(bytes) }
  },
  scope: (gpt) => ({ call: () => gpt.scope(() => [gpt.ones([2]), gpt.randn([3]).add(gpt.ones([]))]) }),
  clipGradNorm(gpt, sizes) {
    const layer = trained(gpt, sizes)
    return { call: () => gpt.clipGradNorm(layer.parameters(), 1e-3), objects: [layer] }
  },
  'a training step'(gpt, sizes) {
    const [model, tokens] = LAYERS.GPTModel(gpt, sizes)
    const optimizer = OPTIMIZERS.AdamW(gpt, model.parameters())
    const call = () =>
      gpt.scope(() => {
        optimizer.zeroGrad()
        const loss = gpt.crossEntropy(model.forward(tokens), tokens)
        loss.backward()
        gpt.clipGradNorm(model.parameters(), 1)
        optimizer.step()
        return loss.item()
      })
    return { call, objects: [model, optimizer] }
  },
}
Object.assign(CALLS, OTHERS)

/** @param {any} layer @returns {{ tensor: Tensor, values: Float32Array }[]} its running statistics */
const buffersOf = (layer) =>
  partsOf(layer)
    .flatMap(({ runningMean, runningVar }) => (runningMean ? [runningMean, runningVar] : []))
    .map((tensor) => ({ tensor, values: tensor.data.slice() }))

/** @param {any} value @returns {Tensor[]} the tensors in a result or in an object of the package */
function tensorsOf(value) {
  if (typeof value !== 'object' || value === null) return []
  if ('paramGroups' in value) return keptBy(value)
  if (typeof value.stateDict === 'function') return Object.values(value.stateDict()).flatMap(tensorsOf)
  if ('byteOffset' in value) return [value, ...tensorsOf(value.grad)]
  return Object.values(value).flatMap(tensorsOf)
}

/** @param {any[]} values @returns {string} a hash of their shapes and bits */
function bitsOf(values) {
  const hash = createHash('sha1')
  for (const value of values) if (typeof value === 'number') hash.update(String(value))
  for (const tensor of tensorsOf(values)) {
    const { shape, disposed, int8Weight } = tensor
    hash.update(`[${shape}]`)
    if (!disposed) hash.update(new Uint8Array(tensor.data.slice().buffer))
    else if (int8Weight) hash.update(int8Weight.values()).update(String(int8Weight.scales()))
  }
  return hash.digest('hex')
}

/** A copy of the package and the witness of its memory. @typedef {{ gpt: Gpt, witness: Witness }} Watched */

/**
 * Prepares a call, and makes it: the k-th allocation fails the first time.
 *
 * @param {Watched} watched
 * @param {(gpt: Gpt) => Prepared} prepare
 * @param {number} k 0 for no failure
 */
function run({ gpt, witness }, prepare, k) {
  witness.begin()
  gpt.manualSeed(7)
  // This scope frees what the tape holds; the one inside, what is needed only to prepare.
  const found = gpt.scope(() => {
    const { call, objects = [] } = gpt.scope(() => prepare(gpt))
    if (k > 0) fail({ gpt, witness }, call, objects, k)
    gpt.manualSeed(8)
    witness.failFrom(0)
    const result = gpt.scope(call)
    const { allocations, used } = witness
    const bits = bitsOf([result, ...objects]) + witness.generatorState()
    for (const object of [result, ...objects].flat()) object?.dispose?.()
    return { allocations, used, bits }
  })
  if (witness.blocks.size > 0) throw new Finding(`${witness.blocks.size} blocks are in use at the end`)
  return found
}

/**
 * Makes a call whose k-th allocation fails.
 *
 * @param {Watched} watched
 * @param {() => unknown} call
 * @param {any[]} objects
 * @param {number} k
 */
function fail({ gpt, witness }, call, objects, k) {
  gpt.manualSeed(8)
  const buffers = objects.flatMap((object) => ('training' in Object(object) ? buffersOf(object) : []))
  const writable = () => rangesOf(witness, tensorsOf(objects))
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
    if (blocks.get(address) !== bytes && !held.has(address))
      throw new Finding(`left a block of ${bytes} bytes`)
  }
  for (const { tensor, values } of buffers) tensor.data.set(values)
}

/** @type {(Promise<Watched> | undefined)[]} by number of threads */
const copies = []

/** @param {number} threads @returns {Promise<Watched>} */
async function watch(threads) {
  const gpt = await load({ build: 'simd', threads })
  if (gpt.threads !== threads) throw new Error(`${gpt.threads} threads instead of ${threads}`)
  return { gpt, witness: new Witness(gpt) }
}

/**
 * Fails each allocation of a call in turn.
 *
 * @param {string} name in CALLS
 * @param {Sizes} sizes
 * @param {number} threads
 * @returns {Promise<number>} how many allocations were failed
 * @throws {Finding}
 */
export async function check(name, sizes, threads) {
  const watched = await (copies[threads] ??= watch(threads))
  const prepare = (/** @type {Gpt} */ gpt) => CALLS[name](gpt, sizes)
  let k = 0
  try {
    const expected = run(watched, prepare, 0)
    for (k = 1; k <= expected.allocations; k++) {
      const { bits, used } = run(watched, prepare, k)
      if (bits !== expected.bits) throw new Finding('the same call gives other bits afterwards')
      if (used !== expected.used)
        throw new Finding(`the same call leaves ${used} bytes in use instead of ${expected.used}`)
    }
    return expected.allocations
  } catch (error) {
    copies[threads] = undefined
    watched.gpt.dispose()
    const { message, stack } = /** @type {Error} */ (error)
    const text = error instanceof Finding ? message : stack
    throw new Finding(`${name}, allocation ${k}: ${text}`, { cause: error })
  }
}

/** Small sizes, and those at which two threads share the calls. */
const SIZES = [
  fc.record({ rows: fc.integer({ min: 1, max: 9 }), heads: fc.constantFrom(1, 2, 3), width: fc.nat(7) }),
  fc.record({ rows: fc.integer({ min: 160, max: 191 }), heads: fc.constant(2), width: fc.constant(31) }),
].map((sizes) => sizes.map(({ rows, heads, width }) => ({ rows, heads, cols: heads * (width + 1) })))

/**
 * Each call at sizes that the seed chooses.
 *
 * @param {number} seed
 * @param {number} threads
 * @param {(name: string) => boolean} [isChosen]
 * @returns {Promise<{ count: number, findings: string[] }>} count: allocations that were failed
 */
export async function fuzz(seed, threads, isChosen = () => true) {
  let count = 0
  const findings = []
  for (const name of Object.keys(CALLS).filter(isChosen)) {
    const property = fc.asyncProperty(SIZES[threads - 1], async (sizes) => {
      count += await check(name, sizes, threads)
    })
    const { failed, counterexample, errorInstance } = await fc.check(property, { seed, numRuns: 1 })
    if (!failed) continue
    const call = JSON.stringify([name, counterexample?.[0], threads])
    findings.push(`${/** @type {Error} */ (errorInstance).message}, replay ${call}`)
  }
  return { count, findings }
}

/** Ends the threads. */
export async function end() {
  for (const copy of copies.splice(0)) (await copy)?.gpt.dispose()
}

/** @type {import('./fuzz.js').Fuzzer} */
export const fuzzer = {
  unit: 'failed allocations',
  /** Even seeds run with one thread, odd ones with two. */
  async batch(seed) {
    const { count, findings } = await fuzz(seed, 1 + (seed % 2))
    return { count, finding: findings.length > 0 ? findings.join('\n') : null }
  },
  replay(input) {
    const [name, sizes, threads] = JSON.parse(input)
    return findingOf(check(name, sizes, threads))
  },
  end,
}
