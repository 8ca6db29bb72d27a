// Runs test files: one more at a time than there are cores, because a test of a page often waits for the
// browser.
//   node tests/run.js                  every promise once
//   node tests/run.js all              every promise on every build, thread, browser and compiler
//   node tests/run.js [all] PATH ...   the files at these paths; of a folder, all files below it

import { readdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import reporter from './reporter.js'

/** Not run by default: other environments than the package's main ones, minutes of training, and the build. */
const ONLY_IN_ALL = [
  'tests/build.test.js',
  'tests/consumers/',
  'tests/training/',
  'tests/demo/webkit.test.js',
]

/** Each runs half of the page's test files. */
const HALVES = ['tests/demo/half-1.js', 'tests/demo/half-2.js']

/** They take longest. They begin first, so that none of them runs alone at the end. */
const LONGEST = [
  'tests/c/kernels.test.js',
  ...HALVES,
  'tests/demo/sections.test.js',
  'tests/lib/builds.test.js',
]

/** @param {string} path of a file or a folder @returns {string[]} its test files */
const filesAt = (path) =>
  statSync(path).isDirectory()
    ? readdirSync(path)
        .filter((name) => name !== 'node_modules')
        .flatMap((name) => filesAt(join(path, name)))
        .filter((file) => file.endsWith('.test.js'))
    : [path]

const [first, ...rest] = process.argv.slice(2)
const all = first === 'all'
const paths = all || first === undefined ? rest : [first, ...rest]
let files = (paths.length > 0 ? paths : ['tests']).flatMap(filesAt)
if (!all && paths.length === 0)
  files = files.filter((file) => !ONLY_IN_ALL.some((path) => file.startsWith(path)))

// Each file runs in a process of its own, except for the tests of the page: they run in two processes. Each of
// these has one browser and one server, because only a browser's first load of the page is slow. The test of
// the training loads another build of the package than they do.
const ofThePage = files.filter((file) => /^tests\/demo\/(?!sections|training)/.test(file))
if (ofThePage.length > 1) files = [...HALVES, ...files.filter((file) => !ofThePage.includes(file))]

process.env.GPT_LAYERS_TEST = all ? 'all' : 'default'
process.env.GPT_LAYERS_PAGE_TESTS = ofThePage.join()
const rank = (/** @type {string} */ file) => (LONGEST.includes(file) ? LONGEST.indexOf(file) : LONGEST.length)
const events = run({
  files: files.sort((a, b) => rank(a) - rank(b)),
  concurrency: availableParallelism() + 1,
})
events.on('test:fail', ({ todo }) => {
  if (todo === undefined || todo === false) process.exitCode = 1
})
events.compose(reporter).pipe(process.stdout)
