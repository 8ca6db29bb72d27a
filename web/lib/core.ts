// The entry `gpt-layers/core`: everything, except that no WebAssembly is inside. For service workers, for
// bundles of one file, and for those who host the .wasm themselves.

import { fail } from './errors.ts'
import { start } from './load.ts'

export * from './index.ts'

/** Loads the WebAssembly, as `load` of `gpt-layers`, except that `module` must be given. */
export const load: typeof import('./load.ts').load = (...args) => start(args, throwNoModule)

function throwNoModule(): never {
  throw fail('TYPE', 'module', 'be a WebAssembly.Module, for gpt-layers/core has none inside', 'undefined')
}
