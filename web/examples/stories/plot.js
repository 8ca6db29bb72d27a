// Draws loss.svg from loss.json: node plot.js

import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const [WIDTH, HEIGHT] = [720, 360]
const MARGIN = { left: 56, right: 80, top: 16, bottom: 44 }
const TICKS = [0.3, 0.5, 1, 2, 4, 7]

/**
 * @param {object} results the content of loss.json
 * @param {{ step: number, loss: number }[]} results.curve
 * @param {{ steps: number }} results.beginnings
 * @param {{ entropy: number }} results.heldOut
 * @returns {string} an SVG: the loss of the model at each step, and the entropy of the grammar
 */
export function lossCurve({ curve, beginnings, heldOut: { entropy } }) {
  const [first, last] = [curve[0], curve[curve.length - 1]]
  const [low, high] = [TICKS[0], TICKS[TICKS.length - 1]]
  const { left, top } = MARGIN
  const [right, bottom] = [WIDTH - MARGIN.right, HEIGHT - MARGIN.bottom]
  const x = (/** @type {number} */ step) => Math.round(left + (step / last.step) * (right - left))
  const y = (/** @type {number} */ loss) =>
    Math.round(bottom - (Math.log(loss / low) / Math.log(high / low)) * (bottom - top))
  const text = (/** @type {string} */ attributes, /** @type {string | number} */ content) =>
    `<text ${attributes}>${content}</text>`
  const from = x(beginnings.steps)
  const rows = TICKS.map((tick) => {
    const number = text(`x="${left - 8}" y="${y(tick) + 4}" text-anchor="end"`, tick)
    return `<path d="M${left} ${y(tick)}H${right}"/>${number}`
  })
  const columns = [0, 1, 2, 3, 4].map((i) => {
    const step = (i * last.step) / 4
    return text(`x="${x(step)}" y="${bottom + 18}" text-anchor="middle"`, step)
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-size="13">
<title>In ${last.step} steps the loss falls from ${first.loss} to ${last.loss} nats per token</title>
<style>
  svg { background: #fff; font-family: sans-serif; fill: #333 }
  path { fill: none; stroke: #ddd }
  path.model { stroke: #0b65c2; stroke-width: 2 }
  path.grammar { stroke: #b3541e; stroke-width: 2 }
  text.model { fill: #0b65c2 }
  text.grammar { fill: #b3541e }
</style>
${rows.join('\n')}
${columns.join('\n')}
${text(`x="${(left + right) / 2}" y="${HEIGHT - 6}" text-anchor="middle"`, 'step')}
${text(`x="${-(top + bottom) / 2}" y="14" text-anchor="middle" transform="rotate(-90)"`, 'nats per token')}
<path d="M${from} ${top}V${bottom}"/>
${text(`x="${from - 6}" y="${top + 14}" text-anchor="end"`, 'beginnings')}
${text(`x="${from + 6}" y="${top + 14}"`, 'whole stories')}
<path class="grammar" d="M${left} ${y(entropy)}H${right}"/>
<path class="model" d="M${curve.map(({ step, loss }) => `${x(step)} ${y(loss)}`).join('L')}"/>
${text(`class="model" x="${right + 8}" y="${y(last.loss) - 6}"`, 'model')}
${text(`class="grammar" x="${right + 8}" y="${y(entropy) + 14}"`, 'grammar')}
</svg>
`
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const results = JSON.parse(readFileSync(new URL('loss.json', import.meta.url), 'utf8'))
  writeFileSync(new URL('loss.svg', import.meta.url), lossCurve(results))
}
