// Serves the built page and notebook or, with --watch, their sources: an edit shows at once. The last line
// printed is the address.
//   node web/demo/serve.js [--port N] [--watch]

import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createServer, preview } from 'vite'

let options
try {
  options = parseArgs({
    options: { port: { type: 'string', default: '4173' }, watch: { type: 'boolean', default: false } },
  }).values
} catch (error) {
  console.error(`${error.message}\nusage: ./build.sh demo [--port N] [--watch]`)
  process.exit(2)
}
const port = Number(options.port)
if (!Number.isInteger(port) || port < 0 || port > 65535) {
  console.error(`--port should be a number from 0 to 65535, got ${options.port}`)
  process.exit(2)
}

// An address, because the name localhost may not be known.
const host = '127.0.0.1'
const root = fileURLToPath(new URL('.', import.meta.url))
/** Answers below /notebook/ with the notebook's sources. */
const notebook = {
  name: 'notebook',
  async configureServer({ httpServer, middlewares }) {
    const { middlewares: own } = await createServer({
      root: fileURLToPath(new URL('../notebook/', import.meta.url)),
      base: '/notebook/',
      server: { middlewareMode: true, ws: { server: httpServer } },
      logLevel: 'warn',
    })
    middlewares.use((request, response, next) =>
      request.url.startsWith('/notebook/') ? own(request, response, next) : next(),
    )
  },
}
// Opens the page on a desktop. Elsewhere the printed address remains.
const open = Boolean(process.platform === 'darwin' || process.env.DISPLAY || process.env.WAYLAND_DISPLAY)
const live = { root, server: { host, port, open }, plugins: [notebook], logLevel: 'warn' }
/** Without vite.config.js, whose plugins only a build needs: they take half a second to load. */
const built = { root, configFile: false, preview: { host, port, open }, logLevel: 'warn' }
const server = options.watch
  ? await createServer(live).then((created) => created.listen())
  : await preview(built)
console.log(server.resolvedUrls?.local[0])
