// The package with its WebAssembly as a file of its own: 4 kB less to fetch than inside a module.

import { load } from 'gpt-layers'

/**
 * @param url of the kernels: in a worker all of the simd build, in the page those that page.wasm has. Every browser
 *   runs this build, with the same bits: training is chaotic, and other bits would lead to other losses.
 */
export async function loadPackage(url: string) {
  await load({ module: await WebAssembly.compile(await (await fetch(url)).arrayBuffer()) })
}
