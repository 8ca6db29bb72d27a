// The environments in which the package is tried: bundlers, frameworks, runtimes, and ways to serve a page.
//
// An environment gets a folder with the packed package and `apps/app.js`. Its `run` builds the application
// there, starts it, and returns its result.

/** @import { Place, Result } from './place.js' */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { ISOLATED, pathOf } from './place.js'

/**
 * @typedef {object} Environment
 * @property {string} kind
 * @property {string} title as the table of web/lib/README.md has it, without the version
 * @property {string} tool the npm package that it tries, as package.json names it; '' for none
 * @property {string} version '' where there is none
 * @property {string} needs what a user must do, in Markdown for that table; `run` does it. '' for nothing
 * @property {boolean} quick whether `./build.sh test` tries it; then it needs no package of this folder
 * @property {(place: Place) => Promise<Result>} run
 */

/** @param {string} tool @returns {string} the version that is installed; '' for none */
function versionOfTool(tool) {
  const file = tool && pathOf(tool, 'package.json')
  return file ? JSON.parse(readFileSync(file, 'utf8')).version : ''
}

/**
 * @param {string} title
 * @param {string} tool
 * @param {Environment['run']} run
 * @param {Partial<Environment>} [more]
 * @returns {Omit<Environment, 'kind'>}
 */
const environment = (title, tool, run, more = {}) => ({
  title,
  tool,
  version: versionOfTool(tool),
  needs: '',
  quick: false,
  run,
  ...more,
})

/**
 * A program that runs app.js.
 *
 * @param {string} title
 * @param {string} tool
 * @param {string} command with options
 */
const runtime = (title, tool, command) =>
  environment(title, tool, async (place) => place.resultOf(place.run(`${command} app.js`)))

/** Of webpack and rspack. */
const CONFIG = "export default { entry: './app.js', output: { filename: 'app.js' } }\n"

/**
 * A bundler that writes app.js as dist/app.js.
 *
 * @param {string} title
 * @param {string} tool
 * @param {string} command with options
 */
const bundler = (title, tool, command) =>
  environment(title, tool, async (place) => {
    place.write('config.js', CONFIG)
    place.run(command)
    place.writePage('dist/index.html', './app.js')
    return place.open(await place.serve('dist'))
  })

/** @param {number} major @returns {Omit<Environment, 'kind'>[]} Vite's build and its development server */
function vite(major) {
  const tool = major === 8 ? 'vite' : `vite-${major}` // the newest is the repository's own
  const command = `${process.execPath} ${pathOf(tool, 'bin/vite.js')}`
  const prepare = (/** @type {Place} */ place) => {
    const config = { base: './', logLevel: 'warn', server: { headers: ISOLATED, host: '127.0.0.1' } }
    place.write('vite.config.js', `export default ${JSON.stringify(config)}`)
    place.writePage('index.html', './app.js')
  }
  const quick = major === 8
  return [
    environment(
      'Vite build',
      tool,
      async (place) => {
        prepare(place)
        place.run(`${command} build`)
        return place.open(await place.serve('dist'))
      },
      { quick },
    ),
    environment(
      'Vite dev',
      tool,
      async (place) => {
        prepare(place)
        return place.open(await place.start((port) => `${command} --strictPort --port ${port}`))
      },
      { quick },
    ),
  ]
}

/**
 * A test runner that runs apps/layer.spec.js.
 *
 * @param {string} title
 * @param {string} tool
 * @param {string} command with options
 * @param {string} [needs]
 */
const testRunner = (title, tool, command, needs = '') =>
  environment(
    title,
    tool,
    async (place) => {
      place.copy('layer.spec.js')
      place.run(command)
      return JSON.parse(place.read('result.json'))
    },
    { needs },
  )

const JEST = `${process.execPath} --experimental-vm-modules --no-warnings ${pathOf('jest', 'bin/jest.js')}`
const JEST_NEEDS = '`NODE_OPTIONS=--experimental-vm-modules`'
const JSDOM_NEEDS = `${JEST_NEEDS}; for files, TextEncoder and TextDecoder of node:util as globals`

/**
 * @param {string} title
 * @param {(place: Place) => Promise<Result>} ask
 * @returns {Omit<Environment, 'kind'>}
 */
const next = (title, ask) =>
  environment(title, 'next', async (place) => {
    place.copy('next')
    place.run('next build')
    return ask(place)
  })

/** @param {Place} place */
const startNext = (place) => place.start((port) => `next start --port ${port}`)

/** @param {string} base the address of the folder with node_modules */
const importMap = (base) => `<!doctype html>
<title>app</title>
<script type="importmap">{ "imports": { "gpt-layers": "${base}node_modules/gpt-layers/dist/index.js" } }</script>
<script type="module" src="./app.js"></script>
`

/** The headers of files for pages of every origin. */
const ANY_ORIGIN = { 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' }

/** @param {string | undefined} command @returns {string} the version that a browser prints, or '' */
function versionOf(command = 'false') {
  const { stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' })
  return /\d+\.\d+/.exec(stdout ?? '')?.[0] ?? ''
}

/** @param {string} title @param {string | undefined} browser a command @param {Environment['run']} run */
const withoutBundler = (title, browser, run) =>
  environment(title, '', run, { version: versionOf(browser), quick: browser !== 'WebKitWebDriver' })

/** @param {string} tool */
const typeScript = (tool) =>
  environment('TypeScript', tool, async (place) => {
    place.copy('types.ts')
    for (const module of ['node16', 'nodenext', 'es2022']) {
      for (const lib of [['es2022'], ['es2022', 'dom']]) {
        const moduleResolution = module === 'es2022' ? 'bundler' : module
        const compilerOptions = { strict: true, noEmit: true, target: 'es2022', types: [], lib, module }
        const config = { compilerOptions: { ...compilerOptions, moduleResolution }, files: ['types.ts'] }
        place.write('tsconfig.json', JSON.stringify(config))
        place.run(`${process.execPath} ${pathOf(tool, 'bin/tsc')}`)
      }
    }
    return {} // nothing runs
  })

/** @type {Readonly<Record<string, readonly Omit<Environment, 'kind'>[]>>} */
const KINDS = {
  Runtimes: [
    { ...runtime('Node', 'node-20', pathOf('node-20', 'bin/node') ?? process.execPath), quick: true },
    runtime('Node', 'node-24', pathOf('node-24', 'bin/node') ?? ''),
    runtime('Node', 'node-newest', pathOf('node-newest', 'bin/node') ?? ''),
    runtime('Bun', 'bun', 'bun'),
    environment('Bun build --compile', 'bun', async (place) => {
      place.run('bun build --compile app.js --outfile app')
      return place.resultOf(place.run('./app'))
    }),
    runtime('Deno', 'deno', 'deno run --allow-all'),
    environment('Cloudflare workerd', 'workerd', async (place) => {
      place.copy('workerd')
      place.run(
        'esbuild worker.js --bundle --format=esm --conditions=workerd --external:*.wasm --outdir=dist',
      )
      const config = place.read('config.capnp')
      const address = await place.start((port) => {
        place.write('config.capnp', config.replace('PORT', String(port)))
        return 'workerd serve config.capnp'
      })
      return place.ask(address)
    }),
  ],
  'Test runners': [
    testRunner('Vitest', 'vitest', 'vitest run --globals'),
    testRunner('Vitest with jsdom', 'vitest', 'vitest run --globals --environment jsdom'),
    testRunner('Jest', 'jest', `${JEST} --env node`, JEST_NEEDS),
    testRunner('Jest with jsdom', 'jest', `${JEST} --env jsdom`, JSDOM_NEEDS),
  ],
  Bundlers: [
    ...[5, 6, 7, 8].flatMap(vite),
    bundler('webpack', 'webpack', 'webpack build --mode production --config ./config.js'),
    bundler('rspack', '@rspack/core', 'rspack build --mode production --config ./config.js'),
    bundler('Rollup', 'rollup', 'rollup app.js -d dist -f es -p @rollup/plugin-node-resolve'),
    bundler('Rolldown', 'rolldown', 'rolldown app.js -d dist'),
    bundler('esbuild', 'esbuild', 'esbuild app.js --bundle --format=esm --outdir=dist'),
    bundler(
      'esbuild --splitting',
      'esbuild',
      'esbuild app.js --bundle --splitting --format=esm --outdir=dist',
    ),
    bundler('Bun build', 'bun', 'bun build app.js --outdir dist'),
    bundler('Bun build --splitting', 'bun', 'bun build app.js --splitting --outdir dist'),
    environment('Parcel', 'parcel', async (place) => {
      place.writePage('index.html', './app.js')
      place.run('parcel build index.html --dist-dir dist --cache-dir build --public-url ./')
      return place.open(await place.serve('dist'))
    }),
  ],
  Frameworks: [
    next('Next.js client', async (place) => place.open(await startNext(place))),
    next('Next.js server', async (place) => place.ask(`${await startNext(place)}api/layers`)),
  ],
  'Pages without a bundler': [
    withoutBundler('Chromium', process.env.CHROMIUM, async (place) => {
      place.write('index.html', importMap('./'))
      return place.open(await place.serve('.'))
    }),
    withoutBundler('Firefox', process.env.FIREFOX, async (place) => {
      place.write('index.html', importMap('./'))
      return place.open(await place.serve('.'), 'firefox')
    }),
    withoutBundler('WebKitGTK', 'WebKitWebDriver', async (place) => {
      place.write('index.html', importMap('./'))
      return place.open(await place.serve('.'), 'webkit')
    }),
    withoutBundler('Chromium, files from another origin', process.env.CHROMIUM, async (place) => {
      place.write('index.html', importMap(await place.serve('.', ANY_ORIGIN)))
      return place.open(await place.serve('.'))
    }),
    withoutBundler('Chromium, not cross-origin isolated', process.env.CHROMIUM, async (place) => {
      place.write('index.html', importMap('./'))
      return place.open(await place.serve('.', {}))
    }),
  ],
  Types: [typeScript('typescript-5.0'), typeScript('typescript-newest')],
}

export const ENVIRONMENTS = Object.entries(KINDS).flatMap(([kind, environments]) =>
  environments.map((environment) => ({ kind, ...environment })),
)
