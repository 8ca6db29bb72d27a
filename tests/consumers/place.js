// The folder of one environment, and how to run programs, servers and pages in it.

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Server } from 'node:http' */
/** @import { AddressInfo } from 'node:net' */
/** @import { Browser } from 'puppeteer-core' */

import { execFileSync, execSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { delimiter, dirname, extname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort, WebKit } from '../browser/webkit.js'
import { eventually, launch, newPage, PATIENCE } from '../demo/browser.js'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../../', import.meta.url))
const require = createRequire(import.meta.url)

/** The headers of a page that is cross-origin isolated, so that it may have threads. */
export const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
}

/** @type {Record<string, string>} */
const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
}

/**
 * What `apps/app.js` found.
 *
 * @typedef {{ threads?: number, reason?: string | null, checksum?: number, error?: string }} Result
 */

/**
 * Starts a browser, or returns the one that runs.
 *
 * @typedef {(name: 'chrome' | 'firefox') => Promise<Browser>} Browsers
 */

/** @param {string} name @param {string} path @returns {string | undefined} a file of an installed package */
export const pathOf = (name, path) =>
  (require.resolve.paths(name) ?? []).map((folder) => join(folder, name, path)).find(existsSync)

/** Packs the package. @returns {string} the path of the tarball */
export function pack() {
  const folder = join(here, 'build')
  mkdirSync(folder, { recursive: true })
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
  const [packed] = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }))
  return join(folder, packed.filename)
}

/**
 * Browsers that start when they are asked for.
 *
 * @returns {{ get: Browsers, close: () => Promise<void> }}
 */
export function browsers() {
  /** @type {Map<string, Promise<Browser>>} */
  const running = new Map()
  const get = (/** @type {'chrome' | 'firefox'} */ name) => {
    const browser = running.get(name) ?? launch(name)
    running.set(name, browser)
    browser.catch(() => running.delete(name))
    return browser
  }
  return {
    get,
    close: async () => {
      for (const browser of running.values()) await (await browser).close()
    },
  }
}

/** A folder of its own with the package installed. */
export class Place {
  /** @type {(() => Promise<unknown>)[]} */ #endings = []
  /** @type {Browsers} */ #browsers
  /** The commands of this folder's packages and of the repository's are on the PATH. */
  #env = {
    ...process.env,
    PATH: [join(here, 'node_modules/.bin'), join(root, 'node_modules/.bin'), process.env.PATH].join(
      delimiter,
    ),
    PACKAGES: here, // for apps/next
    CI: '1',
    NO_COLOR: '1',
    NEXT_TELEMETRY_DISABLED: '1',
  }

  /**
   * @param {string} name
   * @param {string} tarball
   * @param {Browsers} browsers
   */
  constructor(name, tarball, browsers) {
    this.#browsers = browsers
    // Below this folder, so that the installed tools find each other.
    this.folder = join(here, 'build', name.replace(/\W+/g, '-'))
    /** The installed package. */
    this.package = join(this.folder, 'node_modules/gpt-layers')
    rmSync(this.folder, { recursive: true, force: true })
    mkdirSync(this.package, { recursive: true })
    // As `npm install` does, because the package has no dependency.
    execFileSync('tar', ['-xzf', tarball, '-C', this.package, '--strip-components=1'])
    this.write('package.json', '{ "name": "app", "private": true, "type": "module" }\n')
    this.copy('app.js')
    this.copy('compute.js')
  }

  /** @param {string} name @returns {string} the text of a file */
  read(name) {
    return readFileSync(join(this.folder, name), 'utf8')
  }

  /** @param {string} name @param {string} text */
  write(name, text) {
    mkdirSync(dirname(join(this.folder, name)), { recursive: true })
    writeFileSync(join(this.folder, name), text)
  }

  /** @param {string} name the name of a file of `apps/`, or of a folder, whose files are copied */
  copy(name) {
    const source = join(here, 'apps', name)
    cpSync(source, extname(name) ? join(this.folder, name) : this.folder, { recursive: true })
  }

  /** Deletes a folder. @param {string} name */
  clear(name) {
    rmSync(join(this.folder, name), { recursive: true, force: true })
  }

  /** Writes a page that runs a script. @param {string} name @param {string} script */
  writePage(name, script) {
    this.write(name, `<!doctype html><title>app</title><script type="module" src="${script}"></script>`)
  }

  /** @param {string} command @returns {string} what it prints */
  run(command) {
    const options = { cwd: this.folder, env: this.#env, timeout: PATIENCE }
    return execSync(command, { ...options, encoding: 'utf8', stdio: 'pipe' })
  }

  /** @param {string} printed @returns {Result} its last line */
  resultOf(printed) {
    return JSON.parse(printed.trim().split('\n').at(-1) ?? '')
  }

  /**
   * Serves a folder.
   *
   * @param {string} folder
   * @param {Record<string, string>} [headers] of every answer
   * @returns {Promise<string>} its address
   */
  async serve(folder, headers = ISOLATED) {
    const server = createServer(({ url = '/' }, response) => {
      const { pathname } = new URL(url, 'http://localhost')
      const file = join(this.folder, folder, pathname.endsWith('/') ? `${pathname}index.html` : pathname)
      if (!existsSync(file)) return response.writeHead(404).end()
      response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'text/plain', ...headers })
      response.end(readFileSync(file))
    })
    this.#endings.push(async () => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${await listen(server)}/`
  }

  /** @param {string} address @returns {Promise<Result>} what the server answers */
  async ask(address) {
    return /** @type {Promise<Result>} */ ((await fetch(address)).json())
  }

  /**
   * @param {string} address the address of a page
   * @param {'chrome' | 'firefox' | 'webkit'} [name] the name of the browser
   * @returns {Promise<Result>} the application's result
   */
  async open(address, name = 'chrome') {
    if (name === 'webkit') return resultInWebKit(address)
    const page = await newPage(await this.#browsers(name))
    /** @type {string[]} */
    const said = []
    page.on('console', (message) => said.push(message.text()))
    page.on('pageerror', (error) => said.push(String(error)))
    try {
      await page.goto(address, { timeout: PATIENCE })
      const handle = await page.waitForFunction('globalThis.result', { timeout: PATIENCE })
      return /** @type {Result} */ (await handle.jsonValue())
    } catch (error) {
      throw new Error(`${error}; the page said: ${said.join('; ')}`, { cause: error })
    } finally {
      await page.close()
    }
  }

  /** @param {(port: number) => string} command starts a server @returns {Promise<string>} its address */
  async start(command) {
    const port = await freePort()
    const child = spawn(`exec ${command(port)}`, {
      cwd: this.folder,
      env: this.#env,
      shell: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#endings.push(() => end(child))
    let printed = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (printed += data))
    const address = `http://127.0.0.1:${port}/`
    for (const deadline = Date.now() + PATIENCE; ; await sleep(100)) {
      if (child.exitCode !== null || Date.now() > deadline) throw new Error(`no server started: ${printed}`)
      if (await fetch(address).catch(() => null)) return address
    }
  }

  /** Ends all that runs here, and deletes the folder. */
  async dispose() {
    for (const ending of this.#endings) await ending()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** @param {Server} server @returns {Promise<number>} its port, a free one */
async function listen(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  return /** @type {AddressInfo} */ (server.address()).port
}

/** @param {string} address of a page @returns {Promise<Result>} its `globalThis.result` */
async function resultInWebKit(address) {
  const browser = new WebKit()
  try {
    await browser.start()
    await browser.open(address)
    const isThere = 'return globalThis.result !== undefined'
    await eventually(() => browser.run(isThere), `${address} has no result`)
    return await browser.run('return globalThis.result')
  } finally {
    await browser.stop()
  }
}

/** @param {ChildProcess} child */
async function end(child) {
  if (child.exitCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill()
  await ended
}
