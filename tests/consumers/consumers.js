// Tries the packed package in the environments of environments.js and prints a line for each.
//   ./build.sh consumers [--write] [part of a title ...]
// Then it prints how much JavaScript an app downloads that uses a part of the package; `sizes` prints that
// alone.
// --write writes the results into results.json, and the table of web/lib/README.md, which is made from it. An
// environment that fails is not in them.

/** @import { Row } from './table.js' */

import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { ENVIRONMENTS } from './environments.js'
import { browsers, pack, Place } from './place.js'
import { complaintAbout, MINIFIERS, sizesWith } from './sizes.js'
import { nameOf, tableOf, updated } from './table.js'

const RESULTS = new URL('results.json', import.meta.url)
const README = new URL('../../web/lib/README.md', import.meta.url)

const { values: options, positionals } = parseArgs({
  options: { write: { type: 'boolean' } },
  allowPositionals: true,
})
const parts = positionals.map((part) => part.toLowerCase())
const chosen = ENVIRONMENTS.filter(
  (environment) =>
    parts.length === 0 || parts.some((part) => nameOf(environment).toLowerCase().includes(part)),
)
const measures = parts.length === 0 || parts.includes('sizes')
if (chosen.length === 0 && !measures)
  throw new Error(`no environment has ${positionals.join(' or ')} in its name`)

const tarball = pack()
const { get, close } = browsers()
/** The checksums of the parameters after training. @type {Set<number>} */
const checksums = new Set()
/** @type {Map<string, Row | null>} */
const tried = new Map()
for (const environment of chosen) {
  const { kind, title, tool, version, needs, run } = environment
  const name = `${title} ${version}`.trim()
  const place = new Place(name, tarball, get)
  try {
    const { error, threads = null, reason = null, checksum = null } = await run(place)
    if (error) throw new Error(error)
    if (threads !== null && checksum === null) throw new Error('it trained, but gave no checksum')
    if (checksum !== null) checksums.add(checksum)
    tried.set(nameOf(environment), { kind, title, tool, version, needs, threads, reason })
    console.log(`${name}: ${threads ?? 'no'} threads${reason ? `, ${reason}` : ''}`)
  } catch (error) {
    tried.set(nameOf(environment), null)
    const { message, stdout = '', stderr = '' } = /** @type {any} */ (error)
    console.log(`${name}: failed\n${stdout}${stderr}${message}`)
  } finally {
    await place.dispose()
  }
}
await close()

const kilobytes = (/** @type {number} */ bytes) => `${(bytes / 1000).toFixed(1)} kB`
let complaints = 0
for (const tool of measures ? Object.keys(MINIFIERS) : []) {
  const place = new Place(`sizes ${tool}`, tarball, get)
  try {
    const sizes = sizesWith(place, tool)
    const [all, everything, layerNorm] = [sizes.all, sizes.everything, sizes.layerNorm].map(kilobytes)
    const complaint = complaintAbout(sizes)
    if (complaint) complaints++
    console.log(
      `${tool}: JavaScript, minified and gzipped: ${all}; at the start of an app that imports everything ` +
        `${everything}, load and LayerNorm ${layerNorm}, nothing ${sizes.nothing} bytes` +
        (complaint ? `. ${complaint}` : ''),
    )
  } finally {
    await place.dispose()
  }
}

if (options.write) {
  const rows = updated(ENVIRONMENTS, JSON.parse(readFileSync(RESULTS, 'utf8')), tried)
  writeFileSync(RESULTS, `${JSON.stringify(rows, null, 2)}\n`)
  const text = readFileSync(README, 'utf8')
  writeFileSync(README, text.replace(/^\| \| environment \|.*\n(\|.*\n)*/m, tableOf(rows)))
}
const working = [...tried.values()].filter((row) => row !== null)
if (chosen.length > 0) console.log(`${working.length} of ${chosen.length} environments work`)
if (checksums.size > 0) console.log(`they computed ${checksums.size > 1 ? 'different' : 'the same'} bits`)
process.exitCode = working.length < chosen.length || checksums.size > 1 || complaints > 0 ? 1 : 0
