// Makes dist/, the npm package, from web/lib and build/wasm: a few modules instead of one for each source
// file, and their types in one file. The C header and the stories' files are copied.

import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import { writeTypes } from './types.js'

/** @param {string} path from the repository's root */
const fromRoot = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const lib = fromRoot('web/lib/')
const dist = fromRoot('dist/')

/** The modules that users import: their name in dist/ -> the source. */
const ENTRIES = { index: `${lib}index.ts`, core: `${lib}core.ts`, workerd: `${lib}workerd.ts` }

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
 * Makes web/lib/wasm/builds.ts, which has no source.
 *
 * @param {string[]} names the names of the builds
 */
const buildsModule = (names) => ({
  name: 'builds',
  /** @param {string} id */
  resolveId(id) {
    if (id.endsWith('/wasm/builds.ts')) return `${lib}wasm/builds.ts`
    return id.startsWith('./wasm/') ? { id, external: true } : null
  },
  /** @param {string} id */
  load(id) {
    if (id !== `${lib}wasm/builds.ts`) return null
    const imports = names.map((name) => `'${name}': () => import('./wasm/${name}.js')`)
    return `export const builds = { ${imports.join(', ')} }`
  },
})

/**
 * @param {string[]} names the names of the builds
 * @returns {Promise<string[]>} the names that index.js exports
 */
async function bundleModules(names) {
  const output = { dir: dist, sourcemap: true, comments: false, chunkFileNames: '[name].js' }
  const { version } = JSON.parse(readFileSync(fromRoot('package.json'), 'utf8'))
  const VERSION = JSON.stringify(version)
  const { output: worker } = await build({
    input: { 'gpt-layers-worker': `${lib}threads/worker.ts` },
    transform: { define: { VERSION } },
    output: { dir: dist, minify: true },
  })
  const WORKER_CODE = JSON.stringify(worker[0].code)
  // An app that imports only these names gets nothing else.
  const errors = { name: 'errors', test: /lib\/(config|errors)\.ts$/ }
  // What is imported where it is needed imports this, instead of sharing a further chunk with it.
  const lazy = 'checkpoint/torchfile|threads/(?!warn)|wasm/'
  const shared = { name: 'start', test: new RegExp(`lib/(?!${lazy}|(index|core|workerd|load)\\.ts)`) }
  const { output: chunks } = await build({
    input: ENTRIES,
    plugins: [buildsModule(names)],
    transform: { define: { VERSION, WORKER_CODE } },
    output: { ...output, codeSplitting: { groups: [errors, shared] } },
  })
  return chunks[0].exports
}

/** Copies files from folders that have a README.md: npm 9 would pack each README.md beside a packed file. */
function copyFiles() {
  mkdirSync(`${dist}stories`)
  copyFileSync(fromRoot('c/gpt_layers.h'), `${dist}gpt_layers.h`)
  for (const name of ['model.safetensors', 'words.json']) {
    copyFileSync(fromRoot(`web/examples/stories/${name}`), `${dist}stories/${name}`)
  }
}

rmSync(dist, { recursive: true, force: true })
await writeTypes(dist, Object.keys(ENTRIES), await bundleModules(writeBuilds()))
copyFiles()
