// A notebook of gpt-layers, cell by cell. Node runs it as it is; the page /notebook/ opens it, too. In Node no
// figure is drawn, and the file that it opens is the first argument.
for (const figure of ['plot', 'heatmap', 'dots']) globalThis[figure] ??= () => {}
globalThis.openFile ??= async () => (await import('node:fs')).readFileSync(process.argv[2])

// %% [markdown]
// # Your own GPT
// A model that you have trained, or GPT-2’s own file: what Hugging Face, nanoGPT, minGPT and the book write.
// The file stays on your computer. Press **Run all**: the first cell asks for it.

// %%
import * as gpt from 'gpt-layers'
await gpt.load()

const bytes = await openFile('A model: .safetensors, .pt, .pth or .bin')
const model = await gpt.GPTModel.fromPretrained(bytes)
console.log(model.trfBlocks.length, 'blocks of width', model.embDim)
console.log(model.vocabSize, 'tokens;', model.contextLength, 'of them at once')

// %% [markdown]
// ## Its norms
// A new norm scales by 1 and shifts by 0. How far has training moved them? One line for each norm: mean and
// deviation of its scale, then of its shift, if it has one.

// %%
const norms = model.trfBlocks.flatMap(({ norm1, norm2 }) => [norm1, norm2]).concat(model.finalNorm)
for (const { scale, shift } of norms) {
  const parts = [scale, shift].filter(Boolean) // some models have no shift
  console.log(parts.map((x) => `${x.mean().item().toFixed(3)} ± ${x.std().item().toFixed(3)}`).join(', '))
}
const first = norms.slice(0, 6).map(({ scale }, i) => [`norm ${i + 1}`, scale])
dots(Object.fromEntries(first), { title: 'scale' })

// %% [markdown]
// ## Let it write
// A token is a number. The model continues these three by its most probable tokens. Where your tokens are
// characters, give `letters` all of them in their order, such as the 65 of nanoGPT’s Shakespeare.

// %%
const letters = [] // such as [...'abc'].sort()
const start = [3, 1, 4]
const written = [...model.generate(start, { maxNewTokens: 5, temperature: 0 })]
console.log(...written.map(({ token }) => letters[token] ?? token))

// %% [markdown]
// The most probable first tokens, and how sure the model is:

// %%
const [{ top }] = written
for (const { token, probability } of top.slice(0, 5))
  console.log(letters[token] ?? token, probability.toFixed(3))
