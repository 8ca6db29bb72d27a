// SiLU, the worked example of c/README.md: its blocks of code, put into files as the text says, compile and
// pass.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

test('SiLU as c/README.md writes it compiles and passes its tests', () => {
  const [, section] = readFileSync(join(root, 'c/README.md'), 'utf8').split('## How to add a kernel: SiLU')
  const [contract, references, kernel, tests, judges, calls, rows] = [
    ...section.matchAll(/```c\n([\s\S]*?)```/g),
  ].map(([, code]) => code)
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
  const table = readFileSync(join(root, 'tests/c/table.c'), 'utf8')
  const [start] = table.split('/* What references compute in float64. */')
  const macros = table.slice(table.indexOf('/* run_<name> and'), table.indexOf('\nPARTS_ONLY('))
  const prototypes = [...judges.matchAll(/^void judge_\w+\([^)]*\)/gm)].map((match) => `${match[0]};\n`)
  write(
    'table.c',
    `${start}${macros}\n#include <math.h>\n#include "check.h"\n${prototypes.join('')}${judges}${calls}` +
      `const kernel kernels[] = {\n${rows}};\nconst size_t kernel_count = 2;\n`,
  )
  const body = 'test_silu();\n    test_rules();\n    return summary();'
  write('main.c', `#include "check.h"\nint main(void)\n{\n    ${body}\n}\n`)
  const program = join(folder, 'test.wasm')
  /** @param {string} file @param {string[]} args @returns {string} what it prints */
  const run = (file, args) => execFileSync(file, args, { cwd: root, encoding: 'utf8', stdio: 'pipe' })
  const flags = run('./build.sh', ['flags', 'simd']).trim().split(' ')
  const include = ['-Ic', '-include', join(folder, 'declarations.h'), '-idirafter', 'tests/c']
  const sources = ['silu.c', 'test_silu.c', 'table.c', 'main.c'].map((name) => join(folder, name))
  const shared = ['c/simd.c', 'c/sizes.c', 'c/random.c']
  shared.push(...['check', 'unary', 'calls', 'rules'].map((name) => `tests/c/${name}.c`))
  const link = ['-sSTANDALONE_WASM', '-sINITIAL_MEMORY=64MB', '-o', program]
  run('emcc', [...flags, ...include, ...sources, ...shared, ...link])
  const printed = run(process.execPath, ['--no-warnings', 'tests/c/wasi.js', program])
  assert.match(printed, /^17 passed, 0 failed$/m)
})
