// The entry `gpt-layers/core`: everything, except that no WebAssembly is inside. For service workers, for
// bundles of one file, and for those who host the .wasm themselves.

import { fail } from './errors.js'
import { start } from './start.js'

export { GPT_CONFIG_124M } from './config.js'
export { GptLayersError } from './errors.js'

/** Loads the layers, as `load` of `gpt-layers`, except that `module` must be given. */
export const load: typeof import('./load.js').load = (options = {}) =>
  start(options, throwNoModule, () => import('./threads/threads.js'))

function throwNoModule(): never {
  throw fail('TYPE', 'module', 'be a WebAssembly.Module, for gpt-layers/core has none inside', 'undefined')
}
