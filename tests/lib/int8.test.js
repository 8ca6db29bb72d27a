// Int8Weight: its values and scales, what it computes with large and tiny weights, and what it refuses.

/** @import { Int8Weight, LoadOptions } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefuses, heapSize, load, loadForTest, usedMemory } from './support.js'

const gpt = await loadForTest()

/** @param {number} value @returns {number} the nearest integer, the even one in a tie */
const nearest = (value) => {
  const floor = Math.floor(value)
  const isTie = value - floor === 0.5
  return isTie ? floor + (floor & 1) : Math.round(value)
}

/**
 * What a weight should become.
 *
 * @param {number[][]} weight [outputs][inputs]
 * @param {number} groupSize
 */
function quantized(weight, groupSize) {
  const groups = Math.ceil(weight[0].length / groupSize)
  const scales = weight.map((row) =>
    Array.from({ length: groups }, (_, k) => {
      const group = row.slice(k * groupSize, (k + 1) * groupSize)
      return Math.fround(Math.max(...group.map(Math.abs)) / 127)
    }),
  )
  const values = weight.map((row, o) =>
    row.map((w, i) => {
      const scale = scales[o][Math.floor(i / groupSize)]
      return scale === 0 ? 0 : nearest(Math.fround(w / scale))
    }),
  )
  return { values, scales }
}

/** @template T @param {T[][]} rows @returns {T[][]} */
const transposed = (rows) => rows[0].map((_, c) => rows.map((row) => row[c]))

/** @param {Int8Weight | null} weight @returns {Int8Weight} */
function live(weight) {
  assert.ok(weight)
  return weight
}

test('values and scales are the weights rounded to 255 steps of each group, by output, also in a Conv1D', () => {
  for (const [outputs, inputs, groupSize] of [
    [1, 1, 2],
    [3, 5, 2],
    [8, 64, 64],
    [9, 65, 64],
    [17, 33, 8],
    [5, 6, 6],
  ]) {
    const linear = new gpt.Linear(inputs, outputs)
    linear.weight.data[0] = 0
    const rows = /** @type {number[][]} */ (linear.weight.toArray())
    const conv = new gpt.Conv1D(outputs, inputs)
    conv.weight.data.set(transposed(rows).flat())
    linear.quantize({ groupSize })
    conv.quantize({ groupSize })
    const int8 = live(linear.int8Weight)
    const { values, scales } = quantized(rows, int8.groupSize)
    for (const weight of [int8, live(conv.int8Weight)]) {
      assert.deepEqual(
        [...weight.values()],
        values.flat().map((v) => v + 0),
      )
      assert.deepEqual([...weight.scales()], scales.flat())
      assert.deepEqual(weight.shape, [outputs, inputs])
    }
  }
})

test('groups are equally long and at most groupSize; with Infinity there is one', () => {
  for (const [inputs, groupSize, length] of [
    [100, 64, 50],
    [768, 64, 64],
    [65, 64, 34],
    [10, 4, 4],
    [7, Infinity, 8],
    [6, 64, 6],
  ]) {
    const int8 = live(new gpt.Linear(inputs, 3).quantize({ groupSize }).int8Weight)
    assert.equal(int8.groupSize, length)
    assert.equal(int8.scales().length, 3 * Math.ceil(inputs / length))
  }
  assert.equal(live(new gpt.Linear(256, 3).quantize().int8Weight).groupSize, 128)
})

test('dequantize gives each value times its scale, as a tensor of its own', () => {
  for (const layer of [new gpt.Linear(66, 9), new gpt.Conv1D(9, 66)]) {
    layer.quantize({ groupSize: 22 })
    const int8 = live(layer.int8Weight)
    const tensor = int8.dequantize()
    assert.deepEqual(tensor.shape, int8.shape)
    const [values, scales] = [int8.values(), int8.scales()]
    tensor.data.forEach((weight, at) => {
      const [output, input] = [Math.floor(at / 66), at % 66]
      assert.equal(weight, Math.fround(values[at] * scales[output * 3 + Math.floor(input / 22)]))
    })
    tensor.dispose()
    assert.equal(int8.disposed, false)
  }
})

/** @param {number[][]} rows the rows of a weight @returns {number[]} y of x = ones, with int8 weights */
function sums(rows) {
  const linear = new gpt.Linear(rows[0].length, rows.length, { bias: false })
  linear.weight.data.set(rows.flat())
  return [...linear.quantize().forward(gpt.ones([rows[0].length])).data]
}

test('weights near the smallest float beside an ordinary one count as 0, not as NaN', () => {
  assert.deepEqual(sums([[1e-42, 1e-42, 1e-42, 0.5, 1e-42, 1e-42, 1e-42, 1e-42]]), [0.5])
})

test('a large weight of one output leaves all other outputs as exact as before', () => {
  const [first, second] = sums([
    [1e5, 1, 1, 1, 1, 1, 1, 1],
    [0, 1, 1, 1, 1, 1, 1, 1],
  ])
  assert.ok(Math.abs(first - 100_007) <= 7 * (1e5 / 254), String(first)) // half a step of each weight
  assert.ok(Math.abs(second - 7) <= 1e-5, String(second))
  const rows = /** @type {number[][]} */ (gpt.randn([64, 64]).toArray())
  const expected = sums(rows)
  for (const large of [10, 100, 1000]) {
    const [changed, ...others] = sums(rows.map((row, o) => (o === 0 ? [large, ...row.slice(1)] : row)))
    assert.ok(Math.abs(changed - large) <= 64 * large)
    assert.deepEqual(others, expected.slice(1))
  }
})

test('an int8 weight is freed by dispose, and says so afterwards', () => {
  const layer = new gpt.Linear(6, 5).quantize()
  const int8 = live(layer.int8Weight)
  const used = usedMemory(gpt)
  int8.dispose()
  assert.ok(usedMemory(gpt) < used)
  assert.ok(int8.disposed)
  int8.dispose()
  for (const name of /** @type {const} */ (['values', 'scales', 'dequantize'])) {
    const message = `Int8Weight.${name}: int8Weight should be live, got one that was disposed`
    assertRefuses(() => int8[name](), 'DISPOSED', message)
  }
  assertRefuses(
    () => layer.forward(gpt.ones([6])),
    'DISPOSED',
    'Linear.forward: int8Weight should be live, got one that was disposed',
  )
  assertRefuses(
    () => gpt.saveSafetensors(layer, { names: 'ours' }),
    'DISPOSED',
    'saveSafetensors: weight should be live, got one that was disposed',
  )
})

test('an int8 weight takes a byte for each weight, four for each scale, and by dot two for each sum', () => {
  const layer = new gpt.Linear(768, 800, { bias: false })
  const before = usedMemory(gpt)
  layer.quantize()
  assert.equal(
    before - usedMemory(gpt),
    4 * 768 * 800 - (768 * 800 + (gpt.int8Kernel === 'dot' ? 6 : 4) * 6 * 800),
  )
})

test('reading the values takes a few MB of memory at most, however large the weight, and leaves none', () => {
  const layer = new gpt.Linear(1024, 12_000, { bias: false }).quantize()
  const [heap, used] = [heapSize(gpt), usedMemory(gpt)]
  assert.equal(live(layer.int8Weight).values().length, 1024 * 12_000)
  assert.ok(heapSize(gpt) - heap <= 2 ** 23)
  assert.equal(usedMemory(gpt), used)
  layer.dispose()
})

test('an int8 product has the same bits in every build, by each way to multiply, for one row and many', async () => {
  const relaxed = /** @type {const} */ (['dot', 'int16']).map((int8Kernel) => ({
    build: 'relaxed',
    int8Kernel,
  }))
  const runsRelaxed = gpt.build === 'relaxed' || (await load().then((best) => best.build === 'relaxed'))
  const choices = [{ build: 'simd' }, ...(runsRelaxed ? relaxed : [])]
  const [inputs, outputs, rows] = [301, 37, 9]
  const x = Array.from({ length: rows }, (_, r) =>
    Array.from({ length: inputs }, (_, i) => Math.sin(7 * r + i) * (i % 50 ? 1 : 30)),
  )
  const results = await Promise.all(
    choices.map(async (options) => {
      const instance = await load(/** @type {LoadOptions} */ (options))
      const layer = new instance.Linear(inputs, outputs, { bias: false })
      layer.weight.data.forEach((_, i, data) => (data[i] = Math.cos(i * i) * (i % 40 ? 1 : 20)))
      layer.quantize({ groupSize: 128 })
      const whole = layer.forward(instance.tensor(x)).toArray()
      assert.deepEqual(
        x.map((row) => layer.forward(instance.tensor(row)).toArray()),
        whole,
      )
      instance.dispose()
      return whole
    }),
  )
  for (const result of results) assert.deepEqual(result, results[0])
})
