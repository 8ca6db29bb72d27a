// Which test files have passed, and with which inputs: build/passed.json. A file that has passed is not run
// again while nothing that it may read has changed.

import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'

const RECORD = 'build/passed.json'

/** Of build/, what tests import or compare. The rest they make themselves. */
const BUILT = ['build/api', 'build/demo', 'build/lib', 'build/wasm']

const KERNELS = /^c\/.*\.[ch]$|^tests\/c\// // dist/ has what they became
const PAGE = /^(web\/demo\/(dist\/(?!notebook)|public\/|src\/)|build\/(api|demo)\/)/
const NOTEBOOK = /^web\/(demo\/dist\/)?notebook\//

/** What tests do not read. Everything else is an input; files of a folder without a row read all. */
const UNREAD = /** @type {[RegExp, RegExp[]][]} */ ([
  [/^tests\/c\//, [/^(dist|web|build)\//, /^tests\/(demo|fuzz|golden|lib)\//]],
  [/^tests\/demo\//, [KERNELS, NOTEBOOK, /^tests\/fuzz\//]],
  [/^tests\/fuzz\//, [PAGE, NOTEBOOK, /^tests\/demo\//]],
  [/^tests\/notebook\//, [KERNELS, PAGE, /^tests\/fuzz\//]],
  [/^tests\/(lib\/|examples\.)/, [KERNELS, PAGE, NOTEBOOK]],
  [/^tests\/run\./, [/^(c|dist|web|build)\//, /^tests\/(c|demo|fuzz|golden|lib)\//]],
])

/** They import other test files of their folder. */
const IMPORTS_TESTS = /\/(builds\.test|half-\d)\.js$/

/**
 * Variables that choose what runs. Two are left out that run.js sets: GPT_LAYERS_PAGE_TESTS is the list of the
 * files that import others, and what passed with GPT_LAYERS_TEST=all counts without.
 */
const VARIABLES =
  /^(GPT_LAYERS_(?!(PAGE_TESTS|TEST)$).*|CC|CHROMIUM.*|CLANG|EMSDK|FIREFOX|NODE_OPTIONS|PATH)$/

/** @param {string} path @returns {string[]} the files at a path; of a folder, those below it */
function filesAt(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat?.isDirectory()) return stat ? [path] : []
  if (path === 'build') return BUILT.flatMap(filesAt)
  if (path.endsWith('/build')) return [] // tests write what is in it, such as tests/consumers/build
  // Hidden are .git/ and what a linter keeps.
  const names = readdirSync(path).filter((name) => name !== 'node_modules' && !name.startsWith('.'))
  return names.flatMap((name) => filesAt(path === '.' ? name : `${path}/${name}`))
}

/** The tools here: one that is installed or removed changes its folder, and a package dpkg's list. */
function tools() {
  const variables = Object.entries(process.env).filter(([name]) => VARIABLES.test(name))
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/var/lib/dpkg/status']
  const times = folders.map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  return JSON.stringify([process.version, process.arch, variables.sort(), times])
}

/** @returns {(file: string) => string} the digest of all that a test file may read, as it is now */
export function digests() {
  const all = filesAt('.').sort()
  const inputs = all.map((path) => ({
    path,
    digest: createHash('sha256').update(readFileSync(path)).digest('hex'),
  }))
  const system = tools()
  return (file) => {
    const unread = UNREAD.filter(([tests]) => tests.test(file)).flatMap(([, paths]) => paths)
    const isList = IMPORTS_TESTS.test(file)
    const hash = createHash('sha256').update(system + (isList ? process.env.GPT_LAYERS_PAGE_TESTS : ''))
    for (const { path, digest } of inputs) {
      const isImported = path === file || (isList && dirname(path) === dirname(file))
      const isOther = path.endsWith('.test.js') && !isImported
      if (!isOther && !unread.some((paths) => paths.test(path))) hash.update(`${path} ${digest}\n`)
    }
    return hash.digest('hex')
  }
}

/** @typedef {Record<string, { digest: string, tests: number, all: boolean }>} Passed by file; all: in `test all` */

/** @returns {Passed} */
export function readPassed() {
  try {
    return JSON.parse(readFileSync(RECORD, 'utf8'))
  } catch {
    return {}
  }
}

/** @param {Passed} passed */
export function writePassed(passed) {
  mkdirSync('build', { recursive: true })
  writeFileSync(RECORD, JSON.stringify(passed))
}
