/** @import { ErrorCode } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { GPT_CONFIG_124M, GptLayersError, load } from 'gpt-layers'
import { builds, untyped } from './support.js'

const read = (/** @type {string} */ build) =>
  readFileSync(new URL(import.meta.resolve(`gpt-layers/${build}.wasm`)))
const wasm = read('simd')
const header = readFileSync(new URL(import.meta.resolve('gpt-layers/gpt_layers.h')), 'utf8')

/** The builds that this Node runs. */
const runnable = builds.filter((name) => WebAssembly.validate(read(name)))

for (const name of builds) {
  const skip = !runnable.includes(name) && `Node ${process.version} does not run it`
  test(
    `${name} imports nothing but a shared memory, and exports each function of the header and no other`,
    { skip },
    () => {
      const module = new WebAssembly.Module(read(name))
      const exported = WebAssembly.Module.exports(module).map(({ name }) => name)
      const declared = [...header.matchAll(/^\w.*?\b(gpt_\w+)\(/gm)].map(([, name]) => name)
      const memory = { module: 'env', name: 'memory', kind: 'memory' }
      assert.deepEqual(WebAssembly.Module.imports(module), name.endsWith('-threads') ? [memory] : [])
      assert.ok(declared.includes('gpt_layernorm_forward') && declared.length >= 15)
      assert.deepEqual(exported.filter((name) => name.startsWith('gpt_')).sort(), declared.sort())
    },
  )

  const limit = name.startsWith('relaxed') ? 65 : 61
  test(`${name} is at most ${limit} kB`, () => {
    assert.ok(read(name).length <= limit * 1000, `${read(name).length} bytes`)
  })
}

test('load runs the fastest build by default, or the requested one, and gives the raw exports', async () => {
  const gpt = await load()
  assert.equal(gpt.build, runnable.includes('relaxed') ? 'relaxed' : 'simd')
  assert.equal(gpt.threads, 1)
  assert.equal(gpt.exports.gpt_random_size(), 2512)
  const simd = await load({ build: 'simd' })
  assert.equal(simd.build, 'simd')
  assert.equal(simd.exports.gpt_is_relaxed(), 0)
})

test(
  'load says why the relaxed build cannot run',
  { skip: runnable.includes('relaxed') && 'this Node runs it' },
  async () => {
    await assert.rejects(load({ build: 'relaxed' }), {
      code: 'UNSUPPORTED',
      message: builds.includes('relaxed')
        ? "load: build 'relaxed' needs relaxed SIMD, which is missing here (Chrome 114, Node 22 or later have it)"
        : "load: build 'relaxed' needs relaxed SIMD, which this copy of gpt-layers was built without",
    })
  },
)

test('a kernel can be called through the raw exports, as the header documents', async () => {
  const gpt = await load()
  const x = gpt.tensor([-1, 2, -3])
  assert.equal(gpt.exports.gpt_relu_forward(x.byteOffset, x.byteOffset, 3, 0, 1), 0)
  assert.deepEqual(x.toArray(), [0, 2, 0])
  assert.equal(gpt.exports.gpt_relu_forward(0, x.byteOffset, 3, 0, 1), -1)
  const text = new Uint8Array(gpt.exports.memory.buffer).subarray(gpt.exports.gpt_status_text(-1))
  assert.equal(Buffer.from(text.subarray(0, text.indexOf(0))).toString(), 'a required pointer is NULL')
})

test('a module that the caller compiled runs, and a foreign module is refused', async () => {
  const module = await WebAssembly.compile(wasm)
  const gpt = await load({ module })
  assert.deepEqual(gpt.ones([2]).toArray(), [1, 1])
  assert.equal(gpt.build, 'simd')
  const shared = await load({ module: await WebAssembly.compile(read('simd-threads')) })
  assert.deepEqual(shared.ones([2]).toArray(), [1, 1])
  assert.equal(shared.threads, 1)
  const empty = new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))
  await assert.rejects(load({ module: empty }), {
    code: 'VALUE',
    message: /module should be a build of gpt-layers/,
  })
  await assert.rejects(load({ module, build: 'relaxed' }), {
    code: 'VALUE',
    message: /'relaxed'.* got 'simd'/,
  })
})

/** @type {[unknown, ErrorCode, RegExp][]} */
const refused = [
  [{ build: 'avx' }, 'VALUE', /build should be .* got "avx"/],
  [{ build: 1 }, 'TYPE', /build should be .* got 1/],
  [{ threads: 0 }, 'VALUE', /threads should be an integer from 1 to 64, got 0/],
  [{ threads: 65 }, 'VALUE', /threads should be an integer from 1 to 64, got 65/],
  [{ threads: 1.5 }, 'VALUE', /threads/],
  [{ threads: '2' }, 'TYPE', /threads should be an integer from 1 to 64, got "2"/],
  [{ maxMemory: 0 }, 'VALUE', /maxMemory should be a number of MiB from 1 to 4096, got 0/],
  [{ maxMemory: NaN }, 'VALUE', /maxMemory/],
  [{ maxMemory: '64' }, 'TYPE', /maxMemory/],
  [{ module: wasm }, 'TYPE', /module should be a WebAssembly.Module, got a Buffer/],
  [{ treads: 2 }, 'VALUE', /options should be among build, threads, maxMemory, module, got "treads"/],
  [null, 'TYPE', /options should be an object, got null/],
]
for (const [options, code, message] of refused) {
  test(`load refuses ${JSON.stringify(options).slice(0, 40)} with ${code}`, async () => {
    await assert.rejects(load(untyped(options)), (error) => {
      assert.ok(error instanceof GptLayersError)
      assert.equal(error.code, code)
      assert.match(error.message, message)
      return true
    })
  })
}

test('instances are independent: each refuses the other’s tensors and layers', async () => {
  const [one, two] = [await load(), await load()]
  assert.throws(() => new one.ReLU().forward(two.ones([1])), { code: 'VALUE', message: /same load\(\)/ })
  assert.throws(() => one.ones([1]).add(two.ones([1])), { code: 'VALUE', message: /same load\(\)/ })
  assert.throws(() => new one.Sequential(new two.ReLU()), { code: 'VALUE', message: /same load\(\)/ })
})

test('using a disposed instance is an error; disposing it again is not', async () => {
  const gpt = await load()
  const x = gpt.ones([2])
  const relu = new gpt.ReLU()
  gpt.dispose()
  assert.equal(x.disposed, true)
  for (const use of [
    () => gpt.manualSeed(1),
    () => gpt.randn([1]),
    () => gpt.tensor([1]),
    () => gpt.scope(() => 1),
    () => new gpt.Linear(1, 1),
    () => relu.forward(x),
    () => x.data,
    () => x.add(1),
    () => String(x),
  ]) {
    assert.throws(use, { code: 'DISPOSED' }, String(use))
  }
  x.dispose()
  gpt.dispose()
  if (Symbol.dispose) (await load())[Symbol.dispose]()
})

test('a layer is an instance of its class, which has the layer’s name', async () => {
  const gpt = await load()
  const layer = new gpt.LayerNorm(2)
  assert.ok(layer instanceof gpt.LayerNorm)
  assert.ok(!(layer instanceof gpt.Linear))
  assert.equal(layer.constructor.name, 'LayerNorm')
})

test('GPT_CONFIG_124M is the notebook’s, and cannot be changed', () => {
  assert.deepEqual(GPT_CONFIG_124M, {
    vocabSize: 50257,
    contextLength: 1024,
    embDim: 768,
    nHeads: 12,
    nLayers: 12,
    dropRate: 0.1,
    qkvBias: false,
  })
  assert.ok(Object.isFrozen(GPT_CONFIG_124M))
})

test('load works in a worker', async () => {
  const entry = JSON.stringify(import.meta.resolve('gpt-layers'))
  const code = `import(${entry}).then(async ({ load }) =>
    require('node:worker_threads').parentPort.postMessage((await load()).ones([2]).toArray()))`
  const worker = new Worker(code, { eval: true })
  const answer = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  await worker.terminate()
  assert.deepEqual(answer, [1, 1])
})
