// Runs the tests of results once more on each build: in this Node, and the builds that it lacks in a newer
// one. The names of the tests say which builds ran in which Node.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { builds } from './support.js'
import { nodes } from '../nodes/nodes.js'

const run = promisify(execFile)
const path = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url))
// The tests that load the build that the environment names.
const files = readdirSync(path('.'))
  .filter((name) => name.endsWith('.test.js') && /loadForTest\(/.test(readFileSync(path(name), 'utf8')))
  .map(path)

/**
 * @param {string} node
 * @param {string} build
 * @returns {Promise<{ version: string, most: number }>} most: how many of 2 threads that Node runs the build
 *   on
 */
async function tryOut(node, build) {
  const code = `import { load } from 'gpt-layers'
    const { threads } = await load({ build: '${build}', threads: 2 }).catch(({ code }) => ({ threads: code }))
    console.log(process.version, threads)`
  const { stdout } = await run(node, ['--input-type=module', '--eval', code], { cwd: path('.') })
  const [version, answer] = stdout.trim().split(' ')
  assert.match(answer, /^(1|2|UNSUPPORTED)$/)
  return { version, most: Number(answer) || 0 }
}

const ran = new Set()
for (const node of nodes) {
  for (const build of ['simd', 'relaxed']) {
    const { version, most } = await tryOut(node, build)
    for (let threads = 1; threads <= most; threads++) {
      const name = threads === 1 ? build : `${build}-threads`
      if (ran.has(name)) continue
      ran.add(name)
      test(`${name}, ${threads} thread(s), Node ${version}: the tests of results pass`, async () => {
        // Without this variable the child does not report to this process's test runner.
        const { NODE_TEST_CONTEXT, ...env } = process.env
        const settings = { GPT_LAYERS_BUILD: build, GPT_LAYERS_THREADS: String(threads) }
        const all = threads > 1 ? [...files, path('threads.test.js')] : files
        const child = run(node, ['--test', ...all], { env: { ...env, ...settings }, maxBuffer: 2 ** 26 })
        const { stdout } = await child.catch((error) => assert.fail(error.stdout))
        assert.match(stdout, /pass [1-9]/)
        assert.match(stdout, /fail 0/)
      })
    }
  }
}

for (const name of ['simd', 'simd-threads', 'relaxed', 'relaxed-threads']) {
  const why = builds.includes(name)
    ? 'no Node here runs it; on Linux on x64 build.sh fetches one that does'
    : 'this copy was built without it'
  test(`${name} ran`, { skip: !ran.has(name) && why }, () => assert.ok(ran.has(name)))
}
