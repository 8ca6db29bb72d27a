// The packed package in the environments that need no further package. `./build.sh consumers` tries all.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { skipped } from '../demo/browser.js'
import { ENVIRONMENTS } from './environments.js'
import { browsers, pack, Place } from './place.js'
import { tableOf } from './table.js'

const results = JSON.parse(readFileSync(new URL('results.json', import.meta.url), 'utf8'))
const tarball = pack()

const { get, close } = browsers()
after(close)
/** @type {Set<number | undefined>} */
const checksums = new Set()

for (const { title, version, quick, run } of ENVIRONMENTS) {
  const skip = title === 'Node' ? false : title === 'Firefox' ? skipped.firefox : skipped.chrome
  if (!quick) continue
  test(
    `${title}: a model trains to the same bits, on as many threads as the table states`,
    { skip },
    async () => {
      const place = new Place(`quick ${title} ${version}`, tarball, get)
      try {
        const { threads, checksum, error } = await run(place)
        assert.equal(error, undefined)
        assert.equal(checksums.add(checksum).size, 1)
        const stated = results.find((/** @type {{ title: string }} */ row) => row.title === title)
        assert.equal(threads, stated.threads)
      } finally {
        await place.dispose()
      }
    },
  )
}

test('the table of environments in web/lib/README.md is made from the results', () => {
  const readme = readFileSync(new URL('../../web/lib/README.md', import.meta.url), 'utf8')
  assert.ok(readme.includes(tableOf(results)), 'run ./build.sh consumers --write')
  const names = ENVIRONMENTS.map(({ title }) => title)
  assert.deepEqual(
    [...new Set(results.map((/** @type {{ title: string }} */ { title }) => title))],
    [...new Set(names)],
  )
})
