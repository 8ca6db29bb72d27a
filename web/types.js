// Makes dist/index.d.ts, the types of the package in one file, from the declarations that tsc has made of
// each source file.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import ts from 'typescript'

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
  writeFileSync(`${dist}index.d.ts`, withUndefined(readFileSync(`${dist}index.d.ts`, 'utf8')))
  for (const name of entries.filter((name) => name !== 'index')) {
    writeFileSync(`${dist}${name}.d.ts`, `export * from './index.js'\n`)
  }
  writeFileSync(`${dist}gpt-layers-worker.d.ts`, 'export {}\n')
}

/**
 * An option that is undefined has its default, so `dim?: number` becomes `dim?: number | undefined`: with
 * exactOptionalPropertyTypes, TypeScript would refuse `{ dim: maybe }` otherwise.
 *
 * @param {string} types
 */
function withUndefined(types) {
  /** @type {ts.TypeNode[]} */
  const found = []
  const visit = (/** @type {ts.Node} */ node) => {
    ts.forEachChild(node, visit)
    if (ts.isPropertySignature(node) && node.questionToken && node.type) found.push(node.type)
  }
  visit(ts.createSourceFile('index.d.ts', types, ts.ScriptTarget.Latest, true))
  for (const type of found.sort((a, b) => b.end - a.end)) {
    const [before, text, after] = [types.slice(0, type.getStart()), type.getText(), types.slice(type.end)]
    types = `${before}${ts.isFunctionTypeNode(type) ? `(${text})` : text} | undefined${after}`
  }
  return types
}
