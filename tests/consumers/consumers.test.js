// The packed package in the environments that need no further package. `./build.sh consumers` tries all.

/** @import { Row } from './table.js' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { skipped } from '../demo/browser.js'
import { ENVIRONMENTS } from './environments.js'
import { browsers, pack, Place } from './place.js'
import { complaintAbout, sizesWith } from './sizes.js'
import { nameOf, tableOf, updated } from './table.js'

const results = JSON.parse(readFileSync(new URL('results.json', import.meta.url), 'utf8'))
const tarball = pack()

const { get, close } = browsers()
after(close)
/** @type {Set<number | undefined>} */
const checksums = new Set()

for (const environment of ENVIRONMENTS) {
  const { title, quick, run } = environment
  const skip = title === 'Node' ? false : title === 'Firefox' ? skipped.firefox : skipped.chrome
  if (!quick) continue
  test(
    `${title}: a model trains to the same bits, on as many threads as the table states`,
    { skip },
    async () => {
      const place = new Place(`quick ${title}`, tarball, get)
      try {
        const { threads, checksum, error } = await run(place)
        assert.equal(error, undefined)
        assert.equal(typeof checksum, 'number')
        assert.equal(checksums.add(checksum).size, 1)
        const stated = results.find((/** @type {Row} */ row) => nameOf(row) === nameOf(environment))
        assert.equal(threads, stated.threads)
      } finally {
        await place.dispose()
      }
    },
  )
}

test('an app with load and LayerNorm downloads half of the JavaScript at most, one with nothing none', async () => {
  const place = new Place('quick sizes', tarball, get)
  try {
    assert.equal(complaintAbout(sizesWith(place, 'vite')), null)
  } finally {
    await place.dispose()
  }
})

test('the table of environments in web/lib/README.md is made from the results', () => {
  const readme = readFileSync(new URL('../../web/lib/README.md', import.meta.url), 'utf8')
  assert.ok(readme.includes(tableOf(results)), 'run ./build.sh consumers --write')
  assert.deepEqual(results.map(nameOf), ENVIRONMENTS.map(nameOf))
})

test('an environment that fails leaves the table; one that was not tried keeps its line', () => {
  const row = { kind: 'Runtimes', version: '1.0', needs: '', threads: 2, reason: null }
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((title) => ({ ...row, title, tool: '' }))
  const tried = new Map([
    ['a', { ...a, version: '1.1' }],
    ['b', null],
  ])
  assert.deepEqual(updated([a, b, c], [a, b, c, d], tried), [{ ...a, version: '1.1' }, c])
})

test('each environment has a name of its own, whatever Node runs this', () => {
  assert.equal(new Set(ENVIRONMENTS.map(nameOf)).size, ENVIRONMENTS.length)
})
