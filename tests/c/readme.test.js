// SiLU, the worked example of c/README.md: its blocks of code, put into files as the text says, compile and pass.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** emcc from the PATH, or else from an emsdk folder, as build.sh finds it. */
function findEmcc() {
  const onPath = (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'emcc')))
  return onPath || !process.env.EMSDK ? 'emcc' : join(process.env.EMSDK, 'upstream/emscripten/emcc')
}

test('SiLU as c/README.md writes it compiles and passes its tests', () => {
  const [, section] = readFileSync(join(root, 'c/README.md'), 'utf8').split('## How to add a kernel: SiLU')
  const [contract, references, kernel, tests] = [...section.matchAll(/```c\n([\s\S]*?)```/g)].map(
    ([, code]) => code,
  )
  const folder = join(root, 'build/silu')
  mkdirSync(folder, { recursive: true })
  const write = (/** @type {string} */ name, /** @type {string} */ text) =>
    writeFileSync(join(folder, name), text)
  write(
    'declarations.h',
    `#pragma once\n#include "gpt_layers.h"\n${contract}\n${references}\nvoid test_silu(void);\n`,
  )
  write('silu.c', kernel)
  write('test_silu.c', tests)
  write('main.c', '#include "check.h"\nint main(void)\n{\n    test_silu();\n    return summary();\n}\n')
  const program = join(folder, 'test.wasm')
  const flags = [
    '-std=c11',
    '-O2',
    '-msimd128',
    '-Wall',
    '-Wextra',
    '-Wshadow',
    '-Wconversion',
    '-Wmissing-prototypes',
  ]
  const sources = ['silu.c', 'test_silu.c', 'main.c'].map((name) => join(folder, name))
  const shared = ['c/simd.c', 'tests/c/check.c', 'tests/c/unary.c']
  const include = ['-Ic', '-include', join(folder, 'declarations.h'), '-idirafter', 'tests/c']
  const link = ['-sSTANDALONE_WASM', '-sINITIAL_MEMORY=64MB', '-o', program]
  execFileSync(findEmcc(), [...flags, ...include, ...sources, ...shared, ...link], {
    cwd: root,
    stdio: 'pipe',
  })
  const printed = execFileSync(process.execPath, ['--no-warnings', join(root, 'tests/c/wasi.js'), program], {
    encoding: 'utf8',
  })
  assert.match(printed, /^8 passed, 0 failed$/m)
})
