// Writes what the page shows until its model is here: node web/demo/record.js
//
// src/sections/transformer-block/recording.json: one token's numbers before and after each norm.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { load } from 'gpt-layers'
import { format, resolveConfig } from 'prettier'
import { pass } from './src/sections/transformer-block/compute.js'
import slice, { SENTENCE } from './src/sections/transformer-block/slice.js'
import { tokenizerOf } from './src/words.js'

const here = (/** @type {string} */ path) => new URL(path, import.meta.url)
const stories = here('../examples/stories/')
const DIGITS = 3

const gpt = await load()
const { encode, start } = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', stories), 'utf8')))
const model = await gpt.GPTModel.fromSafetensors(readFileSync(new URL('model.safetensors', stories)))
const norms = pass(gpt, model, [start, ...encode(SENTENCE)], 'pre')

const { token } = slice.defaults()
const round = (/** @type {number} */ value) => Number(value.toPrecision(DIGITS))
const side = (/** @type {typeof norms[0]['before']} */ { rows, mean, variance }) => ({
  values: rows[token].map(round),
  stats: { mean: round(mean[token]), variance: round(variance[token]) },
})
const most = Math.ceil(Math.max(...norms.flatMap(({ before }) => before.rows.flat().map(Math.abs))) / 4) * 4
const recording = {
  token,
  most,
  norms: norms.map(({ before, after }) => ({ before: side(before), after: side(after) })),
}
const path = fileURLToPath(here('src/sections/transformer-block/recording.json'))
const options = { ...(await resolveConfig(path)), filepath: path }
writeFileSync(path, await format(JSON.stringify(recording), options))
