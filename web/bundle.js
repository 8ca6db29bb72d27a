// Makes dist/, the npm package, from web/lib and build/wasm: a few modules instead of one for each source
// file, and their types in one file.

import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import ts from 'typescript'

/** @param {string} path from the repository's root */
const fromRoot = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const lib = fromRoot('web/lib/')
const dist = fromRoot('dist/')

/** The modules that users import: their name in dist/ -> the source. */
const ENTRIES = { index: `${lib}index.js`, core: `${lib}core.js`, workerd: `${lib}workerd.js` }

/**
 * The builds. Each becomes a JavaScript module of its own, so that `load` downloads only the one that it
 * runs. The bytes are in hexadecimal: base64 is a third shorter, but a fourth longer after compression,
 * because it does not align with bytes.
 *
 * @returns {string[]} their names
 */
function writeBuilds() {
  const names = ['simd', 'simd-threads', 'relaxed', 'relaxed-threads']
  const built = names.filter((name) => existsSync(fromRoot(`build/wasm/${name}.wasm`)))
  mkdirSync(`${dist}wasm`, { recursive: true })
  for (const name of built) {
    const path = fromRoot(`build/wasm/${name}.wasm`)
    copyFileSync(path, `${dist}wasm/${name}.wasm`)
    writeFileSync(`${dist}wasm/${name}.js`, `export default '${readFileSync(path, 'hex')}'\n`)
  }
  return built
}

/**
 * Makes web/lib/wasm/builds.js, which has no source.
 *
 * @param {string[]} names of the builds
 */
const buildsModule = (names) => ({
  name: 'builds',
  /** @param {string} id */
  resolveId(id) {
    if (id.endsWith('/wasm/builds.js')) return `${lib}wasm/builds.js`
    return id.startsWith('./wasm/') ? { id, external: true } : null
  },
  /** @param {string} id */
  load(id) {
    if (id !== `${lib}wasm/builds.js`) return null
    const imports = names.map((name) => `'${name}': () => import('./wasm/${name}.js')`)
    return `export const builds = { ${imports.join(', ')} }`
  },
})

/**
 * @param {string[]} names of the builds
 * @returns {Promise<string[]>} the names that index.js exports
 */
async function bundleModules(names) {
  const output = { dir: dist, sourcemap: true, comments: false, chunkFileNames: '[name].js' }
  const { version } = JSON.parse(readFileSync(fromRoot('package.json'), 'utf8'))
  const VERSION = JSON.stringify(version)
  const worker = {
    input: { 'gpt-layers-worker': `${lib}threads/worker.js` },
    transform: { define: { VERSION } },
  }
  await build({ ...worker, output })
  const [{ code }] = (await build({ ...worker, output: { minify: true }, write: false })).output
  const { output: chunks } = await build({
    input: ENTRIES,
    plugins: [buildsModule(names)],
    transform: { define: { VERSION, WORKER_CODE: JSON.stringify(code) } },
    output,
  })
  return chunks[0].exports
}

/**
 * The declarations of one source file as users see them: without internals; classes without the runtime,
 * which `new gpt.Linear(5, 6)` passes on; and each type itself, because an alias has no documentation.
 */
const asPublished = {
  name: 'as-published',
  /** @param {string} code */
  transform: (code) =>
    withoutInternals(code)
      .replace(/\(runtime: Runtime(, )?/g, '(')
      .replace(/ *\* @param \{Runtime\} runtime\n/g, '')
      .replace(/ *\/\*\*((?!\*\/)[^])*@typedef ((?!\*\/)[^])*\*\/\n/g, '') // tsc has written the type, too
      .replace(/export type (\w+) = import\("([^"]+)"\)\.\1;/g, 'export type { $1 } from "$2";'),
}

/**
 * Leaves out what tsc leaves out of a TypeScript source, but not of a JavaScript source.
 *
 * @param {string} code
 * @returns {string} without the declarations that are @internal or have a private name
 */
function withoutInternals(code) {
  let kept = ''
  let end = 0
  const visit = (/** @type {ts.Node} */ node) => {
    const isInternal = ts.getJSDocTags(node).some(({ tagName }) => tagName.text === 'internal')
    const isPrivate = ts.isMethodDeclaration(node) && ts.isPrivateIdentifier(node.name)
    if (isInternal || isPrivate) {
      kept += code.slice(end, node.getFullStart())
      end = node.end
    } else ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('types.d.ts', code, ts.ScriptTarget.ES2022, true))
  return kept + code.slice(end)
}

/** What the types need of TypeScript's DOM library, which a project may lack. */
const WEBASSEMBLY = `declare namespace WebAssembly {
    interface Module {}
    interface Memory { readonly buffer: ArrayBuffer; grow(delta: number): number }
    interface Global { value: number }
}
`

/** A method for \`using\`, in a project whose TypeScript knows Symbol.dispose. */
const DISPOSES = `type Disposes = { [K in DisposeKey]: () => void };
type DisposeKey = SymbolConstructor extends { readonly dispose: infer S extends symbol } ? S : never;
`

/**
 * The types of index.js. Every other entry has the same.
 *
 * @param {string[]} values the names that index.js exports; everything else is only a type
 */
async function bundleTypes(values) {
  const bundle = await rollup({ input: fromRoot('build/types/index.d.ts'), plugins: [asPublished, dts()] })
  const [{ code, exports }] = (await bundle.generate({})).output
  const types = exports.filter((name) => !values.includes(name))
  const declarations = code
    .replace(/^export (type )?\{.*\};\n/gm, '')
    .replace(/^\/\/\/ .*\n/gm, '')
    .replace(/^declare class (\w+) [^]*?^\}\n/gm, (text, name) => {
      const rest = text.replace(/^ +\[Symbol\.dispose\]\(\): void;\n/m, '')
      return rest === text ? text : `${rest}interface ${name} extends Disposes {}\n`
    })
  const list = `export { ${values.join(', ')} };\nexport type { ${types.join(', ')} };\n`
  writeFileSync(`${dist}index.d.ts`, WEBASSEMBLY + DISPOSES + declarations + list)
  writeFileSync(`${dist}gpt-layers-worker.d.ts`, 'export {}\n')
  for (const name of Object.keys(ENTRIES)) {
    if (name !== 'index') writeFileSync(`${dist}${name}.d.ts`, `export * from './index.js'\n`)
  }
}

rmSync(dist, { recursive: true, force: true })
await bundleTypes(await bundleModules(writeBuilds()))
