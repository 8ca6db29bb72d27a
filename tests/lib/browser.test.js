// The package in Chromium and in Firefox, bundled by Vite and without a bundler, in pages that allow threads,
// workers and WebAssembly, and in pages that do not.

/** @import { Server } from 'node:http' */
/** @import { AddressInfo } from 'node:net' */
/** @import { Browser } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { ISOLATED } from '../consumers/place.js'
import { BROWSERS, launch, newPage, skipped } from '../demo/browser.js'

const APP = `
import * as gpt from 'gpt-layers'
const compute = async (options) => {
  await gpt.load(options)
  gpt.manualSeed(1)
  const layer = new gpt.FeedForward({ embDim: 256 })
  const x = gpt.randn([7, 256])
  const result = { build: gpt.build, y: Array.from(layer.forward(x).data) }
  gpt.dispose()
  return result
}
/** Calls whose results nobody holds: 300 kB each, with a task after each. */
const yieldingCalls = async (count, options) => {
  await gpt.load(options)
  const norm = new gpt.LayerNorm(768).eval()
  const x = gpt.randn([100, 768])
  const { port1, port2 } = new MessageChannel()
  for (let i = 0; i < count; i++) {
    norm.forward(x)
    await new Promise((resolve) => {
      port1.onmessage = resolve
      port2.postMessage(0)
    })
  }
  const { threads } = gpt
  port1.close()
  gpt.dispose()
  return threads
}
/** What a page can return to the test. */
const tryLoad = async (options) => {
  try {
    await gpt.load(options)
    const { threads, threadsReason: reason } = gpt
    gpt.dispose()
    return { threads, reason }
  } catch (error) {
    return { isOurs: error instanceof gpt.GptLayersError, code: error.code, message: error.message }
  }
}
const tryWorker = (url) => tryLoad({ threads: 3, worker: () => new Worker(url, { type: 'module' }) })
/** With a URL from a policy of the page's own. */
const tryTrusted = (url) => {
  const policy = trustedTypes.createPolicy('app', { createScriptURL: (url) => url })
  return tryLoad({ threads: 3, worker: () => new Worker(policy.createScriptURL(url), { type: 'module' }) })
}
globalThis.app = { compute, tryLoad, tryTrusted, tryWorker, yieldingCalls }
`

const SERVICE_WORKER = `
import { load } from './dist/index.js'
import * as gpt from './dist/core.js'
addEventListener('message', async ({ data, source }) => {
  const module = await WebAssembly.compileStreaming(fetch('dist/wasm/simd.wasm'))
  const error = await load().catch(({ name, code, message }) => ({ name, code, message }))
  await gpt.load({ module, threads: 2 })
  source.postMessage({ error, sum: gpt.ones([2]).add(1).toArray(), reason: gpt.threadsReason })
})`

/** @param {string} policy @returns {Record<string, string>} */
const csp = (policy) => ({ 'content-security-policy': policy })
const WASM = "script-src 'self' 'wasm-unsafe-eval'"

/** The headers of each page and of the files that it loads. @type {Record<string, Record<string, string>>} */
const PAGES = {
  free: ISOLATED,
  plain: csp(WASM), // not isolated
  strict: { ...ISOLATED, ...csp(`default-src 'self'; ${WASM}`) },
  'no-workers': { ...ISOLATED, ...csp(`${WASM}; worker-src 'none'`) },
  trusted: { ...ISOLATED, ...csp("require-trusted-types-for 'script'") },
  'no-wasm': { ...ISOLATED, ...csp("script-src 'self'") },
  offline: {}, // the chunks with the builds are missing
}

/** The outcome where all threads run. */
const RUNNING = { threads: 3, reason: null }

/** @type {Record<string, string>} */
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' }

const dist = fileURLToPath(new URL('../../dist/', import.meta.url))
/** @type {string} */
let folder
/** @type {Server} */
let server
/** @type {string} */
let origin
/** The paths that were requested. @type {string[]} */
let requests = []

/** @param {string} page @param {string} path @returns {string | Buffer} */
function fileOf(page, path) {
  if (path === 'sw.js') return SERVICE_WORKER
  if (/(^|\/)worker\.js$/.test(path)) return "postMessage('ready')" // the app's own
  if (path === 'online') return 'from now on' // the requests so far tell
  const isOnline = page !== 'offline' || requests.includes('/offline/online')
  if (!isOnline && path.startsWith('dist/wasm/')) throw new Error('offline')
  if (path.startsWith('dist/')) return readFileSync(join(dist, path.slice(5)))
  return readFileSync(join(folder, path))
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gpt-layers-'))
  writeFileSync(join(folder, 'app.js'), APP)
  const script = '<script type="module" src="./app.js"></script>'
  writeFileSync(join(folder, 'index.html'), `<!doctype html><title>app</title>${script}`)
  const options = /** @type {const} */ ({ root: folder, base: './', logLevel: 'error', configFile: false })
  const alias = { 'gpt-layers': `${dist}index.js` }
  await build({ ...options, resolve: { alias }, build: { outDir: 'bundled' } })
  writeFileSync(join(folder, 'app.js'), APP.replace("'gpt-layers'", "'./dist/index.js'"))
  // /<page>/ has no bundler, /<page>/bundled/ is what Vite made.
  server = createServer(({ url }, response) => {
    requests.push(String(url))
    const [, page, path = ''] = /^\/([\w-]+)\/(.*)$/.exec(String(url)) ?? []
    const name = path === '' || path.endsWith('/') ? `${path}index.html` : path
    try {
      const body = fileOf(page, name)
      response.writeHead(200, { 'content-type': TYPES[extname(name)], ...PAGES[page] }).end(body)
    } catch {
      response.writeHead(404).end()
    }
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  origin = `http://127.0.0.1:${/** @type {AddressInfo} */ (server.address()).port}`
})
after(() => {
  server?.close()
  rmSync(folder, { recursive: true, force: true })
})

for (const name of BROWSERS) {
  describe(`in ${name}`, { skip: skipped[name] }, () => {
    /** @type {Browser} */
    let browser
    before(async () => void (browser = await launch(name)))
    after(() => browser?.close())

    /**
     * A test of what does not depend on the engine.
     *
     * @type {(name: string, run: () => Promise<void>) => void}
     */
    const once = (what, run) => void (name === 'chrome' && test(what, run))

    /**
     * Evaluates an expression in a page.
     *
     * @param {string} path
     * @param {string} expression
     */
    async function evaluate(path, expression) {
      requests = []
      const page = await newPage(browser)
      /** @type {string[]} */
      const complaints = []
      page.on('console', (message) => complaints.push(message.text()))
      page.on('pageerror', (error) => complaints.push(String(error)))
      await page.goto(`${origin}/${path}`)
      const value = /** @type {any} */ (await page.evaluate(expression))
      await page.close()
      return { value, complaints }
    }
    once('threads give the bits of one thread, without a bundler and without a complaint', async () => {
      const { value: one } = await evaluate('free/', 'app.compute({ threads: 1 })')
      const { value: three, complaints } = await evaluate('free/', 'app.compute({ threads: 3 })')
      assert.deepEqual(three, one)
      assert.deepEqual(complaints, [])
    })

    once('a bundle by Vite gets threads under a strict policy, without a complaint', async () => {
      const { value, complaints } = await evaluate('strict/bundled/', 'app.tryLoad({ threads: 3 })')
      assert.deepEqual(value, RUNNING)
      assert.deepEqual(complaints, [])
    })

    // Each engine has its own collector. One thread is memory.test.js's.
    test('a program on 2 threads that holds nothing and yields never runs out of memory', async () => {
      const options = '{ threads: 2, maxMemory: 128 }' // room for 400 results
      const { value } = await evaluate('free/', `app.yieldingCalls(1500, ${options})`)
      assert.equal(value, 2)
    })

    test('where worker-src forbids a Blob, the file is started; the browser complains once', async () => {
      const { value, complaints } = await evaluate('strict/', 'app.tryLoad({ threads: 3 })')
      assert.deepEqual(value, RUNNING)
      assert.ok(complaints.length <= 1 && complaints.every((text) => text.includes('blob:')), `${complaints}`)
    })

    once('the worker option gives threads under a strict policy, without a complaint', async () => {
      const { value, complaints } = await evaluate('strict/', "app.tryWorker('dist/gpt-layers-worker.js')")
      assert.deepEqual(value, RUNNING)
      assert.deepEqual(complaints, [])
    })

    test('where worker-src allows no worker, one thread runs, and the reason names the directive', async () => {
      const { value, complaints } = await evaluate('no-workers/', 'app.tryLoad({ threads: 3 })')
      assert.equal(value.threads, 1)
      assert.equal(
        value.reason,
        "the Content-Security-Policy forbids workers: add worker-src blob:, or worker-src 'self' and load's worker option",
      )
      assert.ok(complaints.includes(`gpt-layers: one thread runs, because ${value.reason}`), `${complaints}`)
    })

    once(
      'a page that requires Trusted Types is told how to make a worker, which then gives threads',
      async () => {
        for (const path of ['trusted/', 'trusted/bundled/']) {
          const { value, complaints } = await evaluate(path, 'app.tryLoad({ threads: 3 })')
          assert.equal(value.threads, 1)
          assert.equal(
            value.reason,
            "the page requires Trusted Types: pass load's option worker: () => new Worker(policy.createScriptURL(...)), with a URL of gpt-layers/worker.js and a policy of your own from trustedTypes.createPolicy",
          )
          assert.ok(
            complaints.includes(`gpt-layers: one thread runs, because ${value.reason}`),
            `${complaints}`,
          )
          const url = new URL('/free/dist/gpt-layers-worker.js', origin)
          const trusted = await evaluate(path, `app.tryTrusted('${url}')`)
          assert.deepEqual(trusted, { value: RUNNING, complaints: [] })
        }
      },
    )

    once('a page that is not cross-origin isolated gets one thread, and says so once', async () => {
      const twice = 'app.tryLoad({ threads: 3 }).then(() => app.tryLoad({ threads: 3 }))'
      const { value, complaints } = await evaluate('plain/', twice)
      assert.equal(value.threads, 1)
      assert.equal(
        value.reason,
        'the page is not cross-origin isolated: serve it with the headers Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp',
      )
      assert.deepEqual(complaints, [`gpt-layers: one thread runs, because ${value.reason}`])
    })

    once('an app’s own worker.js is never requested, and never believed', async () => {
      for (const path of ['free/', 'strict/', 'free/bundled/']) {
        assert.deepEqual((await evaluate(path, 'app.tryLoad({ threads: 3 })')).value, RUNNING)
        assert.ok(!requests.some((url) => url.endsWith('/worker.js')), `${requests}`)
      }
      const { value } = await evaluate('free/', "app.tryWorker('worker.js')")
      assert.equal(value.threads, 1)
      assert.match(value.reason, /it is not gpt-layers\/worker.js of version .*: it said "ready"/)
    })

    test('a policy without wasm-unsafe-eval is UNSUPPORTED, and the message names it', async () => {
      const { value } = await evaluate('no-wasm/', 'app.tryLoad({ threads: 3 })')
      assert.deepEqual([value.isOurs, value.code], [true, 'UNSUPPORTED'])
      assert.match(value.message, /add 'wasm-unsafe-eval' to script-src/)
    })

    test('a chunk that cannot be downloaded is an error with code NETWORK', async () => {
      const { value } = await evaluate('offline/', 'app.tryLoad()')
      assert.deepEqual([value.isOurs, value.code], [true, 'NETWORK'])
      assert.match(
        value.message,
        /: the chunk with build '\w+' could not be imported \(.+\). Reload the page once the network is back, or the file on the server: a browser may remember the failure$/,
      )
    })

    once('load works again once the chunk can be downloaded, where the browser tries again', async () => {
      const again = "app.tryLoad().then(() => fetch('online')).then(() => app.tryLoad())"
      assert.equal((await evaluate('offline/', again)).value.threads, 1)
    })

    test('a service worker is told to use gpt-layers/core, which works there', async () => {
      const ask = `(async () => {
        const { installing, active } = await navigator.serviceWorker.register('sw.js', { type: 'module' })
        const answer = new Promise((resolve) => navigator.serviceWorker.onmessage = ({ data }) => resolve(data))
        ;(installing ?? active).postMessage('try')
        return answer
      })()`
      const { value } = await evaluate('free/', ask)
      assert.deepEqual([value.error.name, value.error.code], ['GptLayersError', 'UNSUPPORTED'])
      const message =
        'load: service workers and worklets must not use import(). Import load from gpt-layers/core, and pass a compiled gpt-layers/simd.wasm: load({ module })'
      assert.equal(value.error.message, message)
      assert.deepEqual(value.sum, [2, 2])
      assert.equal(value.reason, 'workers cannot be started here, as in a service worker')
    })
  })
}
