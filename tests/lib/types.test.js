// The package's types, as a user's compiler and editor see them.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { all } from '../all.js'
import { blocksOf } from '../blocks.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** The oldest TypeScript that reads the types, and the newest. @type {Record<string, string>} */
const compilers = {
  '5.0': join(root, 'tests/types/node_modules/typescript-5.0/bin/tsc'),
  7: join(root, 'node_modules/@typescript/native/bin/tsc'),
}
/** @param {string} version */
const skip = (version) => !existsSync(compilers[version]) && 'npm could not install this TypeScript'
const CHECKED = all ? ['5.0', '7'] : ['7']

/** Each call of the API table, for a TypeScript of any version and without the types of browsers or Node. */
const CALLS = `
import * as gpt from 'gpt-layers'
import { GptLayersError, GPT_CONFIG_124M, GPTModel, LayerNorm, Linear, Module, Tensor } from 'gpt-layers'
import * as core from 'gpt-layers/core'
import 'gpt-layers/worker.js'
import type { ErrorCode, GeneratedToken, GenerateOptions, KeyValueCache, LayerNormOptions, Optimizer } from 'gpt-layers'
class Twice extends Module {
  factor: Tensor = gpt.parameter(gpt.tensor(2))
  forward(x: Tensor) { return x.mul(this.factor) }
  halve(x: Tensor) { return gpt.record(gpt.noGrad(() => x.div(2)), [x], (dy, wanted) => [wanted[0] ? dy.div(2) : null]) }
}
const loaded: void = await gpt.load({ build: 'simd', threads: 1, maxMemory: 64 })
await core.load({ module: {} })
const sameTypes: typeof gpt.load = core.load
const build: 'simd' | 'relaxed' = gpt.build
const linear: Linear = new gpt.Linear(5, 6, { bias: false })
const norm: LayerNorm = new gpt.LayerNorm(6, { eps: 1e-6 })
const x: Tensor = gpt.tensor([[1, 2]], [2]).add(1).sub(norm.scale ?? 0).mul(2).div(3).sqrt().clone().reshape([1, -1])
const shape: readonly number[] = x.mean({ dim: -1, keepdim: true }).var({ unbiased: false }).shape
const data: Float32Array = gpt.scope(() => gpt.rand(shape)).data
const layers: Module[] = [linear, norm, new gpt.GELU({ approximate: 'none' }), new gpt.ReLU()]
const y: Tensor = new gpt.Sequential(...layers, new gpt.FeedForward(GPT_CONFIG_124M)).forward(gpt.randn([2, 5]))
linear.loadStateDict(linear.stateDict())
linear.loadStateDict(gpt.loadSafetensors(gpt.saveSafetensors(linear, { names: 'ours' })))
const model: GPTModel = new gpt.GPTModel({ ...GPT_CONFIG_124M, nLayers: 1, vocabSize: 3, tieWeights: true })
const seen: unknown[] = []
const stop: () => void = model.onForward(({ name, module, output }) => { seen.push(name, module.training, output.add(1)) })
const weights: Tensor = new gpt.Attention({ ...GPT_CONFIG_124M }).forward(x, { returnWeights: true }).weights
const attended: Tensor = new gpt.Attention({ ...GPT_CONFIG_124M }).forward(x)
const logits: Tensor = model.forward([0, 1], { returnWeights: true })
const nothing: void = logits.backward(gpt.ones(logits.shape))
const cache: KeyValueCache = model.newCache({ batchSize: 1, maxTokens: 3 })
const last: Tensor = model.forward([0, 1], { cache, lastOnly: true })
const writing: GenerateOptions = { maxNewTokens: 1, temperature: 0.5, topK: 2, topP: null, stopTokens: [0], cache }
const written: GeneratedToken[] = [...model.generate([1], writing)]
for (const { token, probability, top } of model.generate([1])) written.push({ token, probability, top })
cache.truncate(cache.length - 1)
const GRID = [[1, 2], [3, 4]] as const
const grid: Tensor = gpt.tensor(GRID)
const fixedIds: readonly number[] = [0, 1]
const fixedLogits: Tensor = model.forward(fixedIds)
const fixedLoss: Tensor = gpt.crossEntropy(fixedLogits, fixedIds)
const options: LayerNormOptions = { eps: 1e-5 }
for (const block of model.trfBlocks) block.norm1 = new gpt.RMSNorm(768)
model.trfBlocks[0].norm2 = new gpt.RMSNorm(768)
model.finalNorm = new gpt.Identity()
new gpt.FeedForward(GPT_CONFIG_124M).layers[1] = new gpt.ReLU()
const scale: Tensor | null = model.finalNorm instanceof gpt.LayerNorm ? model.finalNorm.scale : null
const isLinear = (layer: Module): Linear | null => (layer instanceof gpt.Linear ? layer : null)
const same: InstanceType<typeof LayerNorm> = norm
const twice: Module = new Twice()
const isTensor = (value: unknown): value is Tensor => value instanceof Tensor
const loss: Tensor = gpt.crossEntropy(model.forward([[0, 1], [2, 0]]), [[1, 2], [0, 0]])
loss.backward()
const isLeaf: boolean = x.detach().requiresGrad
const optimizers: Optimizer[] = [new gpt.SGD(linear.parameters(), { lr: 0.1 }), new gpt.AdamW(norm.parameters())]
optimizers[0].lr = gpt.clipGradNorm(norm.parameters(), 1)
const grouped = new gpt.Adam([{ params: norm.parameters(), weightDecay: 0.1 }, { params: [x], lr: 1 }], { lr: 0.1 })
grouped.paramGroups[1].betas = [0.9, grouped.paramGroups[0].betas[1]]
class Descent extends gpt.Optimizer<{ lr: number; factor: number }> {
  constructor(parameters: readonly Tensor[]) { super(parameters, { lr: 1, factor: 2 }) }
  protected override stateShapes({ shape }: Tensor) { return { sum: shape } }
  protected override update(w: Tensor, grad: Tensor, { sum }: gpt.OptimizerState, { lr, factor }: { lr: number; factor: number }) {
    w.data[0] -= lr * factor * grad.data[0] + sum.data[0]
  }
}
const rate: number = (new Descent([x]).lr *= gpt.cosineWithWarmup({ steps: 9 })(3))
loss.backward({ retainGraph: true })
logits.backward(gpt.ones(logits.shape), { retainGraph: true })
const tensors: Record<string, Tensor> = gpt.loadSafetensors(gpt.saveSafetensors({ x }))
const parameters: [string, Tensor][] = norm.namedParameters()
const text: string = y.toString({ sciMode: false, precision: 2 }) + gpt.build + gpt.threads + data.length + parameters
gpt.exports.gpt_relu_forward(y.byteOffset, y.byteOffset, y.size, 0, 1)
const code: ErrorCode = new GptLayersError('TYPE', text).code
const reason: string | null = gpt.threadsReason
// @ts-expect-error a shape is an array
gpt.ones(2)
// @ts-expect-error there is no such form
new gpt.GELU({ approximate: 'erf' })
// @ts-expect-error lr is missing
new gpt.SGD(linear.parameters(), { momentum: 0.9 })
// @ts-expect-error there is no such option of a group
new gpt.AdamW([{ params: [x], maximize: true }])
// @ts-expect-error there is no such option
model.generate([1], { top_k: 2 })
// @ts-expect-error outFeatures is missing
new gpt.Linear(5)
// @ts-expect-error load returns nothing
const none: typeof gpt = await gpt.load()
gpt.dispose()
export { code, loaded, rate, none, sameTypes, isTensor, nothing, isLeaf, tensors, stop, weights, attended, logits, last, twice, reason, scale }
`

/** Explicit resource management, from TypeScript 5.2 on. */
const USING = `
import { load, zeros } from 'gpt-layers'
await load()
{ using z = zeros([2]); z.dispose() }
`

/** From TypeScript 5.8 on. */
const FLOAT16 = `
import * as gpt from 'gpt-layers'
const values: gpt.NumberArray = new Float16Array(9)
gpt.tensor(new Float16Array(9), [3, 3])
new gpt.Embedding(2, 3).forward(new Float16Array(2))
// @ts-expect-error a DataView is no array of numbers
gpt.tensor(new DataView(values.buffer))
`

/** Options that may be undefined, with exactOptionalPropertyTypes, and the functions of PyTorch's names. */
const OPTIONAL = `
import * as gpt from 'gpt-layers'
declare const n: number | undefined
declare const flag: boolean | undefined
const x: gpt.Tensor = gpt.ones([2, 3]).mean({ dim: n, keepdim: flag }).softmax({ dim: n }).clamp({ min: n, max: n })
gpt.cat([x, gpt.softmax(x, { dim: n })], { dim: n }).triu({ diagonal: n }).var({ correction: n, unbiased: flag })
gpt.allclose(x, x, { rtol: n, atol: n, equalNan: flag })
const linear = new gpt.Linear(2, 2, { bias: flag })
linear.quantize({ groupSize: n }).loadStateDict({}, { strict: flag })
new gpt.AdamW([{ params: [x], lr: n, weightDecay: n }], { lr: n, betas: undefined })
new gpt.SGD([{ params: [x], lr: n }], { lr: n, nesterov: flag }).paramGroups[0].lr.toFixed()
const model = new gpt.GPTModel({ ...gpt.GPT_CONFIG_124M, bias: flag, hiddenDim: n, tieWeights: flag })
model.generate([1], { maxNewTokens: n, topK: n, temperature: n, cache: undefined, stopTokens: undefined })
model.forward([1], { returnWeights: flag, cache: undefined, lastOnly: flag })
gpt.crossEntropy(x, [0], { ignoreIndex: n, reduction: undefined })
gpt.saveSafetensors(model, { names: undefined, dtype: undefined })
await gpt.load({ threads: n, build: undefined, maxMemory: n })
await gpt.GPTModel.fromPretrained(new Uint8Array(1), { strict: flag, signal: undefined, onProgress: undefined })
`

/** What the functions of one tensor take and return, and what a loop over a tensor gives. */
const FUNCTIONS = `
import * as gpt from 'gpt-layers'
const x: gpt.Tensor = gpt.ones([2, 2])
const y: gpt.Tensor = gpt.matmul(gpt.softmax(x, { dim: -1 }), gpt.exp(x))
const largest: gpt.Tensor = gpt.max(y)
const { values, indices }: gpt.Extremes = gpt.max(y, { dim: 0 })
const index: number = gpt.argmax(y)
const along: gpt.Tensor = gpt.argmax(y, { dim: 0 })
const pieces: gpt.Tensor[] = gpt.split(y, 1)
const same: boolean = gpt.equal(x, y) || gpt.allclose(x, y)
for (const row of y) row.sum().backward()
const [first, second]: gpt.Tensor[] = [...gpt.var(y, { dim: 0 })]
const axes: number = y.ndim
// @ts-expect-error there is no such option
gpt.softmax(x, { axis: 0 })
// @ts-expect-error other is missing
gpt.matmul(x)
// @ts-expect-error an option is named
gpt.softmax(x, -1)
export { largest, values, indices, index, along, pieces, same, first, second, axes }
`

/** For browsers: the types of the package fit the DOM's. */
const BROWSER = `
import * as gpt from 'gpt-layers'
await gpt.load({
  module: await WebAssembly.compileStreaming(fetch('simd.wasm')),
  worker: () => new Worker('gpt-layers-worker.js'),
})
const memory: WebAssembly.Memory = gpt.exports.memory
const file = gpt.saveSafetensors(new gpt.Linear(2, 3))
const digest: ArrayBuffer = await crypto.subtle.digest('SHA-256', file)
await fetch('model.safetensors', { method: 'PUT', body: file })
export { digest, memory }
export const blob: Blob = new Blob([file])
`

const [readme] = blocksOf('js', 'README.md')

const folder = mkdtempSync(join(tmpdir(), 'gpt-layers-'))
after(() => rmSync(folder, { recursive: true, force: true }))
mkdirSync(join(folder, 'node_modules'))
symlinkSync(root, join(folder, 'node_modules/gpt-layers'), 'junction')
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
const files = {
  'calls.ts': CALLS,
  'using.ts': USING,
  'float16.ts': FLOAT16,
  'browser.ts': BROWSER,
  'optional.ts': OPTIONAL,
  'functions.ts': FUNCTIONS,
  'readme.ts': readme,
}
for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)

/**
 * @param {string} version of TypeScript
 * @param {string} options beside those that every project here has
 * @returns {string} the errors
 */
function check(version, options) {
  const common = '--strict --noEmit --skipLibCheck false --target es2022'
  try {
    return execFileSync(process.execPath, [compilers[version], ...`${common} ${options}`.split(' ')], {
      cwd: folder,
      encoding: 'utf8',
    })
  } catch (error) {
    return /** @type {{ stdout: string }} */ (error).stdout
  }
}

for (const [version, options] of [
  ['5.0', '--module node16 --lib es2022 calls.ts'],
  ['5.0', '--module es2022 --moduleResolution bundler --lib es2022,dom calls.ts browser.ts readme.ts'],
  ['5.0', '--module node16 --lib es2022 --exactOptionalPropertyTypes optional.ts functions.ts'],
  ['7', '--module nodenext --lib es2022 calls.ts'],
  ['7', '--module nodenext --lib es2022 --exactOptionalPropertyTypes optional.ts functions.ts'],
  ['7', '--module nodenext --lib es2022,esnext.float16 calls.ts float16.ts'],
  ['7', '--module nodenext --lib es2022,dom,esnext.disposable calls.ts using.ts browser.ts readme.ts'],
  ['7', '--module esnext --moduleResolution bundler --lib es2022,dom calls.ts browser.ts readme.ts'],
].filter(([version]) => CHECKED.includes(version))) {
  test(`TypeScript ${version} accepts the types: ${options}`, { skip: skip(version) }, () => {
    assert.equal(check(version, options), '')
  })
}

if (all)
  test('TypeScript 5.0 with moduleResolution node finds the types', { skip: skip('5.0') }, () => {
    writeFileSync(join(folder, 'old.ts'), "import { load } from 'gpt-layers'\nexport const loaded = load()\n")
    assert.equal(check('5.0', '--module es2022 --moduleResolution node --lib es2022 old.ts'), '')
  })

const program = ts.createProgram([join(root, 'dist/index.d.ts')], { noLib: true })
const types = program.getSourceFile(join(root, 'dist/index.d.ts')) ?? assert.fail()

test('the types have no any', () => {
  const visit = (/** @type {ts.Node} */ node) => {
    assert.notEqual(node.kind, ts.SyntaxKind.AnyKeyword, node.parent?.getText())
    ts.forEachChild(node, visit)
  }
  visit(types)
})

test('each class and each option of its constructor is documented, and no internals are in the types', () => {
  const checker = program.getTypeChecker()
  const documented = (/** @type {ts.Symbol} */ symbol) => symbol.getDocumentationComment(checker).length > 0
  let [classes, options] = [0, 0]
  for (const symbol of checker.getExportsOfModule(checker.getSymbolAtLocation(types) ?? assert.fail())) {
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0
    const exported = isAlias ? checker.getAliasedSymbol(symbol) : symbol
    const [signature] = checker.getTypeOfSymbol(exported).getConstructSignatures()
    if (!signature || symbol.name === 'GptLayersError') continue // users do not make one
    classes++
    assert.ok(documented(exported), symbol.name)
    for (const parameter of signature.getParameters().filter(({ name }) => /options|config/.test(name))) {
      const type = checker.getNonNullableType(checker.getTypeOfSymbol(parameter))
      for (const option of type.getProperties()) {
        options++
        assert.ok(documented(option), `${symbol.name}: ${option.name}`)
      }
    }
    if (symbol.name !== 'LayerNorm') continue
    const members = `apply buffers children dispose embDim eps eval extraRepr forward loadStateDict modules namedBuffers
      namedChildren namedModules namedParameters normalizedShape onForward parameters quantize requiresGrad scale shift
      stateDict toString train training zeroGrad`
    const found = signature.getReturnType().getProperties()
    assert.deepEqual(
      found
        .map(({ name }) => name)
        .filter((name) => /^[a-z]/i.test(name))
        .sort(),
      members.split(/\s+/),
    )
  }
  assert.ok(classes >= 18 && options >= 30, `${classes} classes, ${options} options`)
})
