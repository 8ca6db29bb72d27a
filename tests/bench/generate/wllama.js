// wllama: llama.cpp in WebAssembly, as published. It runs in browsers only.

/** @import { Config } from './model.js' */
/** @import { Format } from './gguf.js' */
/** @import { Writer } from './steps.js' */

import { Wllama } from '@wllama/wllama/esm/index.js' // as published: its package.json names the source
import { gguf } from './gguf.js'

const WASM = new URL('../node_modules/@wllama/wllama/esm/wasm/wllama.wasm', import.meta.url).href

/** How many of the most probable tokens it says the probability of. */
const TOP = 10

const silent = { debug() {}, log() {}, warn() {}, error: console.error }

/**
 * @param {Config} config
 * @param {Format} format
 * @param {number} threads
 * @returns {Promise<Writer>}
 */
export async function openWllama(config, format, threads) {
  const engine = new Wllama({ default: WASM }, { suppressNativeLog: true, logger: silent })
  await engine.loadModel([new Blob([...gguf(config, format)])], {
    n_ctx: config.contextLength,
    n_threads: threads,
    n_gpu_layers: 0,
    n_parallel: 1,
    warmup: false,
  })
  let held = ''

  /** @param {string} prompt @param {number} count @param {object} [options] */
  const complete = (prompt, count, options = {}) =>
    engine.createCompletion({
      prompt,
      max_tokens: count,
      temperature: 0,
      top_k: 1,
      ignore_eos: true,
      ...{ samplers: ['top_k'] }, // llama.cpp's server has more options than wllama's types
      ...options,
    })

  return {
    // The server keeps the last text and computes again what differs, at least the last token.
    async hold(text) {
      if (text) await complete(text, 1)
      held = text
    },
    async write(text, count) {
      const { usage } = await complete(held + text, count, held ? {} : { cache_prompt: false })
      const { completion_tokens: written, prompt_tokens_details: details } = usage
      if (written !== count || (details?.cached_tokens ?? 0) !== held.length)
        throw new Error(
          `wllama should write ${count} tokens after ${held.length}, got ${JSON.stringify(usage)}`,
        )
      return []
    },
    async judge(text) {
      const { choices } = await complete(text, 1, { logprobs: TOP, n_probs: TOP })
      const [{ logprobs }] = choices
      const found = /** @type {{ content: { top_logprobs: { id: number, logprob: number }[] }[] }} */ (
        /** @type {unknown} */ (logprobs)
      )
      return new Map(found.content[0].top_logprobs.map(({ id, logprob }) => [id, logprob]))
    },
    dispose: () => engine.exit(),
  }
}
