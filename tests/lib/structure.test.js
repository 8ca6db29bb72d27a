// The rules of the house, read from its sources: calls go one way, and one name finds a kernel, its class and
// its test. calls: page -> web/lib -> exports of WebAssembly -> kernels

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

/** @typedef {{ path: string, source: string, imports: string[] }} Source path: without .ts or .js */

const root = fileURLToPath(new URL('../../', import.meta.url))

/** An import of a value. Imports of types do not count. */
const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b(?!\s+type\b)(?:[^'"]*?\bfrom)?\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g

/** @param {string} path */
const withoutExtension = (path) => path.replace(/\.(ts|js)$/, '')

/** @param {string} folder @returns {Source[]} */
function sources(folder) {
  return readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?<!\.d)\.(ts|js|svelte)$/.test(name) && !/(^|\/)(dist|node_modules)\//.test(name))
    .map((name) => {
      const source = readFileSync(`${root}${folder}/${name}`, 'utf8')
      const imports = [...source.matchAll(IMPORT)].map(([, plain, dynamic]) => plain ?? dynamic)
      return { path: withoutExtension(`${folder}/${name}`), source, imports }
    })
}

/** @param {string} source @returns {string} without comments */
const code = (source) => source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')

/** @param {Source} from @param {string} name @returns {string} the path of the file that it imports */
const target = ({ path }, name) => withoutExtension(new URL(name, `file:///${path}`).pathname.slice(1))

/** @param {string} path @returns {string} 'layernorm' for c/layernorm.c */
const stemOf = (path) => path.replace(/^.*\//, '').replace(/(\.test)?\.\w+$/, '')

const lib = sources('web/lib')
const demo = sources('web/demo')

test('web/lib imports nothing but itself', () => {
  assert.ok(lib.length > 10)
  for (const file of lib) {
    for (const name of file.imports) {
      assert.match(name, /^\.\.?\//, `${file.path} imports ${name}`)
      assert.ok(target(file, name).startsWith('web/lib/'), `${file.path} imports ${name}`)
    }
  }
})

test('no file of web/lib imports itself by way of others', () => {
  /** @type {Map<string, string[]>} */
  const graph = new Map(lib.map((file) => [file.path, file.imports.map((name) => target(file, name))]))
  /** @type {Set<string>} */
  const finished = new Set()
  /** @type {(path: string, above: readonly string[]) => void} */
  const visit = (path, above) => {
    assert.ok(!above.includes(path), `${[...above, path].join(' -> ')}`)
    if (finished.has(path)) return
    for (const next of graph.get(path) ?? []) visit(next, [...above, path])
    finished.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  assert.ok(finished.size > 30)
})

/**
 * The folders of web/lib, and what each imports beside itself: folders that stand above it in this table.
 *
 * @type {Record<string, string[]>}
 */
const FOLDERS = {
  runtime: [],
  threads: [],
  tensor: ['runtime'],
  checkpoint: ['tensor'],
  generate: ['runtime', 'tensor'],
  layers: ['runtime', 'tensor', 'checkpoint', 'generate'],
  losses: ['runtime', 'tensor'],
  optim: ['tensor'],
}

/** The files beside the folders that a folder may import. */
const COMMON = /^web\/lib\/(check|errors|config|typed)$/

/** @param {string} path @returns {string | undefined} its folder in web/lib; a file beside them has none */
const folderOf = (path) => /^web\/lib\/(\w+)\//.exec(path)?.[1]

test('each folder of web/lib imports the folders that the table says, all of which stand above it', () => {
  const names = Object.keys(FOLDERS)
  const found = new Set(lib.map(({ path }) => folderOf(path)).filter((folder) => folder !== undefined))
  assert.deepEqual([...found].sort(), [...names].sort(), 'the table should have each folder')
  names.forEach((folder, i) => {
    for (const other of FOLDERS[folder])
      assert.ok(names.indexOf(other) < i, `${other} stands below ${folder}`)
    const imported = new Set()
    for (const file of lib.filter(({ path }) => folderOf(path) === folder)) {
      for (const name of file.imports) {
        const path = target(file, name)
        const other = folderOf(path)
        if (other === undefined) assert.match(path, COMMON, `${file.path} imports ${name}`)
        else if (other !== folder) {
          assert.ok(FOLDERS[folder].includes(other), `${file.path} imports ${name}`)
          imported.add(other)
        }
      }
    }
    assert.deepEqual([...imported].sort(), [...FOLDERS[folder]].sort(), `what ${folder} imports`)
  })
})

test('the demo knows the package by its public names only', () => {
  assert.ok(demo.some(({ imports }) => imports.includes('gpt-layers')))
  for (const file of demo) {
    for (const name of file.imports.filter((name) => name.startsWith('.'))) {
      assert.match(target(file, name), /^(web|build)\/demo\//, `${file.path} imports ${name}`)
    }
    for (const name of file.imports)
      assert.doesNotMatch(name, /^gpt-layers\/(?!stories\/)/, `${file.path} imports ${name}`)
  }
})

test('the page reaches WebAssembly only through the package', () => {
  const raw = /WebAssembly\.|new WebAssembly|\bgpt_[a-z]|\.exports\b|\.byteOffset\b|__heap_base|\b_?malloc\b/
  for (const { path, source } of demo) {
    if (path.startsWith('web/demo/src/')) assert.doesNotMatch(code(source), raw, path)
  }
})

test('only start.ts and a worker instantiate WebAssembly, and only memory.ts makes views of the heap', () => {
  for (const { path, source } of lib) {
    const sources = ['web/lib/start', 'web/lib/threads/worker']
    const instantiates = sources.includes(path)
    if (!instantiates) {
      assert.doesNotMatch(code(source), /WebAssembly\.(instantiate|compile|validate)|new WebAssembly/, path)
    }
    if (path !== 'web/lib/runtime/memory') assert.doesNotMatch(code(source), /\.buffer\b|\.grow\(/, path)
  }
})

test('kernels are called by Runtime.run only, each under a name that the header declares', () => {
  const header = readFileSync(`${root}c/gpt_layers.h`, 'utf8')
  const declared = new Set([...header.matchAll(/\bGPT_API \w+ \*?(gpt_\w+)\(/g)].map(([, name]) => name))
  assert.ok(declared.size > 40)
  for (const { path, source } of lib) {
    for (const [, name] of code(source).matchAll(/['"`](gpt_\w+)['"`]/g)) {
      assert.ok(declared.has(name), `${path}: ${name}`)
    }
    const calls = [...code(source).matchAll(/\.(gpt_\w+)\(/g)].map(([, name]) => name)
    for (const name of calls) {
      assert.match(name, /_size$|^gpt_is_relaxed$|^gpt_stack_set$/, path)
    }
  }
})

test('kernels.ts lists just the kernels that the header declares with part and parts', () => {
  const header = readFileSync(`${root}c/gpt_layers.h`, 'utf8')
  const declarations = [...header.matchAll(/GPT_API int (gpt_\w+)\(([^;]*)\);/g)]
  const cut = declarations
    .filter(([, , parameters]) => /size_t parts$/.test(parameters))
    .map(([, name]) => name)
  const table = lib.find(({ path }) => path === 'web/lib/runtime/kernels')?.source ?? ''
  const listed = [...table.matchAll(/^ {2}(gpt_\w+):/gm)].map(([, name]) => name)
  assert.ok(cut.length > 20)
  assert.deepEqual(listed.sort(), cut.sort())
})

/** Sources in C that no class carries the name of: parts of others, and what the builds need. */
const HELPERS = /^(builds|simd|sizes|status|gemm_\w+|attention_\w+|int8_\w+)$/

/** Layers without a kernel of their own: made of other layers, or computing nothing. */
const COMPOSED = ['sequential', 'transformerblock', 'gptmodel', 'identity']

/** What the layers share. */
const SHARED = ['module', 'forward', 'affine', 'print']

test('a kernel finds its one module in web/lib by name', () => {
  const stems = readdirSync(`${root}c`)
    .filter((name) => name.endsWith('.c'))
    .map(stemOf)
  for (const stem of stems.filter((stem) => !HELPERS.test(stem))) {
    const found = lib.filter(({ path }) => stemOf(path) === stem).map(({ path }) => path)
    assert.equal(found.length, 1, `c/${stem}.c: ${found}`)
  }
})

test('every layer, loss and optimizer has one name: its kernel, its class and its test', () => {
  const tests = readdirSync(`${root}tests/lib`).map(stemOf)
  const kernels = readdirSync(`${root}c`)
    .filter((name) => name.endsWith('.c'))
    .map(stemOf)
  const layers = lib.filter(({ path }) => path.startsWith('web/lib/layers/')).map(({ path }) => stemOf(path))
  for (const stem of layers.filter((stem) => !SHARED.includes(stem))) {
    assert.ok(tests.includes(stem), `tests/lib/${stem}.test.js`)
    if (!COMPOSED.includes(stem)) {
      const names = kernels.filter((kernel) => kernel === stem || kernel.startsWith(`${stem}_`))
      assert.ok(names.length > 0, `c/${stem}.c`)
    }
  }
})

test('PyTorch’s values were written by the programs that stand beside them', () => {
  const folder = `${root}tests/golden/`
  const files = readdirSync(folder).filter((name) => /\.(py|json)$/.test(name))
  assert.ok(files.includes('layernorm.py') && files.includes('layernorm.json'))
  const sums = files.map((name) => {
    const sum = createHash('sha256').update(readFileSync(folder + name))
    return `${sum.digest('hex')}  ${name}`
  })
  const written = readFileSync(`${folder}SHA256SUMS`, 'utf8').trim().split('\n')
  const differing = [...sums, ...written].filter((line) => !(sums.includes(line) && written.includes(line)))
  assert.deepEqual(differing, [], 'changed since ./build.sh golden')
})
