// The checks that tools do: formatting, lint and types. Each failure prints the tool's own report. The tools
// keep what they found in node_modules/.cache/style, by the contents of the files: what did not change is not
// checked again. `npm ci` deletes this folder, so a new version of a tool or of a plugin begins anew.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Runs a tool of node_modules from the repository's root. Fails with its report unless it exits with 0.
 *
 * @param {string} tool
 * @param {...string} args
 */
function assertPasses(tool, ...args) {
  const { status, stdout, stderr, error } = spawnSync(`${root}node_modules/.bin/${tool}`, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  })
  if (error) throw error
  assert.equal(status, 0, `${tool} ${args.join(' ')}\n${stdout}${stderr}`)
}

const CACHE = 'node_modules/.cache/style'
/** @param {string} tool */
const cache = (tool) => ['--cache', '--cache-strategy', 'content', '--cache-location', `${CACHE}/${tool}`]

test('JavaScript, TypeScript, Svelte, CSS and JSON are formatted by Prettier', () => {
  assertPasses('prettier', '--check', '--log-level', 'warn', ...cache('prettier'), '.')
})

test('ESLint finds no mistake in JavaScript, TypeScript and Svelte', () => {
  assertPasses('eslint', '--max-warnings', '0', ...cache('eslint'), '.')
})

// With TypeScript 7, svelte-check writes each component as a TypeScript file into web/demo/.svelte-check.
// Then it checks all files in that folder. So the files of an earlier run are deleted first.
test('svelte-check finds no type error in the page', (t) => {
  const clean = () => rmSync(`${root}web/demo/.svelte-check`, { recursive: true, force: true })
  clean()
  t.after(clean)
  const page = ['--workspace', 'web/demo', '--tsconfig', 'tsconfig.json']
  assertPasses('svelte-check', '--tsgo', ...page, '--fail-on-warnings')
})

// TypeScript 6 and 7 both install their program as .bin/tsc. This path is version 7's.
test('TypeScript finds no type error in the tests', () => {
  const found = ['--incremental', '--tsBuildInfoFile', `${CACHE}/tests.tsbuildinfo`]
  assertPasses('../@typescript/native/bin/tsc', '-p', 'tests/tsconfig.json', ...found)
})

const LONGEST_LINE = 110

/**
 * @param {...string} extensions
 * @returns {string[]} the paths of the sources, without those that a build makes
 */
function sources(...extensions) {
  return ['c', 'tests', 'web'].flatMap((folder) =>
    readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
      .map((name) => `${folder}/${name}`)
      .filter((path) => !/\/(node_modules|dist|build)\//.test(path))
      .filter((path) => extensions.includes(path.slice(path.lastIndexOf('.') + 1))),
  )
}

/** A source without what no formatter breaks: strings, regular expressions, and the markup after a script. */
const withoutStrings = (/** @type {string} */ source) =>
  source
    .replace(/(<\/script>)(?![^]*<\/script>)[^]*/, '$1')
    .replace(/`[^`]*`/g, (template) => template.replace(/.+/g, ''))
    .replace(/'[^'\n]*'|"[^"\n]*"|\/[^/*\s]([^/\\\n]|\\.)*\//g, '')
const isComment = (/** @type {string} */ line) => /^\s*(\/\/|\/?\*|#)/.test(line)

test(`lines of code and comments have at most ${LONGEST_LINE} characters; only strings may be longer`, () => {
  const paths = sources('js', 'ts', 'svelte', 'css', 'c', 'h', 'py')
  assert.ok(paths.length > 150, `${paths.length} sources`)
  const found = paths.flatMap((path) => {
    const source = readFileSync(root + path, 'utf8')
    const code = withoutStrings(source).split('\n')
    const lines = source.split('\n').map((line, i) => (isComment(line) ? line : (code[i] ?? '')))
    return lines.flatMap((line, i) => ([...line].length > LONGEST_LINE ? [`${path}:${i + 1}`] : []))
  })
  assert.deepEqual(found, [])
})

test('C is formatted by clang-format', () => {
  assertPasses('clang-format', '--dry-run', '--Werror', ...sources('c', 'h'))
})
