// node tests/coverage.js FOLDER: prints the coverage that `./build.sh coverage` measured. FOLDER has c.info,
// the coverage of c/ in lcov's format, and v8/, what V8 wrote for each process of the tests in tests/lib.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { CoverageReport } from 'monocart-coverage-reports'

const root = fileURLToPath(new URL('../', import.meta.url))
const folder = process.argv[2]
const dist = String(pathToFileURL(join(root, 'dist/')))

/** @typedef {{ covered: number, total: number }} Count */
/** @typedef {Record<'lines' | 'functions' | 'branches', Count>} Counts */
/** @typedef {Counts & { file: string, notReached: number[] }} FileCoverage notReached: lines */

/**
 * Reads what V8 counted in dist/. Some tests import build/lib instead, which is not counted: there a branch
 * may end one character later than in dist/, and would be counted as a second branch.
 *
 * @returns {Promise<FileCoverage[]>} for each source in web/lib
 */
async function readLib() {
  const report = new CoverageReport({
    logging: 'error',
    baseDir: root,
    outputDir: join(folder, 'lib'),
    reports: ['v8'],
    // dist/wasm/ holds the builds as text.
    entryFilter: ({ url }) => url.startsWith(dist) && !url.startsWith(`${dist}wasm/`),
    sourceFilter: (path) => path.startsWith('web/lib/'),
  })
  await report.addFromDir(join(folder, 'v8'))
  const results = await report.generate()
  if (!results) throw new Error(`${folder}/v8 has no coverage of web/lib`)
  return results.files.map(({ sourcePath: file, summary: { lines, functions, branches }, data }) => {
    const reached = Object.entries(/** @type {any} */ (data).lines)
    const notReached = reached.filter(([, count]) => count === 0).map(([line]) => Number(line))
    return { file, lines, functions, branches, notReached }
  })
}

/** @param {Map<string, boolean>} reached @returns {Count} */
const count = (reached) => ({ covered: [...reached.values()].filter(Boolean).length, total: reached.size })

/**
 * @param {string} path the path of a file in lcov's format
 * @returns {FileCoverage[]}
 */
function readLcov(path) {
  const sections = readFileSync(path, 'utf8').split('end_of_record\n').slice(0, -1)
  return sections.map((section) => {
    const [lines, functions, branches] = [new Map(), new Map(), new Map()]
    const mark = (
      /** @type {Map<string, boolean>} */ reached,
      /** @type {string} */ key,
      /** @type {string} */ n,
    ) => reached.set(key, reached.get(key) || Number(n) > 0)
    let file = ''
    /** Function -> its first line: an inline function has one entry for each file that includes it. */
    const lineOf = new Map()
    for (const record of section.split('\n')) {
      const [, kind, value = ''] = /^([A-Z]+):(.*)$/.exec(record) ?? []
      const fields = value.split(',')
      if (kind === 'SF') file = value.replace(root, '')
      if (kind === 'DA') mark(lines, fields[0], fields[1])
      if (kind === 'FN') lineOf.set(fields[1], fields[0])
      if (kind === 'FNDA') mark(functions, lineOf.get(fields[1]), fields[0])
      if (kind === 'BRDA') mark(branches, fields.slice(0, 3).join(), fields[3])
    }
    const notReached = [...lines].filter(([, reached]) => !reached).map(([line]) => Number(line))
    return { file, lines: count(lines), functions: count(functions), branches: count(branches), notReached }
  })
}

/** @param {Count} count @returns {string} for example "99.3 % of 1405" */
function share({ covered, total }) {
  const percent = Math.floor((1000 * covered) / total) / 10 // 100 only if all are
  return total ? `${percent.toFixed(1)} % of ${String(total).padStart(4)}` : '-'
}

/** @param {number[]} lines @returns {string} for example "12 30-34" */
function ranges(lines) {
  /** @type {number[][]} */
  const all = []
  for (const line of lines) {
    if (all.at(-1)?.[1] === line - 1) all[all.length - 1][1] = line
    else all.push([line, line])
  }
  return all.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(' ')
}

const row = (/** @type {string[]} */ [name, ...cells]) =>
  console.log([name.padEnd(36), ...cells.map((cell) => cell.padStart(15))].join('  ').trimEnd())
const kinds = /** @type {const} */ (['lines', 'functions', 'branches'])

row(['file', ...kinds, '  lines not reached'])
for (const [title, files] of /** @type {[string, FileCoverage[]][]} */ ([
  ['c/ by tests/c', readLcov(join(folder, 'c.info'))],
  ['web/lib by tests/lib', await readLib()],
])) {
  for (const file of files.sort((a, b) => (a.file < b.file ? -1 : 1))) {
    row([file.file, ...kinds.map((kind) => share(file[kind])), `  ${ranges(file.notReached)}`])
  }
  const sum = (/** @type {Count} */ a, /** @type {Count} */ b) => ({
    covered: a.covered + b.covered,
    total: a.total + b.total,
  })
  row([title, ...kinds.map((kind) => share(files.map((file) => file[kind]).reduce(sum)))])
  console.log()
}
