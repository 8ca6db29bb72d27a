// The package as users get it: packed, installed into an empty folder, and used as README says.

/** @import { Rolldown } from 'vite' */

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build as rolldown } from 'rolldown'
import { build } from 'vite'
import { blocksOf } from '../blocks.js'
import { builds } from './support.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const tool = (/** @type {string} */ name) => join(root, 'node_modules/.bin', name)
/** @param {string} command @param {string[]} args @param {string} [cwd] @returns {string} what it prints */
const run = (command, args, cwd = folder) =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: 'pipe' })

/** @type {string} */
let folder
/** @type {string} */
let tarball
/** @type {string[]} */
let files
/** What npm says while it installs the tarball. */
let warnings = ''

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'gpt-layers-'))
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
  const [packed] = JSON.parse(run('npm', args, root))
  tarball = join(folder, packed.filename)
  files = packed.files.map((/** @type {{ path: string }} */ { path }) => path)
  writeFileSync(join(folder, 'package.json'), '{ "name": "app", "private": true, "type": "module" }')
  const install = ['install', '--offline', '--no-audit', '--no-fund', tarball]
  const { status, stderr } = spawnSync('npm', install, { cwd: folder, encoding: 'utf8' })
  warnings = stderr
  assert.equal(status, 0, stderr)
})
after(() => rmSync(folder, { recursive: true, force: true }))

/** README's programs, and what the first prints. */
const [example, training, saving] = blocksOf('js', 'README.md')
const [printed] = blocksOf('text', 'README.md')

test('the tarball holds the package, its types and source maps, the header, the stories, and nothing else', () => {
  const allowed = [
    /^dist\/.*\.(js|d\.ts|js\.map|wasm)$/,
    /^dist\/(gpt_layers\.h|stories\/(model\.safetensors|words\.json))$/,
    /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|web\/lib\/(README|TORCH)\.md|c\/README\.md)$/,
  ]
  for (const path of files)
    assert.ok(
      allowed.some((pattern) => pattern.test(path)),
      path,
    )
  for (const path of [
    'dist/index.js',
    'dist/index.d.ts',
    'dist/index.js.map',
    'dist/wasm/simd.wasm',
    'dist/gpt_layers.h',
    'dist/stories/model.safetensors',
    'dist/stories/words.json',
    'LICENSE',
  ]) {
    assert.ok(files.includes(path), path)
  }
  assert.deepEqual(
    readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['gpt-layers'],
  )
})

const installed = (/** @type {string} */ name) =>
  readFileSync(join(folder, 'node_modules/gpt-layers', name), 'utf8')

test('a page without a bundler loads three modules', () => {
  const imports = (/** @type {string} */ name) =>
    [...installed(`dist/${name}`).matchAll(/^import .* from "\.\/(.*)";$/gm)].map(([, path]) => path)
  assert.deepEqual(imports('index.js'), ['shared.js'])
  assert.deepEqual(imports('shared.js'), [])
  assert.match(installed('dist/index.js'), / => import\("\.\/wasm\/simd\.js"\)/)
  assert.match(installed('dist/wasm/simd.js'), /^export default '[0-9a-f]+'\n$/)
})

test('an app that imports only GptLayersError gets nothing else', async () => {
  const input = join(folder, 'error.js')
  writeFileSync(input, "export { GptLayersError } from 'gpt-layers'\n")
  const { output } = await rolldown({ input, cwd: folder, write: false, output: { comments: false } })
  assert.equal(output.length, 1)
  assert.match(output[0].code, /class extends Error/)
  assert.ok(output[0].code.length < 500, output[0].code)
})

test('bundlers find the worker by the expression that they know', () => {
  const expression = 'new Worker(new URL("./gpt-layers-worker.js", import.meta.url), { type: "module" })'
  assert.ok(installed('dist/threads.js').includes(expression))
})

test('source maps lead to the sources, which they contain', () => {
  const { sources, sourcesContent } = JSON.parse(installed('dist/index.js.map'))
  assert.ok(sources.includes('../web/lib/layers/linear.ts'), sources.join())
  assert.ok(sourcesContent[sources.indexOf('../web/lib/layers/linear.ts')].includes('class Linear'))
})

test('README’s example runs as printed, and prints what README says', () => {
  writeFileSync(join(folder, 'example.mjs'), example)
  assert.equal(run(process.execPath, ['example.mjs']), printed)
})

test('the ten lines of web/examples/stories/README.md write the story that it shows', () => {
  const [code] = blocksOf('js', 'web/examples/stories/README.md')
  const [story] = blocksOf('text', 'web/examples/stories/README.md')
  writeFileSync(join(folder, 'write.mjs'), code)
  assert.equal(code.trim().split('\n').length, 10)
  assert.equal(run(process.execPath, ['write.mjs']), story.trim().replaceAll('\n', ' ') + '\n')
})

test('README’s training program, after its example, learns; then the model is saved and loaded', () => {
  writeFileSync(join(folder, 'train.mjs'), example + training + saving)
  const lines = run(process.execPath, ['train.mjs']).slice(printed.length).trim().split('\n')
  const losses = lines.map((line) => Number(line.split(' ')[1]))
  assert.equal(losses.length, 3)
  assert.ok(losses[0] > 1 && losses[2] < 0.1, `${losses}`)
})

test('npm installs the tarball without a warning, and no field of package.json leads nowhere', () => {
  assert.equal(warnings, '')
  assert.doesNotMatch(installed('package.json'), /"(homepage|bugs|repository)"|your-/)
})

test('README names the tarball as npm does', () => {
  assert.ok(readme.includes(`writes ${basename(tarball)}\n`))
  assert.ok(readme.includes(`/${basename(tarball)} #`))
})

test(
  'require loads the package where Node can require ES modules',
  { skip: !process.features.require_module && 'this Node cannot require ES modules' },
  () => {
    const code =
      "const gpt = require('gpt-layers')\ngpt.load().then(() => console.log(String(gpt.ones([2]))))"
    writeFileSync(join(folder, 'required.cjs'), code)
    assert.equal(run(process.execPath, ['--no-warnings', 'required.cjs']), 'tensor([1., 1.])\n')
  },
)

// README's sizes and the limits hold for this compiler, Debian 12's. Other compilers differ.
const compiler = readFileSync(join(root, 'build/wasm/compiler.txt'), 'utf8').trim()
const otherCompiler = compiler !== 'Emscripten 3.1.6, clang 14' && `sizes are not checked for ${compiler}`

// These tools read package.json, which lists the relaxed build.
const incomplete = !builds.includes('relaxed') && 'this copy was built without the relaxed build'
test('publint and attw find nothing', { skip: incomplete }, () => {
  assert.match(
    run(tool('publint'), ['--strict', '--pack', 'false', join(folder, 'node_modules/gpt-layers')]),
    /All good!/,
  )
  run(tool('attw'), [tarball], root) // fails where it finds something; its settings are in .attw.json
})

/**
 * Bundles an app with Vite.
 *
 * @param {string} code
 */
async function bundled(code) {
  writeFileSync(join(folder, 'app.js'), code)
  const bundle = await build({
    root: folder,
    logLevel: 'error',
    configFile: false,
    build: { write: false, rollupOptions: { input: join(folder, 'app.js') } },
  })
  const { output } = /** @type {Rolldown.RolldownOutput} */ (bundle)
  const chunks = output.filter((file) => file.type === 'chunk')
  const chunkWith = (/** @type {string} */ module) => {
    const found = chunks.filter(({ moduleIds }) => moduleIds.some((id) => id.endsWith(module)))
    assert.equal(found.length, 1, `${module} is in one chunk`)
    return found[0]
  }
  /** A browser downloads the entry, the chunk of the build that it runs, and their imports. */
  const downloadedFor = (/** @type {string} */ name) => {
    const downloaded = new Set(chunks.filter(({ isEntry }) => isEntry)).add(chunkWith(`dist/wasm/${name}.js`))
    for (const { imports } of downloaded) {
      for (const chunk of chunks) if (imports.includes(chunk.fileName)) downloaded.add(chunk)
    }
    return downloaded
  }
  /** Bytes, gzipped. @param {string} name */
  const sizeOf = (name) =>
    [...downloadedFor(name)].reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0)
  return { output, downloaded: downloadedFor('simd'), chunkWith, sizeOf }
}

/** Bytes that an app downloads with `load` and everything else, gzipped, and with `load` and LayerNorm. */
let [downloadSize, layerNormSize] = [NaN, NaN]
/** The same in Chrome, which runs the relaxed build. */
let inChrome = [NaN, NaN]
test('an app downloads only the build that it runs, and of the rest what it imports', async () => {
  const everything = await bundled(
    "import * as gpt from 'gpt-layers'\ngpt.load().then(() => console.log(gpt))\n",
  )
  const { output, downloaded, chunkWith } = everything
  assert.ok(
    output.some(({ fileName }) => /worker-.*\.js$/.test(fileName)),
    'the worker should be in the bundle',
  )
  assert.ok(!downloaded.has(chunkWith('dist/threads.js')))
  assert.ok(downloaded.size >= 2, 'the WebAssembly should be a separate chunk')
  for (const name of builds) {
    const chunk = chunkWith(`dist/wasm/${name}.js`)
    assert.equal(downloaded.has(chunk), name === 'simd', `${name} should be a separate chunk`)
  }
  const layerNorm = await bundled(
    "import { LayerNorm, load } from 'gpt-layers'\nload().then(() => console.log(new LayerNorm(5)))\n",
  )
  downloadSize = everything.sizeOf('simd')
  layerNormSize = layerNorm.sizeOf('simd')
  if (builds.includes('relaxed')) inChrome = [everything, layerNorm].map(({ sizeOf }) => sizeOf('relaxed'))
})

test(
  'an app pays at most 90.5 kB gzipped for everything, 64.1 for LayerNorm',
  { skip: otherCompiler },
  () => {
    assert.ok(downloadSize <= 90_500, `${downloadSize} bytes`)
    assert.ok(layerNormSize <= 64_100, `${layerNormSize} bytes`)
  },
)

/**
 * Asserts that a size in a document is within 5 %.
 *
 * @param {string | undefined} kilobytes
 * @param {number} bytes
 */
const assertStated = (kilobytes, bytes) =>
  assert.ok(
    Math.abs(bytes - 1000 * Number(kilobytes?.replace(',', ''))) < 0.05 * bytes,
    `${kilobytes} kB stated, ${bytes} bytes`,
  )

test('the sizes that the documents state are right', { skip: otherCompiler }, () => {
  const bench = readFileSync(join(root, 'tests/bench/README.md'), 'utf8')
  const architecture = readFileSync(join(root, 'web/lib/ARCHITECTURE.md'), 'utf8')
  const simd = statSync(join(root, 'dist/wasm/simd.wasm')).size
  if (builds.includes('relaxed')) {
    assertStated(/An app downloads ([\d.]+) kB in Chrome/.exec(readme)?.[1], inChrome[0])
    assertStated(/, or ([\d.]+) kB if it imports `load` and `LayerNorm`/.exec(readme)?.[1], inChrome[1])
  }
  assertStated(/an app that imports everything[^|]*\| ([\d.]+) kB/.exec(bench)?.[1], downloadSize)
  assertStated(/an app with `load` and `LayerNorm`[^|]*\| ([\d.]+) kB/.exec(bench)?.[1], layerNormSize)
  assertStated(/`simd\.wasm`[^|]*\| ([\d.]+) kB/.exec(bench)?.[1], simd)
  assertStated(/the\s+tarball's ([\d,]+)/.exec(architecture)?.[1], statSync(tarball).size)
})
