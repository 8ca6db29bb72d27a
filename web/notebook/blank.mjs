// A notebook of gpt-layers, cell by cell. Node runs it as it is; the page /notebook/ opens it, too. In Node no
// figure is drawn, and the file that it opens is the first argument.
for (const figure of ['plot', 'heatmap', 'dots']) globalThis[figure] ??= () => {}
globalThis.openFile ??= async () => (await import('node:fs')).readFileSync(process.argv[2])

// %% [markdown]
// # A blank notebook
// Write a cell and press **Shift+Enter**. `gpt.` lists what there is; hold the pointer over a name to see what it
// means.
//
// Coming from PyTorch: `gpt` has what `torch` and `nn` have, with names such as `x.maskedFill`. Write
// `layer.forward(x)`, `x.matmul(y)`, `{ dim: -1 }`, `gpt.zeros([2, 3])`, `x.shape.at(-1)`, `x.slice(0, 4)` for
// `x[:4]`. A buffer is a field of its module.

// %%
import * as gpt from 'gpt-layers'
await gpt.load()

gpt.manualSeed(123)
console.log(gpt.randn([2, 3]))

// %% [markdown]
// ## Help
// What only a notebook has: three figures, and `await openFile()`, which asks for a file and gives its bytes.

// %%
plot([2.3, 1.9, 1.2, 0.9, 0.8, 0.7]) // or plot({ train, validation }, { x, title }): a curve for each name
heatmap(gpt.eye(3), { rows: ['a', 'b', 'c'], cols: ['x', 'y', 'z'] }) // a matrix
dots([-1.2, 0.1, 0.4, 2.2]) // numbers on an axis, or dots({ before, after })
