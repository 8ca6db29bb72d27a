// Calls go one way: page -> web/lib -> WebAssembly. These tests read the imports.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** @param {string} folder @returns {{ path: string, source: string, imports: string[] }[]} */
function sources(folder) {
  return readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(js|svelte)$/.test(name) && !/(^|\/)(dist|node_modules)\//.test(name))
    .map((name) => {
      const source = readFileSync(`${root}${folder}/${name}`, 'utf8')
      const found = source.matchAll(
        /(?:^|\n)\s*(?:import|export)\b[^'"]*?(?:\bfrom|\bimport)\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g,
      )
      return {
        path: `${folder}/${name}`,
        source,
        imports: [...found].map(([, plain, dynamic]) => plain ?? dynamic),
      }
    })
}

const lib = sources('web/lib')
const demo = sources('web/demo')

test('web/lib imports nothing but itself', () => {
  assert.ok(lib.length > 10)
  for (const { path, imports } of lib) {
    for (const name of imports) {
      assert.match(name, /^\.\.?\//, `${path} imports ${name}`)
      assert.ok(new URL(name, `file:///${path}`).pathname.startsWith('/web/lib/'), `${path} imports ${name}`)
    }
  }
})

test('the demo knows the package by its public name only', () => {
  assert.ok(demo.some(({ imports }) => imports.includes('gpt-layers')))
  for (const { path, imports } of demo) {
    for (const name of imports.filter((name) => name.startsWith('.'))) {
      assert.ok(new URL(name, `file:///${path}`).pathname.startsWith('/web/demo/'), `${path} imports ${name}`)
    }
    for (const name of imports) assert.doesNotMatch(name, /^gpt-layers\//, `${path} imports ${name}`)
  }
})

test('only load.js and a worker instantiate WebAssembly, and only memory.js makes views of the heap', () => {
  for (const { path, source } of lib) {
    const instantiates = ['web/lib/load.js', 'web/lib/threads/worker.js'].includes(path)
    if (!instantiates)
      assert.doesNotMatch(source, /WebAssembly\.(instantiate|compile|validate)|new WebAssembly/, path)
    if (path !== 'web/lib/runtime/memory.js') assert.doesNotMatch(source, /\.buffer\b|\.grow\(/, path)
  }
})

test('every layer has one stem: its kernel, its class and its test', () => {
  for (const { path } of lib.filter(({ path }) => path.startsWith('web/lib/layers/'))) {
    const stem = path.slice('web/lib/layers/'.length, -'.js'.length)
    if (stem === 'module') continue // the base class of all layers
    assert.ok(readdirSync(`${root}tests/lib`).includes(`${stem}.test.js`), stem)
    if (['sequential', 'transformerblock', 'gptmodel'].includes(stem)) continue // made of other layers
    assert.ok(readdirSync(`${root}c`).includes(`${stem}.c`), stem)
  }
})
