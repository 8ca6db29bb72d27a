// llama.cpp as native code, by node-llama-cpp: the limit. It takes part where `npm install` was run in
// tests/bench/native.

/** @import { Config } from './model.js' */
/** @import { Format } from './gguf.js' */
/** @import { Writer } from './steps.js' */

import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gguf } from './gguf.js'
import { common } from './steps.js'

const MODULE = new URL('../native/node_modules/node-llama-cpp/dist/index.js', import.meta.url)

export const isInstalled = () => existsSync(MODULE)

/** @param {Config} config @param {Format} format @returns {{ path: string, remove: () => void }} */
function writeFile(config, format) {
  const folder = mkdtempSync(join(tmpdir(), 'gpt-layers-bench-'))
  const path = join(folder, 'model.gguf')
  const file = openSync(path, 'w')
  for (const piece of gguf(config, format)) writeSync(file, piece)
  closeSync(file)
  return { path, remove: () => rmSync(folder, { recursive: true }) }
}

/**
 * @param {Config} config
 * @param {Format} format
 * @param {number} threads
 * @returns {Promise<Writer>}
 */
export async function openLlama(config, format, threads) {
  const { getLlama } = await import(MODULE.href)
  const llama = await getLlama({ build: 'never', gpu: false, logLevel: 'error' })
  const file = writeFile(config, format)
  const model = await llama.loadModel({ modelPath: file.path, gpuLayers: 0, useMmap: false })
  file.remove()
  const context = await model.createContext({ contextSize: config.contextLength, threads })
  const sequence = context.getSequence()
  /** @type {number[]} */
  let held = []

  /** @param {number[]} ids */
  async function keep(ids) {
    const length = common(ids, held)
    const end = sequence.nextTokenIndex
    if (length < end) await sequence.eraseContextTokenRanges([{ start: length, end }])
    held = ids.slice(0, length)
  }

  return {
    async hold(ids) {
      await keep(ids)
      const rest = ids.slice(held.length)
      if (rest.length > 0) await sequence.evaluateWithoutGeneratingNewTokens(rest)
      held = ids
    },
    async write(ids, count) {
      const written = []
      for await (const token of sequence.evaluate(ids, { temperature: 0 })) {
        written.push(token)
        if (written.length === count) break
      }
      return written
    },
    async judge(ids) {
      await keep([])
      const metadata = { probabilities: true }
      const evaluation = sequence.evaluateWithMetadata(ids, metadata, { temperature: 0 })
      const { value } = await evaluation.next()
      await evaluation.return()
      return new Map([...value.probabilities].map(([id, probability]) => [id, Math.log(probability)]))
    },
  }
}
