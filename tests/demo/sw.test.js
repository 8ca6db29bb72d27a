// What the service worker keeps: its source runs here with a cache and a network of the test.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'

const source = readFileSync(new URL('../../web/demo/src/sw.js', import.meta.url), 'utf8')
const SITE = 'https://example.com/page/'
const MODEL = `${SITE}assets/model-1.safetensors`

const html = () => new Response('<!doctype html>', { headers: { 'Content-Type': 'text/html' } })
const bytes = (text = 'model') =>
  new Response(text, { headers: { 'Content-Type': 'application/octet-stream' } })

/**
 * A service worker.
 *
 * @param {(url: string) => Response} answer of the network
 * @param {Set<string>} [caches] their names
 */
function start(answer, caches = new Set()) {
  /** @type {Map<string, Response>} */
  const kept = new Map()
  let claimed = false
  /** @type {Record<string, (event: object) => void>} */
  const listeners = {}
  const addressOf = (/** @type {Request | string} */ one) =>
    new URL(typeof one === 'string' ? one : one.url, SITE)
  const cache = {
    put: async (/** @type {Request | string} */ one, /** @type {Response} */ response) =>
      kept.set(addressOf(one).href, response),
    match: async (/** @type {Request | string} */ one, /** @type {CacheQueryOptions} */ options = {}) => {
      const { origin, pathname, href } = addressOf(one)
      return kept.get(options.ignoreSearch ? origin + pathname : href)?.clone()
    },
  }
  const self = {
    location: new URL('sw.js', SITE),
    clients: { claim: async () => void (claimed = true) },
    addEventListener: (/** @type {string} */ name, /** @type {(event: object) => void} */ listener) =>
      (listeners[name] = listener),
  }
  class LocalRequest extends Request {
    /** @param {string} file @param {RequestInit} [options] */
    constructor(file, options) {
      super(new URL(file, SITE), options)
    }
  }
  runInNewContext(source, {
    FILES: ['assets/index-1.js', 'icon.svg'],
    VERSION: '1',
    URL,
    Request: LocalRequest,
    Response,
    self,
    caches: {
      open: async (/** @type {string} */ name) => caches.add(name) && cache,
      keys: async () => [...caches],
      delete: async (/** @type {string} */ name) => caches.delete(name),
    },
    fetch: async (/** @type {Request} */ { url }) => answer(url),
  })
  /** @param {string} name @param {object} [event] */
  const send = async (name, event) => {
    /** @type {Promise<unknown>[]} */
    const waited = []
    /** @type {Promise<Response> | undefined} */
    let response
    listeners[name]({
      ...event,
      waitUntil: (/** @type {Promise<unknown>} */ one) => waited.push(one),
      respondWith: (/** @type {Promise<Response>} */ one) => (response = one),
    })
    const answered = await response
    await Promise.all(waited)
    return answered
  }
  return {
    kept,
    install: () => send('install'),
    activate: () => send('activate').then(() => claimed),
    /** @param {string} url @param {RequestInit} [options] */
    get: async (url, options) => {
      const response = await send('fetch', { request: new Request(url, options) })
      assert.ok(response)
      return response.text()
    },
  }
}

test('a page of HTML in place of a model is not kept; the model is, and then comes from the cache', async () => {
  let answer = html
  const { kept, get } = start(() => answer())
  assert.equal(await get(MODEL), '<!doctype html>')
  assert.equal(kept.size, 0)
  answer = bytes
  assert.equal(await get(MODEL), 'model')
  assert.deepEqual([...kept.keys()], [MODEL])
  answer = html
  assert.equal(await get(MODEL), 'model')
})

test('an error, a part, an opaque answer and one from another address are not kept', async () => {
  const status = (/** @type {number} */ status) => new Response('model', { status })
  const redirected = (/** @type {Response} */ response) =>
    Object.defineProperty(response, 'redirected', { value: true })
  const opaque = Object.defineProperty(new Response('model'), 'status', { value: 0 })
  for (const response of [status(404), status(500), status(206), opaque, redirected(bytes())]) {
    const { kept, get } = start(() => response)
    assert.equal(await get(MODEL), 'model')
    assert.equal(kept.size, 0, `${response.status}, redirected: ${response.redirected}`)
  }
  await assert.rejects(start((url) => (url === SITE ? redirected(html()) : bytes())).install(), {
    message: './ is missing',
  })
})

test('a file is kept once, whatever query it is asked for with', async () => {
  const paths = ['icon.svg', 'assets/model-1.safetensors', 'api/index.html']
  let isOnline = true
  const { kept, get } = start((url) => {
    if (!isOnline) throw new TypeError('offline')
    return url.includes('.html') ? html() : bytes(new URL(url).pathname)
  })
  for (const path of paths) for (const query of ['?a', '?b=1', '']) await get(SITE + path + query)
  assert.deepEqual([...kept.keys()].sort(), paths.map((path) => SITE + path).sort())
  isOnline = false
  assert.equal(await get(`${SITE}icon.svg?c`), '/page/icon.svg')
})

test('the API reference is kept as HTML, and as nothing else', async () => {
  const { kept, get } = start((url) => (url.endsWith('odd.html') ? bytes() : html()))
  for (const path of ['api/index.html', 'api/odd.html']) await get(SITE + path)
  assert.deepEqual([...kept.keys()], [`${SITE}api/index.html`])
})

test('a version whose files are not all there is not installed', async () => {
  const good = start((url) => (url === SITE ? html() : bytes()))
  await good.install()
  assert.deepEqual([...good.kept.keys()].sort(), [SITE, `${SITE}assets/index-1.js`, `${SITE}icon.svg`])
  const wrong = start(html)
  await assert.rejects(wrong.install(), { message: 'assets/index-1.js is missing' })
  assert.ok(!wrong.kept.has(`${SITE}assets/index-1.js`))
})

test('a new version deletes the caches of this page’s old ones, and serves the pages that are open', async () => {
  const others = ['gpt-layers /elsewhere/ 0', 'another app']
  const caches = new Set(['gpt-layers /page/ 0', ...others])
  const { install, activate } = start((url) => (url === SITE ? html() : bytes()), caches)
  await install()
  assert.equal(await activate(), true)
  assert.deepEqual([...caches].sort(), [...others, 'gpt-layers /page/ 1'].sort())
})
