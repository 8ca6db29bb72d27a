// Makes dist/index.d.ts, the types of the package in one file, from the declarations that tsc has made of
// each source file.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'

/**
 * Every entry has the same types. The worker has none.
 *
 * @param {string} dist the folder
 * @param {string[]} entries their names
 */
export async function writeTypes(dist, entries) {
  const input = fileURLToPath(new URL('../build/lib/index.d.ts', import.meta.url))
  const bundle = await rollup({ input, plugins: [dts()] })
  await bundle.write({ file: `${dist}index.d.ts` })
  for (const name of entries.filter((name) => name !== 'index')) {
    writeFileSync(`${dist}${name}.d.ts`, `export * from './index.js'\n`)
  }
  writeFileSync(`${dist}gpt-layers-worker.d.ts`, 'export {}\n')
}
