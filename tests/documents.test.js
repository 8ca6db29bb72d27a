// The documents: links and the files they name exist, and the README is short.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const SKIPPED = ['.git', 'build', 'dist', 'node_modules']

/**
 * @param {string} folder
 * @returns {string[]} paths of all files below, without what is built or installed
 */
const filesIn = (folder) =>
  readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !SKIPPED.includes(name))
    .flatMap((entry) =>
      entry.isDirectory() ? filesIn(join(folder, entry.name)) : [join(folder, entry.name)],
    )

const files = filesIn(root).map((path) => relative(root, path))
const documents = files
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** The id that GitHub gives a heading. @param {string} heading */
const idOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** @param {string} text the text of a document @returns {Set<string>} */
const idsOf = (text) => new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => idOf(heading)))

test('there is a document in each folder that a newcomer opens', () => {
  const expected = [
    '.github/CONTRIBUTING.md',
    'CHANGELOG.md',
    'README.md',
    'SECURITY.md',
    'c/README.md',
    'tests/README.md',
    'tests/bench/README.md',
    'tests/training/README.md',
    'web/demo/README.md',
    'web/examples/README.md',
    'web/examples/stories/README.md',
    'web/examples/worker/README.md',
    'web/lib/README.md',
  ]
  assert.deepEqual(documents.map(({ path }) => path).sort(), expected)
})

test('./build.sh --help names each command, and the documents name no other', () => {
  const script = readFileSync(join(root, 'build.sh'), 'utf8')
  const help = execFileSync(join(root, 'build.sh'), ['--help'], { encoding: 'utf8' })
  const commands = [...script.slice(script.lastIndexOf('case $command in')).matchAll(/^([a-z][a-z-]*)\)/gm)]
    .map(([, name]) => name)
    .sort()
  const explained = new Set([...help.matchAll(/^ {2}([a-z][a-z-]*)(?= |$)/gm)].map(([, name]) => name))
  assert.deepEqual([...explained].sort(), commands, 'what --help explains')
  const [, usage] = /^usage:[^[]*\[(.*?)\]/s.exec(help) ?? ['', '']
  assert.deepEqual(
    usage
      .split('|')
      .map((name) => name.trim())
      .sort(),
    commands,
    'what --help lists',
  )
  for (const { path, text } of documents) {
    for (const [whole, name] of text.matchAll(/\.\/build\.sh ([a-z][a-z-]*)/g))
      assert.ok(commands.includes(name), `${path}: ${whole}`)
  }
})

test('the README has at most 110 lines', () => {
  const lines = readFileSync(join(root, 'README.md'), 'utf8').trimEnd().split('\n')
  assert.ok(lines.length <= 110, `${lines.length} lines`)
})

test('lines of the documents have at most 110 characters, except in tables', () => {
  for (const { path, text } of documents) {
    const long = text.split('\n').filter((line) => line.length > 110 && !line.startsWith('|'))
    assert.deepEqual(long, [], path)
  }
})

for (const { path, text } of documents) {
  test(`${path}: links lead to a file, and to a heading in it`, () => {
    for (const [, link] of text.matchAll(/\]\(([^)]+)\)/g)) {
      if (/^https?:/.test(link)) continue
      const [file, heading] = link.split('#')
      const target = file ? join(root, dirname(path), file) : join(root, path)
      assert.ok(existsSync(target), link)
      if (heading) assert.ok(idsOf(readFileSync(target, 'utf8')).has(heading), link)
    }
  })

  // `c/gelu.c` stands for a file from the root or beside the document; `*` and `<layer>` for any name.
  test(`${path}: the files it names exist`, () => {
    for (const [, name] of text.matchAll(/`([\w.*<>/-]+\/[\w.*<>-]*)`/g)) {
      if (/^(?:build|dist|node_modules)\/|^\/|^\.\//.test(name)) continue // built, or not a path
      const [, entry] = /^gpt-layers(\/.+)/.exec(name) ?? [] // an entry of the package
      if (entry) {
        assert.ok(`.${entry}` in exports, name)
        continue
      }
      const pattern = name.replace(/[.+]/g, '\\$&').replace(/\*|<\w+>/g, '[^/]*')
      const found = ['', `${dirname(path)}/`.replace(/^\.\//, '')].some((folder) => {
        const expected = new RegExp(`^${folder}${pattern}$`)
        return existsSync(join(root, folder, name)) || files.some((file) => expected.test(file))
      })
      assert.ok(found, name)
    }
  })
}
