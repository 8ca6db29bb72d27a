// Makes dist/index.d.ts, the types of the package in one file, from the declarations that tsc has made of
// each source file.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'

/**
 * The declarations of one source file as users see them: constructors without the runtime, which
 * `new gpt.Linear(5, 6)` passes on.
 */
const asPublished = {
  name: 'as-published',
  /** @param {string} code */
  transform: (code) => code.replace(/\(runtime: Runtime(, )?/g, '('),
}

/** The DOM library's types where a project has it, otherwise the parts that the package uses. */
const WEBASSEMBLY = `declare namespace WebAssembly {
    type Global = Type<"Global", { readonly value: number }>;
    type Memory = Type<"Memory", { readonly buffer: ArrayBuffer; grow(delta: number): number }>;
    type Module = Type<"Module", object>;
    type Type<Name extends string, Otherwise> =
        typeof globalThis extends { WebAssembly: Record<Name, { prototype: infer T }> } ? T : Otherwise;
}
`

/** A method for \`using\`, in a project whose TypeScript knows Symbol.dispose. */
const DISPOSES = `type Disposes = { [K in DisposeKey]: () => void };
type DisposeKey = SymbolConstructor extends { readonly dispose: infer S extends symbol } ? S : never;
`

/**
 * @param {string} code the declarations
 * @returns {string} with each class's documentation also where an instance has the class, as `gpt.Linear`
 */
const documentClasses = (code) =>
  code.replace(/^ +(\w+): typeof \1;$/gm, (property, name) => {
    const [, text] =
      new RegExp(`^(/\\*\\*(?:(?!\\*/)[^])*\\*/)\ndeclare class ${name} `, 'm').exec(code) ?? []
    return text ? `${text.replace(/^/gm, '    ')}\n${property}` : property
  })

/**
 * The methods for `using`, in a project whose TypeScript knows Symbol.dispose.
 *
 * @param {string} code the declarations
 */
const makeDisposeOptional = (code) =>
  code.replace(/^declare class (\w+) [^]*?^\}\n/gm, (text, name) => {
    const rest = text.replace(/^ +\[Symbol\.dispose\]\(\): void;\n/m, '')
    return rest === text ? text : `${rest}interface ${name} extends Disposes {}\n`
  })

/**
 * Every entry has the same types. The worker has none.
 *
 * @param {string} dist the folder
 * @param {string[]} entries their names
 * @param {string[]} values the names that index.js exports; everything else is only a type
 */
export async function writeTypes(dist, entries, values) {
  const input = fileURLToPath(new URL('../build/lib/index.d.ts', import.meta.url))
  const bundle = await rollup({ input, plugins: [asPublished, dts()] })
  const [{ code, exports }] = (await bundle.generate({})).output
  const types = exports.filter((name) => !values.includes(name))
  const declarations = code.replace(/^export (type )?\{.*\};\n/gm, '').replace(/^\/\/\/ .*\n/gm, '')
  const list = `export { ${values.join(', ')} };\nexport type { ${types.join(', ')} };\n`
  const text = WEBASSEMBLY + DISPOSES + makeDisposeOptional(documentClasses(declarations)) + list
  for (const name of entries) {
    writeFileSync(`${dist}${name}.d.ts`, name === 'index' ? text : `export * from './index.js'\n`)
  }
  writeFileSync(`${dist}gpt-layers-worker.d.ts`, 'export {}\n')
}
