// Which test files tests/run.js runs, and which have passed before: in a folder of small ones.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { digests } from './passed.js'

const runner = fileURLToPath(new URL('run.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'gpt-layers-run-'))
const root = process.cwd()
process.chdir(folder)
after(() => {
  process.chdir(root)
  rmSync(folder, { recursive: true })
})

/** @param {string} path in the folder @param {string} text */
function write(path, text) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

const ALL = ['kernels', 'lib', 'notebook', 'other', 'page', 'section']

/** Runs the tests. @param {string[]} args @param {Record<string, string>} [variables] */
function run(args = [], variables = {}) {
  // Without these variables it is a run of its own.
  const { NODE_TEST_CONTEXT, CI, GPT_LAYERS_TEST, ...env } = process.env
  const options = { cwd: folder, env: { ...env, ...variables }, encoding: /** @type {const} */ ('utf8') }
  const { status, stdout, stderr } = spawnSync(process.execPath, [runner, ...args], options)
  const before = /ℹ ([\d,]+) tests passed before, with the same inputs$/m.exec(stdout)?.[1]
  const pass = Number(/ℹ pass (\d+)\n/.exec(stdout)?.[1])
  const ran = [...stdout.matchAll(/^[✔✖﹣] (\w+) \(/gm)].map(([, name]) => name)
  return { status, ran: [...new Set(ran)].sort(), before: Number(before ?? 0), pass, stdout, stderr }
}

const passing = (/** @type {string} */ name) => `require('node:test').test('${name}', () => {})\n`
const files = {
  kernels: 'tests/c/kernels.test.js',
  lib: 'tests/lib/lib.test.js',
  page: 'tests/demo/dots.test.js',
  section: 'tests/demo/batch-norm.test.js',
  notebook: 'tests/notebook/page.test.js',
  other: 'tests/other.test.js',
}

/** Asserts which test files run again after a change. @param {() => void} change @param {string[]} expected */
function assertRunAgain(change, expected) {
  const before = digests()
  change()
  const now = digests()
  const again = Object.entries(files).filter(([, path]) => now(path) !== before(path))
  assert.deepEqual(again.map(([name]) => name).sort(), expected, String(change))
}

for (const path of ['c/gelu.c', 'dist/index.js', 'web/demo/src/App.svelte', 'web/lib/index.ts', 'README.md'])
  write(path, '')
for (const [name, path] of Object.entries(files)) write(path, passing(name))

test('what has passed is not run again, and the summary says how many tests that are', () => {
  const first = run()
  assert.deepEqual([first.ran, first.before, first.pass, first.status], [ALL, 0, 6, 0], first.stdout)
  const { ran, before, pass, status, stdout } = run()
  assert.deepEqual([ran, before, pass, status], [[], 6, 0, 0], stdout)
})

for (const [path, expected] of /** @type {[string, string[]][]} */ ([
  ['c/gelu.c', ['kernels', 'other']],
  ['dist/index.js', ['lib', 'notebook', 'other', 'page', 'section']],
  ['web/lib/index.ts', ['lib', 'notebook', 'other', 'page', 'section']],
  ['web/demo/src/App.svelte', ['other', 'page', 'section']],
  ['web/demo/src/sections/batch-norm/compute.ts', ['other', 'page', 'section']],
  ['web/demo/src/sections/end/End.svelte', ['other', 'page']],
  ['web/demo/src/sections/story/Story.svelte', ['other', 'page']],
  ['web/demo/src/sections/story/slice.ts', ['other', 'page', 'section']],
  ['build/demo/sections/half-precision/HalfPrecision.js', ['other', 'page']],
  ['web/demo/dist/assets/HalfPrecision-B_Qrq8-L.js', ['other', 'page']],
  ['web/demo/dist/assets/training.worker-D_eq0v-u.js', ['other', 'page']],
  ['web/demo/dist/notebook/index.html', ['notebook', 'other']],
  ['tests/lib/support.js', ['lib', 'notebook', 'other', 'page', 'section']],
  ['tests/consumers/build/package.tgz', []],
  ['new/folder/file', ALL],
]))
  test(`after a change of ${path} these run again: ${expected.join(', ') || 'none'}`, () =>
    assertRunAgain(() => write(path, 'changed'), expected))

test('a section’s tests run again when the page’s first file changes, not when only names of files in it do', () => {
  const assets = 'web/demo/dist/assets'
  for (const [content, text, expected] of /** @type {[string, string, string[]][]} */ ([
    ['B_Qrq8-L', 'before', ['other', 'page', 'section']],
    ['D_eq0v-u', 'before', []],
    ['D_eq0v-u', 'after', ['other', 'page', 'section']],
  ]))
    assertRunAgain(() => {
      rmSync(assets, { recursive: true })
      write(`${assets}/index-${content}.js`, `${text}; import('./Story-${content}.js')`)
    }, expected)
})

test('after a file is gone, what may have read it runs again', () => {
  const expected = ['lib', 'notebook', 'other', 'page', 'section']
  assertRunAgain(() => rmSync('tests/lib/support.js'), expected)
})

test('all run with --again, where CI is set, and in test all; those that are named run', () => {
  assert.deepEqual(run(['--again']).ran, ALL)
  assert.deepEqual(run([], { CI: 'true' }).ran, ALL)
  assert.deepEqual(run(['tests/lib']).ran, ['lib'])
  assert.deepEqual(run(['all']).ran, ALL)
})

test('what passed by its name does not run again without', () => {
  run()
  write('README.md', 'changed')
  assert.deepEqual(run(['tests/lib']).ran, ['lib'])
  assert.deepEqual(run().ran, ['kernels', 'notebook', 'other', 'page', 'section'])
})

test('what passed in test all does not run again without; what passed without runs in test all', () => {
  write('README.md', 'changed once more')
  assert.deepEqual(run(['all']).ran, ALL)
  write('web/demo/.svelte-check/new.ts', 'kept by a linter')
  assert.deepEqual([run().ran, run(['all']).ran], [[], []])
  write('README.md', 'changed twice more')
  assert.deepEqual([run().ran, run(['all']).ran], [ALL, ALL])
})

test('with another browser or compiler all run again', () => {
  assertRunAgain(() => (process.env.CHROMIUM = '/other/chromium'), ALL)
})

test('with a new or an updated program all run again, but not because a folder of programs was written anew', () => {
  write('.tools/chromium', '') // a hidden folder is no input of tests
  process.env.PATH += `:${join(folder, '.tools')}`
  process.env.CHROMIUM = '.tools/chromium'
  assertRunAgain(() => utimesSync('.tools', 1, 1), [])
  assertRunAgain(() => utimesSync('.tools/chromium', 1, 1), ALL)
  assertRunAgain(() => write('.tools/firefox', ''), ALL)
})

test('a changed test file runs again, and none beside it', () => {
  run()
  write(files.lib, `${passing('lib')}${passing('more')}`)
  assert.deepEqual(run().ran, ['lib', 'more'])
  assert.equal(run().before, 7)
})

test('a file that failed, that skipped a test, or whose process failed runs again', () => {
  const test = `const { test } = require('node:test')\n`
  write(files.lib, `${test}test('lib', () => { throw new Error('no') })\n`)
  write(files.page, `${test}test('page', (t) => t.skip('no browser'))\n`)
  write(files.kernels, `${passing('kernels')}setTimeout(() => process.exit(3))\n`)
  for (let i = 0; i < 2; i++) {
    const { ran, before, status, stdout } = run()
    assert.deepEqual([ran, before, status], [['kernels', 'lib', 'page'], 3, 1], stdout)
  }
})

test('a file that imports the tests of its folder depends on these, and on no other tests', () => {
  const builds = 'tests/lib/builds.test.js'
  const before = digests()(builds)
  write(files.page, passing('changed'))
  assert.equal(digests()(builds), before)
  write(files.lib, passing('changed'))
  assert.notEqual(digests()(builds), before)
})
