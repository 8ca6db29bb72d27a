// Where the dots of a row and their numbers stand, and how a finger takes them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { spread, stack } from '../../build/demo/components/dots.js'
import { layout, leaving } from '../../build/demo/components/rows.js'
import { axisOf } from '../../build/demo/sections/worked-example/axis.js'
import { scaleRoot, scaleWithin } from '../../build/demo/scales.js'
import * as browser from './browser.js'

const site = browser.useSite()

const RADIUS = 10
const places = fc.array(fc.double({ min: 0, max: 300, noNaN: true }), { minLength: 1, maxLength: 12 })

test('no two dots overlap, and each stands on the line or touches another one', () => {
  fc.assert(
    fc.property(places, (xs) => {
      const ys = stack(xs, RADIUS, Infinity)
      const apart = (/** @type {number} */ i, /** @type {number} */ k) =>
        Math.hypot(xs[i] - xs[k], ys[i] - ys[k])
      xs.forEach((_, i) => {
        const others = xs.map((_, k) => k).filter((k) => k !== i)
        assert.ok(others.every((k) => apart(i, k) > 2 * RADIUS - 1e-3))
        assert.ok(ys[i] === 0 || others.some((k) => apart(i, k) < 2 * RADIUS + 1e-3))
      })
    }),
  )
})

test('dots that have room stand on the line; a stack that is too high is pressed together', () => {
  assert.deepEqual(stack([0, 20, 45], RADIUS, 100), [0, 0, 0])
  assert.deepEqual(stack([5, 5, 5], RADIUS, 100), [0, 20, 40])
  assert.deepEqual(stack([5, 5, 5], RADIUS, 30), [0, 15, 30])
})

test('numbers keep their order and their distance, stay between the ends, and move only where they must', () => {
  fc.assert(
    fc.property(places, (xs) => {
      const ends = /** @type {const} */ ([0, 600])
      const middles = spread(xs, 40, ends)
      const order = xs.map((_, i) => i).sort((a, b) => xs[a] - xs[b] || a - b)
      order.slice(1).forEach((i, k) => assert.ok(middles[i] - middles[order[k]] > 40 - 1e-6))
      assert.ok(middles.every((at) => at > ends[0] - 1e-6 && at < ends[1] + 1e-6))
      const free = order.every((i, k) => k === 0 || xs[i] - xs[order[k - 1]] >= 40)
      if (free) middles.forEach((at, i) => assert.ok(Math.abs(at - xs[i]) < 1e-6))
    }),
  )
})

test('labels that would overlap stand on both sides of where they should, within the ends', () => {
  const ends = /** @type {[number, number]} */ ([0, 300])
  for (const [xs, expected] of /** @type {[number[], number[]][]} */ ([
    [
      [100, 100, 100],
      [60, 100, 140],
    ],
    [
      [100, 110, 250],
      [85, 125, 250],
    ],
    [
      [140, 100, 130],
      [163.33, 83.33, 123.33],
    ],
    [
      [0, 0],
      [0, 40],
    ],
    [
      [300, 300, 290],
      [260, 300, 220],
    ],
  ]))
    assert.deepEqual(
      spread(xs, 40, ends).map((x) => Number(x.toFixed(2))),
      expected,
      `of ${xs}`,
    )
})

const anything = fc.array(fc.double(), { minLength: 1, maxLength: 12 })

test('whatever the numbers are, each has a finite place; NaN has neither a dot nor a label', () => {
  fc.assert(
    fc.property(anything, (values) => {
      for (const scale of [scaleRoot, scaleWithin])
        assert.ok(values.map(scale([1, 2.5], [16, 600])).every(Number.isFinite))
      const x = scaleWithin([-2.5, 2.5], [16, 600])
      const frame = { x, left: 16, right: 600, width: 616, narrow: false }
      const [{ xs, ys, labels }] = layout([{ key: 'row', values, numbers: true }], frame)
      assert.ok(ys.every(Number.isFinite))
      for (const places of [xs, labels])
        places.forEach((at, i) => assert.equal(Number.isFinite(at), !Number.isNaN(values[i])))
    }),
  )
})

test('on a narrow figure the label has a line of its own where the statistics would cover it', () => {
  const row = {
    key: 'row',
    label: 'A token, 768 numbers',
    values: [0],
    mean: 0.51,
    variance: 0.08,
  }
  const lines = (/** @type {number} */ width) => {
    const frame = {
      x: scaleWithin([-1, 1], [16, width - 16]),
      left: 16,
      right: width - 16,
      width,
      narrow: true,
    }
    return new Set(layout([row], frame)[0].headlines).size
  }
  assert.deepEqual([lines(288), lines(340)], [2, 1])
})

test('one axis holds all numbers that are finite, and normalized rows', () => {
  assert.deepEqual(axisOf([-1, NaN, 2.4]), [-2.5, 2.5])
  assert.deepEqual(axisOf([-7.2, 0, Infinity]), [-7.5, 2.5])
  assert.deepEqual(axisOf([1, 123]), [-2.5, 150])
  assert.deepEqual(axisOf([-3.4e38, 3.4e38]), [-3.5e38, 3.5e38])
})

test('a value beyond the axis has an arrow at its end, to its side', () => {
  const x = scaleWithin([-2, 2], [0, 400])
  assert.deepEqual(
    [-3, -2, 0, 2, Infinity, NaN].map((value) => leaving(x, value, 10)),
    ['M0 6l-5 4l5 4', '', '', '', 'M400 6l5 4l-5 4', ''],
  )
})

browser.test(
  'a swipe that begins on a dot scrolls the page and changes nothing; a sideways drag moves the dot',
  async () => {
    const { page } = await site.open('?embed=opening', {
      width: 360,
      height: 400,
      features: { 'prefers-reduced-motion': 'reduce' },
    })
    const dots = () =>
      page.$$eval('[role="slider"]', (all) => all.map((one) => one.getAttribute('aria-valuenow')).join())
    const before = await dots()
    const [dot] = await page.$$('[role="slider"]')
    // Straight up, and by a thumb that goes sideways as well.
    for (const across of [0, 12]) {
      await page.evaluate(() => scrollTo(0, 0))
      await browser.dragByFinger(page, dot, across, -160)
      await browser.waitInPage(page, () => scrollY > 60)
      assert.equal(await dots(), before)
    }
    await browser.dragByFinger(page, dot, 60)
    assert.notEqual(await dots(), before)
    await page.close()
  },
)
