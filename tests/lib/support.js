// What the tests of the package share: PyTorch's values and how to compare with them, and how to wait.

/** @import { TestContext } from 'node:test' */
/** @import { ErrorCode, LoadOptions, Module, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { setImmediate as nextTask } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { GptLayersError } from 'gpt-layers'

/**
 * A tensor as tests/golden/common.py's `pack` writes it: float32 or float64 values in base64, little-endian.
 *
 * @typedef {{ shape: readonly number[], f32?: string, f64?: string }} Packed
 */

/** @typedef {Pick<Module, keyof Module>} Layer Every layer, whichever values its forward takes. */

/** @typedef {typeof import('gpt-layers')} Gpt The package. */

/** How many copies of the package there are. */
let copies = 0

/** @returns {Promise<Gpt>} a copy of the package, which has a runtime of its own, as a second program would */
export const copy = () => import(`${import.meta.resolve('gpt-layers')}?${++copies}`)

/**
 * Loads a copy of the package.
 *
 * @param {LoadOptions} [options]
 */
export async function load(options) {
  const gpt = await copy()
  await gpt.load(options)
  return gpt
}

/**
 * A copy of the package for a test that should hold on every build and any number of threads. builds.test.js runs such
 * tests on each of them, named in the environment. Its generator is seeded, so every run computes with the
 * same numbers.
 *
 * @param {LoadOptions} [options]
 */
export async function loadForTest(options) {
  const { GPT_LAYERS_BUILD, GPT_LAYERS_THREADS: threads = '1' } = process.env
  const build = /** @type {Gpt['build'] | undefined} */ (GPT_LAYERS_BUILD)
  const gpt = await load({ build, threads: Number(threads), ...options })
  assert.equal(gpt.build, build ?? gpt.build)
  assert.equal(gpt.threads, options?.threads ?? Number(threads))
  gpt.manualSeed(123)
  return gpt
}

/** The builds that exist here; the relaxed ones need a compiler that knows relaxed SIMD. */
export const builds = readdirSync(new URL('../../dist/wasm/', import.meta.url))
  .filter((name) => name.endsWith('.wasm'))
  .map((name) => name.slice(0, -'.wasm'.length))

/**
 * For calls that TypeScript would refuse: a JavaScript caller can make them, so the package checks its
 * arguments.
 *
 * @template T
 * @param {T} value
 * @returns {any} the same value without its type
 */
export const untyped = (value) => value

/**
 * @param {string} name the name of a file in tests/golden, without .json
 * @returns {any} its values, which JSON does not type
 */
export function golden(name) {
  return JSON.parse(readFileSync(new URL(`../golden/${name}.json`, import.meta.url), 'utf8'))
}

/** @param {Packed} packed @returns {Float32Array | Float64Array} its values, exact */
export function unpack({ f32, f64 }) {
  const bytes = Uint8Array.from(Buffer.from(f32 ?? f64 ?? '', 'base64'))
  return f32 === undefined ? new Float64Array(bytes.buffer) : new Float32Array(bytes.buffer)
}

/** @param {Float32Array} data @param {readonly number[]} shape @returns {Packed} */
export function pack(data, shape) {
  return { shape, f32: Buffer.from(data.slice().buffer).toString('base64') }
}

/**
 * Asserts that |x - expected| <= tolerance · max(1, |expected|) for every element. A NaN or an infinity
 * should be equal.
 *
 * @param {Tensor} tensor
 * @param {Packed} packed
 * @param {number} tolerance
 */
export function assertClose(tensor, packed, tolerance) {
  assert.deepEqual(tensor.shape, packed.shape)
  const expected = unpack(packed)
  tensor.data.forEach((value, i) => {
    const same = Object.is(value, expected[i]) || value === expected[i]
    const difference = Math.abs(value - expected[i]) / Math.max(1, Math.abs(expected[i]))
    // !(a <= b) instead of a > b, so that a NaN fails
    if (!same && !(difference <= tolerance)) {
      assert.fail(
        `element ${i} of shape [${tensor.shape}]: expected ${expected[i]}, got ${value}, difference ${difference}`,
      )
    }
  })
}

/**
 * Asserts that every element is the same float32: the sign of a zero counts, and NaN equals NaN.
 *
 * @param {Tensor} tensor
 * @param {Packed} packed
 */
export function assertSame(tensor, packed) {
  assert.deepEqual(tensor.shape, packed.shape)
  const expected = unpack(packed)
  tensor.data.forEach((value, i) => {
    assert.ok(
      Object.is(value, expected[i]),
      `element ${i} of [${tensor.shape}]: expected ${expected[i]}, got ${value}`,
    )
  })
}

/**
 * Asserts that |x - expected| <= tolerance · max |expected| for every element. This suits gradients: a sum
 * whose terms cancel has a small value and the rounding error of its large terms.
 *
 * @param {Tensor} tensor
 * @param {Packed} packed
 * @param {number} tolerance
 * @param {string} [name] for the message
 */
export function assertNear(tensor, packed, tolerance, name = 'tensor') {
  assert.deepEqual(tensor.shape, packed.shape, name)
  const expected = unpack(packed)
  let largest = 0
  for (const value of expected) largest = Math.max(largest, Math.abs(value))
  tensor.data.forEach((value, i) => {
    const difference = Math.abs(value - expected[i])
    if (!(difference <= tolerance * largest)) {
      assert.fail(
        `${name}: element ${i} of [${tensor.shape}]: expected ${expected[i]}, got ${value}; largest ${largest}`,
      )
    }
  })
}

/**
 * @param {Tensor} parameter
 * @returns {Tensor} its gradient
 * @throws {assert.AssertionError} where it has none
 */
export function gradientOf({ grad }) {
  assert.ok(grad, 'the parameter should have a gradient')
  return grad
}

/**
 * A forward and a backward pass. The parameters' `.grad` is there afterwards, too.
 *
 * @param {Layer} layer
 * @param {Tensor} x requires a gradient from here on
 * @param {Tensor} dy the gradient of the output
 * @returns {Tensor} dx, which belongs to the caller: `x.grad` is null
 */
export function backwardThrough(layer, x, dy) {
  x.requiresGrad = true
  layer.forward(x).backward(dy)
  const dx = gradientOf(x)
  x.grad = null
  return dx
}

/**
 * Asserts that `fn` throws a GptLayersError with this code and this message, or with one that matches.
 *
 * @param {() => unknown} fn
 * @param {ErrorCode} code
 * @param {string | RegExp} message
 */
export function assertRefuses(fn, code, message) {
  assert.throws(fn, (error) => {
    assert.ok(error instanceof GptLayersError, `threw ${error}`)
    assert.equal(error.code, code, error.message)
    if (typeof message === 'string') assert.equal(error.message, message)
    else assert.match(error.message, message)
    return true
  })
}

/**
 * The parameters as tests/golden/layers.py's `shake` makes them: every bias, scale and shift is drawn anew, and
 * attention's matrices are multiplied. With the initial weights, of deviation 0.02, all tokens would weigh the
 * same.
 *
 * @template {Layer} M
 * @param {Gpt} gpt
 * @param {M} module
 * @param {number} [times]
 * @returns {M}
 */
export function shake(gpt, module, times = 16) {
  for (const [name, parameter] of module.namedParameters()) {
    if (/(bias|scale|shift)$/.test(name)) redraw(gpt, parameter)
    else if (/c_(attn|proj)\.weight$/.test(name))
      parameter.data.set(parameter.data.map((value) => times * value))
  }
  return module
}

/**
 * Draws a tensor's values again.
 *
 * @param {Gpt} gpt
 * @param {Tensor} tensor
 */
export function redraw(gpt, tensor) {
  const values = gpt.scope(() => gpt.randn(tensor.shape).data.slice()) // before `data`, which this may move
  tensor.data.set(values)
}

/**
 * @param {{ bias: Tensor | null }} layer
 * @returns {Tensor} its bias
 * @throws {assert.AssertionError} where it has none
 */
export function biasOf({ bias }) {
  assert.ok(bias, 'the layer should have a bias')
  return bias
}

/** @param {Tensor} matrix @returns {number[][]} its rows */
export const rowsOf = (matrix) => /** @type {number[][]} */ (matrix.toArray())

/** @param {Gpt} gpt @returns {number} bytes of WebAssembly memory */
export const heapSize = (gpt) => gpt.exports.memory.buffer.byteLength

/** @type {WeakMap<Gpt, any>} */
const memories = new WeakMap()

/** @param {Gpt} gpt @returns {any} its Memory, which the package hides */
export function memoryOf(gpt) {
  if (!memories.has(gpt)) {
    const tensor = gpt.zeros([])
    memories.set(gpt, untyped(gpt.Tensor).live(tensor).memory)
    tensor.dispose()
  }
  return memories.get(gpt)
}

/** @param {Gpt} gpt @returns {number} bytes that are allocated */
export const usedMemory = (gpt) => memoryOf(gpt).used

/**
 * Asserts that an asynchronous call has left no memory allocated. While the call waits, the collector may free
 * tensors of other tests. So the used memory may be less than before, but not more.
 *
 * @param {Gpt} gpt
 * @param {number} before what `usedMemory` was
 */
export const assertNothingLeft = (gpt, before) =>
  assert.ok(usedMemory(gpt) <= before, `${usedMemory(gpt)} bytes, ${before} before`)

setFlagsFromString('--expose-gc')
/** Collects garbage now. Finalizers run in later tasks. @type {() => void} */
export const collectGarbage = runInNewContext('gc')

/**
 * Runs a function while every object inherits properties with these names, as some programs have it: enumerable
 * functions of Object.prototype.
 *
 * @template T
 * @param {readonly string[]} names
 * @param {() => T | Promise<T>} fn
 * @returns {Promise<T>}
 */
export async function inheriting(names, fn) {
  for (const name of names) untyped(Object.prototype)[name] = () => name
  try {
    return await fn()
  } finally {
    for (const name of names) delete untyped(Object.prototype)[name]
  }
}

/** Milliseconds; far more than any wait takes on a busy machine. */
export const PATIENCE = 120_000

/**
 * Waits for a condition that another thread or a finalizer makes true.
 *
 * @param {() => boolean} condition asked once per task
 * @param {string} what for the message
 */
export async function until(condition, what) {
  const end = performance.now() + PATIENCE
  while (!condition()) {
    if (performance.now() > end) assert.fail(`waited ${PATIENCE} ms in vain until ${what}`)
    await nextTask()
  }
}

/**
 * Replaces a property of the global object during a test.
 *
 * @param {TestContext} t
 * @param {string} name
 * @param {unknown} value
 */
export function replaceGlobal(t, name, value) {
  const original = Object.getOwnPropertyDescriptor(globalThis, name)
  t.after(() => {
    if (original) Object.defineProperty(globalThis, name, original)
    else Reflect.deleteProperty(globalThis, name)
  })
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
}
