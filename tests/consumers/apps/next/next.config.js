const headers = [
  { key: 'Cross-Origin-Opener-Policy', value: 'same-origin' },
  { key: 'Cross-Origin-Embedder-Policy', value: 'require-corp' },
]

export default {
  turbopack: { root: process.env.PACKAGES }, // the folder above with Next's own package
  headers: () => [{ source: '/(.*)', headers }],
}
