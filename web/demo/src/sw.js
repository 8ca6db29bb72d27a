// The service worker: after the first visit the page works without a network.
//
// vite.config.js prepends two constants: FILES, every built file, and VERSION, a digest of their contents.
// The page itself (index.html) is fetched from the network first, so that a new version appears at once. All
// other files have their digest in their name and come from the cache. An old version's cache is deleted once
// no page uses it.

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

worker.addEventListener('fetch', (event) => {
  const { request } = event
  const url = new URL(request.url)
  if (request.method !== 'GET' || url.origin !== worker.location.origin || !url.pathname.startsWith(scope))
    return
  const navigates = request.mode === 'navigate'
  const cached = async () =>
    (await caches.open(CACHE)).match(navigates ? './' : request, { ignoreSearch: true })
  if (navigates) event.respondWith(fetch(request).catch(async () => (await cached()) ?? Response.error()))
  else event.respondWith(cached().then((response) => response ?? fetch(request)))
})
