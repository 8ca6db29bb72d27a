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
