// web/lib/TORCH.md, the table of PyTorch's names: what it names exists, and nothing public is missing from it.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const text = readFileSync(new URL('../../web/lib/TORCH.md', import.meta.url), 'utf8')
const [table, onlyHere] = text.split('\n## Only here\n')
/** The two cells of each row, without heads. @param {string} part */
const rowsOf = (part) =>
  [...part.matchAll(/^\| (`.*) \|$/gm)].map(([, cells]) => {
    assert.equal(cells.split(' | ').length, 2, cells)
    return cells.split(' | ')
  })
const spans = (/** @type {string} */ cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code)

// The package as its types show it: what is internal is not in them.
const path = fileURLToPath(new URL('../../dist/index.d.ts', import.meta.url))
const program = ts.createProgram([path], { skipLibCheck: true })
const checker = program.getTypeChecker()
const source = program.getSourceFile(path)
assert.ok(source)
const moduleSymbol = checker.getSymbolAtLocation(source)
assert.ok(moduleSymbol)
/** The values that the package exports, by name; no types. */
const exported = new Map(
  checker
    .getExportsOfModule(moduleSymbol)
    .map((value) => /** @type {const} */ ([value.name, targetOf(value)]))
    .filter(([, { flags }]) => flags & ts.SymbolFlags.Value),
)

/** @param {ts.Symbol} value @returns {ts.Symbol} what it exports: `export { x$1 as x }` is an alias */
function targetOf(value) {
  return value.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(value) : value
}

/**
 * @param {string} name of an export
 * @returns {string[]} the public members of a class, inherited ones included, or of an object
 */
function membersOf(name) {
  const symbol = exported.get(name) ?? assert.fail(name)
  const isClass = symbol.flags & ts.SymbolFlags.Class
  const type = isClass ? checker.getDeclaredTypeOfSymbol(symbol) : checker.getTypeOfSymbol(symbol)
  const members = checker.getPropertiesOfType(type).map((member) => member.name)
  return members.filter((member) => !/^__|^#/.test(member)) // symbols such as Symbol.dispose, and private ones
}

/** What stands before a dot in the table, and the names that may follow. @type {Record<string, string[]>} */
const NAMES = {
  gpt: [...exported.keys()].filter((name) => name !== 'init'),
  'gpt.init': membersOf('init'),
  x: membersOf('Tensor'),
  layer: membersOf('Module'),
  optimizer: membersOf('Optimizer'),
  schedule: membersOf('LambdaLR'),
  model: membersOf('GPTModel').filter((name) => !membersOf('Module').includes(name)),
}

/** Every name of ours in the table, such as `x.cat`. A call in a chain is a tensor's: `x.sub(y).abs()`. */
const named = new Set(
  [...rowsOf(table).map(([, ours]) => ours), ...rowsOf(onlyHere).map(([ours]) => ours)]
    .flatMap(spans)
    .flatMap(namesIn),
)

/** @param {string} code @returns {string[]} */
function namesIn(code) {
  const withRoots = [
    ...code.matchAll(/(?<![\w.])(gpt\.init|gpt|x|y|z|layer|model|optimizer|schedule)\.(\w+)/g),
  ]
  const inChains = [...code.matchAll(/\)\.(\w+)/g)].map(([, name]) => `x.${name}`)
  return [...withRoots.map(([, root, name]) => `${/^[yz]$/.test(root) ? 'x' : root}.${name}`), ...inChains]
}

test('each name of PyTorch has one row, and its row has an answer', () => {
  const names = rowsOf(table).flatMap(([theirs]) => spans(theirs))
  assert.ok(names.length >= 250, `${names.length}`)
  assert.deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  )
  for (const [theirs, ours] of rowsOf(table)) assert.match(ours, /`|^no: /, theirs)
})

test('each name of ours in TORCH.md exists', () => {
  const missing = [...named].filter((name) => {
    const dot = name.lastIndexOf('.')
    return !NAMES[name.slice(0, dot)].includes(name.slice(dot + 1))
  })
  assert.deepEqual(missing, [])
})

test('nothing public is missing from TORCH.md', () => {
  const missing = Object.entries(NAMES).flatMap(([root, names]) =>
    names.filter((name) => !named.has(`${root}.${name}`)).map((name) => `${root}.${name}`),
  )
  assert.deepEqual(missing, [])
})
