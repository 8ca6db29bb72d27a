// What the package's tests share: the expected values from PyTorch, and how to compare with them.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { load } from 'gpt-layers'

/**
 * What `load` gives, for a test that holds for every build and any number of threads: builds.test.js runs it on
 * each, named in the environment.
 *
 * @param {Parameters<typeof load>[0]} [options]
 */
export async function loadForTest(options) {
  const { GPT_LAYERS_BUILD: build, GPT_LAYERS_THREADS: threads = '1' } = process.env
  const gpt = await load({ build, threads: Number(threads), ...options })
  assert.equal(gpt.build, build ?? gpt.build)
  assert.equal(gpt.threads, options?.threads ?? Number(threads))
  return gpt
}

/** @param {string} name of a file in tests/golden, without .json */
export function golden(name) {
  return JSON.parse(readFileSync(new URL(`../golden/${name}.json`, import.meta.url), 'utf8'))
}

/** The values of a packed tensor, exact. */
export function unpack({ f32, f64 }) {
  const bytes = Uint8Array.from(Buffer.from(f32 ?? f64, 'base64'))
  return f32 === undefined ? new Float64Array(bytes.buffer) : new Float32Array(bytes.buffer)
}

/** Every element within `tolerance`, absolute below 1 and relative above; NaN and infinities must be the same. */
export function assertClose(tensor, packed, tolerance) {
  assert.deepEqual(tensor.shape, packed.shape)
  const expected = unpack(packed)
  tensor.data.forEach((value, i) => {
    const same = Object.is(value, expected[i]) || value === expected[i]
    const difference = Math.abs(value - expected[i]) / Math.max(1, Math.abs(expected[i]))
    // written so that a NaN fails
    if (!same && !(difference <= tolerance)) {
      assert.fail(
        `element ${i} of shape [${tensor.shape}]: expected ${expected[i]}, got ${value}: off by ${difference}`,
      )
    }
  })
}

/** Every element the same float32, zeros by sign as well, NaN as NaN. */
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

/** Every element within `tolerance` of the largest expected one: a sum that cancels has no relative digits of its own. */
export function assertNear(tensor, packed, tolerance, name = 'tensor') {
  assert.deepEqual(tensor.shape, packed.shape, name)
  const expected = unpack(packed)
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
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
 * That `forward`, `backward` and the parameters' gradients are PyTorch's, as tests/golden/common.py's `gradients` gives
 * them, and that they add up over two passes.
 *
 * @param {Module} layer with the case's parameters
 * @param {Tensor} x
 * @param {Tensor} dy
 * @param {{ out: object, dx: object, grads: Record<string, object> }} expected
 * @param {{ forward?: number, backward?: number }} [tolerance] forward: as for assertClose, backward: for assertNear
 */
export function assertGradients(layer, x, dy, { out, dx, grads }, { forward = 1e-5, backward = 2e-5 } = {}) {
  layer.zeroGrad()
  assertClose(layer.forward(x), out, forward)
  assertNear(layer.backward(dy), dx, backward, 'dx')
  const parameters = layer.namedParameters()
  assert.deepEqual(parameters.map(([name]) => name).sort(), Object.keys(grads).sort())
  for (const [name, { grad }] of parameters) assertNear(grad, grads[name], backward, name)
  const once = parameters.map(([, { grad }]) => grad.data.slice())
  layer.forward(x)
  layer.backward(dy)
  parameters.forEach(([name, { grad }], i) => {
    assert.deepEqual(
      [...grad.data],
      [...once[i]].map((value) => 2 * value),
      `${name} after two passes`,
    )
  })
  layer.zeroGrad()
  assert.ok(parameters.every(([, { grad }]) => grad === null))
}

/**
 * That the gradients are what central differences of `forward` say: of L = Σ dy · forward(x) along a random direction,
 * in x and in each parameter.
 *
 * @param {Gpt} gpt
 * @param {Module} layer whose forward is smooth around x
 * @param {Tensor} x
 * @param {{ step?: number, tolerance?: number }} [options] step: as a share of the values; tolerance: relative to the
 *   norms of direction and gradient
 */
export function assertCentralDifferences(gpt, layer, x, { step = 1e-2, tolerance = 2e-3 } = {}) {
  const dy = gpt.scope(() => gpt.randn(layer.forward(x).shape))
  layer.zeroGrad()
  layer.forward(x)
  const dx = layer.backward(dy)
  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0)
  const loss = () => gpt.scope(() => dot(layer.forward(x).data, dy.data))
  const places = [
    ['x', x, dx],
    ...layer.namedParameters().map(([name, tensor]) => [name, tensor, tensor.grad]),
  ]
  for (const [name, tensor, gradient] of places) {
    const original = tensor.data.slice()
    const direction = gpt.scope(() => gpt.randn(tensor.shape).data.slice())
    const along = (h) => {
      tensor.data.set(original.map((value, i) => value + h * direction[i]))
      return loss()
    }
    const slope = (along(step) - along(-step)) / (2 * step)
    tensor.data.set(original)
    const expected = dot(gradient.data, direction)
    const scale = Math.sqrt(
      (dot(gradient.data, gradient.data) * dot(direction, direction)) / direction.length,
    )
    const off = Math.abs(slope - expected)
    if (!(off <= tolerance * Math.max(scale, 1e-3)))
      assert.fail(`${name}: difference ${slope}, gradient ${expected}, scale ${scale}`)
  }
  layer.zeroGrad()
  layer.release()
}

/** That `fn` throws a GptLayersError of this code, whose message matches. */
export function assertRefuses(fn, code, message) {
  assert.throws(fn, (error) => {
    assert.equal(error.name, 'GptLayersError', `threw ${error.stack}`)
    assert.equal(error.code, code, error.message)
    assert.match(error.message, message)
    return true
  })
}
