// Moves the heap at every allocation: node --import ./moving.js. A view of it, such as `.data`, is empty from
// then on, as it is where an allocation makes the memory grow. So code that keeps a view for too long fails
// every time, and not once in a thousand times.

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
