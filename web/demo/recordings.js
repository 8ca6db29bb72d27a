// What two sections show until their model is here: each imports its recording, which is computed while the
// page is built.
//
//   recording:transformer-block   one token's numbers before and after each norm
//   recording:story               the beginning of a story, with all norms and with one left out

import { readFileSync } from 'node:fs'

const stories = new URL('../examples/stories/', import.meta.url)
const DIGITS = 3
const WORDS = 40 // of the story, after the prompt

const round = (/** @type {number} */ value) => Number(value.toPrecision(DIGITS))

/** A Report as JavaScript: its arrays of float32 have NaN, and would be objects in JSON. @param {object} report */
function sourceOf(report) {
  /** @type {(key: string, value: unknown) => unknown} */
  const plain = (_, value) => (value instanceof Float32Array ? { float32: Array.from(value, round) } : value)
  const json = JSON.stringify(report, plain)
  return json.replace(
    /\{"float32":(\[[^\]]*\])\}/g,
    (_, list) => `new Float32Array(${list.replaceAll('null', 'NaN')})`,
  )
}

/** @returns {Promise<Record<string, string>>} the value of each recording, as JavaScript; the package is loaded */
export async function record() {
  // The page's modules, as tsc has written them before Vite builds the page.
  const [{ GPTModel }, { tokenizerOf }, { pass }, { Engine }, { snapshot }, block, story] = await Promise.all(
    [
      import('gpt-layers'),
      import('../../build/demo/words.js'),
      import('../../build/demo/sections/transformer-block/compute.js'),
      import('../../build/demo/writer/engine.js'),
      import('../../build/demo/writer/report.js'),
      import('../../build/demo/sections/transformer-block/slice.js'),
      import('../../build/demo/sections/story/slice.js'),
    ],
  )
  const tokenizer = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', stories), 'utf8')))
  const model = await GPTModel.fromPretrained(readFileSync(new URL('model.safetensors', stories)))

  const norms = pass(model, [tokenizer.start, ...tokenizer.encode(block.SENTENCE)], 'pre')
  const { token } = block.default.defaults()
  const side = (/** @type {typeof norms[0]['before']} */ { rows, mean, variance }) => ({
    values: rows[token].map(round),
    stats: { mean: round(mean[token]), variance: round(variance[token]) },
  })

  const { off, ...settings } = story.default.defaults()
  const engine = new Engine({ model, tokenizer })
  const { ALL, TEMPERATURE } = story
  engine.set({ ...settings, temperature: TEMPERATURE, off: ALL.map((number) => off.includes(number)) })
  while (engine.with.at - engine.promptLength + 1 < WORDS) engine.step()
  const report = snapshot(engine)
  // The recording leaves out what is not shown of it.
  for (const run of [report.with, report.without])
    if (run) Object.assign(run.step, { rows: new Float32Array(), top: [] })
  return {
    'transformer-block': JSON.stringify({
      token,
      norms: norms.map(({ before, after }) => ({ before: side(before), after: side(after) })),
    }),
    story: sourceOf(report),
  }
}

async function loadAndRecord() {
  const { load } = await import('gpt-layers')
  await load({ build: 'simd' }) // the same bits on every machine
  return record()
}

/** Once for a build. @type {ReturnType<typeof record> | undefined} */
let recorded

/** The plugin for Vite. */
export const recordings = {
  name: 'recordings',
  resolveId: { filter: { id: /^recording:/ }, handler: (/** @type {string} */ id) => `\0${id}` },
  load: {
    filter: { id: /^\0recording:/ },
    async handler(/** @type {string} */ id) {
      const all = await (recorded ??= loadAndRecord())
      return `export default ${all[id.replace('\0recording:', '')]}`
    },
  },
}
