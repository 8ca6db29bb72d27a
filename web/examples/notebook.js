// The notebook: a small layer, its outputs normalized by hand, then by LayerNorm.
// Every number is the one that PyTorch prints after torch.manual_seed(123).

import { LayerNorm, Linear, load, manualSeed, randn, ReLU, Sequential } from 'gpt-layers'

await load()
manualSeed(123)
const batch = randn([2, 5]) // two samples of five numbers
const layer = new Sequential(new Linear(5, 6), new ReLU())
const out = layer.forward(batch)
console.log('Outputs:')
console.log(String(out))

const mean = out.mean({ dim: -1, keepdim: true })
const variance = out.var({ dim: -1, keepdim: true })
console.log('Mean and variance of each row:')
console.log(String(mean))
console.log(String(variance))

const normalized = out.sub(mean).div(variance.sqrt())
console.log('Normalized by hand, and the variance afterwards:')
console.log(String(normalized))
console.log(String(normalized.var({ dim: -1 })))

const norm = new LayerNorm(5)
console.log('LayerNorm of the batch:')
console.log(String(norm.forward(batch)))
