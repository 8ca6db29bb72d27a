// The entry `gpt-layers` for Cloudflare Workers, which must not compile WebAssembly: they import it compiled.

import { start } from './start.ts'
// @ts-expect-error TypeScript does not know that this is a WebAssembly.Module.
import simd from './wasm/simd.wasm'

export { GPT_CONFIG_124M } from './config.ts'
export { GptLayersError } from './errors.ts'

export const load: typeof import('./load.ts').load = (...args) =>
  start(args, async () => simd, {
    threads: async () => {
      throw new Error('there are none in Cloudflare Workers')
    },
    torchfile: () => import('./checkpoint/torchfile.ts'),
  })
