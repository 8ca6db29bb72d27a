// Moves the heap at every allocation: node --import ./moving.js. A real heap moves only when it grows. A move
// empties every older view of the heap, such as `.data`. Code that keeps a view during an allocation is wrong,
// and here it always fails.

import assert from 'node:assert/strict'
import { register } from 'node:module'

const hooks = `export async function load(url, context, next) {
  const module = await next(url, context)
  if (!/\\/dist\\/.*\\.js/.test(url)) return module
  return { ...module, source: String(module.source).replace(/\\sallocate\\(bytes\\) {/, '$& this.checkLive().grow(0);') }
}`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)

const { load } = await import('./support.js')
const gpt = await load()
const { data } = gpt.ones([1])
gpt.ones([1])
assert.equal(data.length, 0, 'the heap has not moved')
