// Writes what the page shows until its own numbers are there: ./build.sh && node web/demo/record.js
//
// src/sections/transformer-block/recording.json: one token's numbers before and after each norm.
// src/sections/writing/recording.json: the beginning of a story.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { load } from 'gpt-layers'
import { format, resolveConfig } from 'prettier'
import { pass } from '../../build/demo/sections/transformer-block/compute.js'
import block, { SENTENCE } from '../../build/demo/sections/transformer-block/slice.js'
import { Engine } from '../../build/demo/sections/writing/engine.js'
import { snapshot } from '../../build/demo/sections/writing/report.js'
import writing from '../../build/demo/sections/writing/slice.js'
import { tokenizerOf } from '../../build/demo/words.js'

const here = (/** @type {string} */ path) => new URL(path, import.meta.url)
const stories = here('../examples/stories/')
const DIGITS = 3
const WORDS = 24

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

const engine = new Engine({ gpt, model, tokenizer })
const { prompt, seed, temperature, instead, from } = writing.defaults()
engine.set({ prompt, seed, temperature, instead, from, off: new Array(engine.model.norms).fill(false) })
for (let i = 0; i < WORDS; i++) engine.step()
const plain = (/** @type {string} */ _, /** @type {any} */ value) =>
  ArrayBuffer.isView(value) ? Array.from(/** @type {Float32Array} */ (value), round) : value
await write('writing', JSON.parse(JSON.stringify(snapshot(engine, false), plain)))
