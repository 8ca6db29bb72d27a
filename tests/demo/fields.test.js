// The slice of a section's state that fields.js makes: how it is written to the address, and read
// back.

import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { choice, edits, integer, number, numbers, slice } from '../../build/demo/fields.js'
import example from '../../build/demo/example-slice.js'

const fields = {
  n: integer(6, { min: 1, max: 4096 }),
  rate: number(0.1, { min: 0 }),
  factor: number(20, { min: 1, max: 24, step: 0.5 }),
  kind: choice('layer', ['layer', 'batch']),
  row: numbers([1, 2]),
  rows: numbers([], { lengths: [0, 3] }),
  dots: numbers([0], { each: { min: -1, max: 1 } }),
  cells: edits((name) => /^x\d$/.test(name), { min: -1, max: 1 }),
}
const one = slice(fields, { views: ['kind'] })
/** @type {import('../../build/demo/fields.js').StateOf<typeof one>} */
const other = {
  n: 768,
  rate: 1e-3,
  factor: 1.5,
  kind: 'batch',
  row: [-0.5, 4],
  rows: [1, 2, 3],
  dots: [0.5],
  cells: { x1: 0.5, x2: -1 },
}

test('only values that differ from the defaults go into the address, and they can be read back', () => {
  assert.deepEqual(one.toQuery(one.defaults()), {})
  const query = one.toQuery(other)
  assert.deepEqual(Object.keys(query), Object.keys(fields))
  const read = new Map(new URLSearchParams(new URLSearchParams(query).toString()))
  assert.deepEqual(one.fromQuery(read), { state: other, refused: [] })
  assert.deepEqual(one.fromQuery(new Map()), { state: one.defaults(), refused: [] })
})

test('a number in the address is the shortest that gives the same float32; a seed keeps all its digits', () => {
  const float32 = [0.35, 1 / 3, -1.1754943508222875e-38, 16777217].map(Math.fround)
  const long = slice({ rate: number(0), row: numbers([0, 0, 0, 0]), seed: integer(0) })
  const query = long.toQuery({ rate: float32[0], row: float32, seed: 2 ** 32 - 1 })
  assert.deepEqual(query, {
    rate: '0.35',
    row: '0.35,0.33333334,-1.1754944e-38,16777216',
    seed: '4294967295',
  })
  const { state } = long.fromQuery(new Map(Object.entries(query)))
  assert.deepEqual(state.row.map(Math.fround), float32)
})

test('the example’s rows are float32, as a link has them: 0.35 is the number that was moved to 0.35', () => {
  const rows = { ...example.defaults(), first: [0.35, 0, 0.1, 0, 0, 1].map(Math.fround) }
  const query = example.toQuery(rows)
  assert.deepEqual(query, { first: '0.35,0,0.1,0,0,1' })
  assert.deepEqual(example.fromQuery(new Map(Object.entries(query))).state, rows)
})

test('invalid values in an address are refused by name, and the others take effect', () => {
  const wrong = {
    n: '1.5',
    rate: '-1',
    factor: '1.3',
    kind: 'poem',
    row: '1',
    rows: '1,2',
    dots: '1.5',
    cells: 'y1:1',
    poem: '',
  }
  const { state, refused } = one.fromQuery(new Map(Object.entries(wrong)))
  assert.deepEqual(state, one.defaults())
  assert.deepEqual(refused, Object.keys(wrong))
  for (const n of ['', ' ', '0', '4097', 'Infinity', 'NaN'])
    assert.deepEqual(one.fromQuery(new Map([['n', n]])).refused, ['n'])
  for (const row of ['1,1e39', '1,', '1,x', '1,NaN'])
    assert.deepEqual(one.fromQuery(new Map([['row', row]])).refused, ['row'])
  for (const cells of ['x1:1.5', 'x1:-1.5', 'x1:1:1', 'x1', 'x1:x', 'x1:1,'])
    assert.deepEqual(one.fromQuery(new Map([['cells', cells]])).refused, ['cells'])
  assert.equal(one.fromQuery(new Map(Object.entries({ n: '7', rate: 'x' }))).state.n, 7)
  for (const name of ['toString', 'constructor', '__proto__']) {
    assert.deepEqual(one.fromQuery(new Map([['kind', name]])).refused, ['kind'])
    assert.deepEqual(one.fromQuery(new Map([[name, '1']])), { state: one.defaults(), refused: [name] })
  }
})

test('each call of defaults() returns a new object', () => {
  const first = one.defaults()
  first.row.push(3)
  assert.deepEqual(one.defaults().row, [1, 2])
})

const sections = new URL('../../build/demo/sections/', import.meta.url)
const ids = readdirSync(sections).filter((id) => existsSync(new URL(`${id}/slice.js`, sections)))

/** What may stand in an address: numbers near every limit, lists of them, words. */
const number_ = fc.oneof(
  fc.integer({ min: -3, max: 1002 }),
  fc.constantFrom(0.19, 0.2, 3, 3.01, 4097, 2 ** 32 - 1, 2 ** 32, 1e6, 1e7, 3.4e38, 1e39, NaN, -0.5),
  fc.float({ min: -5, max: 5, noNaN: true }),
)
const texts = fc.oneof(
  number_.map(String),
  fc.array(number_, { maxLength: 13 }).map(String),
  fc.constantFrom('', 'no', 'yes', 'relu', 'gelu', 'all', 'post', 'mean', 'x11:3', 'x16:1', 'true', 'poem'),
  fc.string({ maxLength: 401 }),
)

for (const id of ids) {
  const { default: slice } = await import(`../../build/demo/sections/${id}/slice.js`)
  const names = Object.keys(slice.defaults())
  test(`?${id}.…: each value is refused by name, or kept through an address`, () => {
    fc.assert(
      fc.property(fc.constantFrom(...names), texts, (name, text) => {
        const { state, refused } = slice.fromQuery(new Map([[name, text]]))
        if (refused.length > 0) {
          assert.deepEqual(refused, [name])
          assert.deepEqual(state, slice.defaults())
          return
        }
        const query = slice.toQuery(state)
        const fromAddress = slice.fromQuery(new Map(Object.entries(query)))
        assert.deepEqual(fromAddress.refused, [])
        assert.deepEqual(slice.toQuery(fromAddress.state), query)
      }),
      { numRuns: 300 },
    )
  })

  test(`?${id}.…: no number is without limits`, () => {
    for (const [name, value] of Object.entries(slice.defaults())) {
      const list = Array.isArray(value)
      if (!list && typeof value !== 'number') continue
      for (const beyond of [-1e39, 1e39]) {
        /** @type {string} */
        const line = (list && value.map(() => beyond).join()) || String(beyond)
        assert.deepEqual(slice.fromQuery(new Map([[name, line]])).refused, [name], `${name}=${line}`)
      }
    }
  })
}
