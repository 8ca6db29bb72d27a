// The service worker: after the first visit the page works without a network.
//
// vite.config.js prepends two constants: FILES, which are cached at once, and VERSION, a digest of all that
// was built. Large files that not every reader needs (the models, GPT-2's tokenizer, the API reference) are
// kept once they were fetched. The page itself (index.html) and the reference come from the network first, so
// that a new version appears at once; all other files have their digest in their name and come from the
// cache. An old version's cache is deleted once no page uses it. Any other file, such as a model beside the
// page, is the browser's business alone.
//
// The same made by workbox (also in vite-plugin-pwa) is 20 kB instead of 5, and 323 packages for the build.

/// <reference lib="webworker" />

/* global FILES, VERSION */

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self))
const scope = new URL('./', worker.location.href).pathname
const PREFIX = `gpt-layers ${scope} `
const CACHE = PREFIX + VERSION

worker.addEventListener('install', (event) => {
  // Bypass the browser's HTTP cache, which may hold another version's files.
  const fresh = ['./', ...FILES].map((file) => new Request(file, { cache: 'reload' }))
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(fresh)))
})

worker.addEventListener('activate', (event) => {
  const drop = (/** @type {string[]} */ names) =>
    Promise.all(
      names.filter((name) => name.startsWith(PREFIX) && name !== CACHE).map((name) => caches.delete(name)),
    )
  event.waitUntil(Promise.all([caches.keys().then(drop), worker.clients.claim()]))
})

const pathOf = (/** @type {Request} */ { url }) => new URL(url).pathname.slice(scope.length)
const isPage = (/** @type {Request} */ request) => ['', 'index.html'].includes(pathOf(request))

worker.addEventListener('fetch', (event) => {
  const { request } = event
  if (request.method !== 'GET' || !request.url.startsWith(worker.location.origin + scope)) return
  const cache = caches.open(CACHE)

  const cached = async () =>
    // A server may say `Vary: Origin`; these files are the same for all.
    (await cache).match(isPage(request) ? './' : request, { ignoreSearch: true, ignoreVary: true })

  async function fetched() {
    const response = await fetch(request)
    if (response.status === 200 && !isPage(request)) {
      const copy = response.clone()
      // The browser may have no space left.
      event.waitUntil(cache.then((cache) => cache.put(request, copy)).catch(() => {}))
    }
    return response
  }

  const path = pathOf(request)
  if (path.startsWith('assets/')) event.respondWith(cached().then((response) => response ?? fetched()))
  else if (isPage(request) || path.startsWith('api/') || FILES.includes(path))
    event.respondWith(fetched().catch(async () => (await cached()) ?? Response.error()))
})
