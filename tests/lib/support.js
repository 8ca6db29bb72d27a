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
      assert.fail(`element ${i} of shape [${tensor.shape}]: expected ${expected[i]}, got ${value}: off by ${difference}`)
    }
  })
}

/** Every element the same float32, zeros by sign as well, NaN as NaN. */
export function assertSame(tensor, packed) {
  assert.deepEqual(tensor.shape, packed.shape)
  const expected = unpack(packed)
  tensor.data.forEach((value, i) => {
    assert.ok(Object.is(value, expected[i]), `element ${i} of [${tensor.shape}]: expected ${expected[i]}, got ${value}`)
  })
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
