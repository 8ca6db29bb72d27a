// A notebook of gpt-layers, cell by cell. Node runs it as it is; the page /notebook/ opens it, too. In Node no
// figure is drawn, and the file that it opens is the first argument.
for (const figure of ['plot', 'heatmap', 'dots']) globalThis[figure] ??= () => {}
globalThis.openFile ??= async () => (await import('node:fs')).readFileSync(process.argv[2])

// %% [markdown]
// # Layer normalization, cell by cell
// Each cell below has run, and its output stands under it. Change a number in a cell and press
// **Shift+Enter**, or its triangle: the cell runs again. The cells below it still show what they printed
// before; **Run all** runs every cell.

// %%
import * as gpt from 'gpt-layers'
await gpt.load()

gpt.manualSeed(123)
const batch = gpt.randn([2, 5])
const layer = new gpt.Sequential(new gpt.Linear(5, 6), new gpt.ReLU())
const out = layer.forward(batch)
console.log(out)

// %% [markdown]
// Two samples of five numbers go through a linear layer with six outputs. ReLU sets what is negative to 0.
//
// `dim: -1` takes the mean along the last axis: one for each row. `keepdim` keeps that axis, with size 1, so
// that the mean can be subtracted from its row.

// %%
let mean = out.mean({ dim: -1, keepdim: true })
let variance = out.var({ dim: -1, keepdim: true })
console.log('Mean:', mean)
console.log('Variance:', variance)

// %% [markdown]
// Subtract the mean, divide by the standard deviation. Then each row has mean 0 and variance 1.

// %%
const normalized = out.sub(mean).div(variance.sqrt())
mean = normalized.mean({ dim: -1, keepdim: true })
variance = normalized.var({ dim: -1, keepdim: true })
console.log('Normalized:\n', normalized)
console.log('Mean:', mean)
console.log('Variance:', variance)
dots({ before: out.at(0), after: normalized.at(0) })

// %% [markdown]
// The mean is not exactly 0: float32 has about seven digits, and `9.9341e-09` is what their rounding leaves.
// Without scientific notation it is written as 0.0000.

// %%
console.log('Mean:', mean.toString({ sciMode: false }))

// %% [markdown]
// The same as a layer of your own. `scale` and `shift` are learned. `eps` keeps the division away from 0. The
// variance is divided by n, not by n − 1: `correction: 0`.

// %%
class LayerNorm extends gpt.Module {
  constructor(embDim) {
    super()
    this.eps = 1e-5
    this.scale = gpt.parameter(gpt.ones([embDim]))
    this.shift = gpt.parameter(gpt.zeros([embDim]))
  }

  forward(x) {
    const mean = x.mean({ dim: -1, keepdim: true })
    const variance = x.var({ dim: -1, keepdim: true, correction: 0 })
    const norm = x.sub(mean).div(variance.add(this.eps).sqrt())
    return this.scale.mul(norm).add(this.shift)
  }
}

const ln = new LayerNorm(5)
const outLn = ln.forward(batch)
console.log(outLn)
console.log('Mean:', outLn.mean({ dim: -1, keepdim: true }).toString({ sciMode: false }))
console.log('Variance:', outLn.var({ dim: -1, keepdim: true, correction: 0 }))

// %% [markdown]
// GPT does not use ReLU but GELU, by this formula. It lets small negative numbers through.

// %%
class GELU extends gpt.Module {
  forward(x) {
    const inner = x.add(x.pow(3).mul(0.044715)).mul(Math.sqrt(2 / Math.PI))
    return inner.tanh().add(1).mul(x).mul(0.5)
  }
}

const x = gpt.arange(-3, 3.5, 0.5)
console.log('ReLU:', x.relu())
console.log('GELU:', new GELU().forward(x))
plot({ ReLU: x.relu(), GELU: new GELU().forward(x) }, { x })

// %% [markdown]
// After its attention, each block of a GPT widens every token to four times its size, and narrows it again.

// %%
class FeedForward extends gpt.Module {
  constructor({ embDim }) {
    super()
    this.layers = new gpt.Sequential(
      new gpt.Linear(embDim, 4 * embDim),
      new GELU(),
      new gpt.Linear(4 * embDim, embDim),
    )
  }

  forward(x) {
    return this.layers.forward(x)
  }
}

const feedForward = new FeedForward(gpt.GPT_CONFIG_124M)
const tokens = gpt.rand([2, 3, 768])
const wide = feedForward.forward(tokens)
console.log(feedForward)
console.log(...wide.shape)
console.log(wide)
