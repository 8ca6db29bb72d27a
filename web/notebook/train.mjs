// A notebook of gpt-layers, cell by cell. Node runs it as it is; the page /notebook/ opens it, too. In Node no
// figure is drawn, and the file that it opens is the first argument.
for (const figure of ['plot', 'heatmap', 'dots']) globalThis[figure] ??= () => {}
globalThis.openFile ??= async () => (await import('node:fs')).readFileSync(process.argv[2])

// %% [markdown]
// # Train it
// A GPT that learns a text by heart, letter by letter: a token is a letter. Press **Run all**. It takes less than
// a minute. Then put in a text of your own, some 2 kB.

// %%
import * as gpt from 'gpt-layers'
await gpt.load()

const text = `There was a row of numbers that wanted to be heard. Each of them shouted as loud
as it could, and the largest shouted loudest of all. The layer that listened heard one voice and nothing
else. "You are too far away," said the layer, "and too far apart. Come to me, one step at a time."

First the row walked until its mean was zero. Those who stood on the right went a little to the left, and
those who stood on the left went with them, for nobody in a row may walk alone. Then the row drew together
until its deviation was one. Nobody passed anybody. Who had been first was still first, but now all of
them could be heard.

"Is that all?" asked the smallest number. "Not quite," said the layer. "I have a scale for each of you, and
a shift for each of you, and I learn them while you speak. If your voice is needed, I make it strong. If it
is not needed, I make it quiet." And so it did, step by step, with a little less loss each time.

In the evening the row met another row, which came from another word. "Who are you?" it asked. "I am the
word before you," said the other. "You may look back at me, but I may not look ahead at you." So the row
asked a question, and every row behind it held up a key. Where a key fitted the question, the row took what
was offered, here a large part and there a small part, until the parts came to one.

"How strange," said the row. "I am still myself, and yet there is something of everybody in me." It went
home by the short way, which leads past the layer, and added what it had learned to what it had been. It
grew four times as wide, threw away what was below zero, and slept until it was as narrow as before.

The next morning somebody asked for one more letter. The row thought of all the letters there are, gave a
number to each of them, and chose the largest. It was not sure of itself, but it was less surprised than the
day before. Then somebody asked for the next letter, and it all began again: there was a row of numbers that
wanted to be heard.`
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
const count = model.parameters().reduce((sum, { size }) => sum + size, 0)
console.log(count, 'parameters')

// %% [markdown]
// ## Training
// A step reads 16 pieces of the text and moves every weight a little. Every 50 steps the model writes what follows
// "There was". **Stop** ends the loop where it awaits the plot, between two steps. Run the cell again, and it goes
// on from there.

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
for (let i = 1; i <= 500; i++) {
  losses.push(gpt.scope(step)) // the scope frees the tensors that a step makes
  const rate = Math.round((i * 16 * contextLength) / ((performance.now() - began) / 1000))
  await plot(losses, { title: `loss at step ${losses.length}; ${rate} tokens a second` })
  if (losses.length % 50 === 0) {
    console.log('Step', losses.length, 'loss', losses.at(-1).toFixed(1))
    console.log(write('There was', 22))
  }
}

// %% [markdown]
// ## What it knows
// It continues what you write, as long as it has read something like it.

// %%
console.log(write('"How', 27))
