/**
 * What the page promises: no inline script or style, and nothing from or to anywhere else. An image may be in
 * its own address: so a figure becomes a PNG.
 */
export const POLICY = "default-src 'self'; img-src 'self' data:; script-src 'self' 'wasm-unsafe-eval'"

export const headers = {
  // Isolated, as threads require; and a page that is isolated itself may embed this one.
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'cross-origin',
}

/** The server also sends the policy. The notebook has one of its own: see web/notebook/vite.config.js. */
export const sent = {
  name: 'sent',
  configurePreviewServer({ middlewares }) {
    middlewares.use(({ url }, response, next) => {
      if (!url.startsWith('/notebook')) response.setHeader('Content-Security-Policy', POLICY)
      next()
    })
  },
}

/**
 * The plugin for Vite that puts the Content-Security-Policy into the page itself, for hosts that send no headers of
 * ours, such as GitHub Pages.
 *
 * @param {string} content
 */
export const policy = (content) => ({
  name: 'policy',
  apply: 'build',
  transformIndexHtml: () => [
    { tag: 'meta', attrs: { 'http-equiv': 'Content-Security-Policy', content }, injectTo: 'head-prepend' },
  ],
})
