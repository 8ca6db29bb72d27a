// Values that a caller may pass by mistake.

/** @import { Tensor } from 'gpt-layers' */
/** @import { Gpt } from '../lib/support.js' */

/** What the fuzzer's own functions throw. The package lets it pass. */
export class Mine extends Error {
  constructor() {
    super("the fuzzer's own error")
    this.name = 'Mine'
  }
}

/**
 * @typedef {object} Surroundings
 * @property {Gpt} gpt
 * @property {{ tensor: Tensor, module: any }} dead disposed ones
 * @property {(i: number) => Tensor} tensor picks a tensor that is not disposed
 * @property {(i: number) => any} module picks a layer that is not disposed
 */

/** @param {any[]} values @returns {() => any} gives one after the other, then the last again */
const inTurn = (values) => {
  let i = 0
  return () => values[Math.min(i++, values.length - 1)]
}

/** @param {number} depth @returns {any[]} */
const nested = (depth) => {
  /** @type {any[]} */
  let value = [1]
  for (let i = 1; i < depth; i++) value = [value]
  return value
}

/** @param {number} i @returns {number[]} */
const withHole = (i) => {
  const array = [2, 2, 3]
  delete array[i]
  return array
}

const fail = () => {
  throw new Mine()
}

/**
 * By name. `i` varies a value.
 *
 * @type {Record<string, (world: Surroundings, i: number) => unknown>}
 */
export const STRANGE = {
  undefined: () => undefined,
  symbol: () => Symbol('strange'),
  bigint: (_, i) => BigInt(i) - 1n,
  NaN: () => NaN,
  minusZero: () => -0,
  infinity: (_, i) => (i % 2 ? Infinity : -Infinity),
  huge: (_, i) => [2 ** 53, 2 ** 53 - 1, 2 ** 32, 2 ** 31, 2 ** 29 + 1, 2 ** 30 - 1, 1e308][i % 7],
  fraction: (_, i) => i + 0.5,
  text: (_, i) => ['', '2', 'tanh', '__proto__', 'constructor', 'x'.repeat(1000), '\ud800'][i % 7],
  function: (_, i) => [() => 1, class A {}, async () => 1, function* () {}, Math.max][i % 5],
  boxed: (_, i) => [Object(2), Object('tanh'), Object(true), Object(1n), Object(Symbol('boxed'))][i % 5],
  object: (_, i) =>
    [
      {},
      Object.create(null),
      new Date(0),
      /x/,
      new Map(),
      new Set([1]),
      new Error('given'),
      globalThis,
      Math,
    ][i % 9],
  promise: () => new Promise(() => {}),
  thenable: (world, i) => ({ then: fail, x: world.tensor(i) }),
  valueOf: () => ({ valueOf: () => 2, toString: () => '2', [Symbol.toPrimitive]: () => 2 }),
  arrayLike: () => ({ length: 2, 0: 1, 1: 2 }),
  iterable: () => ({
    *[Symbol.iterator]() {
      yield 2
      yield 2
    },
  }),
  sparse: (_, i) => [withHole(0), withHole(1), new Array(3), new Array(10_000)][i % 4],
  extraProperties: () => Object.assign([2, 2], { foo: 1, [-1]: 5 }),
  /** Whether a number is read once. */
  changing: (_, i) => {
    const values = [
      [2, 1000],
      [2, 2, 1000],
      [2, 2, 2, 1000],
      [1, -1],
      [2, 'x'],
      [0, 4, 4000],
      [2, Symbol('later')],
    ]
    const next = inTurn(values[i % values.length])
    return Object.defineProperty([2, 2], i % 3 === 0 ? 1 : 0, { get: next, enumerable: true })
  },
  cyclic: (_, i) => {
    /** @type {any[]} */
    const array = [1]
    array[i % 2] = array
    return array
  },
  deep: (_, i) => nested(i % 2 ? 20_000 : 2000),
  wide: () => new Array(5000).fill(1),
  typed: (_, i) =>
    [
      new Float32Array([1, 2]),
      new Float64Array([1, NaN]),
      new Int8Array(2),
      new Uint8ClampedArray(4),
      new Uint32Array([0, 2 ** 32 - 1]),
      new Int32Array([0, 1]),
      new Float32Array(0),
      new BigInt64Array(2),
      new BigUint64Array(2),
      new DataView(new ArrayBuffer(8)),
      new ArrayBuffer(8),
      new SharedArrayBuffer(8),
      new Float32Array(new SharedArrayBuffer(8)),
      Buffer.from('abcd'),
    ][i % 14],
  detached: (_, i) => {
    const buffer = new ArrayBuffer(16)
    const view = i % 2 ? new Float32Array(buffer) : new Uint8Array(buffer)
    structuredClone(buffer, { transfer: [buffer] })
    return i % 3 === 2 ? buffer : view
  },
  resized: (_, i) => {
    /** @type {any} */
    const Resizable = ArrayBuffer
    const buffer = new Resizable(16, { maxByteLength: 64 })
    const view = [
      () => new Float32Array(buffer),
      () => new Float32Array(buffer, 8),
      () => new Float32Array(buffer, 0, 4),
    ][i % 3]()
    buffer.resize(i % 2 ? 64 : 4)
    return view
  },
  heapView: (world, i) => new Float32Array(world.gpt.exports.memory.buffer, 16 * (i % 100), 4),
  liveView: (world, i) => world.tensor(i).data,
  likeTensor: (world, i) => ({
    ...world.tensor(i),
    shape: [2, 2],
    size: 4,
    data: [1, 2, 3, 4],
    byteOffset: 16,
    disposed: false,
  }),
  deadTensor: (world) => world.dead.tensor,
  deadModule: (world) => world.dead.module,
  namespace: ({ gpt }) => gpt,
  tensors: (world, i) => [world.tensor(i), world.tensor(i + 1)],
  twice: (world, i) => [world.tensor(i), world.tensor(i)],
}
