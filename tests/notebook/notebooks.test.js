// Each notebook is a program that Node runs as it stands. Each cell prints what PyTorch prints, which
// tests/golden/notebooks.py has recorded from the cell of the same place in golden/notebooks/*.py.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { golden } from '../lib/support.js'

const folder = new URL('../../web/notebook/', import.meta.url)
/** @type {Record<string, { code: string, prints: string }[]>} */
const recorded = golden('notebooks')
const names = readdirSync(folder).flatMap((name) => /^(\w+)\.mjs$/.exec(name)?.[1] ?? [])
const programs = new URL('../golden/notebooks/', import.meta.url)
const read = (/** @type {URL} */ url) => readFileSync(url, 'utf8')
const model = fileURLToPath(new URL('../golden/pretrained/ckpt.pt', import.meta.url))

for (const name of names) {
  test(`${name}.mjs prints in Node what PyTorch prints`, () => {
    const printed = execFileSync(process.execPath, [fileURLToPath(new URL(`${name}.mjs`, folder)), model])
    const expected = recorded[name].map(({ prints }) => prints)
    assert.equal(String(printed).trimEnd(), expected.filter(Boolean).join('\n'))
  })

  test(`the record of ${name}.py is that of its cells, one for each code cell of the notebook`, () => {
    const cells = read(new URL(`${name}.py`, programs))
      .split('# %%\n')
      .slice(1)
    assert.deepEqual(
      recorded[name].map(({ code }) => code),
      cells.map((code) => code.trim()),
    )
    assert.equal(cells.length, read(new URL(`${name}.mjs`, folder)).match(/^\/\/ %%$/gm)?.length)
  })
}
