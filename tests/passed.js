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

/**
 * Sections of the page that their own test file opens alone: demo/browser.js asserts that it fetches no other section.
 * It reads the slice.ts of every section, because the page's first file has them: each declares a part of the state.
 */
export const ALONE = [
  'batch-norm',
  'half-precision',
  'scale-and-shift',
  'story',
  'training',
  'worked-example',
]
const otherSections = (/** @type {string} */ id) =>
  [...ALONE, 'end']
    .filter((other) => other !== id)
    .flatMap((other) => [
      new RegExp(`^(web/demo/src|build/demo)/sections/${other}/(?!slice)`),
      new RegExp(`^web/demo/dist/assets/${other.replaceAll('-', '')}[-.]`, 'i'),
    ])

/** What tests do not read. Everything else is an input; files of a folder without a row read all. */
const UNREAD = /** @type {[RegExp, RegExp[]][]} */ ([
  [/^tests\/c\//, [/^(dist|web|build)\//, /^tests\/(demo|fuzz|golden|lib)\//]],
  [/^tests\/demo\//, [KERNELS, NOTEBOOK, /^tests\/fuzz\//]],
  [/^tests\/fuzz\//, [PAGE, NOTEBOOK, /^tests\/demo\//]],
  [/^tests\/notebook\//, [KERNELS, PAGE, /^tests\/fuzz\//]],
  [/^tests\/(lib\/|examples\.)/, [KERNELS, PAGE, NOTEBOOK]],
  ...ALONE.map((id) => [
    new RegExp(`^tests/demo/${id}\\.`),
    [...otherSections(id), /^web\/demo\/dist\/sw\.js$/],
  ]),
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

/**
 * The tools here. One that is installed or removed changes the names in its folder. One that is updated changes
 * dpkg's list, or the file that a variable names. A folder's own time says nothing: pyenv writes its programs anew
 * with each shell.
 */
function tools() {
  const variables = Object.entries(process.env).filter(([name]) => VARIABLES.test(name))
  const entryOf = (/** @type {string} */ path) => statSync(path, { throwIfNoEntry: false })
  const folders = (process.env.PATH ?? '').split(delimiter).filter((path) => entryOf(path)?.isDirectory())
  const names = folders.map((path) =>
    readdirSync(path)
      .filter((name) => !name.startsWith('.'))
      .sort(),
  )
  const files = [...variables.map(([, value = '']) => value), '/var/lib/dpkg/status']
  const times = files.map((path) => entryOf(path)?.mtimeMs ?? 0)
  return JSON.stringify([process.version, process.arch, variables.sort(), names, times])
}

/** @param {string} file of tests, from the repository's root @param {string} path @returns whether it may read that */
export const mayRead = (file, path) =>
  !UNREAD.some(([tests, unread]) => tests.test(file) && unread.some((paths) => paths.test(path)))

/** In the names of the page's files: the digest of their content. A file names others, so its digest has theirs in it. */
const CONTENT = /-[\w-]{8}(?=\.(css|js|safetensors|wasm|woff2)\b)/g

/** @param {string} path @returns what a test reads there, without the digests of other files */
function read(path) {
  const isOfPage = /^web\/demo\/dist\/.*\.(css|html|js)$/.test(path)
  return isOfPage ? readFileSync(path, 'utf8').replace(CONTENT, '') : readFileSync(path)
}

/** @returns {(file: string) => string} the digest of all that a test file may read, as it is now */
export function digests() {
  const inputs = filesAt('.').map((path) => ({
    path,
    line: `${path.replace(CONTENT, '')} ${createHash('sha256').update(read(path)).digest('hex')}\n`,
  }))
  inputs.sort((a, b) => (a.line < b.line ? -1 : 1))
  const system = tools()
  return (file) => {
    const isList = IMPORTS_TESTS.test(file)
    const hash = createHash('sha256').update(system + (isList ? process.env.GPT_LAYERS_PAGE_TESTS : ''))
    for (const { path, line } of inputs) {
      const isImported = path === file || (isList && dirname(path) === dirname(file))
      const isOther = path.endsWith('.test.js') && !isImported
      if (!isOther && mayRead(file, path)) hash.update(line)
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
