// The service worker: after the first visit the page works without a network.
//
// offline.js prepends two constants: FILES, which are cached at once, and VERSION, a digest of all that was built.
// What not every reader needs (the stories' model, kernels as text, the API reference) is kept once it was fetched.
// The page itself (index.html) and the reference come from the network first, so that a new version appears at once;
// all other files have their digest in their name and come from the cache. An old version's cache is deleted once no
// page uses it.
// Any other file, such as a model beside the page, is the browser's business alone.
//
// Some hosts answer with a page of HTML and status 200 where a file is missing, or lead to another page, to
// log in for example. Such an answer is not kept, nor is an error or a part of a file.
//
// The same made by workbox (also in vite-plugin-pwa) is 20 kB instead of 5, and 323 packages for the build.

/// <reference lib="webworker" />

/* global FILES, VERSION */

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self))
const scope = new URL('./', worker.location.href).pathname
const PREFIX = `gpt-layers ${scope} `
const CACHE = PREFIX + VERSION

const pathOf = (/** @type {Request} */ { url }) => new URL(url).pathname.slice(scope.length)
const isPage = (/** @type {Request} */ request) => ['', 'index.html'].includes(pathOf(request))

/**
 * @param {Request} request
 * @param {Response} response
 * @returns {boolean} whether it may be kept: all of what was asked for, and HTML exactly where that is HTML
 */
function isExpected(request, { status, headers, redirected }) {
  const isHtml = /^text\/html/i.test(headers.get('Content-Type') ?? '')
  return status === 200 && !redirected && isHtml === /(^|\/|\.html)$/.test(pathOf(request))
}

/** @param {Cache} cache @param {string} file */
async function install(cache, file) {
  // Bypass the browser's HTTP cache, which may hold another version's files.
  const request = new Request(file, { cache: 'reload' })
  const response = await fetch(request)
  if (!isExpected(request, response)) throw new Error(`${file} is missing`)
  await cache.put(request, response)
}

worker.addEventListener('install', (event) => {
  const files = ['./', ...FILES]
  event.waitUntil(caches.open(CACHE).then((cache) => Promise.all(files.map((file) => install(cache, file)))))
})

worker.addEventListener('activate', (event) => {
  const drop = (/** @type {string[]} */ names) =>
    Promise.all(
      names.filter((name) => name.startsWith(PREFIX) && name !== CACHE).map((name) => caches.delete(name)),
    )
  event.waitUntil(Promise.all([caches.keys().then(drop), worker.clients.claim()]))
})

worker.addEventListener('fetch', (event) => {
  const { request } = event
  if (request.method !== 'GET' || !request.url.startsWith(worker.location.origin + scope)) return
  const path = pathOf(request)
  const cache = caches.open(CACHE)

  const cached = async () =>
    // A server may say `Vary: Origin`; these files are the same for all.
    (await cache).match(isPage(request) ? './' : request, { ignoreSearch: true, ignoreVary: true })

  async function fetched() {
    const response = await fetch(request)
    if (isExpected(request, response) && !isPage(request)) {
      const copy = response.clone()
      // By its path alone: a file is kept once, whatever the query. The browser may have no space left.
      event.waitUntil(cache.then((cache) => cache.put(scope + path, copy)).catch(() => {}))
    }
    return response
  }

  if (path.startsWith('assets/')) event.respondWith(cached().then((response) => response ?? fetched()))
  else if (isPage(request) || path.startsWith('api/') || FILES.includes(path))
    event.respondWith(fetched().catch(async () => (await cached()) ?? Response.error()))
})
