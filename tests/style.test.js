// The checks that tools do: formatting, lint and types. Each failure prints the tool's own report.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
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

test('JavaScript, Svelte, CSS and JSON are formatted by Prettier', () => {
  assertPasses('prettier', '--check', '--log-level', 'warn', '.')
})

test('ESLint finds no mistake in JavaScript and Svelte', () => {
  assertPasses('eslint', '--max-warnings', '0', '.')
})

test('svelte-check finds no type error in the page', () => {
  assertPasses('svelte-check', '--tsconfig', 'web/demo/jsconfig.json', '--fail-on-warnings')
})

test('TypeScript finds no type error in the tests', () => {
  assertPasses('tsc', '-p', 'tests/tsconfig.json')
})
