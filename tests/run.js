// Runs three test files at a time, on two cores. Tests of pages often wait for the browser, so two files at a
// time would leave a core idle. The longest files start first, so that none of them runs alone at the end.
//   node tests/run.js FILE ...

import { readFileSync } from 'node:fs'
import { run } from 'node:test'
import reporter from './reporter.js'

/**
 * Each of them imports other test files, which then run in one process and share its browsers. A file by
 * itself would need seconds to start a browser and to load the page for the first time.
 */
const TOGETHER = ['tests/demo/in-chromium.js', 'tests/demo/in-both-browsers.js']

/** The files that take longest, the longest first. */
const LONGEST = [
  'demo/in-chromium',
  'c/kernels.test',
  'demo/in-both-browsers',
  'style.test',
  'lib/builds.test',
  'fuzz/kernels.test',
  'demo/gpt2.test',
  'examples.test',
  'demo/writing.test',
  'lib/browser.test',
  'lib/memory.test',
  'consumers/consumers.test',
].map((name) => `tests/${name}.js`)

/** @param {string} file */
const rank = (file) => (LONGEST.includes(file) ? LONGEST.indexOf(file) : LONGEST.length)

let files = process.argv.slice(2)
for (const file of TOGETHER) {
  const imports = readFileSync(file, 'utf8').matchAll(/^import '\.\/(.+)'$/gm)
  const imported = [...imports].map(([, name]) => `tests/demo/${name}`)
  if (imported.every((one) => files.includes(one)))
    files = [file, ...files.filter((one) => !imported.includes(one))]
}
files.sort((a, b) => rank(a) - rank(b))
const events = run({ files, concurrency: 3 })
events.on('test:fail', ({ todo }) => {
  if (todo === undefined || todo === false) process.exitCode = 1
})
events.compose(reporter).pipe(process.stdout)
