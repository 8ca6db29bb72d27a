// A notebook of gpt-layers, cell by cell. Node runs it as it is; the page /notebook/ opens it, too. In Node no
// figure is drawn, and the file that it opens is the first argument.
for (const figure of ['plot', 'heatmap', 'dots']) globalThis[figure] ??= () => {}
globalThis.openFile ??= async () => (await import('node:fs')).readFileSync(process.argv[2])

// %% [markdown]
// # Train it
// A GPT that learns a text by heart, letter by letter. Press **Run all**. It takes less than a minute, and
// **Stop** ends it. Then put in a text of your own, some 2 kB.

// %%
import * as gpt from 'gpt-layers'
await gpt.load()

// The Walrus and the Carpenter, by Lewis Carroll, 1871
const text = `The sun was shining on the sea,
Shining with all his might:
He did his very best to make
The billows smooth and bright--
And this was odd, because it was
The middle of the night.

The moon was shining sulkily,
Because she thought the sun
Had got no business to be there
After the day was done--
"It's very rude of him," she said,
"To come and spoil the fun!"

The sea was wet as wet could be,
The sands were dry as dry.
You could not see a cloud, because
No cloud was in the sky:
No birds were flying overhead--
There were no birds to fly.

The Walrus and the Carpenter
Were walking close at hand;
They wept like anything to see
Such quantities of sand:
"If this were only cleared away,"
They said, "it would be grand!"`
const letters = [...new Set(text)].sort()
const ids = [...text].map((letter) => letters.indexOf(letter))
console.log(text.length, 'characters,', letters.length, 'of them different')

// %% [markdown]
// ## A small GPT
// Two blocks, 64 numbers for each letter. It reads 32 letters at once.

// %%
gpt.manualSeed(123)
const contextLength = 32
const sizes = { embDim: 64, nHeads: 4, nLayers: 2 }
const model = new gpt.GPTModel({ vocabSize: letters.length, contextLength, ...sizes })
const optimizer = new gpt.AdamW(model.parameters(), { lr: 5e-3 })
const losses = []
console.log(
  model.parameters().reduce((sum, { size }) => sum + size, 0),
  'parameters',
)

// %% [markdown]
// ## Training
// A step reads 16 pieces of the text and moves every weight a little. Every 50 steps it continues the first
// line. Run this cell again and it goes on from where it was.

// %%
/** Continues a text by the most probable letters. */
function write(start, maxNewTokens) {
  model.eval()
  const first = [...start].map((letter) => letters.indexOf(letter))
  const written = [...model.generate(first, { maxNewTokens, temperature: 0 })]
  model.train()
  return start + written.map(({ token }) => letters[token]).join('')
}

/** One step on 16 pieces of the text. */
function step() {
  const starts = [...gpt.randint(0, ids.length - contextLength, [16]).data]
  const piece = (start) => ids.slice(start, start + contextLength)
  optimizer.zeroGrad()
  const loss = gpt.crossEntropy(
    model.forward(starts.map(piece)),
    starts.map((start) => piece(start + 1)),
  )
  loss.backward()
  optimizer.step()
  return loss.item()
}

const began = performance.now()
for (let i = 1; i <= 300; i++) {
  losses.push(gpt.scope(step)) // the scope frees the tensors that a step makes
  const rate = (i * 16 * contextLength) / (performance.now() - began)
  plot(losses, { title: `loss at step ${losses.length}; ${rate.toFixed(1)} thousand letters a second` })
  if (i % 50 === 0) {
    console.log('Step', losses.length, 'loss', losses.at(-1).toFixed(1))
    console.log(write('The sun was', 21))
  }
}

// %% [markdown]
// ## What it knows
// It continues what you write, as long as it has read something like it.

// %%
console.log(write('The Walrus', 22))
