// node tests/coverage.js FOLDER: prints the coverage that `./build.sh coverage` measured. FOLDER has c.info,
// the coverage of c/ in lcov's format, and v8/, what V8 wrote for each process of the tests in tests/lib.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { CoverageReport } from 'monocart-coverage-reports'

const root = fileURLToPath(new URL('../', import.meta.url))
const folder = process.argv[2]
const dist = String(pathToFileURL(join(root, 'dist/')))
const lib = String(pathToFileURL(join(root, 'web/lib/')))

/** Whether each line, function or branch of one file was reached. @typedef {Map<string, boolean>} Reached */
/** @typedef {{ file: string, lines: Reached, functions: Reached, branches: Reached }} FileCoverage */

/** Maps V8's coverage of dist/ to the sources in web/lib. */
async function reportLib() {
  const report = new CoverageReport({
    logging: 'error',
    baseDir: root,
    outputDir: join(folder, 'lib'),
    reports: ['v8', 'lcovonly'],
    // The tests of internals import web/lib. dist/wasm/ holds the builds as text.
    entryFilter: ({ url }) =>
      url.startsWith(lib) || (url.startsWith(dist) && !url.startsWith(`${dist}wasm/`)),
    sourceFilter: (path) => path.startsWith('web/lib/'),
  })
  await report.addFromDir(join(folder, 'v8'))
  await report.generate()
}

/**
 * @param {string} path of a file in lcov's format
 * @returns {FileCoverage[]}
 */
function readLcov(path) {
  /** @type {FileCoverage[]} */
  const files = []
  /** Function -> its first line: an inline function has one entry per file that includes it. */
  let lineOf = new Map()
  for (const record of readFileSync(path, 'utf8').split('\n')) {
    const [, kind, value] = /^([A-Z]+):(.*)$/.exec(record) ?? []
    const fields = value?.split(',') ?? []
    const mark = (/** @type {Reached} */ reached, /** @type {string} */ key, /** @type {string} */ count) =>
      reached.set(key, reached.get(key) || Number(count) > 0)
    const last = /** @type {FileCoverage} */ (files.at(-1))
    if (kind === 'SF') {
      const file = value.replace(root, '')
      files.push({ file, lines: new Map(), functions: new Map(), branches: new Map() })
      lineOf = new Map()
    }
    if (kind === 'DA') mark(last.lines, fields[0], fields[1])
    if (kind === 'FN') lineOf.set(fields.slice(1).join(), fields[0])
    if (kind === 'FNDA') mark(last.functions, lineOf.get(fields.slice(1).join()), fields[0])
    if (kind === 'BRDA') mark(last.branches, fields.slice(0, 3).join(), fields[3])
  }
  return files
}

/** @param {Reached[]} parts @returns {string} for example "99.3 % of 1405" */
function share(parts) {
  const all = parts.flatMap((reached) => [...reached.values()])
  const percent = Math.floor((1000 * all.filter(Boolean).length) / all.length) / 10 // 100 only if all are
  return all.length ? `${percent.toFixed(1)} % of ${String(all.length).padStart(4)}` : '-'
}

/** @param {Reached} lines @returns {string} those that were not reached, for example "12 30-34" */
function notReached(lines) {
  /** @type {number[][]} */
  const ranges = []
  let previous = true
  for (const [line, reached] of [...lines].sort(([a], [b]) => Number(a) - Number(b))) {
    if (!reached && previous) ranges.push([Number(line), Number(line)])
    if (!reached) ranges[ranges.length - 1][1] = Number(line)
    previous = reached
  }
  return ranges.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(' ')
}

await reportLib()
const row = (/** @type {string[]} */ [name, ...cells]) =>
  console.log([name.padEnd(36), ...cells.map((cell) => cell.padStart(15))].join('  ').trimEnd())

row(['file', 'lines', 'functions', 'branches', '  lines not reached'])
for (const [title, path] of [
  ['c/ by tests/c', 'c.info'],
  ['web/lib by tests/lib', 'lib/lcov.info'],
]) {
  const files = readLcov(join(folder, path)).sort((a, b) => (a.file < b.file ? -1 : 1))
  for (const { file, lines, functions, branches } of files) {
    row([file, share([lines]), share([functions]), share([branches]), `  ${notReached(lines)}`])
  }
  row([
    title,
    share(files.map(({ lines }) => lines)),
    share(files.map(({ functions }) => functions)),
    share(files.map(({ branches }) => branches)),
  ])
  console.log()
}
