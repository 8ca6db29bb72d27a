// What ./build.sh builds again after a change: in a copy of the sources, with compilers and bundlers that only
// say that they ran.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const copy = mkdtempSync(join(tmpdir(), 'gpt-layers-build-'))
const bin = join(copy, 'bin')
after(() => rmSync(copy, { recursive: true }))

/** @param {string} path in the copy @param {string} text */
function write(path, text) {
  mkdirSync(dirname(join(copy, path)), { recursive: true })
  writeFileSync(join(copy, path), text, { mode: 0o755 })
}

const KERNELS = ['crossentropy.c', 'gelu.c', 'mse.c', 'relu.c', 'softmax.c']
const ours = (/** @type {string} */ source) =>
  !['dist', 'node_modules'].includes(basename(source)) &&
  (!/\bc\/\w+\.c$/.test(source) || KERNELS.includes(basename(source)))
for (const path of [
  'build.sh',
  'c',
  'web',
  'package.json',
  'package-lock.json',
  'tests/golden/notebooks.json',
])
  cpSync(join(root, path), join(copy, path), { recursive: true, filter: ours })

// The tools of this system, except for compilers, Node, and apt, whose packages should not be installed.
mkdirSync(bin)
for (const folder of (process.env.PATH ?? '').split(delimiter).filter(existsSync)) {
  for (const name of readdirSync(folder)) {
    const isOther = /-\d+$|^(apt|emcc|node|npm)/.test(name)
    if (!isOther && !existsSync(join(bin, name))) symlinkSync(join(folder, name), join(bin, name))
  }
}

/** Emscripten 3.1.6, whose own clang has no relaxed SIMD. @param {string} version */
const installEmscripten = (version) =>
  write(
    'bin/emcc',
    `#!/bin/sh
case "$*" in
-v) echo 'emcc (Emscripten) ${version} ()'; echo 'clang version 14.0.6' ;;
*-mrelaxed-simd*) [ -e bin/clang-19 ] && case "$*" in *--em-config*) ;; *) false ;; esac ;;
esac || exit
case "$*" in
*' -c '*) echo " \\"$PWD/bin/stand-in-clang\\" $*" ;; # which ./build.sh reads
*' -o '*) while [ "$1" != -o ]; do shift; done
    { echo "$*"; cat $(printf '%s\\n' "$@" | grep '\\.o$'); } >"$2" ;;
esac
`,
  )

// An object is its source without comments. It lists the headers of the sources themselves only.
write(
  'bin/stand-in-clang',
  `#!/bin/sh
while [ "$1" != -o ]; do [ "$1" != --version ] || exit 0; shift; done
echo "$3" >>compiled
{ echo "$3"; grep -v '^//' "$3"; } >"$2"
{ printf '%s: %s' "$2" "$3"; sed -n 's/#include "\\(.*\\)"/ c\\/\\1/p' "$3" | tr '\\n' ' '; } >"\${2%.o}.d"
`,
)
write('bin/.emscripten', "LLVM_ADD_VERSION = '14'\n")
installEmscripten('3.1.6')

/** It makes dist/ of the sources without comments, and the API reference of its types. @param {string} version */
const installNode = (version) =>
  write(
    'bin/node',
    `#!/bin/sh
case "$1" in
--version) echo ${version} ;;
web/bundle.js) cat $(find web/lib web/*.js -type f | sort) | grep -v '^//' >dist/index.d.ts
    cat dist/index.d.ts $(find web/examples/stories -type f) package.json c/gpt_layers.h build/wasm/*.wasm |
        grep -av '^//' >dist/index.js ;;
web/demo/api.js) cat dist/index.d.ts package.json web/demo/api* web/demo/public/* >build/api/index.html ;;
esac
`,
  )
installNode('v20.0.0')
write('bin/npm', '#!/bin/sh\n')
const tsc = 'node_modules/@typescript/native/bin/tsc'
for (const tool of [tsc, 'node_modules/.bin/vite']) write(tool, '#!/bin/sh\n')
for (const output of ['dist/index.js', 'build/api/index.html', 'web/demo/dist/index.html']) write(output, '')

/**
 * Runs ./build.sh in the copy.
 *
 * @param {Record<string, string>} [variables] of its environment
 */
function build(variables = {}) {
  rmSync(join(copy, 'compiled'), { force: true })
  const { status, stderr } = spawnSync('./build.sh', {
    cwd: copy,
    encoding: 'utf8',
    // As prepack, it installs no system packages.
    env: { PATH: bin, npm_lifecycle_event: 'prepack', ...variables },
  })
  return { status, stderr, built: [...stderr.matchAll(/^building (.*)/gm)].map(([, name]) => name) }
}

/** The sources that the last build compiled. */
const compiled = () =>
  existsSync(join(copy, 'compiled'))
    ? [...new Set(readFileSync(join(copy, 'compiled'), 'utf8').trim().split('\n'))].sort()
    : []

const ALL = ['npm', 'wasm', 'package', 'api', 'page']
const FROM_PACKAGE = ALL.slice(2)
/** The API reference is made of the types. */
const FROM_WASM = ['wasm', 'package', 'page']

test('a fresh clone is built, and then nothing', () => {
  const first = build()
  assert.deepEqual(first.built, ALL, first.stderr)
  assert.equal(first.status, 0, first.stderr)
  assert.deepEqual(build().built, [])
})

for (const [path, expected] of /** @type {[string, string[]][]} */ ([
  ['package-lock.json', ['npm', ...FROM_PACKAGE]],
  ['package.json', FROM_PACKAGE],
  ['c/gpt_layers.h', FROM_WASM],
  ['c/new.c', FROM_WASM],
  ['web/lib/layers/activations.ts', FROM_PACKAGE],
  ['web/bundle.js', FROM_PACKAGE],
  ['web/exports.js', FROM_PACKAGE],
  ['web/types.js', FROM_PACKAGE],
  ['web/examples/stories/model.safetensors', ['package', 'page']],
  ['web/demo/api.js', ['api', 'page']],
  ['web/demo/api.tsconfig.json', ['api', 'page']],
  ['web/demo/public/icon.svg', ['api', 'page']],
  ['web/demo/vite.config.js', ['page']],
  ['web/demo/src/new.ts', ['page']],
])) {
  test(`a change of ${path} rebuilds ${expected.join(', ')}`, () => {
    appendFileSync(join(copy, path), '\n')
    const { built, stderr } = build()
    assert.deepEqual(built, expected, stderr)
  })
}

for (const [path, expected] of /** @type {[string, string][]} */ ([
  ['c/gelu.c', 'wasm'],
  ['web/lib/layers/activations.ts', 'package'],
])) {
  test(`a comment in ${path} rebuilds ${expected}, and nothing that is made of it`, () => {
    appendFileSync(join(copy, path), '// a comment\n')
    const { built, stderr } = build()
    assert.deepEqual(built, [expected], stderr)
  })
}

test('documents, tests, examples and what a linter keeps rebuild nothing', () => {
  const paths = ['c/README.md', 'tests/new.test.js', 'web/examples/train.js', 'web/demo/.svelte-check/new.ts']
  for (const path of paths) write(path, '\n')
  assert.deepEqual(build().built, [])
})

test('a file that is gone rebuilds what it was in', () => {
  rmSync(join(copy, 'web/demo/src/new.ts'))
  assert.deepEqual(build().built, ['page'])
})

test('another address of the page rebuilds the page', () => {
  const variables = { GPT_LAYERS_SITE: 'https://example.com/' }
  assert.deepEqual(build(variables).built, ['page'])
  assert.deepEqual(build(variables).built, [])
  assert.deepEqual(build().built, ['page'])
})

test('another version of Node rebuilds the package', () => {
  installNode('v24.0.0')
  assert.deepEqual(build().built, FROM_PACKAGE)
})

test('another version of Emscripten rebuilds the WebAssembly', () => {
  installEmscripten('3.1.69')
  assert.deepEqual(build().built, ['wasm'])
  assert.deepEqual(compiled(), [...KERNELS, 'new.c'].map((name) => `c/${name}`).sort())
})

test('LLVM 19, installed later, adds the relaxed build', () => {
  assert.ok(!existsSync(join(copy, 'build/wasm/relaxed.wasm')))
  for (const name of ['clang-19', 'wasm-ld-19', 'llvm-ar-19'])
    write(`bin/${name}`, `#!/bin/sh\necho ${name} 19.1\n`)
  assert.deepEqual(build().built, FROM_WASM)
  assert.ok(existsSync(join(copy, 'build/wasm/relaxed.wasm')))
  write('bin/clang-19', '#!/bin/sh\necho clang-19 19.2\n')
  assert.deepEqual(build().built, ['wasm'])
})

test('a changed source of a kernel is compiled, and those that include a changed header', () => {
  appendFileSync(join(copy, 'c/mse.c'), '\n')
  assert.equal(build().status, 0)
  assert.deepEqual(compiled(), ['c/mse.c'])
  appendFileSync(join(copy, 'c/softmax.h'), '\n')
  assert.equal(build().status, 0)
  assert.deepEqual(compiled(), ['c/crossentropy.c', 'c/softmax.c'])
})

test('other flags compile every kernel again', () => {
  appendFileSync(join(copy, 'c/flags.sh'), '\n')
  assert.equal(build().status, 0)
  assert.deepEqual(compiled(), [])
  const script = readFileSync(join(copy, 'c/flags.sh'), 'utf8')
  write('c/flags.sh', script.replace('-O2 -msimd128', '-O1 -msimd128'))
  assert.equal(build().status, 0)
  assert.deepEqual(compiled(), [...KERNELS, 'new.c'].map((name) => `c/${name}`).sort())
})

test('a kernel that is gone is not linked', () => {
  const linked = () => readFileSync(join(copy, 'build/wasm/simd.wasm'), 'utf8')
  assert.match(linked(), /c\/new\.o/)
  rmSync(join(copy, 'c/new.c'))
  const make = ['-f', 'c/Makefile', 'build/wasm/simd.wasm']
  assert.equal(spawnSync('make', make, { cwd: copy, env: { PATH: bin } }).status, 0)
  assert.match(linked(), /c\/gelu\.o/)
  assert.doesNotMatch(linked(), /c\/new\.o/)
  assert.deepEqual(build().built, FROM_WASM)
})

test('a step that fails ends the build, and is repeated', () => {
  appendFileSync(join(copy, 'web/lib/index.ts'), '\n')
  write(tsc, '#!/bin/sh\nexit 3\n')
  const failed = build()
  assert.deepEqual([failed.status, failed.built], [3, ['package']])
  write(tsc, '#!/bin/sh\n')
  assert.deepEqual(build().built, FROM_PACKAGE)
})
