/**
 * What the page promises: no inline script or style, and nothing from or to anywhere else. An image may be in
 * its own address: so a figure becomes a PNG.
 */
export const POLICY = "default-src 'self'; img-src 'self' data:; script-src 'self' 'wasm-unsafe-eval'"

/** The plugin for Vite that puts a policy into the page: its host, such as GitHub Pages, may send no headers of ours. */
export const policy = (content) => ({
  name: 'policy',
  apply: 'build',
  transformIndexHtml: () => [
    { tag: 'meta', attrs: { 'http-equiv': 'Content-Security-Policy', content }, injectTo: 'head-prepend' },
  ],
})
