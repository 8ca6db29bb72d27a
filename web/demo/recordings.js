// What is shown until the small GPT is there, computed while the page is built:
//
//   recording:story   the beginning of a story, with all norms and with none, for the opening and “Inside a GPT”
//   recording:way     the rows of its last word on their way through the GPT

import { readFileSync } from 'node:fs'
import { uneval } from 'devalue'

const stories = new URL('../examples/stories/', import.meta.url)
const DIGITS = 3
const WORDS = 40 // of the story, after the prompt

const round = (/** @type {number} */ value) => Number(value.toPrecision(DIGITS))

/** A Report as JavaScript. @param {object} report */
const sourceOf = (report) =>
  uneval(report, (value) => {
    if (value instanceof Float32Array) return `new Float32Array([${Array.from(value, round)}])`
  })

/** @returns {Promise<Record<string, string>>} the value of each recording, as JavaScript; the package is loaded */
export async function record() {
  // The page's modules, as tsc has written them before Vite builds the page.
  const [{ GPTModel }, { tokenizerOf }, { Engine }, story] = await Promise.all([
    import('gpt-layers'),
    import('../../build/demo/words.js'),
    import('../../build/demo/writer/engine.js'),
    import('../../build/demo/sections/story/slice.js'),
  ])
  const tokenizer = tokenizerOf(JSON.parse(readFileSync(new URL('words.json', stories), 'utf8')))
  const model = await GPTModel.fromPretrained(readFileSync(new URL('model.safetensors', stories)))

  const settings = story.default.defaults()
  const engine = new Engine({ model, tokenizer })
  const { ALL, TEMPERATURE } = story
  engine.set({ ...settings, temperature: TEMPERATURE, off: ALL.map(() => true) })
  while (engine.with.at - engine.promptLength + 1 < WORDS) engine.step()
  const report = engine.report()
  const steps = [report.with, report.without].map((run) => run && { ...run.step })
  // The opening shows the texts alone.
  for (const run of [report.with, report.without])
    if (run) Object.assign(run.step, { rows: new Float32Array(), stats: new Float32Array() })
  return { story: sourceOf(report), way: sourceOf({ with: steps[0], without: steps[1] }) }
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
