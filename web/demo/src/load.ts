// The package with its WebAssembly as a file of its own: 4 kB less to fetch than inside a module.

import { load } from 'gpt-layers'
import relaxed from 'gpt-layers/relaxed.wasm?url'
import simd from 'gpt-layers/simd.wasm?url'

const compile = async (url: string) => WebAssembly.compile(await (await fetch(url)).arrayBuffer())

/** The build that every browser has. It computes the same bits everywhere. */
export const loadSimd = async () => load({ module: await compile(simd) })

/** The relaxed build where the browser can run it. */
export const loadPackage = async () => load({ module: await compile(relaxed).catch(() => compile(simd)) })
