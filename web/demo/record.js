// Writes what the page shows until its own numbers are there: ./build.sh && node web/demo/record.js
//
// src/sections/transformer-block/recording.json: one token's numbers before and after each norm.
// src/sections/story/recording.json: the beginning of a story, with all norms and with one left out.
// src/sections/writing/recording.json: the beginning of a story, and each norm at its last word.

/** @import { Settings } from '../../build/demo/sections/writing/engine.js' */

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { load } from 'gpt-layers'
import { format, resolveConfig } from 'prettier'
import story, { NORMS, STATES, TEMPERATURE } from '../../build/demo/sections/story/slice.js'
import { pass } from '../../build/demo/sections/transformer-block/compute.js'
import block, { SENTENCE } from '../../build/demo/sections/transformer-block/slice.js'
import { Engine } from '../../build/demo/sections/writing/engine.js'
import { snapshot } from '../../build/demo/sections/writing/report.js'
import writing from '../../build/demo/sections/writing/slice.js'
import { tokenizerOf } from '../../build/demo/words.js'

const here = (/** @type {string} */ path) => new URL(path, import.meta.url)
const stories = here('../examples/stories/')
const DIGITS = 3
const INSTRUMENT = 24 // words after the prompt
const STORY = 40

const gpt = await load()
const tokenizer = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', stories), 'utf8')))
const model = await gpt.GPTModel.fromSafetensors(readFileSync(new URL('model.safetensors', stories)))

/** @param {string} section @param {object} recording */
async function write(section, recording) {
  const path = fileURLToPath(here(`src/sections/${section}/recording.json`))
  const options = { ...(await resolveConfig(path)), filepath: path }
  writeFileSync(path, await format(JSON.stringify(recording), options))
}

const { encode, start } = tokenizer
const norms = pass(gpt, model, [start, ...encode(SENTENCE)], 'pre')
const { token } = block.defaults()
const round = (/** @type {number} */ value) => Number(value.toPrecision(DIGITS))
const side = (/** @type {typeof norms[0]['before']} */ { rows, mean, variance }) => ({
  values: rows[token].map(round),
  stats: { mean: round(mean[token]), variance: round(variance[token]) },
})
const most = Math.ceil(Math.max(...norms.flatMap(({ before }) => before.rows.flat().map(Math.abs))) / 4) * 4
await write('transformer-block', {
  token,
  most,
  norms: norms.map(({ before, after }) => ({ before: side(before), after: side(after) })),
})

const plain = (/** @type {string} */ _, /** @type {any} */ value) =>
  ArrayBuffer.isView(value) ? Array.from(/** @type {Float32Array} */ (value), round) : value
/** @param {Settings} settings @param {number} words after the prompt */
function record(settings, words) {
  const engine = new Engine({ gpt, model, tokenizer })
  engine.set(settings)
  while (engine.with.at - engine.given + 1 < words) engine.step()
  const recording = JSON.parse(JSON.stringify(snapshot(engine, false), plain))
  const lanes = [recording.with, recording.without].filter((lane) => lane !== null)
  for (const lane of lanes) lane.texts = lane.texts.join('|')
  return { recording, lanes }
}
const off = (/** @type {readonly number[]} */ numbers) =>
  Array.from({ length: NORMS }, (_, i) => numbers.includes(i + 1))

const { speed: _, norm: __, ...instrument } = writing.defaults()
await write('writing', record({ ...instrument, off: off(instrument.off) }, INSTRUMENT).recording)

const own = story.defaults()
const left = STATES.find(({ key }) => key === own.off)?.off ?? []
/** @type {Settings} */
const told = { ...own, temperature: TEMPERATURE, instead: 'nothing', off: off(left) }
const { recording, lanes } = record(told, STORY)
for (const lane of lanes) {
  lane.trail = [] // which is not shown there
  Object.assign(lane.moment, { rows: [], top: [] })
}
await write('story', recording)
