// node tests/coverage.js FOLDER: prints what the tests in tests/lib reach of web/lib, for `./build.sh coverage`.
// FOLDER/v8 is what V8 wrote for each of their processes. Some tests import build/lib instead of dist/. It is
// not counted: there a branch may end one character later, and would be counted as a second branch.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CoverageReport } from 'monocart-coverage-reports'

const folder = process.argv[2]
const dist = String(new URL('../dist/', import.meta.url))

const report = new CoverageReport({
  logging: 'error',
  baseDir: fileURLToPath(new URL('../', import.meta.url)),
  outputDir: join(folder, 'lib'),
  reports: ['v8', ['console-details', { metrics: ['lines', 'functions', 'branches'] }]],
  // dist/wasm/ holds the builds as text.
  entryFilter: ({ url }) => url.startsWith(dist) && !url.startsWith(`${dist}wasm/`),
  sourceFilter: (path) => path.startsWith('web/lib/'),
})
await report.addFromDir(join(folder, 'v8'))
if (!(await report.generate())) throw new Error(`${folder}/v8 has no coverage of web/lib`)
