/** @import { TestContext } from 'node:test' */
/** @import { ErrorCode, Tensor } from 'gpt-layers' */
/** @import { Gpt } from './support.js' */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { GPT_CONFIG_124M, GptLayersError } from 'gpt-layers'
import * as core from 'gpt-layers/core'
import { warnOneThread } from '../../build/lib/threads/warn.js'
import { nodes } from '../nodes/nodes.js'
import { assertRefuses, builds, copy, load, replaceGlobal } from './support.js'

const read = (/** @type {string} */ build) =>
  readFileSync(new URL(import.meta.resolve(`gpt-layers/${build}.wasm`)))
const wasm = read('simd')
const header = readFileSync(new URL(import.meta.resolve('gpt-layers/gpt_layers.h')), 'utf8')

/** The builds that this Node runs. */
const runnable = builds.filter((name) => WebAssembly.validate(read(name)))

/** @typedef {{ module?: string, name: string, kind: string }} Port an import or an export */

/**
 * The imports and exports of a build, as the newest Node here reads them.
 *
 * @param {string} build
 * @returns {{ imports: Port[], exports: Port[] } | null} null if it cannot
 */
function portsOf(build) {
  const code = `const bytes = require('node:fs').readFileSync(process.argv[1])
    const module = WebAssembly.validate(bytes) ? new WebAssembly.Module(bytes) : null
    const { imports, exports } = WebAssembly.Module
    console.log(JSON.stringify(module && { imports: imports(module), exports: exports(module) }))`
  const path = fileURLToPath(import.meta.resolve(`gpt-layers/${build}.wasm`))
  const { file, args } = nodes[nodes.length - 1]
  return JSON.parse(execFileSync(file, [...args, '--eval', code, path], { encoding: 'utf8' }))
}

for (const name of builds) {
  const ports = portsOf(name)
  const skip = !ports && 'no Node here can run relaxed SIMD: Node 22 or later can'
  test(
    `${name} imports nothing but a shared memory, and exports each function of the header and no other`,
    { skip },
    () => {
      assert.ok(ports)
      const exported = ports.exports.map(({ name }) => name)
      const declared = [...header.matchAll(/^\w.*?\b(gpt_\w+)\(/gm)].map(([, name]) => name)
      const memory = { module: 'env', name: 'memory', kind: 'memory' }
      assert.deepEqual(ports.imports, name.endsWith('-threads') ? [memory] : [])
      assert.ok(declared.includes('gpt_layernorm_forward') && declared.length >= 15)
      assert.deepEqual(exported.filter((name) => name.startsWith('gpt_')).sort(), declared.sort())
    },
  )

  const limit = name.startsWith('relaxed') ? 96.2 : 92
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

test('a module that the caller compiled runs, and a foreign module is refused', async (t) => {
  const module = await WebAssembly.compile(wasm)
  const gpt = await load({ module })
  assert.deepEqual(gpt.ones([2]).toArray(), [1, 1])
  assert.equal(gpt.build, 'simd')
  const withThreads = await WebAssembly.compile(read('simd-threads'))
  const shared = await load({ module: withThreads })
  assert.deepEqual(shared.ones([2]).toArray(), [1, 1])
  assert.equal(shared.threads, 1)
  const empty = new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))
  await assert.rejects(load({ module: empty }), {
    code: 'VALUE',
    message: 'load: module should be a build of gpt-layers, got another WebAssembly.Module',
  })
  await assert.rejects(load({ module, build: 'relaxed' }), {
    code: 'VALUE',
    message: "load: module should be build 'relaxed' as asked for, got 'simd'",
  })
  t.mock.method(WebAssembly, 'Memory', () => {
    throw new RangeError('there is no room')
  })
  await assert.rejects(load({ module: withThreads }), {
    code: 'MEMORY',
    message:
      'load: module is a build for threads and needs a shared memory of maxMemory MiB, which is refused here',
  })
})

test('gpt.int8Kernel is undefined before load and after dispose, the asked one, or what the engine is fast at', async () => {
  for (const build of /** @type {const} */ (['simd', 'relaxed'])) {
    if (!runnable.includes(build)) continue
    const gpt = await load({ build })
    assert.equal(gpt.int8Kernel, gpt.exports.gpt_dot_is_fast() === 1 ? 'dot' : 'int16')
    if (build === 'simd') assert.equal(gpt.int8Kernel, 'int16')
    gpt.dispose()
    assert.equal(gpt.int8Kernel, undefined)
    for (const int8Kernel of /** @type {const} */ (['dot', 'int16'])) {
      if (build === 'simd' && int8Kernel === 'dot') continue
      const forced = await load({ build, int8Kernel })
      assert.equal(forced.int8Kernel, int8Kernel)
    }
  }
  await assert.rejects(load({ build: 'simd', int8Kernel: 'dot' }), {
    code: 'VALUE',
    message: "load: int8Kernel should be 'int16' in build 'simd', got 'dot'",
  })
})

test('a second load with the same options does nothing, with others it is an error until dispose', async () => {
  const gpt = await load()
  const { exports } = gpt
  await Promise.all([gpt.load(), gpt.load({}), gpt.load({ threads: 1, build: undefined })])
  assert.equal(gpt.exports, exports)
  await assert.rejects(gpt.load({ threads: 2 }), {
    code: 'VALUE',
    message: 'load: threads should be 1, as in the first load(), until dispose(), got 2',
  })
  const x = gpt.ones([2])
  gpt.dispose()
  await gpt.load({ build: 'simd' })
  assert.equal(gpt.build, 'simd')
  assert.equal(x.disposed, true)
  assert.deepEqual(gpt.ones([2]).toArray(), [1, 1])
  assert.throws(() => gpt.ones([2]).add(x), { code: 'DISPOSED' })
})

test('a function that starts workers may be another one in the second load, a module may not', async () => {
  const gpt = await copy()
  await gpt.load({ worker: () => assert.fail('one thread needs no worker') })
  await gpt.load({ worker: () => assert.fail('one thread needs no worker') })
  await assert.rejects(gpt.load(), {
    code: 'VALUE',
    message: 'load: worker should be function worker, as in the first load(), until dispose(), got undefined',
  })
  gpt.dispose()
  const [first, second] = [new WebAssembly.Module(wasm), new WebAssembly.Module(wasm)]
  await gpt.load({ module: first })
  await gpt.load({ module: first })
  await assert.rejects(gpt.load({ module: second }), {
    code: 'VALUE',
    message: 'load: module should be a Module, as in the first load(), until dispose(), got another one',
  })
})

test('a load that finds everything loaded is not fulfilled after a dispose meanwhile', async () => {
  const gpt = await load()
  const second = gpt.load()
  gpt.dispose()
  await assert.rejects(second, {
    code: 'DISPOSED',
    message: 'load: gpt-layers should stay loaded, got a dispose() meanwhile',
  })
  const third = gpt.load()
  gpt.dispose()
  await Promise.all([assert.rejects(third, { code: 'DISPOSED' }), gpt.load()])
})

test('two loads at once are one', async () => {
  const gpt = await copy()
  await Promise.all([gpt.load(), gpt.load()])
  const { exports } = gpt
  await gpt.load()
  assert.equal(gpt.exports, exports)
})

test('what needs memory says to load first, and a class can be extended before', async () => {
  const gpt = await copy()
  class Normalized extends gpt.Module {
    constructor() {
      super()
      this.norm = new gpt.LayerNorm(2)
    }
    forward(/** @type {Tensor} */ x) {
      return this.norm.forward(x)
    }
  }
  const calls = [
    () => gpt.ones([1]),
    () => new Normalized(),
    () => gpt.manualSeed(1),
    () => gpt.scope(() => 1),
  ]
  for (const call of calls) {
    assert.throws(
      call,
      {
        code: 'DISPOSED',
        message:
          /^\w+: gpt-layers should be loaded: await load\(\) first, got a call before load\(\) or after dispose\(\)$/,
      },
      String(call),
    )
  }
  assert.deepEqual([gpt.threads, gpt.threadsReason], [1, 'nothing is loaded: await load() first'])
  await gpt.load()
  assert.deepEqual(new Normalized().forward(gpt.tensor([[1, 1]])).toArray(), [[0, 0]])
})

test('dispose during load ends it', async () => {
  const gpt = await copy()
  const loading = gpt.load()
  gpt.dispose()
  await assert.rejects(loading, {
    code: 'DISPOSED',
    message: 'load: gpt-layers should stay loaded, got a dispose() meanwhile',
  })
  await gpt.load()
  assert.deepEqual(gpt.ones([1]).toArray(), [1])
})

test('using the package after dispose is an error; disposing again is not', async () => {
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

// ---- What the engine refuses

const NOT_COMPILED =
  "load: WebAssembly may not be compiled here. In a page, add 'wasm-unsafe-eval' to script-src of its Content-Security-Policy. Elsewhere, import gpt-layers/simd.wasm and pass it: load({ module })"

/** A name that an engine's error has -> what load makes of it. @type {[string, ErrorCode, string][]} */
const engineErrors = [
  ['RangeError', 'MEMORY', 'load: the first 1 MiB of memory should be available, and is not'],
  ['CompileError', 'UNSUPPORTED', NOT_COMPILED],
  ['EvalError', 'UNSUPPORTED', NOT_COMPILED],
]
for (const [name, code, message] of engineErrors) {
  test(`a ${name} of WebAssembly is an error with code ${code}, and the next load works`, async (t) => {
    const cause = Object.assign(new Error('refused'), { name })
    const mock = t.mock.method(WebAssembly, 'instantiate', () => Promise.reject(cause))
    await assert.rejects(load(), (error) => {
      assert.ok(error instanceof GptLayersError)
      assert.deepEqual([error.code, error.cause, error.message], [code, cause, message])
      return true
    })
    mock.mock.restore()
    assert.deepEqual((await load()).ones([1]).toArray(), [1])
  })
}

test('load says that WebAssembly is missing, whatever is asked for', async (t) => {
  const module = new WebAssembly.Module(wasm)
  const original = globalThis.WebAssembly
  t.after(() => Object.assign(globalThis, { WebAssembly: original }))
  Object.assign(globalThis, { WebAssembly: undefined })
  for (const options of [{}, { threads: 2 }, { module }]) {
    await assert.rejects(load(options), {
      code: 'UNSUPPORTED',
      message:
        'load: needs WebAssembly with SIMD (Chrome 91, Firefox 89, Safari 16.4, Node 16.4 or later), which is missing here',
    })
  }
})

// ---- gpt-layers/core

test('gpt-layers/core has all that gpt-layers has, and loads a module that is given', async () => {
  assert.deepEqual(Object.keys(core).sort(), Object.keys(await copy()).sort())
  await assert.rejects(core.load(), {
    name: 'GptLayersError',
    code: 'TYPE',
    message:
      'load: module should be a WebAssembly.Module, for gpt-layers/core has none inside, got undefined',
  })
  await core.load({ module: new WebAssembly.Module(wasm) })
  assert.deepEqual(core.ones([2]).add(1).toArray(), [2, 2])
})

test('gpt-layers/core and the entry for Cloudflare Workers import no build in JavaScript', () => {
  const importsOf = (/** @type {string} */ file) => {
    const text = readFileSync(new URL(`../../dist/${file}`, import.meta.url), 'utf8')
    return [...text.matchAll(/\b(?:from|import)\b *\(?['"]\.\/([^'"]+)['"]/g)].map(([, name]) => name)
  }
  /** @type {(file: string) => Set<string>} */
  const reachable = (file) => {
    const found = new Set([file])
    for (const each of found) if (each.endsWith('.js')) for (const next of importsOf(each)) found.add(next)
    return found
  }
  const wasm = (/** @type {string} */ file) => [...reachable(file)].filter((name) => name.startsWith('wasm/'))
  assert.deepEqual(wasm('core.js'), [])
  assert.deepEqual(wasm('workerd.js'), ['wasm/simd.wasm'])
  assert.ok(wasm('index.js').includes('wasm/simd.js'))
})

// ---- Threads, or the reason why there is one

const noThreads = !process.getBuiltinModule && `one thread in Node ${process.version}`

/** @param {Gpt} gpt */
const threadsOf = (gpt) => [gpt.threads, gpt.threadsReason]

/** @param {Gpt} gpt @param {RegExp} reason */
function assertOneThread({ threads, threadsReason }, reason) {
  assert.equal(threads, 1, `one thread should run where ${threadsReason}`)
  assert.match(String(threadsReason), reason)
}

test(
  'where the system shares no large memory, such as on an iPhone, threads get a smaller one',
  { skip: noThreads },
  async (t) => {
    const { Memory } = WebAssembly
    t.mock.method(console, 'warn', () => {})
    t.mock.method(WebAssembly, 'Memory', function (/** @type {WebAssembly.MemoryDescriptor} */ descriptor) {
      if (descriptor.shared && Number(descriptor.maximum) > 2 ** 14) throw new RangeError('there is no room')
      return new Memory(descriptor)
    })
    const gpt = await load({ threads: 2 })
    assert.equal(gpt.threads, 2, String(gpt.threadsReason))
    assert.deepEqual(gpt.ones([3]).add(1).toArray(), [2, 2, 2])
    assertRefuses(
      () => gpt.zeros([2 ** 28]),
      'MEMORY',
      /needs 1073741824 bytes, and the heap of \d+ bytes may not grow beyond 1073741824: dispose tensors or work in gpt.scope \(unused tensors are freed between tasks only\), or load with a larger maxMemory$/,
    )
    gpt.dispose()
    assertOneThread(await load({ threads: 2, maxMemory: 2048 }), /does not reserve 2048 MiB/)
  },
)

test('the reason is written to the console once, and only while a program is developed', async (t) => {
  const warn = t.mock.method(console, 'warn', () => {})
  const environment = process.env.NODE_ENV
  t.after(() => {
    if (environment === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = environment
  })
  const reason = 'the system does not reserve 512 MiB of addresses for a shared memory: lower maxMemory'
  t.mock.method(WebAssembly, 'Memory', () => {
    throw new RangeError('there is no room')
  })
  delete process.env.NODE_ENV
  assert.equal((await load({ threads: 1 })).threads, 1)
  process.env.NODE_ENV = 'production'
  assert.deepEqual(threadsOf(await load({ threads: 2 })), [1, reason])
  assert.equal(warn.mock.callCount(), 0)
  delete process.env.NODE_ENV
  for (let i = 0; i < 2; i++) assert.deepEqual(threadsOf(await load({ threads: 2 })), [1, reason])
  assert.deepEqual(
    warn.mock.calls.map((call) => call.arguments),
    [[`gpt-layers: one thread runs, because ${reason}`]],
  )
})

test('in a page the reason is written where the page comes from this machine', (t) => {
  const warn = t.mock.method(console, 'warn', () => {})
  const here =
    'http://localhost http://localhost:5173 https://app.localhost http://127.0.0.1:80 http://[::1]:80'
  const elsewhere =
    'https://example.com http://localhost.example.com http://127.0.0.10 https://xlocalhost null'
  for (const origin of `${here} ${elsewhere}`.split(' ')) {
    replaceGlobal(t, 'location', { origin })
    warnOneThread(`a reason in ${origin}`)
  }
  assert.deepEqual(
    warn.mock.calls.map((call) => call.arguments[0]),
    here.split(' ').map((origin) => `gpt-layers: one thread runs, because a reason in ${origin}`),
  )
})

test('more than 64 threads count as 64', { skip: noThreads }, async (t) => {
  t.mock.method(console, 'warn', () => {})
  let started = 0
  const worker = () => {
    started++
    throw new Error('counted')
  }
  assertOneThread(await load({ threads: 1000, worker }), /counted/)
  assert.equal(started, 63)
})

/**
 * Ends a worker after a test, so that a test that fails ends, too.
 *
 * @param {TestContext} t
 * @param {Worker} worker
 */
function endsAfter(t, worker) {
  t.after(() => worker.terminate())
  return worker
}

test('a worker that the user starts from gpt-layers/worker.js gives threads', async (t) => {
  const url = new URL(import.meta.resolve('gpt-layers/worker.js'))
  /** @type {Worker[]} */
  const started = []
  const worker = () => started[started.push(endsAfter(t, new Worker(url))) - 1]
  const gpt = await load({ threads: 3, worker })
  assert.deepEqual(threadsOf(gpt), [3, null])
  assert.equal(started.length, 2)
  assert.equal(gpt.ones([300_000]).relu().mean().item(), 1)
  gpt.dispose()
})

test('a worker of another program is neither believed nor given memory', async (t) => {
  t.mock.method(console, 'warn', () => {})
  const code = `const { parentPort } = require('node:worker_threads')
    parentPort.on('message', (message) => parentPort.postMessage('ready'))
    parentPort.postMessage('ready')`
  const sent = t.mock.method(Worker.prototype, 'postMessage')
  // Started where load asks for it: what a worker says before load listens is lost.
  const gpt = await load({ threads: 2, worker: () => endsAfter(t, new Worker(code, { eval: true })) })
  assertOneThread(gpt, /it is not gpt-layers\/worker.js of version [\d.]+: it said "ready"/)
  assert.equal(sent.mock.callCount(), 0)
})

test('what cannot be imported later is named: load gives one thread, loadTorch an error with code NETWORK', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gpt-layers-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const filter = (/** @type {string} */ path) => !/(threads|torchfile)\.js$/.test(path)
  cpSync(new URL('../../dist', import.meta.url), folder, { recursive: true, filter })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  t.mock.method(console, 'warn', () => {})
  const gpt = await import(pathToFileURL(join(folder, 'index.js')).href)
  await gpt.load({ threads: 2 })
  assert.match(
    gpt.threadsReason,
    /^the code that starts workers could not be imported \(Cannot find module '.+threads\.js.+\)$/,
  )
  const message =
    /^loadTorch: a part of gpt-layers could not be imported \(.+torchfile\.js.+\)\. Reload the page once the network is back$/
  await assert.rejects(gpt.loadTorch(new Uint8Array(1)), { code: 'NETWORK', message })
})
