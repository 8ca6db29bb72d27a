// The first notebook's cells print what PyTorch prints, on every build: rounding errors, too. tests/notebook runs
// all notebooks as they stand.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { format } from 'node:util'
import { golden, loadForTest } from './support.js'

const gpt = await loadForTest()

test('the notebook’s cells print PyTorch’s characters', async () => {
  const program = readFileSync(new URL('../../web/notebook/notebook.mjs', import.meta.url), 'utf8')
  const code = program.replace("import * as gpt from 'gpt-layers'\nawait gpt.load()\n", '')
  /** @type {string[]} */
  const printed = []
  const log = (/** @type {unknown[]} */ ...values) => printed.push(format(...values))
  await new Function('gpt', 'console', `return (async () => { ${code}\n })()`)(gpt, { log })
  /** @type {{ prints: string }[]} */
  const cells = golden('notebooks').notebook
  assert.equal(printed.join('\n'), cells.map(({ prints }) => prints).join('\n'))
  assert.match(printed.join(), /9\.9341e-09/, 'PyTorch’s own rounding error')
})
