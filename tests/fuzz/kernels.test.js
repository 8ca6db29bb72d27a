// Ten seconds of the kernels' fuzzer, the same calls in every run, and what it once found.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { all } from '../all.js'
import { compile, fuzz, replay } from './kernels.js'

const corpus = 'tests/fuzz/corpus/kernels'
const INPUTS = 1000
const SEED = 1

const built = await compile(all ? ['simd', 'relaxed'] : ['simd'])
const skip = 'reason' in built ? built.reason : false
const programs = 'reason' in built ? [] : built.programs

test('a kernel keeps its contract for any arguments', { skip }, async () => {
  const results = await Promise.all(programs.map((program) => fuzz(program, SEED, INPUTS)))
  for (const { count, finding } of results) {
    assert.equal(finding, null, finding ?? '')
    assert.ok(count > 100 * INPUTS, `${count} kernel calls`)
  }
})

test('what the fuzzer once found stays mended', { skip }, async () => {
  assert.ok(readdirSync(new URL('corpus/kernels', import.meta.url)).length > 0)
  const results = await Promise.all(programs.map((program) => replay(program, [corpus])))
  for (const { finding } of results) assert.equal(finding, null, finding ?? '')
})
