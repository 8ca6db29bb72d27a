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

/** The modules that users import. */
const ENTRIES = ['index', 'core', 'workerd']

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

/** What keeps no state. Chunks that are imported late share it with index.js, and so the class of errors. */
const STATELESS =
  /lib\/((check|config|errors|typed)|tensor\/shape|files\/(dtypes|gptnames|names|reading))\.ts$/

/**
 * Each entry is a module of its own with all of the code and one state: a second copy of it, such as
 * `import('./index.js?2')`, is a second runtime.
 *
 * @param {string[]} names the names of the builds
 */
async function bundleModules(names) {
  const { version } = JSON.parse(readFileSync(fromRoot('package.json'), 'utf8'))
  const VERSION = JSON.stringify(version)
  const { output: worker } = await build({
    input: { 'gpt-layers-worker': `${lib}threads/worker.ts` },
    transform: { define: { VERSION } },
    output: { dir: dist, minify: true },
  })
  const WORKER_CODE = JSON.stringify(worker[0].code)
  const bundle = (/** @type {string} */ name) =>
    build({
      input: { [name]: `${lib}${name}.ts` },
      plugins: [buildsModule(names)],
      treeshake: { moduleSideEffects: false },
      transform: { define: { VERSION, WORKER_CODE } },
      output: {
        dir: dist,
        sourcemap: name === 'index',
        comments: { annotation: true, jsdoc: false, legal: false },
        chunkFileNames: '[name].js',
        // A service worker must not use import(), so the other entries have everything inside.
        codeSplitting: name === 'index' && { groups: [{ name: 'shared', test: STATELESS }] },
      },
    })
  await Promise.all(ENTRIES.map(bundle))
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
await bundleModules(writeBuilds())
await writeTypes(dist, ENTRIES)
copyFiles()
