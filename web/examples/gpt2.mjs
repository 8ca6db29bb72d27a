// GPT-2 writes in a terminal.
//   npm install gpt-layers gpt-tokenizer
//   node gpt2.mjs model.safetensors "Once upon a time"
//
// The file is the `model.safetensors` of any of OpenAI's GPT-2s (124M to 1.5B), as on
// https://huggingface.co/openai-community/gpt2, or of another model with the same tokens.
// Options, with their defaults:
//   --max-new-tokens 100
//   --temperature 0.8      0 always takes the most probable token
//   --top-k 50             draws from the most probable tokens only
//   --seed 123             one seed, one text
//   --dtype int8           float32 is exact, slower, and takes 4 times the memory
//   --threads 1
//   --heads                the number of attention heads, for a model that is not OpenAI's
//
// The text goes to the standard output; progress and speed go to the standard error.

import { open } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { GPTModel, GptLayersError, load, manualSeed } from 'gpt-layers'
import { decodeGenerator, encode } from 'gpt-tokenizer/encoding/r50k_base'

const USAGE = 'usage: node gpt2.mjs model.safetensors "Once upon a time" [--max-new-tokens 100] ...'
const END_OF_TEXT = 50256

/** A mistake of the caller: its message is all that is printed. */
class UsageError extends Error {}

/** @param {string[]} args */
function readOptions(args) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        'max-new-tokens': { type: 'string', default: '100' },
        temperature: { type: 'string', default: '0.8' },
        'top-k': { type: 'string', default: '50' },
        seed: { type: 'string', default: '123' },
        dtype: { type: 'string', default: 'int8' },
        threads: { type: 'string', default: '1' },
        heads: { type: 'string' },
      },
    })
    const [path, prompt = ''] = positionals
    if (!path || positionals.length > 2) throw new UsageError(USAGE)
    return {
      path,
      prompt,
      maxNewTokens: Number(values['max-new-tokens']),
      temperature: Number(values.temperature),
      topK: Number(values['top-k']),
      seed: Number(values.seed),
      dtype: /** @type {'int8' | 'float32'} */ (values.dtype),
      threads: Number(values.threads),
      config: values.heads === undefined ? {} : { nHeads: Number(values.heads) },
    }
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`${/** @type {Error} */ (error).message}\n${USAGE}`)
  }
}

/** A bar of 30 characters on one line, which goes away when all is loaded. Only for a terminal. */
function showProgress(/** @type {{ loaded: number, total: number }} */ { loaded, total }) {
  if (!process.stderr.isTTY) return
  const done = Math.floor((30 * loaded) / total)
  const [mb, ofMb] = [loaded, total].map((bytes) => Math.round(bytes / 1e6))
  const line = `${'█'.repeat(done)}${'░'.repeat(30 - done)} ${mb} of ${ofMb} MB`
  process.stderr.write(`\r${loaded < total ? line : ' '.repeat(line.length) + '\r'}`)
}

async function main() {
  const { path, prompt, dtype, config, threads, seed, ...options } = readOptions(process.argv.slice(2))
  await load({ threads })
  manualSeed(seed)

  const file = await open(path).catch(({ code }) => {
    throw new UsageError(`${path} cannot be read (${code})\n${USAGE}`)
  })
  const model = await GPTModel.fromPretrained(file, { dtype, config, onProgress: showProgress })
  await file.close()
  if (model.vocabSize !== END_OF_TEXT + 1) {
    throw new UsageError(`${path} should have GPT-2's 50257 tokens, it has ${model.vocabSize}`)
  }
  const ids = prompt ? encode(prompt) : [END_OF_TEXT]

  const begun = performance.now()
  let [started, count] = [begun, 0]
  /** The tokens as they come. The first one comes when the prompt is computed. */
  function* tokens() {
    for (const { token } of model.generate(ids, { ...options, stopTokens: [END_OF_TEXT] })) {
      if (count++ === 0) started = performance.now()
      if (token !== END_OF_TEXT) yield token
    }
  }
  process.stdout.write(prompt)
  for (const text of decodeGenerator(tokens())) process.stdout.write(text)
  process.stdout.write('\n')

  const rate = (/** @type {number} */ tokens, /** @type {number} */ ms) => ((1000 * tokens) / ms).toFixed(1)
  console.error(
    `prompt: ${ids.length} tokens, ${rate(ids.length, started - begun)} per second; ` +
      `writing: ${count} tokens, ${rate(count - 1, performance.now() - started)} per second`,
  )
}

try {
  await main()
} catch (error) {
  if (!(error instanceof UsageError || error instanceof GptLayersError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
