// Runs test files, two at a time, because each leaves a core idle now and then. The longest begin first, so
// that none is left alone at the end.
//   node tests/run.js FILE ...

import { run } from 'node:test'
import reporter from './reporter.js'

/** The files that take longest, the longest first. */
const LONGEST = [
  'c/kernels',
  'demo/everywhere',
  'style',
  'lib/builds',
  'fuzz/kernels',
  'demo/deep-links',
  'demo/gpt2',
  'demo/looks',
  'demo/worked-example',
  'examples',
  'demo/embeds',
  'demo/sharing',
  'demo/deep-stack',
  'demo/writing',
  'lib/browser',
  'lib/memory',
  'consumers/consumers',
].map((name) => `tests/${name}.test.js`)

/** @param {string} file */
const rank = (file) => (LONGEST.includes(file) ? LONGEST.indexOf(file) : LONGEST.length)

const files = process.argv.slice(2).sort((a, b) => rank(a) - rank(b))
const events = run({ files, concurrency: 2 })
events.on('test:fail', ({ todo }) => {
  if (todo === undefined || todo === false) process.exitCode = 1
})
events.compose(reporter).pipe(process.stdout)
