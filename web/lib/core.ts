// The entry `gpt-layers/core`: everything, except that no WebAssembly is inside. For service workers, for
// bundles of one file, and for those who host the .wasm themselves.

import { readTorchModel, readTorchTensors } from './checkpoint/torchfile.ts'
import { fail } from './errors.ts'
import { start } from './start.ts'

export { GPT_CONFIG_124M } from './config.ts'
export { GptLayersError } from './errors.ts'

/** Loads the layers, as `load` of `gpt-layers`, except that `module` must be given. */
export const load: typeof import('./load.ts').load = (...args) =>
  start(args, throwNoModule, {
    threads: () => import('./threads/threads.ts'),
    torchfile: async () => ({ readTorchModel, readTorchTensors }),
  })

function throwNoModule(): never {
  throw fail('TYPE', 'module', 'be a WebAssembly.Module, for gpt-layers/core has none inside', 'undefined')
}
