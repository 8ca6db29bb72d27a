// The API fuzzer: random calls of every public constructor, method and function, on a few live objects, with
// valid and strange arguments.
//
// A run is a list of steps, and a step is data, so a run can be printed, shrunk and replayed. After each
// step:
//
// - The call returned, or threw a GptLayersError with a known code.
// - After an error each object is as before, except for what PyTorch would change, too: the generator,
//   running statistics, gradients and the optimizer's state. The call's tensors are freed by its scope.
// - No byte changed, except in blocks that the call made and in what the called function is to write.
// - A live tensor lies in a block of its size.
//
// At the end of a run nothing is left in memory.

/** @import { Tensor } from 'gpt-layers' */
/** @import { Gpt } from '../lib/support.js' */
/** @import { Code } from './world.js' */

import fc from 'fast-check'
import * as gpt from 'gpt-layers'
import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { LAYERS, OPTIMIZERS } from '../layers.js'
import { find, findingOf } from './find.js'
import { fieldsOf, SIGNATURES } from './signatures.js'
import { Mine, STRANGE } from './strange.js'
import { Finding } from './witness.js'
import { parametersOf, partsOf, rangesOf, tensorsOfCache, World } from './world.js'

/**
 * One call.
 *
 * @typedef {object} Step
 * @property {string} op a key of OPERATIONS
 * @property {number} [on] which of the live objects
 * @property {Code[]} [args]
 * @property {number} [failAt] which allocation of the call fails
 */

// ---- Arguments

const index = fc.nat(40)

/** @param {string[]} names of strange values @returns {fc.Arbitrary<Code>} one of these, or another value */
const valueOf = (names) =>
  fc.oneof(
    fc.record({ $: fc.constant('strange'), name: fc.constantFrom(...names), i: fc.nat(40) }),
    fc.constantFrom(
      null,
      true,
      false,
      '',
      -1,
      0,
      1,
      2,
      1e9,
      2 ** 32,
      [],
      [1],
      [
        [1, 2],
        [3, 4],
      ],
    ),
    fc.record({ $: fc.constantFrom('tensor', 'module', 'grad', 'parameters', 'dict'), i: index }),
  )
const value = valueOf(Object.keys(STRANGE))

/** @param {fc.Arbitrary<Code>} plausible @returns {fc.Arbitrary<Code>} now and then something else */
const mostly = (plausible) => fc.oneof({ weight: 6, arbitrary: plausible }, { weight: 1, arbitrary: value })

/** @param {string} $ @param {fc.Arbitrary<number>} [i] */
const kind = ($, i = index) => fc.record({ $: fc.constant($), i })

/** As JSON has them: without -0, NaN and infinities. */
const double = fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => (x === 0 ? 0 : x))
const size = mostly(fc.constantFrom(4, 4, 4, 2, 1, 3, 8))
const sizes = mostly(fc.oneof(size, fc.array(size, { maxLength: 3 })))
const dim = mostly(fc.integer({ min: -3, max: 3 }))
const shape = mostly(fc.array(mostly(fc.constantFrom(1, 2, 3, 4, 4, 0)), { maxLength: 4 }))
const number = mostly(fc.oneof(fc.constantFrom(0, 1, 2, -1, 0.5, 1e-5), double))
const flag = mostly(fc.boolean())
const tensor = mostly(kind('tensor'))
const numbers = mostly(
  fc.oneof(
    double,
    fc.array(number, { maxLength: 4 }),
    fc.constantFrom(
      [
        [1, 2],
        [3, 4],
      ],
      [[[1]], [[2]]],
      [[], []],
      [[1], [2, 3]],
    ),
    fc.record({
      $: fc.constant('typed'),
      type: fc.constantFrom('Float32Array', 'Float64Array', 'Int32Array', 'Uint8Array'),
      values: fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 8 }),
    }),
  ),
)

/**
 * An options object: some of the names, now and then a misspelt one.
 *
 * @param {Record<string, fc.Arbitrary<Code>>} names
 */
const options = (names) => {
  const entry = fc.oneof(
    ...Object.entries(names).map(([name, arbitrary]) => fc.tuple(fc.constant(name), arbitrary)),
  )
  const misspelt = fc.tuple(
    fc.constantFrom('epsilon', 'droprate', 'hiddendim', '__proto__', 'toString'),
    number,
  )
  return mostly(
    fc.record({
      $: fc.constant('options'),
      entries: fc.oneof(
        { weight: 8, arbitrary: fc.uniqueArray(entry, { selector: ([name]) => name, maxLength: 4 }) },
        { weight: 1, arbitrary: fc.array(misspelt, { minLength: 1, maxLength: 1 }) },
      ),
    }),
  )
}

/**
 * A model's configuration: all that is needed, and some options.
 *
 * @param {Record<string, fc.Arbitrary<Code>>} needed
 * @param {Record<string, fc.Arbitrary<Code>>} optional
 */
const config = (needed, optional) =>
  mostly(
    fc.tuple(fc.record(needed), options(optional)).map(([given, more]) => ({
      $: 'options',
      entries: [...Object.entries(given), ...(Array.isArray(more?.entries) ? more.entries : [])],
    })),
  )

const dims = mostly(fc.oneof(dim, fc.array(dim, { maxLength: 3 })))
const dropped = mostly(fc.constantFrom(0, 0.5, 1, 0.1))
const eps = mostly(fc.constantFrom(1e-5, 1, 1e-30, 0))
const count = mostly(fc.nat(9))
const token = fc.integer({ min: 0, max: 4 })
const tokens = mostly(fc.array(mostly(token), { maxLength: 3 }))
const cache = mostly(kind('cache'))
const moved = mostly(fc.array(mostly(fc.constantFrom(-1, 1, 2, 4, 8)), { maxLength: 4 }))
/** @param {string} $ @param {string[]} names of functions that World makes */
const fn = ($, ...names) =>
  mostly(fc.record({ $: fc.constant($), name: fc.constantFrom(...names), i: index }))

/** Arguments and options by their name, where their type does not say enough. @type {Record<string, fc.Arbitrary<Code>>} */
const NAMED = {
  ...{
    dim,
    dim0: dim,
    dim1: dim,
    startDim: dim,
    endDim: dim,
    start: dim,
    end: dim,
    index: dim,
    diagonal: dim,
  },
  ...{ size, n: size, m: size, k: size, high: size, topK: size, slidingWindow: size, maxTokens: size, shape },
  ...{ inFeatures: size, outFeatures: size, nf: size, nx: size, numFeatures: size, hiddenDim: size },
  ...{ numEmbeddings: size, embeddingDim: size, warmup: count, steps: count, precision: mostly(fc.nat(20)) },
  ...{ p: dropped, dropout: dropped, dropRate: dropped, momentum: dropped, eps, layerNormEpsilon: eps },
  ...{ stopTokens: tokens, suppressTokens: tokens, cache, dims: mostly(fc.array(dim, { maxLength: 4 })) },
  low: mostly(token),
  step: mostly(fc.constantFrom(1, 2, 0.5, -1)),
  embDim: mostly(fc.constant(4)),
  nHeads: mostly(fc.constantFrom(1, 2, 4)),
  contextLength: mostly(fc.constantFrom(3, 4)),
  vocabSize: mostly(fc.constantFrom(5, 3)),
  nLayers: mostly(fc.constantFrom(1, 2)),
  batchSize: mostly(fc.constantFrom(1, 1, 2, 3)),
  maxNewTokens: mostly(fc.constantFrom(1, 2, 3, 50)),
  groupSize: mostly(fc.constantFrom(2, 4, 64, 3, 0)),
  ignoreIndex: mostly(fc.constantFrom(-100, -1, 0)),
  labelSmoothing: mostly(fc.constantFrom(0, 0.1, 1)),
  betas: mostly(fc.tuple(number, number)),
  values: numbers,
  targets: mostly(fc.oneof(kind('tensor'), fc.array(token, { maxLength: 4 }), fc.constant([-100, 0]))),
  indices: mostly(kind('input')),
  ids: mostly(kind('input')),
  tensors: mostly(kind('inputs')),
  inputs: mostly(kind('inputs')),
  saved: mostly(kind('inputs')),
  gradients: mostly(kind('gradients')),
  gradient: mostly(kind('dy')),
  parameters: mostly(fc.oneof(kind('parameters'), kind('groups'))),
  dict: mostly(kind('dict')),
  dictOrModule: mostly(fc.oneof(kind('dict'), kind('module'))),
  module: mostly(kind('module')),
  modules: mostly(fc.array(mostly(kind('module')), { maxLength: 2 })),
  bytes: mostly(
    fc.record({
      $: fc.constant('file'),
      i: index,
      at: fc.integer({ min: -50, max: 200 }),
      value: fc.nat(255),
    }),
  ),
  context: mostly(
    fc.oneof(
      fc.constant({ $: 'options', entries: [] }),
      options({ returnWeights: flag }),
      options({ cache, lastOnly: flag }),
    ),
  ),
  fn: fn('fn', 'nothing', 'throws'),
  listener: fn(
    'listener',
    ...['quiet', 'throws', 'reads', 'keeps', 'replaces', 'disposes', 'forwards', 'backwards', 'evaluates'],
    ...['listens', 'stops', 'writes'],
  ),
}

/** @type {Record<string, fc.Arbitrary<Code>>} */
const TYPED = {
  ...{ number, boolean: flag, Tensor: tensor, 'readonly number[]': shape },
  'Tensor | number': mostly(fc.oneof(kind('tensor'), number)),
  Indices: mostly(fc.oneof(token, fc.array(token, { maxLength: 4 }), fc.array(fc.tuple(token, token)))),
  LossReduction: mostly(fc.constantFrom('none', 'mean', 'sum')),
}

/** @param {import('./signatures.js').Parameter} parameter @returns {fc.Arbitrary<Code>} */
function argument({ name, type }) {
  const fields = fieldsOf(type)
  if (fields && type !== 'Context') {
    const arbitraries = (/** @type {boolean[]} */ ...those) =>
      Object.fromEntries(
        fields
          .filter(({ optional }) => those.includes(optional))
          .map((field) => [field.name, argument(field)]),
      )
    const isOptional = fields.every(({ optional }) => optional)
    return isOptional ? options(arbitraries(true)) : config(arbitraries(false), arbitraries(true, false))
  }
  if (type.startsWith("'")) return mostly(fc.constantFrom(...type.replaceAll("'", '').split(' | ')))
  if (type === 'number | readonly number[]') return name === 'dim' ? dims : sizes
  const isSpecial = type === 'boolean' || type === 'Indices'
  return (!isSpecial && NAMED[name]) || TYPED[type] || NAMED[name] || value
}

// ---- Operations

/**
 * @typedef {object} Operation
 * @property {fc.Arbitrary<Code>[]} args
 * @property {number} [needed] how many of them a call has at least; all by default
 * @property {(world: World, receiver: any, args: any[]) => Iterable<Tensor>} [writes] what a call may change
 * @property {boolean} [fills] whether a call may write into caches, although it fails
 * @property {boolean} [draws] whether a call may change the generator
 * @property {(receiver: any, args: any[], world: World) => unknown} [call] by default the method of this name
 * @property {boolean} [isPartial] whether a call that fails may have done a part of its work
 * @property {boolean} [tampers] whether it changes parts of the package's objects
 * @property {number} [weight] how often, 1 by default
 */

/** @param {World} _world @param {any} module @returns {Tensor[]} */
const stateOf = (_world, module) => {
  try {
    return partsOf(module).flatMap((part) => Object.values(part.stateDict()))
  } catch {
    return []
  }
}

/** @param {World} world @returns {Tensor[]} */
const gradients = (world) => [...world.reachable()].flatMap(({ grad }) => grad ?? [])

/** @param {World} world @param {any} module @returns {Tensor[]} what forward in training mode updates */
const running = (world, module) =>
  world.chaotic || world.tampered
    ? [...world.reachable()]
    : partsOf(module).flatMap(({ runningMean, runningVar }) => (runningMean ? [runningMean, runningVar] : []))

/** @param {World} world @param {any} optimizer */
const stepped = (world, optimizer) => [...parametersOf(optimizer), ...world.keptBy(optimizer)]

/**
 * What is special about some functions, beside their arguments.
 *
 * @type {Record<string, Partial<Operation>>}
 */
const SPECIAL = {
  'gpt.manualSeed': { args: [mostly(fc.integer())] },
  'gpt.tensor': { weight: 2 },
  'gpt.cat': { weight: 2 },
  'gpt.stack': { weight: 2 },
  'gpt.clipGradNorm': { writes: gradients },
  'gpt.scaledDotProductAttention': { weight: 2 },
  'gpt.parameter': { weight: 2 },
  'gpt.noGrad': { args: [fn('fn', 'tensor', 'throws', 'promise', 'computed')] },
  'gpt.scope': {
    args: [
      fn(
        'fn',
        ...[
          'tensor',
          'nothing',
          'throws',
          'many',
          'layer',
          'nested',
          'promise',
          'strange',
          'given',
          'computed',
        ],
      ),
    ],
  },
  'new Sequential': { args: [0, 1, 2].map(() => mostly(kind('module'))), needed: 0 },
  'tensor.toJSON': { args: [value], needed: 0 }, // JSON.stringify passes a name
  ...Object.fromEntries(
    ['reshape', 'view', 'expand'].flatMap((name) => [
      [`tensor.${name}`, { args: [moved] }],
      [`gpt.${name}`, { args: [tensor, moved] }],
    ]),
  ),
  'tensor.add': { weight: 2 },
  'tensor.matmul': { weight: 2 },
  'tensor.permute': { weight: 2 },
  'tensor.backward': { writes: gradients, isPartial: true, weight: 12 },
  'module.forward': {
    args: [mostly(kind('input')), NAMED.context],
    needed: 1,
    writes: running,
    fills: true,
    weight: 12,
  },
  'module.newCache': { weight: 2 },
  'module.generate': {
    // The first tokens: a generator that nobody asks any more keeps its cache.
    call: (receiver, args) => {
      const written = []
      for (const token of receiver.generate?.(...args) ?? []) if (written.push(token) === 2) break
      return written
    },
    writes: running,
    fills: true,
    weight: 4,
  },
  'module.append': { tampers: true },
  'module.loadStateDict': { writes: stateOf },
  // A model whose k-th weight fails keeps those before it as int8, so only layers by themselves are called.
  'module.quantize': {
    weight: 2,
    call: (receiver, args) => (partsOf(receiver).length === 1 ? receiver.quantize(...args) : undefined),
  },
  'cache.truncate': { args: [mostly(fc.nat(4))], weight: 2 },
  'optimizer.step': { writes: stepped, isPartial: true, weight: 4 },
  'optimizer.loadStateDict': { writes: stepped },
  'tensor.requiresGrad=': {
    args: [flag],
    call: (receiver, [given]) => void (receiver.requiresGrad = given),
  },
  'tensor.grad=': {
    args: [tensor],
    call: (receiver, [gradient]) => void (receiver.grad = gradient),
  },
  ...Object.fromEntries(
    ['tensor', 'module', 'int8', 'cache', 'optimizer'].map((kind) => [
      `${kind}.@@dispose`,
      { args: [], call: (/** @type {any} */ one) => one[Symbol.dispose ?? 'dispose']() },
    ]),
  ),
  ...Object.fromEntries(
    ['tensor', 'module', 'optimizer'].map((kind) => [
      `${kind}.@@inspect`,
      { args: [], call: (/** @type {any} */ one) => inspect(one) },
    ]),
  ),

  // What a caller may do to the package's objects. A refused assignment is no error here.
  'any.read': {
    args: [index],
    call: (receiver, [i]) => void receiver[namesOf(receiver)[i % namesOf(receiver).length]],
  },
  'any.assign': {
    args: [index, value],
    call: (receiver, [i, given]) => void Reflect.set(receiver, propertyOf(receiver, i), given),
    tampers: true,
  },
  'any.stop': {
    args: [index],
    call: (_, [i], world) => world.stops[i % Math.max(world.stops.length, 1)]?.(),
  },
  'tensor.write': {
    args: [index, double],
    call: ({ data }, [i, number]) => void (data[i % Math.max(data.length, 1)] = number),
    writes: (_, receiver) => [receiver],
  },
  'tensor.writeShape': {
    args: [index, value],
    call: ({ shape }, [i, given]) => void Reflect.set(shape, i % 4, given),
  },
}

/** Those that may change the generator. */
const DRAWS =
  /^(init\.|gpt\.(manualSeed|randn?|randint|multinomial|dropout|scaledDotProductAttention|scope)$|module\.(forward|generate)$|new (Linear|Conv1D|Embedding|FeedForward|Attention|TransformerBlock|GPTModel)$)/

/** What would end a run, what gives a promise, and classes of which users make no objects. */
const APART = new Set([
  ...['gpt.load', 'gpt.dispose', 'gpt.loadTorch'],
  ...['new GptLayersError', 'new Int8Weight', 'new KeyValueCache', 'new Optimizer', 'new Tensor'],
])

/** @param {string} name @returns {boolean} whether users can call it */
const isOurs = (name) => !/^(gpt\.|new )/.test(name) || name.replace(/^(gpt\.|new )/, '') in gpt

/**
 * Every public function, by the kind of object it belongs to and its name, with arguments by its types. 'new X'
 * is a constructor.
 *
 * @type {Record<string, Operation>}
 */
export const OPERATIONS = {}
for (const name of new Set([...SIGNATURES.keys(), ...Object.keys(SPECIAL)])) {
  if (APART.has(name) || !isOurs(name)) continue
  const parameters = SIGNATURES.get(name) ?? []
  OPERATIONS[name] = {
    args: parameters.map(argument),
    needed: SPECIAL[name]?.args ? undefined : parameters.filter(({ optional }) => !optional).length,
    writes: name.startsWith('init.') ? (world, _, [filled]) => filledOf(world, filled) : undefined,
    draws: DRAWS.test(name),
    ...SPECIAL[name],
  }
}

/** @param {World} world @param {unknown} given to a function of gpt.init */
const filledOf = (world, given) => [...world.reachable()].filter((one) => one === given)

const types = readFileSync(new URL('../../dist/index.d.ts', import.meta.url), 'utf8')

/** @param {string} name of a method @returns {boolean} whether the package's types show it */
const isPublic = (name) =>
  name.startsWith('@@')
    ? name === '@@dispose' || name === '@@inspect'
    : new RegExp(`^\\s+${name}[(<:]`, 'm').test(types)

/** @param {any} object @returns {string[]} the names of its properties and those of its classes */
function namesOf(object) {
  const names = new Set()
  for (let at = object; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const key of Reflect.ownKeys(at)) if (typeof key === 'string') names.add(key)
  }
  return [...names]
}

/** @param {any} object @param {number} i @returns {string} a property that is no function */
function propertyOf(object, i) {
  const names = Object.getOwnPropertyNames(object).filter((name) => typeof object[name] !== 'function')
  return [...names, 'grad', 'shape', 'size', 'weight', 'layers', 'training'][i % (names.length + 6)]
}

/** @param {any} object @returns {string[]} the names of its methods; those of symbols begin with `@@` */
function methodsOf(object) {
  const names = new Set()
  for (let at = object; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const key of Reflect.ownKeys(at)) {
      const { value } = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(at, key))
      if (typeof value !== 'function' || key === 'constructor') continue
      names.add(
        typeof key === 'string'
          ? key
          : `@@${key.description?.replace(/^.*\./, '').replace('custom', 'inspect')}`,
      )
    }
  }
  return [...names]
}

/**
 * @param {Gpt} gpt
 * @returns {Record<string, any[]>} an object of every class, by the kind that OPERATIONS names
 */
export function samplesOf(gpt) {
  const x = gpt.zeros([1])
  const sizes = { rows: 3, cols: 4, heads: 2 }
  const layers = Object.values(LAYERS).map((make) => make(gpt, sizes)[0])
  return {
    tensor: [x],
    module: [new gpt.Module(), new gpt.ModuleList(), ...layers],
    optimizer: Object.values(OPTIMIZERS).map((make) => make(gpt, [x])),
    cache: [LAYERS.GPTModel(gpt, sizes)[0].newCache()],
    int8: [new gpt.Linear(1, 1).quantize().int8Weight],
  }
}

/**
 * @param {{ gpt: Gpt }} world
 * @returns {string[]} every public function of the package, as OPERATIONS names them
 */
export function functionsOf({ gpt }) {
  const isClass = (/** @type {string} */ name) => /^[A-Z]/.test(name)
  const samples = samplesOf(gpt)
  const found = [
    ...methodsOf(gpt).map((name) => (isClass(name) ? `new ${name}` : `gpt.${name}`)),
    ...methodsOf(gpt.init).map((name) => `init.${name}`),
    ...Object.entries(samples).flatMap(([kind, objects]) =>
      objects
        .flatMap(methodsOf)
        .filter(isPublic)
        .map((name) => `${kind}.${name}`),
    ),
  ]
  for (const object of Object.values(samples).flat()) object.dispose()
  return [...new Set(found)].filter((name) => !APART.has(name))
}

// ---- Runs

const NAMES = Object.keys(OPERATIONS)

/** @param {string} op @returns {fc.Arbitrary<Step>} */
const stepOf = (op) => {
  const { args, needed = args.length } = OPERATIONS[op]
  const given = fc.tuple(
    fc.tuple(...args),
    fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: needed, max: args.length }) },
      { weight: 1, arbitrary: fc.nat(args.length + 1) },
    ),
  )
  return fc
    .record({
      op: fc.constant(op),
      on: index,
      args: given.map(([all, count]) => (count > args.length ? [...all, 1] : all.slice(0, count))),
    })
    .chain((step) =>
      fc.oneof(
        { weight: 20, arbitrary: fc.constant(step) },
        { weight: 2, arbitrary: fc.integer({ min: 1, max: 12 }).map((failAt) => ({ ...step, failAt })) },
      ),
    )
}

/** @param {boolean} tampers whether steps may change parts of the package's objects */
const steps = (tampers) => {
  const allowed = NAMES.filter((op) => tampers || !OPERATIONS[op].tampers)
  const step = fc.oneof(
    ...allowed.map((op) => ({ weight: OPERATIONS[op].weight ?? 1, arbitrary: stepOf(op) })),
  )
  const first = fc.oneof(...allowed.filter((op) => op.startsWith('new ')).map(stepOf))
  return fc
    .tuple(fc.array(first, { minLength: 1, maxLength: 3 }), fc.array(step, { maxLength: 25, size: 'max' }))
    .map((parts) => parts.flat())
}

/** Runs: a few objects are made, then called. */
export const runs = fc.oneof({ weight: 2, arbitrary: steps(false) }, { weight: 1, arbitrary: steps(true) })

/**
 * @param {World} world
 * @param {string} op
 * @param {number} on
 * @returns {any} the object whose method is called; undefined where there is none yet
 */
function receiverOf(world, op, on) {
  const [family] = op.split('.')
  /** @type {Record<string, any[]>} */
  const lists = {
    tensor: world.tensors,
    module: world.modules,
    optimizer: world.optimizers,
    cache: world.caches,
    int8: world.int8Weights(),
  }
  if (family === 'any') {
    const all = Object.values(lists).flat()
    const parts = world.modules.flatMap(partsOf)
    return [...all, ...parts][on % (all.length + parts.length)]
  }
  if (family === 'init') return world.gpt.init
  if (!(family in lists)) return world.gpt
  const list = lists[family]
  // Layers inside others are called, too.
  const choice = family === 'module' && on > 20 ? list.flatMap(partsOf) : list
  return choice[on % Math.max(choice.length, 1)]
}

/**
 * @param {any} receiver
 * @param {string} op
 * @param {any[]} args
 * @param {World} world
 */
function call(receiver, op, args, world) {
  const operation = OPERATIONS[op]
  if (operation.call) return operation.call(receiver, args, world)
  if (op.startsWith('new ')) return new receiver[op.slice(4)](...args)
  return receiver[op.slice(op.indexOf('.') + 1)](...args)
}

/** @param {any} receiver @param {string} op */
const exists = (receiver, op) =>
  op.startsWith('new ') ||
  OPERATIONS[op].call ||
  typeof receiver[op.slice(op.indexOf('.') + 1)] === 'function'

/**
 * @param {World} world
 * @param {Step} step
 * @throws {Finding}
 */
function take(world, { op, on = 0, args: codes = [], failAt = 0 }) {
  const { witness } = world
  const operation = OPERATIONS[op]
  const receiver = receiverOf(world, op, on)
  if (receiver === undefined || !exists(receiver, op)) return
  let args
  witness.begin()
  try {
    args = codes.map((code) => world.decode(code, receiver))
  } catch (error) {
    World.checkError(error, world.tampered) // such as MEMORY
    return
  }
  // An assignment leaves the gradient of before to its holders.
  if (/grad=|assign/.test(op) && 'byteOffset' in receiver) world.keep(receiver.grad)
  world.tampered ||= operation.tampers ?? false
  world.chaotic = false
  world.calls++
  const before = world.state()
  const blocks = new Map(witness.blocks)
  const writable = () => rangesOf(witness, operation.writes?.(world, receiver, args) ?? [])
  const ranges = writable()
  const filled = operation.fills ? rangesOf(witness, world.caches.flatMap(tensorsOfCache)) : []
  witness.failFrom(failAt)
  /** @type {{ result: any } | { error: unknown }} */
  let outcome
  try {
    outcome = { result: world.gpt.scope(() => call(receiver, op, args, world)) }
  } catch (error) {
    outcome = { error }
  }
  const allocations = witness.allocations
  if ('error' in outcome) {
    const { error } = outcome
    World.checkError(error, world.tampered)
    if (
      failAt > 0 &&
      allocations >= failAt &&
      error instanceof gpt.GptLayersError &&
      /refuses/.test(error.message)
    ) {
      if (error.code !== 'MEMORY')
        throw new Finding(`a failed allocation became ${error.code}: ${error.message}`)
    }
    witness.end([...filled, ...ranges, ...writable(), witness.generator])
    // Where a property of the fuzzer refuses to be written, the call stops half way.
    const isOurs = error instanceof gpt.GptLayersError || error instanceof Mine
    if (!world.chaotic && isOurs && !operation.isPartial) checkUnchanged(world, error, before, blocks)
  } else {
    witness.end([...filled, ...ranges, ...writable(), ...(operation.draws ? [witness.generator] : [])])
    if (failAt > 0 && allocations >= failAt && !world.chaotic && !world.tampered && !op.startsWith('any')) {
      throw new Finding(`returned although allocation ${failAt} failed`)
    }
    const { result } = outcome
    if (op === 'module.onForward') world.stops.push(result)
    world.keep(result)
  }
  if (op === 'tensor.backward') gradients(world).forEach((gradient) => world.keep(gradient))
  world.checkPlaces()
  world.tidy()
}

/**
 * @param {World} world
 * @param {unknown} error
 * @param {string} before its state
 * @param {Map<number, number>} blocks those before
 */
function checkUnchanged(world, error, before, blocks) {
  const after = world.state()
  if (after !== before) throw new Finding(`${error} changed\n${difference(before, after)}`)
  for (const [address, bytes] of world.witness.blocks) {
    if (blocks.get(address) !== bytes) throw new Finding(`${error} left a block of ${bytes} bytes`)
  }
  const lost = blocks.size - world.witness.blocks.size
  if (lost > 0) throw new Finding(`${error} freed ${lost} blocks`)
}

/** @param {string} before @param {string} after */
function difference(before, after) {
  const [old, now] = [before.split('\n'), after.split('\n')]
  return old.flatMap((line, i) => (line === now[i] ? [] : [`- ${line}`, `+ ${now[i]}`])).join('\n')
}

/**
 * Takes all steps of a run.
 *
 * @param {readonly Step[]} run
 * @returns {Promise<number>} how many calls it made
 * @throws {Finding} that names the step
 */
export async function replay(run) {
  const world = await World.make()
  let i = 0
  try {
    // Frees what the tape still holds.
    world.gpt.scope(() => {
      for (; i < run.length; i++) take(world, run[i])
    })
    world.finish()
    return world.calls
  } catch (error) {
    World.discard()
    const at = i < run.length ? `step ${i + 1}, ${run[i].op}` : 'the end of the run'
    const text =
      error instanceof Finding ? error.message : `the fuzzer failed: ${/** @type {Error} */ (error).stack}`
    throw new Finding(`${at}: ${text}`, { cause: error })
  }
}

/** Random runs. @param {number} seed @param {number} count of runs */
export const fuzz = (seed, count) => find(runs, replay, seed, count)

/** @type {import('./fuzz.js').Fuzzer} */
export const fuzzer = {
  unit: 'calls',
  async batch(seed) {
    const { count, finding } = await fuzz(seed, 100)
    return { count, finding: finding && finding.message, input: JSON.stringify(finding?.input) }
  },
  replay: (input) => findingOf(replay(JSON.parse(input))),
}
