/** @import { Exports } from './runtime.js' */

import { checkChoice, checkNumber, checkOptions, checkSize, describe } from './check.js'
import { GptLayersError } from './errors.js'
import { Gpt } from './gpt.js'
import { Runtime } from './runtime.js'
import { builds } from './wasm/builds.js'

const MIB = 1024 * 1024

/** @typedef {'simd' | 'relaxed'} Build */

/** For each build a module of one function that uses one of its instructions: valid where the build is. */
const PROBES = {
  simd: [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11],
  relaxed: [
    0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0, 65, 0, 253, 15, 65, 0, 253, 15, 65, 0,
    253, 15, 253, 133, 2, 11,
  ],
}

/** @param {keyof typeof PROBES} probe whether this machine runs it */
const runs = (probe) => typeof WebAssembly === 'object' && WebAssembly.validate(new Uint8Array(PROBES[probe]))

/**
 * Each build, compiled once however many instances there are.
 *
 * @type {Map<string, Promise<WebAssembly.Module>>}
 */
const compiled = new Map()

/** @param {string} base64 */
function decode(base64) {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i) // half of load()'s time with Uint8Array.from
  return bytes
}

/**
 * @param {string} name of a chunk in wasm/
 * @returns {Promise<WebAssembly.Module>}
 */
function compile(name) {
  const known = compiled.get(name)
  if (known) return known
  const importChunk = /** @type {NonNullable<(typeof builds)[string]>} */ (builds[name])
  const module = importChunk()
    .then(({ default: base64 }) => WebAssembly.compile(decode(base64)))
    .catch((error) => {
      compiled.delete(name) // so that the next call tries again, after a chunk failed to download, say
      throw error
    })
  compiled.set(name, module)
  return module
}

/**
 * Loads the layers: a new instance, independent of any other. Nothing is done at import time.
 *
 * @param {{ build?: Build, threads?: number, maxMemory?: number, module?: WebAssembly.Module }} [options]
 *   - build: which build to run; by default 'relaxed', whose multiply-add is one instruction and rounds once, where this
 *     machine has it, otherwise 'simd'.
 *   - threads: how many are wanted; this version runs on 1 whatever is asked, and `gpt.threads` says so.
 *   - maxMemory: MiB that the instance's memory may reach; 4096 by default.
 *   - module: `gpt-layers/simd.wasm` or `gpt-layers/relaxed.wasm`, compiled by you, where you would rather fetch, cache
 *     or hash it.
 * @returns {Promise<Gpt>}
 * @throws {GptLayersError} (by rejecting) TYPE, VALUE; UNSUPPORTED where there is no WebAssembly SIMD, or not the build
 *   asked for; MEMORY
 * @example const gpt = await load()
 */
export async function load(options = {}) {
  const { build, threads, maxMemory, module } = checkOptions('load', options, {
    build: /** @type {unknown} */ (undefined),
    threads: /** @type {unknown} */ (1),
    maxMemory: /** @type {unknown} */ (4096),
    module: /** @type {unknown} */ (undefined),
  })
  if (build !== undefined) checkChoice('load', 'build', build, /** @type {const} */ (['simd', 'relaxed']))
  checkSize('load', 'threads', threads)
  checkNumber('load', 'maxMemory', maxMemory, 'a number of MiB from 1 to 4096', (n) => n >= 1 && n <= 4096)
  if (module !== undefined && !(module instanceof WebAssembly.Module)) {
    throw new GptLayersError('TYPE', `load: module should be a WebAssembly.Module, got ${describe(module)}`)
  }
  if (!runs('simd')) {
    throw new GptLayersError(
      'UNSUPPORTED',
      'load: needs WebAssembly with SIMD (Chrome 91, Firefox 89, Safari 16.4, Node 16.4 or later), which is missing here',
    )
  }
  const exports = await instantiate(module ?? (await compile(chooseBuild(build))))
  const actual = exports.gpt_is_relaxed() === 1 ? 'relaxed' : 'simd'
  if (build !== undefined && build !== actual) {
    throw new GptLayersError('VALUE', `load: module should be the build '${build}' that was asked for, got '${actual}'`)
  }
  return new Gpt(new Runtime(exports, Math.floor(maxMemory * MIB)), actual)
}

/**
 * @param {Build | undefined} wanted
 * @returns {Build} the one to run
 */
function chooseBuild(wanted) {
  if (wanted === 'simd') return 'simd'
  const missing = !builds.relaxed
    ? 'this copy of gpt-layers was built without'
    : !runs('relaxed') && 'is missing here (Chrome 114, Node 22 or later have it)'
  if (!missing) return 'relaxed'
  if (wanted === undefined) return 'simd'
  throw new GptLayersError('UNSUPPORTED', `load: build 'relaxed' needs WebAssembly's relaxed SIMD, which ${missing}`)
}

/**
 * @param {WebAssembly.Module} module
 * @returns {Promise<Exports>}
 */
async function instantiate(module) {
  const names = new Set(WebAssembly.Module.exports(module).map(({ name }) => name))
  if (WebAssembly.Module.imports(module).length > 0 || !names.has('memory') || !names.has('gpt_is_relaxed')) {
    throw new GptLayersError('VALUE', 'load: module should be a build of gpt-layers, got another WebAssembly.Module')
  }
  try {
    return /** @type {Exports} */ (/** @type {unknown} */ ((await WebAssembly.instantiate(module)).exports))
  } catch (cause) {
    throw new GptLayersError('MEMORY', 'load: the first 1 MiB of memory should be available, and is not', { cause })
  }
}
