import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

import { formatTensor } from '../../build/lib/tensor/print.js'

/** PyTorch's own output, made by tests/golden/printing.py, which explains the fields. */
const cases = JSON.parse(readFileSync(new URL('../golden/printing.json', import.meta.url), 'utf8'))

/**
 * @typedef {{ arange: number, scale: number, offset: number, set: [number, number | string][] }} Recipe
 * @param {(number | string)[] | Recipe} values
 */
function expand(values) {
  // Number('nan') is NaN, as for any word; 'inf' must be spelled out.
  const toNumber = (/** @type {number | string} */ x) => Number(String(x).replace('inf', 'Infinity'))
  if (Array.isArray(values)) return Float32Array.from(values, toNumber)
  const { arange, scale, offset, set } = values
  const result = Float32Array.from({ length: arange }, (_, i) => i * scale + offset)
  for (const [index, value] of set) result[index] = toNumber(value)
  return result
}

for (const { name, shape, values, sciMode, precision, expected } of cases) {
  test(`prints as PyTorch does: ${name}`, () => {
    assert.equal(formatTensor(expand(values), shape, { sciMode, precision }), expected)
  })
}

test('there are golden values to compare with', () => {
  assert.ok(cases.length >= 60, `only ${cases.length} cases`)
})

test('by default the notation is automatic, with four digits', () => {
  assert.equal(formatTensor([0.5, 40], [2]), 'tensor([ 0.5000, 40.0000])')
  assert.equal(formatTensor([0.5, 4000], [2], {}), 'tensor([5.0000e-01, 4.0000e+03])')
})

test('the arguments are not modified', () => {
  const data = Object.freeze([1.5, 2])
  const shape = Object.freeze([2, 1])
  formatTensor(data, shape)
  assert.deepEqual(
    [data, shape],
    [
      [1.5, 2],
      [2, 1],
    ],
  )
})

test('printing a huge tensor reads its edges only', () => {
  const read = new Set()
  const data = new Proxy({ length: 1e12 }, { get: (_, key) => read.add(key) && 0.5 })
  const text = formatTensor(data, [1e6, 1e6])
  assert.match(text, /^tensor\(\[\[0\.5000, 0\.5000, 0\.5000, {2}\.\.\., 0\.5000, 0\.5000, 0\.5000\],\n/)
  assert.equal(read.size, 36)
})
