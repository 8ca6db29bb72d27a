// The page without a network, after the first visit. vite.config.js writes FILES, all that was built, and VERSION, a
// digest of their contents. The page itself is asked for from the network first, so that a new one comes at once; the
// rest has its digest in its name, and comes from the cache. An old version is dropped once no page uses it.

/* global FILES, VERSION */

const scope = new URL('./', self.location.href).pathname
const PREFIX = `gpt-layers ${scope} `
const CACHE = PREFIX + VERSION

self.addEventListener('install', (event) => {
  // past the browser's own cache: what it kept may be another version's
  const fresh = ['./', ...FILES].map((file) => new Request(file, { cache: 'reload' }))
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(fresh)))
})

self.addEventListener('activate', (event) => {
  const drop = (names) =>
    Promise.all(
      names.filter((name) => name.startsWith(PREFIX) && name !== CACHE).map((name) => caches.delete(name)),
    )
  event.waitUntil(Promise.all([caches.keys().then(drop), self.clients.claim()]))
})

self.addEventListener('fetch', (event) => {
  const { request } = event
  const url = new URL(request.url)
  if (request.method !== 'GET' || url.origin !== self.location.origin || !url.pathname.startsWith(scope))
    return
  const navigates = request.mode === 'navigate'
  const cached = async () =>
    (await caches.open(CACHE)).match(navigates ? './' : request, { ignoreSearch: true })
  if (navigates) event.respondWith(fetch(request).catch(async () => (await cached()) ?? Response.error()))
  else event.respondWith(cached().then((response) => response ?? fetch(request)))
})
