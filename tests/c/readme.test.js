// Softsign, the worked example of c/README.md: its blocks of code, put into files as the text says, compile and
// pass.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { blocksOf } from '../blocks.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

test('Softsign as c/README.md writes it compiles and passes its tests', () => {
  const [contract, references, kernel, rows, tests] = blocksOf(
    'c',
    'c/README.md',
    'How to add a kernel: Softsign',
  )
  const folder = join(root, 'build/softsign')
  mkdirSync(folder, { recursive: true })
  const write = (/** @type {string} */ name, /** @type {string} */ text) =>
    writeFileSync(join(folder, name), text)
  write('declarations.h', `#pragma once\n#include "gpt_layers.h"\n${contract}\n${references}`)
  write('softsign.c', kernel)
  write('test_softsign.c', tests)
  write('table.c', `#include <math.h>\n#include "check.h"\n#include "table.h"\n${rows}`)
  const program = join(folder, 'test.wasm')
  /** @param {string} file @param {string[]} args @returns {string} what it prints */
  const run = (file, args) => execFileSync(file, args, { cwd: root, encoding: 'utf8', stdio: 'pipe' })
  const flags = run('./build.sh', ['flags', 'simd']).trim().split(' ')
  const include = ['-Ic', '-include', join(folder, 'declarations.h'), '-idirafter', 'tests/c']
  const sources = ['softsign.c', 'test_softsign.c', 'table.c'].map((name) => join(folder, name))
  const shared = ['c/simd.c', 'c/sizes.c', 'c/random.c']
  shared.push(...['main', 'check', 'contract', 'rules'].map((name) => `tests/c/${name}.c`))
  const link = ['-sSTANDALONE_WASM', '-sINITIAL_MEMORY=64MB', '-o', program]
  run('emcc', [...flags, ...include, ...sources, ...shared, ...link])
  const printed = run(process.execPath, ['--no-warnings', 'tests/c/wasi.js', program])
  assert.match(printed, /^18 passed, 0 failed$/m)
})
