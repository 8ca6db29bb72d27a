// Each program in web/examples/ runs as it stands and prints what it should.
// The programs import `gpt-layers` by name, as a user's would; Node finds the package they are in.

/** @import { InlineConfig } from 'vite' */

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import * as gpt from 'gpt-layers'
import { decode, encode } from 'gpt-tokenizer/encoding/r50k_base'
import { build, createServer, preview } from 'vite'
import { blocksOf } from './blocks.js'
import { closeBrowsers, newPage, share, test as browserTest } from './demo/browser.js'
import { golden, shake, unpack } from './lib/support.js'
import { entriesOf, fileOf } from './lib/tensorfile.js'

await gpt.load()

const root = fileURLToPath(new URL('../', import.meta.url))
const examples = readdirSync(join(root, 'web/examples')).filter((name) => /\.m?js$/.test(name))

/** @type {string} */
let folder
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'gpt-layers-examples-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))
after(closeBrowsers)

/**
 * Runs an example in an empty folder.
 *
 * @param {string} name
 * @param {...string} args
 */
const run = (name, ...args) =>
  execFileSync(process.execPath, [join(root, 'web/examples', name), ...args], {
    cwd: folder,
    encoding: 'utf8',
  })

test('the README links to every example', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  for (const name of examples) assert.ok(readme.includes(`(web/examples/${name})`), name)
})

test('the notebook prints PyTorch’s numbers', () => {
  assert.equal(
    run('notebook.js'),
    `Outputs:
tensor([[0.2260, 0.3470, 0.0000, 0.2216, 0.0000, 0.0000],
        [0.2133, 0.2394, 0.0000, 0.5198, 0.3297, 0.0000]])
Mean and variance of each row:
tensor([[0.1324],
        [0.2170]])
tensor([[0.0231],
        [0.0398]])
Normalized by hand, and the variance afterwards:
tensor([[ 0.6159,  1.4126, -0.8719,  0.5872, -0.8719, -0.8719],
        [-0.0189,  0.1121, -1.0876,  1.5173,  0.5647, -1.0876]])
tensor([1.0000, 1.0000])
LayerNorm of the batch:
tensor([[ 0.5528,  1.0693, -0.0223,  0.2656, -1.8654],
        [ 0.9087, -1.3767, -0.9564,  1.1304,  0.2940]])
`,
  )
})

test('a trained model is saved, loaded again, and writes its sentence', () => {
  const lines = run('train.js').trim().split('\n')
  const losses = lines.slice(0, -1).map((line) => Number(/^step \d+: loss ([\d.]+)$/.exec(line)?.[1]))
  assert.equal(losses.length, 5)
  assert.ok(losses[0] > 2 && losses[4] < 0.02, `${losses}`)
  // With the gradients of earlier steps, too, it learns the sentence as well, but the loss rises again.
  assert.deepEqual(
    losses,
    losses.toSorted((a, b) => b - a),
  )
  assert.equal(lines.at(-1), 'She sells seashells by the seashore.')
  assert.deepEqual(readdirSync(folder).sort(), ['model.json', 'model.safetensors'])
})

/** Runs gpt2.mjs. @param {...string} args */
const gpt2 = (...args) =>
  spawnSync(process.execPath, [join(root, 'web/examples/gpt2.mjs'), ...args], {
    cwd: folder,
    encoding: 'utf8',
  })

/** @type {Promise<string> | undefined} */
let gpt2Path
const gpt2File = () => (gpt2Path ??= makeGpt2File())

/** A file in Hugging Face's layout and names, which does not say that the model has four heads. */
async function makeGpt2File() {
  gpt.manualSeed(1)
  const sizes = { vocabSize: 50257, contextLength: 32, embDim: 64, nHeads: 4, nLayers: 2, tieWeights: true }
  const model = shake(gpt, new gpt.GPTModel(sizes))
  const file = join(folder, 'gpt2.safetensors')
  writeFileSync(file, fileOf(entriesOf(gpt.saveSafetensors(model)), { nHeads: null }))
  model.dispose()
  return file
}

for (const dtype of /** @type {const} */ (['float32', 'int8'])) {
  test(`gpt2.mjs writes what the package generates, with ${dtype} weights`, async () => {
    const file = await gpt2File()
    const args = `--heads 4 --dtype ${dtype} --max-new-tokens 12 --seed 5 --temperature 0.9 --top-k 9`
    const { status, stdout, stderr } = gpt2(file, 'Once upon a time', ...args.split(' '))
    assert.equal(status, 0, stderr)

    const model = await gpt.GPTModel.fromPretrained(readFileSync(file), { dtype, config: { nHeads: 4 } })
    gpt.manualSeed(5)
    const options = { maxNewTokens: 12, temperature: 0.9, topK: 9, stopTokens: [50256] }
    const tokens = [...model.generate(encode('Once upon a time'), options)].map(({ token }) => token)
    assert.equal(stdout, `Once upon a time${decode(tokens)}\n`)
    assert.match(
      stderr,
      /^prompt: 4 tokens, [\d.]+ per second; writing: 12 tokens, [\d.]+ per second\n$/,
      'without a terminal there is no progress bar',
    )
  })
}

const noTerminal =
  spawnSync('script', ['--version']).status !== 0 && '`script`, which makes a terminal, is missing'
test('gpt2.mjs shows in a terminal how much is loaded', { skip: noTerminal }, async () => {
  const paths = [process.execPath, join(root, 'web/examples/gpt2.mjs'), await gpt2File()]
  const command = `${paths.map((path) => `'${path}'`).join(' ')} Hello --max-new-tokens 1 --heads 4`
  const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], { cwd: folder, encoding: 'utf8' })
  const lines = stdout.split('\r')
  assert.ok(
    lines.some((line) => /^█+░+ \d+ of 13 MB$/.test(line)),
    stdout,
  )
  assert.ok(
    lines.some((line) => line.startsWith('Hello')),
    stdout,
  )
})

test('gpt2.mjs says in a line what is wrong', async () => {
  const file = await gpt2File()
  const foreign = join(folder, 'foreign.safetensors')
  writeFileSync(foreign, gpt.saveSafetensors({ 'encoder.weight': gpt.ones([2, 2]) }))
  const stories = join(root, 'web/examples/stories/grammar.js')
  for (const [args, expected] of /** @type {[string[], RegExp][]} */ ([
    [[], /^usage: node gpt2\.mjs model\.safetensors "Once upon a time"/],
    [['missing.safetensors', 'Hello'], /^missing\.safetensors cannot be read \(ENOENT\)\nusage: /],
    [[foreign, 'Hello'], /^GPTModel\.fromPretrained: .*wte\.weight.*encoder\.weight/],
    [[stories, 'Hello'], /^GPTModel\.fromPretrained: /],
    [[file, 'Hello', '--speed', '9'], /'--speed'.*\nusage: /s],
    [[file, 'Hello'], /^GPTModel\.fromPretrained: config\.nHeads should be given/],
    [[file, 'Hello', '--heads', '5'], /^GPTModel: nHeads should be a divisor of 64/],
    [[file, 'Hello', '--heads', '4', '--temperature', 'warm'], /^GPTModel\.generate: temperature .*NaN/],
    [[file, 'word '.repeat(40), '--heads', '4'], /^GPTModel\.generate: ids should have at most 32 tokens/],
  ])) {
    const { status, stdout, stderr } = gpt2(...args)
    assert.equal(status, 1, stderr)
    assert.match(stderr, expected)
    assert.ok(stdout === '' || stdout === args[1], stdout)
    assert.ok(!stderr.includes('    at '), stderr)
  }
})

/** The tensor that follows a title in what a program prints. @param {string} text @param {string} title */
const printedBelow = (text, title) => /^tensor\([^]*?\)$/m.exec(text.split(`${title}:\n`)[1])?.[0]

test('the book’s programs run as they stand; book.test.js has their numbers', () => {
  const second = run('book/ch02.mjs')
  assert.match(second, /^3275 characters, 948 tokens, the first of them:\n464: "The"\n4252: " sun"\n/)
  const { embedded } = golden('book')['chapter 2']
  assert.equal(printedBelow(second, 'Embedded'), String(gpt.tensor(unpack(embedded), embedded.shape)))
  const names = 'mask, W_query.weight, W_key.weight, W_value.weight, out_proj.weight, out_proj.bias'
  assert.ok(run('book/ch03.mjs').includes(`\n${names}\n`))
  assert.match(
    run('book/ch04.mjs'),
    /^GPTModel\(\n {2}\(tok_emb\): Embedding\(50257, 64\)\n[^]*An untrained GPT writes: "/,
  )
  const fifth = run('book/ch05.mjs', '1')
  assert.match(fifth, /^epoch 1, step \d+: loss .* in training, .* in validation$/m)
  assert.match(fifth, /^Drawn: ".*The time has come,.*"\n$/m)
  assert.ok(readdirSync(folder).includes('book.safetensors'))
})

test('llama.mjs shows the names of Hugging Face’s layer', () => {
  const names = /^ {4}\(q_proj\): Linear\(in_features=32, out_features=32, bias=False\)$/m
  assert.match(run('llama.mjs'), names)
})

test('gradient.mjs: the gradient of layer normalization is the slope', () => {
  const printed = run('gradient.mjs')
  const [analytic, numeric] = ['By backward', 'By differences'].map((title) =>
    (printedBelow(printed, title) ?? '').match(/-?\d+\.\d+/g)?.map(Number),
  )
  assert.equal(analytic?.length, 10)
  analytic?.forEach((slope, i) => assert.ok(Math.abs(slope - (numeric?.[i] ?? NaN)) < 1e-3, printed))
})

test('raw WebAssembly normalizes two rows', () => {
  assert.equal(
    run('raw.js'),
    'row 0: mean 2.5, normalized -1.3416 -0.4472 0.4472 1.3416\n' +
      'row 1: mean 25.0, normalized -1.3416 -0.4472 0.4472 1.3416\n',
  )
})

/** Serve with Vite. */
const servers = {
  /** @param {InlineConfig} options */
  async build(options) {
    const built = { ...options, build: { outDir: join(folder, 'worker') }, preview: { port: 0 } }
    await build(built)
    return preview(built)
  },
  /** @param {InlineConfig} options */
  development: async (options) =>
    (await createServer({ ...options, cacheDir: join(folder, 'vite'), server: { port: 0 } })).listen(),
}

/**
 * Presses Write, and Stop at once if told so. Runs in the page.
 *
 * @param {boolean} stops
 * @returns {Promise<{ story: string, steps: number }>} the text at its end, and how often it grew
 */
async function writeInPage(stops) {
  const [write, stop] = document.querySelectorAll('button')
  const [story] = document.querySelectorAll('p')
  let steps = 0
  const observer = new MutationObserver(() => void steps++)
  const ended = new Promise((resolve) => {
    new MutationObserver(() => void (write.disabled || resolve(undefined))).observe(write, {
      attributes: true,
    })
  })
  write.click()
  observer.observe(story, { childList: true })
  if (stops) stop.click()
  await ended
  observer.disconnect()
  return { story: String(story.textContent), steps }
}

for (const [how, start] of Object.entries(servers)) {
  browserTest(`a worker writes word by word into a page, until Stop (Vite, ${how})`, async (t) => {
    const server = await start({ root: join(root, 'web/examples/worker'), logLevel: 'error' })
    t.after(() => server.close())
    const page = await newPage(await share())
    t.after(() => page.close())
    /** @type {string[]} */
    const complaints = []
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    await page.goto(String(server.resolvedUrls?.local[0]))
    const first = await page.evaluate(writeInPage, false)
    assert.match(first.story, /^Once upon a time,? .*[.!?"]$/)
    // Each word comes in a task of its own, after the beginning. A story may be short: it is a random one.
    const isByWord = (/** @type {typeof first} */ { story, steps }) => steps >= story.split(' ').length - 4
    assert.ok(isByWord(first), `${first.steps} steps: ${first.story}`)
    const stopped = await page.evaluate(writeInPage, true)
    assert.match(stopped.story, /^Once upon a time/)
    assert.ok(stopped.steps < 10, stopped.story)
    const second = await page.evaluate(writeInPage, false)
    assert.ok(isByWord(second), `${second.steps} steps: ${second.story}`)
    assert.notEqual(second.story, first.story)
    assert.ok(await page.evaluate(() => crossOriginIsolated), 'the page has the headers that threads need')
    assert.deepEqual(complaints, [])
  })
}

const LOAD = "import * as gpt from 'gpt-layers'\nawait gpt.load()\n"
const programs = [
  ...blocksOf('js', 'web/lib/README.md', 'Write your own layer'),
  ...blocksOf('js', 'web/lib/README.md', 'Back to PyTorch'),
  ...blocksOf('js', 'web/lib/README.md', 'Recipes').map((code) => LOAD + code),
]

for (const code of programs) {
  const expected = [...code.matchAll(/console\.log\(.*\/\/ (.*)$/gm)].map(([, text]) => text)
  test(`web/lib/README.md: a program prints what its comments say: ${expected[0]}`, () => {
    const file = join(folder, 'program.mjs')
    writeFileSync(file, code.replace("'gpt-layers'", `'${pathToFileURL(join(root, 'dist/index.js'))}'`))
    const printed = execFileSync(process.execPath, [file], { cwd: folder, encoding: 'utf8' })
    assert.deepEqual(printed.trim().split('\n'), expected)
  })
}

browserTest(
  'README’s page without a bundler prints a normalized row, from its own files alone',
  async (t) => {
    const [html] = blocksOf('html', 'README.md')
    const served = new Set()
    const server = createHttpServer(({ url = '' }, response) => {
      served.add(url)
      const [type, body] = /^\/dist\/[\w/-]+\.js$/.test(url)
        ? ['text/javascript', readFileSync(join(root, url))]
        : ['text/html', `<!doctype html><body>${html}`]
      response.setHeader('Content-Type', type).end(body)
    })
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)))
    t.after(() => server.close())
    const page = await newPage(await share())
    t.after(() => page.close())
    const address = server.address()
    await page.goto(`http://127.0.0.1:${typeof address === 'object' && address?.port}/`)
    await page.waitForFunction(() =>
      document.body.textContent.includes('tensor([[-1.2247,  0.0000,  1.2247]])'),
    )
    assert.ok(served.has('/dist/index.js') && served.has('/dist/shared.js'), [...served].join())
  },
)

test('web/lib/README.md shows the Vite configuration of web/examples/worker', () => {
  const guide = readFileSync(join(root, 'web/lib/README.md'), 'utf8')
  assert.ok(guide.includes(readFileSync(join(root, 'web/examples/worker/vite.config.js'), 'utf8')))
})
