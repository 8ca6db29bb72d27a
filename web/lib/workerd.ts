// The entry `gpt-layers` for Cloudflare Workers, which must not compile WebAssembly: they import it compiled.

import { start } from './load.ts'
// @ts-expect-error TypeScript does not know that this is a WebAssembly.Module.
import simd from './wasm/simd.wasm'

export * from './index.ts'

export const load: typeof import('./load.ts').load = (...args) => start(args, async () => simd)
