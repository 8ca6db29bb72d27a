/** @import { Exports } from './runtime.js' */

import { checkChoice, checkNumber, checkOptions, checkSize, describe } from './check.js'
import { GptLayersError } from './errors.js'
import { Gpt } from './gpt.js'
import { Runtime } from './runtime.js'

const MIB = 1024 * 1024

/** A module of one function that uses one SIMD instruction: valid where SIMD128 is. */
const SIMD_PROBE = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
]

/**
 * The build, compiled once however many instances there are.
 *
 * @type {Promise<WebAssembly.Module> | undefined}
 */
let compiled

/** @returns {Promise<WebAssembly.Module>} */
function compile() {
  compiled ??= import('./wasm/simd.js')
    .then(({ default: base64 }) => WebAssembly.compile(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))))
    .catch((error) => {
      compiled = undefined // so that the next call tries again, after a chunk failed to download, say
      throw error
    })
  return compiled
}

/**
 * Loads the layers: a new instance, independent of any other. Nothing is done at import time.
 *
 * @param {{ build?: 'simd', threads?: number, maxMemory?: number, module?: WebAssembly.Module }} [options]
 *   - build: which build to run; 'simd' is the one there is.
 *   - threads: how many are wanted; this version runs on 1 whatever is asked, and `gpt.threads` says so.
 *   - maxMemory: MiB that the instance's memory may reach; 4096 by default.
 *   - module: `gpt-layers/simd.wasm`, compiled by you, where you would rather fetch, cache or hash it.
 * @returns {Promise<Gpt>}
 * @throws {GptLayersError} (by rejecting) TYPE, VALUE; UNSUPPORTED where there is no WebAssembly SIMD; MEMORY
 * @example const gpt = await load()
 */
export async function load(options = {}) {
  const { build, threads, maxMemory, module } = checkOptions('load', options, {
    build: /** @type {unknown} */ ('simd'),
    threads: /** @type {unknown} */ (1),
    maxMemory: /** @type {unknown} */ (4096),
    module: /** @type {unknown} */ (undefined),
  })
  checkChoice('load', 'build', build, /** @type {const} */ (['simd', 'relaxed']))
  if (build === 'relaxed') {
    throw new GptLayersError('UNSUPPORTED', "load: build should be 'simd' in this version, got 'relaxed'")
  }
  checkSize('load', 'threads', threads)
  checkNumber('load', 'maxMemory', maxMemory, 'a number of MiB from 1 to 4096', (n) => n >= 1 && n <= 4096)
  if (module !== undefined && !(module instanceof WebAssembly.Module)) {
    throw new GptLayersError('TYPE', `load: module should be a WebAssembly.Module, got ${describe(module)}`)
  }
  if (typeof WebAssembly !== 'object' || !WebAssembly.validate(new Uint8Array(SIMD_PROBE))) {
    throw new GptLayersError(
      'UNSUPPORTED',
      'load: needs WebAssembly with SIMD (Chrome 91, Firefox 89, Safari 16.4, Node 16.4 or later), which is missing here',
    )
  }
  return new Gpt(new Runtime(await instantiate(module ?? (await compile())), Math.floor(maxMemory * MIB)), build)
}

/**
 * @param {WebAssembly.Module} module
 * @returns {Promise<Exports>}
 */
async function instantiate(module) {
  const names = new Set(WebAssembly.Module.exports(module).map(({ name }) => name))
  if (WebAssembly.Module.imports(module).length > 0 || !names.has('memory') || !names.has('gpt_layernorm_forward')) {
    throw new GptLayersError('VALUE', 'load: module should be a build of gpt-layers, got another WebAssembly.Module')
  }
  try {
    return /** @type {Exports} */ (/** @type {unknown} */ ((await WebAssembly.instantiate(module)).exports))
  } catch (cause) {
    throw new GptLayersError('MEMORY', 'load: the first 1 MiB of memory should be available, and is not', { cause })
  }
}
