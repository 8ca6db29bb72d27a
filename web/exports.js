// Writes the types of the WebAssembly's exports, with the names and parameters that c/gpt_layers.h declares.
// tsc reads them as web/lib/wasm/exports.ts, which has no source: `rootDirs` in web/lib/tsconfig.json.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** @param {string} path from the repository's root */
const fromRoot = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** @param {string} list the parameters in C @returns {string} in TypeScript: `y: number, rows: number` */
const parametersOf = (list) =>
  list
    .split(',')
    .map((parameter) => /(\w+)\s*$/.exec(parameter)?.[1])
    .filter((name) => name !== 'void')
    .map((name) => `${/^(in|var)$/.test(name ?? '') ? `${name}_` : name}: number`) // reserved words
    .join(', ')

const header = readFileSync(fromRoot('c/gpt_layers.h'), 'utf8')
const declarations = [...header.matchAll(/^GPT_API ([\w ]+[ *])(gpt_\w+)\(([^;]*)\);/gm)]
const functions = declarations.map(
  ([, type, name, parameters]) =>
    `  ${name}(${parametersOf(parameters)}): ${type.trim() === 'void' ? 'void' : 'number'}`,
)
mkdirSync(fromRoot('build/lib/wasm'), { recursive: true })
writeFileSync(
  fromRoot('build/lib/wasm/exports.d.ts'),
  `/**
 * The functions of \`c/gpt_layers.h\`, which documents each. A pointer is an address in bytes, 0 for NULL.
 */
export interface Functions {
${functions.join('\n')}
}
`,
)
