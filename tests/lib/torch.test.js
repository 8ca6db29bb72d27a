// web/lib/TORCH.md, the table of PyTorch's names: what it names exists, nothing public is missing from it,
// and each formula computes what PyTorch computes.

/** @import { Tensor } from 'gpt-layers' */
/** @import { Packed } from './support.js' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { assertClose, golden, loadForTest, unpack } from './support.js'

const gpt = await loadForTest()
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
  model: membersOf('GPTModel').filter((name) => !membersOf('Module').includes(name)),
}

/** All code of ours. */
const ours = [...rowsOf(table).map(([, cell]) => cell), ...rowsOf(onlyHere).map(([cell]) => cell)].flatMap(
  spans,
)
/** Every name of ours in the table, such as `x.cat`. A call in a chain is a tensor's: `x.sub(y).abs()`. */
const named = new Set(ours.flatMap(namesIn))

/** @param {string} code @returns {string[]} */
function namesIn(code) {
  const withRoots = [...code.matchAll(/(?<![\w.])(gpt\.init|gpt|x|y|z|layer|model|optimizer)\.(\w+)/g)]
  // `map` is an array's.
  const inChains = [...code.matchAll(/\)\.(?!map\()(\w+)/g)].map(([, name]) => `x.${name}`)
  return [...withRoots.map(([, root, name]) => `${/^[yz]$/.test(root) ? 'x' : root}.${name}`), ...inChains]
}

/** What is a function and a method is named by one of them. @param {string} root @param {string} name */
const isNamed = (root, name) => {
  const isBoth = NAMES.gpt.includes(name) && NAMES.x.includes(name)
  const roots = isBoth && (root === 'gpt' || root === 'x') ? ['gpt', 'x'] : [root]
  return roots.some((one) => named.has(`${one}.${name}`))
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

test('the code of ours in TORCH.md fits the package’s types, with the names of its options', () => {
  const roots = ['gpt', 'x', 'y', 'z', 'layer', 'model', 'optimizer']
  const codes = ours.filter((code) => new RegExp(`^(new )?(${roots.join('|')})\\b.`).test(code))
  assert.ok(codes.length > 250, `${codes.length} of ${ours.length}`)
  const words = new Set(codes.flatMap((code) => code.match(/(?<![\w.'])[a-z]\w*/gi) ?? []))
  const isKnown = (/** @type {string} */ word) =>
    roots.includes(word) || word in globalThis || /^(new|true|false|null|instanceof)$/.test(word)
  const others = [...words].filter((word) => !isKnown(word))
  const lines = [
    `import * as gpt from ${JSON.stringify(path.replace('.d.ts', '.js'))}`,
    'declare let x: gpt.Tensor, y: gpt.Tensor, z: gpt.Tensor, layer: gpt.Module, model: gpt.GPTModel',
    'declare const optimizer: gpt.AdamW',
    `declare const ${others.map((name) => `${name}: any`)}`,
    ...codes,
  ]
  const host = ts.createCompilerHost({})
  const { getSourceFile } = host
  host.getSourceFile = (name, ...rest) =>
    name === 'torch.ts'
      ? ts.createSourceFile(name, lines.join('\n;'), ts.ScriptTarget.ES2022)
      : getSourceFile(name, ...rest)
  const options = {
    strict: false,
    noEmit: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
  }
  const checked = ts.createProgram(['torch.ts'], options, host)
  const errors = ts
    .getPreEmitDiagnostics(checked, checked.getSourceFile('torch.ts'))
    .filter(({ code }) => code !== 2445) // protected: for classes of one's own
  assert.equal(ts.formatDiagnostics(errors, host), '')
})

test('nothing public is missing from TORCH.md', () => {
  const missing = Object.entries(NAMES).flatMap(([root, names]) =>
    names.filter((name) => !isNamed(root, name)).map((name) => `${root}.${name}`),
  )
  assert.deepEqual(missing, [])
})

/**
 * A case of a formula.
 *
 * @typedef {object} Case
 * @property {Record<string, any>} given the arguments by name; a string may name one of `inputs`
 * @property {Packed[]} out
 * @property {(Packed | null)[] | null} grads of the tensors in `given`; null where `out` has no gradient
 */

/** @type {{ inputs: Record<string, Packed>, formulas: Record<string, Case[]> }} */
const { inputs, formulas } = golden('formulas')

/** Code of TORCH.md that has no case, by the reason. @type {Record<string, string[]>} */
const NOT_RUN = {
  'a loop': ['for (const row of x)'],
  'a word': ['matmul', 'where', 'backward', 'instanceof', "reduction='batchmean'"],
  'the name of another row': [
    'torch.diagonal',
    'nn.NLLLoss',
    'nn.L1Loss',
    'nn.KLDivLoss',
    'nn.BCEWithLogitsLoss',
  ],
  'part of a tensor, no operation: tensor.test.js, print.test.js': [
    'gpt.Tensor',
    'x instanceof gpt.Tensor',
    'x.shape',
    'x.toArray()',
    'x.data',
    'x.data.set(values, offset)',
    'x.byteOffset',
    'x.toString({ sciMode, precision })',
  ],
  'the tape: tape.test.js, gradcheck.test.js': [
    'x.backward(gradient)',
    'x.backward({ retainGraph: true })',
    'x.backward()',
    'x.grad',
    'x.requiresGrad',
    'gpt.noGrad(fn)',
    'gpt.record(output, inputs, gradients)',
    'x.grad = x.grad.clamp({ min, max })',
  ],
  'a layer with an interface of its own, not PyTorch’s: its own test file': [
    'new gpt.Sequential(...layers)',
    'new gpt.ModuleList(layers)',
  ],
  'loads, frees or starts: load.test.js, memory.test.js, random.test.js, safetensors.test.js': [
    'gpt.manualSeed(n)',
    'gpt.saveSafetensors(layer)',
    'await gpt.loadTorch(bytes)',
    'gpt.loadSafetensors(bytes)',
    'gpt.load({ threads })',
    'gpt.threads',
    'gpt.dispose()',
    'gpt.scope(fn)',
    'gpt.build',
  ],
}

/** Modules and optimizers: module.test.js and optim.test.js compare them with PyTorch. */
const TRAINING = /^(layer|optimizer)\.|gpt\.(Module|Optimizer|SGD|AdamW?|cosineWithWarmup|clipGradNorm)\b/

/** `gpt.exp(x)` has the cases of `x.exp()`. @param {string} code */
const keyOf = (code) => (code in formulas ? code : code.replace(/^gpt\.(\w+)\(x(?:, )?(.*)\)$/, 'x.$1($2)'))
/** @param {string} code */
const casesOf = (code) => formulas[keyOf(code)]

/** The operations, layers and draws that other tests compare with PyTorch. */
const COMPARED = new Set([
  ...golden('operations').cases.map((/** @type {any} */ one) => one.name),
  ...golden('layers').cases.map((/** @type {any} */ one) => one.layer),
  ...golden('draws').initial.map((/** @type {any} */ one) => one.name),
  ...['rand', 'randn', 'randint', 'multinomial', 'arange', 'eye'],
])
/** Whether it is one of these, of arguments that have nothing but names. @param {string} code */
const isCompared = (code) =>
  COMPARED.has(/^(?:new gpt|gpt\.init|gpt|x)\.(\w+)\((?:[{ ]*[a-z]\w*[ }]*,? ?)*\)$/i.exec(code)?.[1] ?? '')

const codes = rowsOf(table).flatMap(([, ours]) => (ours.startsWith('no: ') ? [] : spans(ours)))

test('each formula of TORCH.md is run below, or compared elsewhere, or there is a reason why not', () => {
  const listed = Object.values(NOT_RUN).flat()
  assert.deepEqual(
    codes.filter(
      (code) => !casesOf(code) && !isCompared(code) && !listed.includes(code) && !TRAINING.test(code),
    ),
    [],
  )
  assert.deepEqual(
    [...Object.keys(formulas), ...listed].filter((code) => !codes.some((one) => keyOf(one) === code)),
    [],
  )
})

for (const code of new Set(codes)) {
  if (!casesOf(code)) continue
  test(`${code} and its gradients are PyTorch’s`, () => {
    for (const { given, out, grads } of casesOf(code)) {
      gpt.scope(() => {
        /** @type {Tensor[]} */
        const leaves = []
        /** @param {any} value @returns {any} */
        const bound = (value) => {
          if (Array.isArray(value) && value.length > 0) return value.map(bound)
          if (typeof value !== 'string' || !(value in inputs)) return value ?? undefined
          leaves.push(gpt.parameter(gpt.tensor([...unpack(inputs[value])], inputs[value].shape)))
          return leaves.at(-1)
        }
        const names = Object.keys(given)
        const values = names.map((name) => bound(given[name]))
        gpt.manualSeed(7)
        const result = new Function('gpt', ...names, `return ${code}`)(gpt, ...values)
        const outputs = outputsOf(result, leaves[0])
        const what = JSON.stringify(given)
        assert.equal(outputs.length, out.length, what)
        outputs.forEach((y, i) => near(y, out[i], `${what}: `))
        if (grads === null) return
        for (const y of outputs) {
          if (!y.requiresGrad) continue
          y.backward(gpt.arange(y.size).div(4).add(1).reshape(y.shape), { retainGraph: true })
        }
        leaves.forEach((leaf, i) => {
          const expected = grads[i]
          if (expected) near(leaf.grad ?? gpt.zerosLike(leaf), expected, `${what}: gradient ${i}: `)
        })
      })
    }
  })
}

/** @param {any} result of a formula @param {Tensor} x the input of a layer @returns {Tensor[]} */
function outputsOf(result, x) {
  if (typeof result !== 'object') return [gpt.tensor(Number(result))] // a number, or true and false as 1 and 0
  if (result instanceof gpt.Module) return outputsOf(result.forward(x), x)
  if (result instanceof gpt.Tensor) return [result]
  return Array.isArray(result) ? result : [result.values, result.indices]
}

/** @param {Tensor} tensor @param {Packed} expected @param {string} what */
function near(tensor, expected, what) {
  try {
    assertClose(tensor, expected, 2e-6)
  } catch (error) {
    assert.fail(what + /** @type {Error} */ (error).message)
  }
}
