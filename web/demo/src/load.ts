// The package with its WebAssembly as a file of its own: 4 kB less to fetch than inside a module.

import { load } from 'gpt-layers'
import url from 'gpt-layers/simd.wasm?url'

/**
 * The build that every browser runs, with the same bits everywhere: training is chaotic, and other bits would lead
 * to other losses. The page and its workers share one file.
 */
export async function loadPackage() {
  await load({ module: await WebAssembly.compile(await (await fetch(url)).arrayBuffer()) })
}
