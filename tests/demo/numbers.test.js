// How the page writes numbers, and reads those that are typed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calculation, term } from '../../build/demo/calculation.js'
import { cellText, exact, parseNumber, shortest, shortText, subscript } from '../../build/demo/numbers.js'

test('a cell has four decimals, fewer for a large number, and a typographic minus', () => {
  const written = {
    0.12345: '0.1235',
    '-0.5': '−0.5000',
    '-0.00001': '0.0000',
    999.99: '999.9900',
    1000: '1000.00',
    9999.5: '9999.50',
    10000: '10000.0',
    99999: '99999.0',
    100000: '1.0·10⁵',
    '-1e-30': '0.0000',
    '-123456': '−1.2·10⁵',
    NaN: '—',
    Infinity: '∞',
    '-Infinity': '−∞',
  }
  for (const [number, text] of Object.entries(written)) assert.equal(cellText(Number(number)), text, number)
  assert.deepEqual(
    [cellText(0.126, 2), cellText(-0.001, 2), cellText(1234.5678, 2)],
    ['0.13', '0.00', '1234.57'],
  )
})

test('on a phone a cell has two decimals, fewer for a large number', () => {
  const written = [-0.126, 99.994, 100, 999.94, 1000.4, -1234.5, 99999, 1e5]
  const texts = ['−0.13', '99.99', '100.0', '999.9', '1000', '−1234', '99999', '1.0·10⁵']
  assert.deepEqual(written.map(shortText), texts)
})

test('all digits of a number are those of float32, and what is no number is as in a cell', () => {
  const written = [0.1, -0.5, 1e30, -1e-30, NaN, Infinity, -Infinity].map((value) =>
    exact(Math.fround(value)),
  )
  assert.deepEqual(written, ['0.1', '−0.5', '1·10³⁰', '−1·10⁻³⁰', '—', '∞', '−∞'])
})

test('a printed calculation works out with the digits that it prints', () => {
  const divide = (/** @type {number[]} */ ...[value, mean, variance]) =>
    (value - mean) / Math.sqrt(variance + 1e-5)
  assert.deepEqual(calculation([0.22598, 0.13239, 0.01924], divide, 0.67449), {
    operands: ['0.22598', '0.13239', '0.01924'],
    equals: '=',
    result: '0.6745',
  })
  for (let i = 0; i < 2000; i++) {
    // Of every size, of both signs, and near one another.
    const size = 10 ** ((i % 17) - 6)
    const value = Math.fround(size * Math.sin(i))
    const numbers = [value, Math.fround(value + 0.1 * size * Math.cos(3 * i)), Math.fround(size ** 2 / 7)]
    const { operands, equals, result } = calculation(numbers, divide, Math.fround(divide(...numbers)))
    const typed = operands.map((text) =>
      Number(
        text
          .replace('−', '-')
          .replace('·10', 'e')
          .replace(/[⁰¹²³⁴-⁹]/g, (digit) => String('⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(digit))),
      ),
    )
    assert.equal(equals, '=', String(numbers))
    assert.equal(cellText(divide(...typed)), result, String(operands))
  }
  assert.deepEqual(calculation([1e30, 1e29, Infinity], divide, 0).result, '0.0000')
  assert.equal(calculation([1, 2], (a, b) => a + b, 4).equals, '≈')
  assert.deepEqual(['−0.5', '0.5'].map(term), ['(−0.5)', '0.5'])
})

test('the shortest decimal of a float32 rounds to this float32', () => {
  for (const [value, text] of /** @type {const} */ ([
    [0.1, '0.1'],
    [1 / 3, '0.33333334'],
    [-16777215, '-16777215'],
    [3.4028234663852886e38, '3.4028235e+38'],
    [1e-45, '1e-45'],
    [0, '0'],
  ])) {
    assert.equal(shortest(Math.fround(value)), text)
    assert.equal(Math.fround(Number(shortest(Math.fround(value)))), Math.fround(value))
  }
})

test('a number may be typed with a comma, a typographic minus or spaces; what is no float32 is refused', () => {
  const read = { 1.5: 1.5, '1,5': 1.5, '−2': -2, ' .5 ': 0.5, '1e3': 1000, '-0,25': -0.25 }
  for (const [text, value] of Object.entries(read)) assert.equal(parseNumber(text), value, text)
  for (const text of ['', ' ', '−', 'x', '1,2,3', '1.2,3', '1e39', 'Infinity', 'NaN'])
    assert.equal(parseNumber(text), null, text)
})

test('digits become subscripts, and other characters stay', () => {
  assert.equal(subscript('x10-29'), 'x₁₀-₂₉')
})
