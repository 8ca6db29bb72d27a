// A figure draws what it says. Each mark stands at its number on the axis. The texts, the sentence for a screen
// reader, the controls and the colors show the same numbers.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { eventually } from './browser.js'

/**
 * Asserts that every figure of the page draws what it says. Waits for the first: a figure draws once it has a size.
 *
 * @param {Page} page
 * @param {string} when
 */
export async function assertFigures(page, when) {
  /** @type {string[]} */
  let wrong = []
  const look = async () => {
    const found = await page.evaluate(compare)
    wrong = found.wrong
    return found.seen > 0
  }
  await eventually(look, `no figure, ${when}`)
  assert.deepEqual(wrong, [], when)
}

/** Runs in the page. @returns what is wrong, and how many marks were compared */
function compare() {
  /** @type {string[]} */
  const wrong = []
  let seen = 0
  const page = document.body
  /** The number that a text says; NaN where it has a power of ten. @param {unknown} text */
  const read = (text) =>
    Number(String(text).trim().replace('−', '-').replaceAll(',', '').replace('∞', 'Infinity') || NaN)
  const get = (/** @type {Element} */ one, /** @type {string} */ name) => Number(one.getAttribute(name))
  const all = (/** @type {Element} */ one, /** @type {string} */ selector) => [
    ...one.querySelectorAll(selector),
  ]
  const textsOf = (/** @type {Element[]} */ some) => some.map(({ textContent }) => textContent ?? '')
  const placesOf = (/** @type {Element} */ strokes) =>
    (strokes.getAttribute('d')?.match(/M[-\d.]+/g) ?? []).map((at) => Number(at.slice(1)))
  const style = (/** @type {Element} */ one, /** @type {string} */ name) =>
    getComputedStyle(one).getPropertyValue(name)
  const root = (/** @type {number} */ value) => Math.sign(value) * Math.sqrt(Math.abs(value))
  const meanOf = (/** @type {number[]} */ some) => some.reduce((sum, one) => sum + one, 0) / some.length
  const varianceOf = (/** @type {number[]} */ some) => meanOf(some.map((one) => (one - meanOf(some)) ** 2))

  /** @param {Element} where @param {string} what @param {unknown} is @param {unknown} wanted @param {number} [by] */
  const same = (where, what, is, wanted, by = 0) => {
    seen++
    if (!Object.is(is, wanted) && !(Math.abs(Number(is) - Number(wanted)) <= by))
      wrong.push(`${where.closest('.section')?.id}: ${what} is ${is}, not ${wanted}`)
  }

  /** The axis with these ticks. Its scale is linear, or a square root. @param {{ at: number, value: number }[]} ticks */
  function axisOf(ticks) {
    const [first, last] = [ticks[0], ticks[ticks.length - 1]]
    const scales = [(/** @type {number} */ value) => value, root].map((of, i) => {
      const unit = (last.at - first.at) / (of(last.value) - of(first.value))
      const to = (/** @type {number} */ value) => first.at + unit * (of(value) - of(first.value))
      const from = (/** @type {number} */ at) => {
        const value = (at - first.at) / unit + of(first.value)
        return i ? value * Math.abs(value) : value
      }
      return { unit, to, from }
    })
    const fitting = scales.filter(({ to }) => ticks.every(({ at, value }) => Math.abs(to(value) - at) < 0.1))
    if (!fitting.length) wrong.push(`no scale has the ticks ${JSON.stringify(ticks)}`)
    return { ...(fitting[0] ?? scales[0]), sure: fitting.length === 1 }
  }
  const ticksOf = (/** @type {Element[]} */ some) =>
    some.map((one) => ({ at: get(one, 'x'), value: read(one.textContent) }))

  /** Compares a color with its number: with the sign, and with the distance from 0. @param {Element} one @param {number} value @param {number} strength */
  function assertColor(one, value, strength) {
    same(one, `the color’s strength of ${value}`, strength, Math.min(1, Math.abs(value) / 1.5), 0.02)
    if (Math.abs(value) > 0.01) same(one, `the sign of ${value}`, one.matches('.negative'), value < 0)
  }
  const strengthOf = (/** @type {Element} */ dot) => get(dot, 'fill-opacity') / 0.85
  const listsIn = (/** @type {Element} */ { ariaLabel }) =>
    [...(ariaLabel ?? '').matchAll(/: ((?:[−\d.,]+, )+[−\d.]+\d)/g)].map(([, list]) =>
      list.split(', ').map(read),
    )
  /** Compares what a slider says with its number and its place. @param {Element} one @param {number} value @param {string} name */
  function assertSays(one, value, name) {
    for (const said of [one.ariaValueNow, one.ariaValueText])
      same(one, 'what is said', read(said), value, 0.006)
    same(one, 'its name', one.ariaLabel?.match(/\d+/g)?.join(' '), name)
  }

  for (const svg of all(page, 'svg[viewBox]'))
    same(svg, 'its corner', svg.getAttribute('viewBox')?.split(' ', 2).join(), '0,0')

  // Rows of dots and rows of strokes.
  for (const svg of all(page, '.rows > svg')) {
    const grid = all(svg, ':scope > :is(.axis, .zero)')
    const labels = all(svg, '.tick')
    const rows = all(svg, ':scope > g:has(> .base)')
    const lists = listsIn(svg)
    for (const [r, row] of rows.entries()) {
      const [base] = all(row, '.base')
      const [y, left, right] = ['y1', 'x1', 'x2'].map((name) => get(base, name))
      const lines = grid
        .filter((line) => get(line, 'y1') < y && get(line, 'y2') > y)
        .map((line) => get(line, 'x1'))
      // Rows may share an axis. Its numbers stand below the last of them.
      const ticks = [...new Set(labels.map((label) => get(label, 'y')))]
        .map((height) => ticksOf(labels.filter((label) => get(label, 'y') === height)))
        .findLast((some) => String(some.map(({ at }) => at)) === String(lines))
      same(svg, 'whether the lines of an axis have numbers', ticks !== undefined, true)
      if (!ticks?.every(({ value }) => Number.isFinite(value))) continue // numbers with powers
      const { to, from, unit, sure } = axisOf(ticks)
      const within = (/** @type {number} */ value) => Math.min(right, Math.max(left, to(value)))
      const dots = all(row, '.dot')
      const handles = all(row, '[role="slider"]')
      const values = handles.length
        ? handles.map((one) => Number(one.ariaValueNow))
        : dots.map((dot) => from(get(dot, 'cx')))
      const whole = row.querySelector('.leaving') === null
      for (const [i, dot] of dots.entries()) {
        same(dot, `dot ${i + 1} of row ${r + 1}`, get(dot, 'cx'), within(values[i]), 0.6)
        if (whole) assertColor(dot, values[i], strengthOf(dot))
      }
      const [sample] = /(?<=^Sample )\d/.exec(textsOf(all(row, '.label')).join()) ?? []
      for (const [i, one] of handles.entries()) assertSays(one, values[i], `${sample} ${i + 1}`)
      // A ring shows where its number was before the norm: the next section has a dot there.
      const before = all(page, `#worked-example [aria-label^="sample ${sample}, "]`)
      for (const ring of before.length ? all(row, '.ghost') : []) {
        const off = before.map((one) => Math.abs(within(Number(one.ariaValueNow)) - get(ring, 'cx')))
        same(ring, 'how far a ring is from its dot', Math.min(...off), 0, 0.6)
      }
      const written = textsOf(all(row, '.value')).map(read)
      const said = dots.length && whole && lists.length === rows.length ? lists[r] : []
      for (const list of [written, said])
        for (const [i, one] of list.entries()) same(row, 'a number', one, values[i], 0.006)
      const stats = textsOf(all(row, '.stat')).join(' ')
      const [mean, variance] = ['mean', 'variance'].map((name) =>
        read(new RegExp(`${name} ([−\\d.]+)(?= |$)`).exec(stats)?.[1]),
      )
      if (dots.length && whole && Number.isFinite(mean)) {
        same(row, 'the mean', mean, meanOf(values), 0.006)
        same(row, 'the tick of the mean', get(all(row, '.mean')[0], 'x1'), within(meanOf(values)), 0.6)
        const [start, end] = ['x1', 'x2'].map((name) => get(all(row, '.deviation')[0], name))
        if (Number.isFinite(variance) && start > left && end < right) {
          same(row, 'the middle of the bar', (start + end) / 2, to(meanOf(values)), 0.6)
          const spread = ((end - start) / 2 / unit) ** 2
          same(row, 'the variance', variance, spread, 0.006 + 0.02 * spread)
          const divided = [0, 1].map((less) => (varianceOf(values) * values.length) / (values.length - less))
          const off = Math.min(...divided.map((one) => Math.abs(one - spread)))
          same(row, `a bar for ${spread}`, off, 0, 0.006 + 0.02 * spread)
        }
      }
      // Each number that the sentence says has a stroke. A marked stroke has another color.
      const strokes = all(row, '.strokes').flatMap(placesOf)
      const off = (/** @type {number} */ at) => Math.min(...strokes.map((one) => Math.abs(one - at)))
      const places = strokes.length && sure ? (lists[r] ?? []).map(to) : []
      for (const at of places.filter((at) => at >= left && at <= right))
        same(svg, `a stroke at ${at}`, off(at), 0, 1.1 + 0.006 * unit)
      for (const lit of all(row, '.stroke')) same(svg, 'the marked stroke', off(get(lit, 'x1')), 0)
    }
    // A thread begins and ends at a dot.
    const middles = all(svg, '.dot').map((dot) => [get(dot, 'cx'), get(dot, 'cy')])
    for (const thread of all(svg, '.thread'))
      for (const end of [1, 2]) {
        const [x, y] = [get(thread, `x${end}`), get(thread, `y${end}`)]
        same(thread, 'its end', Math.min(...middles.map((at) => Math.hypot(at[0] - x, at[1] - y))), 0, 0.1)
      }
  }

  // Grids: a dot's distance from the middle of its cell is proportional to its number.
  for (const svg of all(page, '.grid > svg')) {
    const [dots, zeros, numbers] = ['.dot', '.zero', '.number'].map((selector) => all(svg, selector))
    const values = textsOf(numbers).map(read)
    same(svg, 'what is said', String(listsIn(svg).flat()), String(values))
    const why = svg.closest('.table')?.querySelector('.note')?.textContent
    if (!dots.length) same(svg, 'whether an empty grid says why', Boolean(why), true)
    const away = dots.map((dot, i) => get(dot, 'cx') - get(zeros[i], 'x1'))
    const most = values.map(Math.abs).indexOf(Math.max(...values.map(Math.abs)))
    const scale = away[most] / values[most]
    const [left, right] = all(svg, '.edge').map((edge) => get(edge, 'x1'))
    for (const [i, dot] of dots.entries()) {
      same(dot, `dot ${i + 1}`, away[i], values[i] * scale, 0.02 * scale + 0.05)
      same(dot, 'whether it is in its cell', Math.abs(away[i]) < (right - left) / 2, true)
      same(dot, 'the place of a number', get(numbers[i], 'x'), get(zeros[i], 'x1'), 0.1)
      same(dot, 'whether its number is lit', numbers[i].matches('.lit'), dot.matches('.lit'))
      assertColor(dot, values[i], strengthOf(dot))
    }
    for (const [i, one] of all(svg, '[role="slider"]').entries())
      assertSays(one, values[i], `${Math.floor(i / 5) + 1} ${(i % 5) + 1}`)
  }

  // Grids beside one another begin at one height.
  const boxes = all(page, '.grid > svg').map((svg) => svg.getBoundingClientRect())
  for (const [i, { top, left }] of boxes.entries())
    if (i > 0 && left > boxes[i - 1].right) same(page, 'the top of a grid', top, boxes[i - 1].top, 0.1)

  for (const cell of all(page, 'table:not(.g) td.cell')) {
    const value = read(cell.querySelector('input')?.ariaValueNow ?? cell.textContent)
    const strength = Number(style(cell, '--strength'))
    if (Number.isFinite(value)) assertColor(cell, cell.matches('.statistic') ? 0 : value, strength)
  }

  /** The numbers that a curve draws, by the chart's axis. @param {Element} svg @param {Element} curve */
  function numbersOf(svg, curve) {
    const levels = all(svg, '.level').map((one) => ({ at: get(one, 'y') - 4, value: read(one.textContent) }))
    const { from } = axisOf(levels)
    return [...(curve.getAttribute('d') ?? '').matchAll(/ ([-\d.]+)/g)].map(([, y]) => from(Number(y)))
  }
  for (const svg of all(page, 'figure svg:has(.curve)')) {
    const names = all(svg, '.end')
    const sentences = svg.ariaLabel?.split('; ') ?? []
    for (const [i, curve] of all(svg, '.curve').entries()) {
      if (names[i]) same(svg, 'the color of a name', style(names[i], 'fill'), style(curve, 'stroke'))
      if (svg.closest('.section')) continue
      // In a notebook's chart the second and the fourth curve are dashed. The sentence says the ends of each curve.
      const ys = numbersOf(svg, curve)
      const said = sentences[i]
        .replace(names[i].textContent ?? '', '')
        .split(', ')
        .map(read)
      for (const [n, y] of [ys[0], ys[ys.length - 1]].entries())
        same(svg, 'the end of a curve', said[n], y, 0.02 * (Math.max(...ys) - Math.min(...ys)))
      same(svg, 'whether a curve is dashed', style(curve, 'stroke-dasharray') !== 'none', i % 2 === 1)
    }
  }

  for (const table of all(page, 'table:has(td.value)')) {
    const cells = all(table, 'td.value')
    const values = cells.map((cell) => Number(cell.getAttribute('title')))
    const most = Math.max(...values.map(Math.abs))
    for (const name of all(table, 'th'))
      same(name, 'what it names', name.getAttribute('scope'), name.matches('thead *') ? 'col' : 'row')
    for (const [i, cell] of cells.entries()) {
      same(cell, 'a number', read(cell.textContent), values[i], 0.0051)
      same(
        cell,
        'its strength',
        parseFloat(style(cell, '--strength')),
        (65 * Math.abs(values[i])) / most,
        0.51,
      )
      same(cell, 'its color', style(cell, '--color'), style(cell, values[i] < 0 ? '--below' : '--above'))
    }
  }

  // A curve, its name, its answer and its loss belong to the same network. The caption names the one in front.
  for (const svg of all(page, '#training figure svg'))
    for (const kind of ['with', 'without']) {
      const told = all(page, `#training .answers .${kind}`)
      const [name, answer, loss] = textsOf(told)
      const [[curve], [end]] = ['curve', 'end'].map((part) => all(svg, `.${part}.${kind}`))
      const isFront = (kind === 'with') === (all(page, '#training [role="switch"]')[0].ariaChecked === 'true')
      same(svg, `which curve is last, ${name}`, all(svg, '.curve').at(-1) === curve, isFront)
      const caption = all(page, '#training figcaption b')[0].textContent
      same(svg, `what is in front, ${name}`, caption === `the loss ${name}`, isFront)
      const last = numbersOf(svg, curve).slice(-10)
      if (last.length < 10) continue
      same(svg, 'the name of a curve', end.textContent, name)
      if (Math.max(...last) < 2.99) same(svg, `the loss ${name} (${answer})`, read(loss), meanOf(last), 0.011)
      same(svg, `that ${name} ${loss} is said`, svg.ariaLabel?.includes(`${name} ${loss}`), true)
    }

  // σ is the standard deviation of the strokes. A norm that is off looks off, and so do its output and its σ.
  for (const svg of all(page, '#story .way svg')) {
    const { from, unit } = axisOf(ticksOf(all(svg, '.tick')))
    const [strokes, sigmas, norms] = ['.strokes', '.sigma', '.norm'].map((selector) => all(svg, selector))
    const ends = all(svg, '.tick').map((tick) => get(tick, 'x'))
    const said = [...(svg.ariaLabel ?? '').matchAll(/σ (\S+) before, (\S+) after/g)].flatMap(
      ([, ...both]) => both,
    )
    same(svg, 'what is said', String(said), String(textsOf(sigmas)))
    for (const [i, row] of strokes.entries()) {
      const places = placesOf(row)
      const inside = places.filter((at) => at > Math.min(...ends) && at < Math.max(...ends))
      same(svg, `how many numbers of row ${i + 1} are on the axis`, inside.length, 80)
      const above = strokes[i - 1]?.getBoundingClientRect().bottom ?? -Infinity
      same(svg, 'whether a row stands below the one before', row.getBoundingClientRect().top > above, true)
      const width = Math.sqrt(varianceOf(places.map(from)))
      same(svg, `σ ${i + 1}`, read(sigmas[i].textContent), width, 0.04 * width + 0.02 + 0.5 / unit ** 2)
    }
    for (const [i, norm] of norms.entries()) {
      const isOff = norm.ariaChecked === 'false'
      const looks = [norm.textContent?.includes(': off'), norm.matches('.off')]
      const after = [strokes, sigmas].map((some) => some[2 * i + 1].matches('.without'))
      for (const one of [...looks, ...after]) same(norm, 'whether it looks off', one, isOff)
    }
  }

  for (const one of all(page, 'button[role="switch"]'))
    same(
      one,
      'what it says',
      /(on|off)$/.exec(one.textContent?.trim() ?? '')?.[0],
      one.ariaChecked === 'true' ? 'on' : 'off',
    )
  for (const legend of all(page, '#opening .legend :has(> .ring)')) {
    const isShown = legend.checkVisibility({ visibilityProperty: true })
    if (isShown) same(legend, 'how many rings it explains', all(page, '#opening .ghost').length > 0, true)
  }

  const bars = all(page, '#scale-and-shift .bar')
  const shares = bars.map((bar) => Number(style(bar, '--now')))
  for (const [i, bar] of bars.entries()) {
    same(bar, 'a share', /\d+(?=%)/.exec(bar.textContent ?? '')?.[0], String(Math.round(100 * shares[i])))
    const isBold = bar.previousElementSibling?.querySelector('b') !== null
    same(bar, 'whether it is the likeliest', isBold, shares[i] === Math.max(...shares))
  }
  for (const lead of all(page, '#scale-and-shift .lead span')) {
    const [, by, rest, left] = /γ · (\S+) − (\S+) = (\S+)/.exec(lead.textContent ?? '')?.map(read) ?? []
    const [slider] = all(page, '#scale-and-shift input')
    same(lead, 'the lead', left, by * Number(/** @type {HTMLInputElement} */ (slider).value) - rest, 0.02)
  }

  // Half precision: each number follows from those before it. While the norm is off, only the first number is shown.
  for (const steps of all(page, '#half-precision dl')) {
    const texts = textsOf(all(steps, 'dd'))
    const isOff = /No norm/.test(textsOf(all(page, '#half-precision')).join())
    same(steps, 'how many steps are not computed', texts.filter((one) => one === '–').length, isOff ? 7 : 0)
    if (isOff) continue
    const [x, mean, centered, square, sum, variance, deviation, last] = texts.map(read)
    same(steps, 'x − μ', centered, x - mean, 0.02 + 1e-3 * Math.abs(x))
    if (square < Infinity) same(steps, 'its square', square, centered ** 2, 0.02 + 2e-3 * square)
    same(steps, 'the variance', variance, sum / 80, 0.02 + 2e-3 * variance)
    same(steps, 'the deviation', deviation, Math.sqrt(variance), 0.02 + 1e-3 * deviation)
    same(steps, 'the quotient', last, centered / deviation, 0.02)
  }
  return { wrong, seen }
}
