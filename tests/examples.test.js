// Each program in web/examples/ runs as it stands and prints what it should.
// The programs import `gpt-layers` by name, as a user's would; Node finds the package they are in.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { load } from 'gpt-layers'

const root = fileURLToPath(new URL('../', import.meta.url))
const examples = readdirSync(join(root, 'web/examples')).filter((name) => name.endsWith('.js'))

/** @type {string} */
let folder
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'gpt-layers-examples-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

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

test('the examples type-check', () => {
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', 'web/examples'], { cwd: root, stdio: 'pipe' })
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
  assert.ok(losses[0] > 2 && losses[4] < 0.1, `${losses}`)
  assert.equal(lines.at(-1), 'She sells seashells by the seashore.')
  assert.deepEqual(readdirSync(folder).sort(), ['model.json', 'model.safetensors'])
})

test('without a file, the GPT-2 example makes a small checkpoint and continues the tokens', () => {
  assert.match(run('gpt2.js'), /^2 blocks, 64 wide, 102400 parameters\n7 3 9( \d+){5}\n$/)
})

test('the GPT-2 example loads a checkpoint under GPT-2’s names and finds its sizes', async () => {
  const gpt = await load()
  gpt.manualSeed(1)
  const [vocabSize, embDim, contextLength] = [11, 128, 9]
  const sizes = { vocabSize, contextLength, embDim, nHeads: 2, nLayers: 3 }
  const model = new gpt.GPTModel({ ...sizes, qkvBias: true, tieWeights: true }).eval()
  for (const parameter of model.parameters()) {
    const values = gpt.randn(parameter.shape).mul(0.3)
    parameter.data.set(values.data)
  }

  /** @type {Record<string, import('gpt-layers').Tensor>} */
  const checkpoint = { 'wte.weight': model.tokEmb.weight, 'wpe.weight': model.posEmb.weight }
  model.trfBlocks.forEach(({ norm1, attn, norm2, ff }, i) => {
    const [hidden, , out] = /** @type {import('gpt-layers').Linear[]} */ (ff.layers)
    Object.assign(checkpoint, {
      [`h.${i}.ln_1.weight`]: norm1.scale,
      [`h.${i}.ln_1.bias`]: norm1.shift,
      [`h.${i}.attn.bias`]: gpt.ones([1, 1, contextLength, contextLength]), // the mask, which older files carry
      [`h.${i}.attn.c_attn.weight`]: attn.cAttn.weight,
      [`h.${i}.attn.c_attn.bias`]: /** @type {import('gpt-layers').Tensor} */ (attn.cAttn.bias),
      [`h.${i}.attn.c_proj.weight`]: attn.cProj.weight,
      [`h.${i}.attn.c_proj.bias`]: /** @type {import('gpt-layers').Tensor} */ (attn.cProj.bias),
      [`h.${i}.ln_2.weight`]: norm2.scale,
      [`h.${i}.ln_2.bias`]: norm2.shift,
      [`h.${i}.mlp.c_fc.weight`]: hidden.weight.permute([1, 0]), // GPT-2 stores [in, out]
      [`h.${i}.mlp.c_fc.bias`]: /** @type {import('gpt-layers').Tensor} */ (hidden.bias),
      [`h.${i}.mlp.c_proj.weight`]: out.weight.permute([1, 0]),
      [`h.${i}.mlp.c_proj.bias`]: /** @type {import('gpt-layers').Tensor} */ (out.bias),
    })
  })
  checkpoint['ln_f.weight'] = model.finalNorm.scale
  checkpoint['ln_f.bias'] = model.finalNorm.shift
  const file = join(folder, 'gpt2.safetensors')
  writeFileSync(file, gpt.saveSafetensors(checkpoint))

  const tokens = [5, 0, 10]
  while (tokens.length < 8) {
    const logits = model.forward(tokens).data.slice(-vocabSize)
    tokens.push(logits.indexOf(Math.max(...logits)))
  }
  const count = model.parameters().reduce((sum, parameter) => sum + parameter.size, 0)
  const expected = `3 blocks, 128 wide, ${count} parameters\n${tokens.join(' ')}\n`
  assert.equal(run('gpt2.js', file, '5', '0', '10'), expected)
})

test('raw WebAssembly normalizes two rows', () => {
  assert.equal(
    run('raw.js'),
    'row 0: mean 2.5, normalized -1.3416 -0.4472 0.4472 1.3416\n' +
      'row 1: mean 25.0, normalized -1.3416 -0.4472 0.4472 1.3416\n',
  )
})

const guide = readFileSync(join(root, 'web/lib/README.md'), 'utf8')
/** @param {string} heading @returns {string[]} the programs of a section */
const programsOf = (heading) => {
  const section = guide.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  return [...section.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code)
}
const LOAD = "import { load } from 'gpt-layers'\nconst gpt = await load()\n"
const programs = [...programsOf('Write your own layer'), ...programsOf('Recipes').map((code) => LOAD + code)]

for (const code of programs) {
  const expected = [...code.matchAll(/console\.log\(.*\/\/ (.*)$/gm)].map(([, text]) => text)
  test(`web/lib/README.md: a program prints what its comments say: ${expected[0]}`, () => {
    const file = join(folder, 'program.mjs')
    writeFileSync(file, code.replace("'gpt-layers'", `'${pathToFileURL(join(root, 'dist/index.js'))}'`))
    const printed = execFileSync(process.execPath, [file], { cwd: folder, encoding: 'utf8' })
    assert.deepEqual(printed.trim().split('\n'), expected)
  })
}

test('web/lib/README.md has programs', () => assert.ok(programs.length >= 7))
