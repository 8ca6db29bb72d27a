// Runs test files: one more at a time than there are cores, because a test of a page often waits for the
// browser.
//   node tests/run.js                  every promise once
//   node tests/run.js all              every promise on every build, thread, browser and compiler
//   node tests/run.js [all] PATH ...   the files at these paths; of a folder, all files below it
// With --again first, or where CI is set, also the files that have passed with the same inputs (passed.js).
// Files at paths always run.

import { readdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { run } from 'node:test'
import { ALONE, digests, readPassed, writePassed } from './passed.js'
import reporter from './reporter.js'

/** Run in test all only: other environments than the main ones, printing, touch, minutes of training, the build, and Vite's server. */
const ONLY_IN_ALL = [
  'tests/build.test.js',
  'tests/consumers/',
  'tests/training/',
  'tests/demo/print.test.js',
  'tests/demo/touch.test.js',
  'tests/demo/watch.test.js',
  'tests/demo/webkit.test.js',
  'tests/notebook/webkit.test.js',
]

/** Each runs half of the page's test files. */
const HALVES = ['tests/demo/half-1.js', 'tests/demo/half-2.js']

/**
 * They take longest. They begin first, so that none of them runs alone at the end; and those of the page are
 * dealt first, so that its halves take about as long.
 */
const LONGEST = `c/kernels demo/half-1 demo/half-2 demo/sections notebook/page fuzz/kernels
  demo/worked-example demo/story demo/training lib/threads examples notebook/notebooks lib/builds run
  demo/behaves demo/opening demo/still demo/sharing demo/embeds demo/print demo/page demo/end demo/deep-links
  demo/looks demo/watch`.split(/\s+/)
/** @param {string} file such as tests/demo/half-1.js or tests/lib/threads.test.js */
function rank(file) {
  const name = file.replace(/^tests\/|(\.test)?\.js$/g, '')
  return LONGEST.includes(name) ? LONGEST.indexOf(name) : LONGEST.length
}
const longestFirst = (/** @type {string} */ a, /** @type {string} */ b) => rank(a) - rank(b)

/** @param {string} path of a file or a folder @returns {string[]} its test files */
const filesAt = (path) =>
  statSync(path).isDirectory()
    ? readdirSync(path)
        .filter((name) => name !== 'node_modules')
        .flatMap((name) => filesAt(join(path, name)))
        .filter((file) => file.endsWith('.test.js'))
    : [path]

const isAgain = process.argv[2] === '--again'
const [first, ...rest] = process.argv.slice(isAgain ? 3 : 2)
const all = first === 'all'
const paths = all || first === undefined ? rest : [first, ...rest]
let files = (paths.length > 0 ? paths : ['tests']).flatMap(filesAt)
if (!all && paths.length === 0)
  files = files.filter((file) => !ONLY_IN_ALL.some((path) => file.startsWith(path)))

// Each file runs in a process of its own, except for those tests of the page that open it as a whole: they run in
// two processes. Each of these has one browser and one server, because a browser's first load of the page is slow.
// WebKitGTK is another browser.
const ownProcess = ['sections', 'webkit', ...ALONE].map((name) => `tests/demo/${name}.test.js`)
const ofThePage = files
  .filter((file) => file.startsWith('tests/demo/') && !ownProcess.includes(file))
  .sort(longestFirst)
if (ofThePage.length > 1) files = [...HALVES, ...files.filter((file) => !ofThePage.includes(file))]

process.env.GPT_LAYERS_TEST = all ? 'all' : 'default'
process.env.GPT_LAYERS_PAGE_TESTS = ofThePage.join()
files.sort(longestFirst)

const passed = readPassed()
const digest = digests()
const isRun = (/** @type {string} */ file) =>
  passed[file]?.digest !== digest(file) || (all && !passed[file].all)
const left = isAgain || process.env.CI || paths.length > 0 ? files : files.filter(isRun)
let before = 0
for (const file of files) if (!left.includes(file)) before += passed[file].tests

const events = new PassThrough({ objectMode: true })
events.compose(reporter).pipe(process.stdout)
/** What the summary counts: the tests, those that passed, failed ... */
const totals = new Map(
  ['tests', 'suites', 'pass', 'fail', 'cancelled', 'skipped', 'todo', 'duration_ms'].map((name) => [name, 0]),
)
const say = (/** @type {string} */ message) =>
  events.write({ type: 'test:diagnostic', data: { nesting: 0, message } })

/** Runs files one after the other, each by itself, so that its own summary says whether it has passed. */
async function work() {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    const own = new Map()
    const printedLater = []
    for await (const { type, data } of run({ files: [file], concurrency: 1 })) {
      const [, name, count] = /^(\w+) ([\d.]+)$/.exec(data.nesting === 0 && data.message) ?? []
      if (type === 'test:diagnostic' && totals.has(name)) own.set(name, Number(count))
      else if (data.nesting !== 0 || type !== 'test:plan') printedLater.push({ type, data })
    }
    for (const event of printedLater) events.write(event)
    for (const [name, count] of own) totals.set(name, (totals.get(name) ?? 0) + count)
    delete passed[file]
    if (own.get('pass') > 0 && own.get('pass') === own.get('tests'))
      passed[file] = { digest: digest(file), tests: own.get('pass'), all }
  }
}
const queue = [...left]
const start = performance.now()
await Promise.all(Array.from({ length: availableParallelism() + 1 }, work))

if (totals.get('fail') || totals.get('cancelled')) process.exitCode = 1
if (before > 0) say(`${before.toLocaleString('en-US')} tests passed before, with the same inputs`)
totals.set('duration_ms', performance.now() - start)
for (const [name, count] of totals) say(`${name} ${count}`)
events.end()

// What was edited meanwhile counts as not run.
const now = digests()
for (const file of left) if (passed[file]?.digest !== now(file)) delete passed[file]
writePassed(passed)
