// Runs the tests of results on the builds and threads that the rest of the suite does not run them on: there
// `load` chooses the build, and it runs on one thread. Builds that this Node lacks run in another one. The
// names of the tests say which builds ran in which Node, and which files by default: a few. `all` runs
// every file, and every file once more with a heap that moves at every allocation.

/** @import { Command } from '../nodes/nodes.js' */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { all } from '../all.js'
import { nodes } from '../nodes/nodes.js'
import { builds, loadForTest } from './support.js'

const run = promisify(execFile)
const path = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url))

/** They test JavaScript that is the same for every build. */
const SAME_FOR_ALL =
  'arguments errors examples files frompretrained identity memory module print safetensors'.split(' ')
/** They call most kernels. */
const BY_DEFAULT = ['layers', 'notebook']
/** They choose their own numbers of threads. */
const OWN_THREADS = ['highmemory.test.js', 'threads.test.js']

const SUBJECT = all ? 'the tests of results' : `the tests of ${BY_DEFAULT.join(', ')}`

/** The tests that load the build and the threads that the environment names. */
const files = readdirSync(path('.'))
  .filter((name) => name.endsWith('.test.js') && /loadForTest\(/.test(readFileSync(path(name), 'utf8')))
  .filter((name) => ![...OWN_THREADS, 'builds.test.js'].includes(name))
  .map((name) => name.slice(0, -'.test.js'.length))

// One process for all files: starting one for each, and compiling the package in it, would take half as long
// as the tests.
//
// No test runs before every file is imported. Tests let no timer or message in between, so the worker of a file
// that is imported meanwhile would be late.
const imports = (/** @type {string[]} */ files) => `
  import { before } from 'node:test'
  let start
  const imported = new Promise((resolve) => (start = resolve))
  before(() => imported)
  ${files.map((name) => `await import('./${name}.test.js')`).join('\n  ')}
  start()`

/**
 * Asks each Node's engine, not the package.
 *
 * @param {string} name of a build
 * @returns {Promise<{ node: Command, version: string } | null>} the first that can run it
 */
async function nodeFor(name) {
  const file = JSON.stringify(path(`../../dist/wasm/${name}.wasm`))
  const isValid = `WebAssembly.validate(require('node:fs').readFileSync(${file}))`
  const hasThreads = name.endsWith('-threads') ? 'process.getBuiltinModule !== undefined' : 'true'
  for (const node of nodes) {
    const code = `${isValid} && ${hasThreads} ? process.version : ''`
    const { stdout } = await run(node.file, [...node.args, '-p', code])
    if (stdout.trim()) return { node, version: stdout.trim() }
  }
  return null
}

/**
 * Runs tests in a child process.
 *
 * @param {Command} node
 * @param {string[]} args
 * @param {Record<string, string>} settings
 */
async function pass(node, args, settings) {
  // Without this variable the child does not report to this process's test runner.
  const { NODE_TEST_CONTEXT, ...env } = process.env
  const options = { cwd: path('.'), env: { ...env, ...settings }, maxBuffer: 2 ** 26 }
  const report = ['--test-reporter=spec', '--test-reporter-destination=stdout']
  const child = run(node.file, [...node.args, ...report, ...args], options)
  const { stdout } = await child.catch((error) => assert.fail(`${error.stdout}${error.stderr}`))
  assert.match(stdout, /^ℹ pass [1-9]/m)
  assert.match(stdout, /^ℹ fail 0$/m)
}

/** What every other file of the suite runs on. */
const own = await loadForTest()

const ofKernels = files.filter((name) => !SAME_FOR_ALL.includes(name))
const chosen = all ? ofKernels : BY_DEFAULT

for (const name of ['simd', 'simd-threads', 'relaxed', 'relaxed-threads']) {
  const [build, isThreaded] = name.split('-')
  const threads = isThreaded ? 2 : 1
  if (build === own.build && threads === own.threads) continue
  const isHere = builds.includes(name)
  const found = isHere ? await nodeFor(name) : null
  const { node, version } = found ?? { node: nodes[0], version: '' }
  const lack = isHere ? 'no Node here runs it' : 'not built here'
  test(`build ${name}, Node ${version}: ${SUBJECT} pass`, { skip: found === null && lack }, async () => {
    const settings = { GPT_LAYERS_BUILD: build, GPT_LAYERS_THREADS: String(threads) }
    await pass(node, ['--input-type=module', '--eval', imports(chosen)], settings)
    if (all && isThreaded && build !== own.build) await pass(node, ['--test', ...OWN_THREADS], settings)
  })
}

if (all)
  test('a heap that moves at every allocation: the tests of results pass', () =>
    pass(nodes[0], ['--import', './moving.js', '--input-type=module', '--eval', imports(ofKernels)], {}))
