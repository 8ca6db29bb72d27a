// What the package's functions refuse: a call, the error's code and its message, one row each.
//
// A row `max min: of(2, 3).%({ dim: [0] }) // TYPE %: ...` is one for each name in place of %. A message may end
// in `...`: then the error's goes on. `of(2, 3)` is a tensor of ones of that shape, and `values([1, 2])` one of
// these values. The other names are the package's, and those in arguments.test.js.

export const REFUSALS = String.raw`
-of(3) // TYPE a Tensor has no operators: use x.add, sub, mul, div or neg; String(x) or ${'`${x}`'} for its text, x.item() for its number
'' + of(3) // TYPE a Tensor has no operators: use x.add, sub, mul, div or neg; String(x) or ${'`${x}`'} for its text, x.item() for its number
new AdamW([of(2, 5)], 1e-3, [0.9, 0.95]) // TYPE AdamW: takes at most 2 arguments, got 3: an array of 1, 0.001, [0.9, 0.95]; write { lr: 0.001, betas: [0.9, 0.95] }
new AdamW() // TYPE AdamW: parameters should be an array of Tensors, got undefined
new AdamW([of(2), 1]) // TYPE AdamW: parameters[1] should be a Tensor, got 1
new AdamW([gone]) // DISPOSED AdamW: parameters[0] should be a live Tensor, got one that was disposed
new AdamW([of(2), of(2)]) // VALUE AdamW: parameters[1] should differ from parameters[0], got the same Tensor
scope(() => new AdamW([leaf.mul(2)])) // VALUE AdamW: parameters[0] should be a leaf, such as a layer has in parameters(), got a computed tensor
new AdamW([of(2)], { lr: -1 }) // VALUE AdamW: lr should be a finite number >= 0, got -1
new AdamW([of(2)], { lr: NaN }) // VALUE AdamW: lr should be a finite number >= 0, got NaN
new AdamW([of(2)], { lr: Infinity }) // VALUE AdamW: lr should be a finite number >= 0, got Infinity
new AdamW([of(2)], { betas: 0.9 }) // TYPE AdamW: betas should be an array of two numbers, got 0.9
new AdamW([of(2)], { betas: [0.9] }) // TYPE AdamW: betas should be an array of two numbers, got [0.9]
new AdamW([of(2)], { betas: [0.9, 1] }) // VALUE AdamW: betas[1] should be a number >= 0 and < 1, got 1
new AdamW([of(2)], { eps: '0' }) // TYPE AdamW: eps should be a finite number >= 0, got "0"
new AdamW([of(2)], { weightDecay: -1 }) // VALUE AdamW: weightDecay should be a finite number >= 0, got -1
new AdamW([{ params: [of(2)] }, of(3)]) // TYPE AdamW: parameters[1] should be a plain object, got a Tensor
new AdamW([{ params: [of(2)] }, { params: [of(3), of(2)] }]) // VALUE AdamW: parameters[1].params[1] should differ from parameters[0].params[0], got the same Tensor
new AdamW([{ params: [of(2)] }, { params: [of(3)], weight_decay: 0 }]) // VALUE AdamW: parameters[1] should be among lr, betas, eps, weightDecay, got "weight_decay"
new AdamW([{ params: [of(2)] }, { params: [of(3)], lr: -1 }]) // VALUE AdamW: paramGroups[1].lr should be a finite number >= 0, got -1
new AdamW([{ params: [of(2)] }, { params: [of(3)], betas: [0, 1] }]) // VALUE AdamW: paramGroups[1].betas[1] should be a number >= 0 and < 1, got 1
new AdamW([of(1), of(2), of(3), of(4)]).loadStateDict({ weight: of(1) }) // VALUE AdamW.loadStateDict: names in dict should be among state.0.step, state.0.exp_avg, state.0.exp_avg_sq, state.1.step, state.1.exp_avg, state.1.exp_avg_sq, ..., state.3.exp_avg_sq, got "weight"
new AdamW([{ params: of(2) }]) // TYPE AdamW: parameters[0].params should be an array of Tensors, got a Tensor
of(2, 5).add('1') // TYPE add: other should be a Tensor or a number, got "1"
allclose([1], of(2, 3)) // TYPE allclose: x should be a Tensor, got [1]
allclose(of(2, 3), of(2, 3), { rtol: -1 }) // VALUE allclose: rtol should be a finite number >= 0, got -1
allclose(of(2, 3), of(2, 3), { atol: '1' }) // TYPE allclose: atol should be a finite number >= 0, got "1"
allclose(of(2, 3), of(2, 3), { equalNan: 1 }) // TYPE allclose: equalNan should be true or false, got 1
allclose(of(2), of(3)) // SHAPE allclose: y should broadcast with shape [2], got shape [3]
arange() // TYPE arange: end should be a finite number, got undefined
arange(NaN, 4) // VALUE arange: start should be a finite number, got NaN
arange(0, Infinity) // VALUE arange: end should be a finite number, got Infinity
arange(0, undefined, 2) // TYPE arange: end should be a finite number, got undefined
arange(0, 4, 0) // VALUE arange: step should be a finite number other than 0, got 0
arange(4, 2) // VALUE arange: end should be at least 4 for a step of 1, got 2
arange(-1) // VALUE arange: end should be at least 0 for a step of 1, got -1
arange(1, 2, -1) // VALUE arange: end should be at most 1 for a step of -1, got 2
arange(2 ** 40) // MEMORY arange: needs 4398046511104 bytes for shape [1099511627776], and a tensor may have 2147483520
of(0, 3).at(0) // SHAPE at: the tensor should have elements along its first axis, got shape [0, 3]
of(2, 5).at(2) // VALUE at: index should be an integer from -2 to 1, got 2
of(2, 5).at(-3) // VALUE at: index should be an integer from -2 to 1, got -3
of(2, 5).at() // TYPE at: index should be an integer from -2 to 1, got undefined
of().at(0) // SHAPE at: the tensor should have 1 axis or more, got shape []
layers.Attention.forward(of(...Array(63).fill(1), 6), { returnWeights: true }) // SHAPE Attention.forward: the result should have at most 64 axes, got 65
new Attention() // TYPE Attention: config should be a plain object, got undefined
new Attention({ embDim: 6, nHeads: 4, contextLength: 3 }) // VALUE Attention: nHeads should be a divisor of 6 (embDim), got 4
layers.Attention.forward(of(6)) // SHAPE Attention.forward: x should end in [tokens, 6] with at most 3 (contextLength) tokens, got shape [6]
layers.Attention.forward(of(2, 4, 6)) // SHAPE Attention.forward: x should end in [tokens, 6] with at most 3 (contextLength) tokens, got shape [2, 4, 6]
layers.Attention.forward(of(3, 6), { returnWeights: 1 }) // TYPE Attention.forward: returnWeights should be true or false, got 1
layers.Attention.forward(of(1, 6), of(1, 1)) // TYPE Attention.forward: context should be a plain object, got a Tensor
leaf.backward() // SHAPE backward: gradient should be given for a tensor of 2 numbers, of shape [2], got none
gone.backward() // DISPOSED backward: the tensor should be live, got one that was disposed
total.backward() // VALUE backward: the tensor should require a gradient: be a parameter, or computed from one outside of noGrad
normed.backward(of(6)) // SHAPE backward: gradient should have shape [3, 6], got [6]
normed.backward([1]) // TYPE backward: gradient should be a Tensor, got [1]
scope(() => leaf.sum().backward({ retainGraph: 1 })) // TYPE backward: retainGraph should be true or false, got 1
scope(() => leaf.sum().backward({}, {})) // TYPE backward: gradient should be a Tensor, got an object
scope(() => record(ones([2]), [leaf], () => [of(2, 5)]).sum().backward()) // SHAPE backward: the gradient of inputs[0] should have shape [2], got [2, 5]
scope(() => record(ones([2]), [leaf], () => []).sum().backward()) // SHAPE backward: gradients should return an array of 1, one for each input, got an array of 0
scope(() => record(ones([2]), [leaf], () => [null, null]).sum().backward()) // SHAPE backward: gradients should return an array of 1, one for each input, got an array of 2
scope(() => record(ones([2]), [leaf], () => of(2, 5)).sum().backward()) // TYPE backward: gradients should return an array of 1, one for each input, got a Tensor
scope(() => record(ones([2]), [leaf], () => [1]).sum().backward()) // TYPE backward: the gradient of inputs[0] should be a Tensor, got 1
scope(() => record(ones([2]), [leaf], () => [undefined]).sum().backward()) // TYPE backward: the gradient of inputs[0] should be a Tensor, got undefined
scope(() => record(ones([2]), [leaf], () => [gone]).sum().backward()) // DISPOSED backward: the gradient of inputs[0] should be a live Tensor, got one that was disposed
layers.BatchNorm.forward(of(6)) // VALUE BatchNorm.forward: x should have 2 rows or more in training mode, got shape [6]
scope(() => Object.assign(new BatchNorm(6), { scale: of(1) }).forward(of(3, 6))) // SHAPE BatchNorm.forward: scale should have shape [6], got [1]
scope(() => Object.assign(new BatchNorm(6), { shift: of(1) }).forward(of(3, 6))) // SHAPE BatchNorm.forward: shift should have shape [6], got [1]
cat([of(2, 3), of()]) // SHAPE cat: tensors[1] should have 1 axis or more, got shape []
cat([of(2, 3), of(2, 4)]) // SHAPE cat: tensors[1] should have shape [2, 3], got [2, 4]
cat([of(2, 3), of(3)], { dim: 1 }) // SHAPE cat: tensors[1] should have shape [2, 3], got [3]
cat([of(2, 3)], { dim: 2 }) // VALUE cat: dim should be an axis from -2 to 1, got 2
cat stack: %(of(2, 3)) // TYPE %: tensors should be an array of tensors, got a Tensor
cat stack: %([]) // VALUE %: tensors should have 1 tensor or more, got []
cat stack: %([of(2, 3), 1]) // TYPE %: tensors[1] should be a Tensor, got 1
cat stack: %([of(2, 3), gone]) // DISPOSED %: tensors[1] should be a live Tensor, got one that was disposed
of(2, 3).chunk(0) // VALUE chunk: n should be a positive integer, got 0
of().chunk(1) // SHAPE chunk: the tensor should have 1 axis or more, got shape []
of(0).chunk(2 ** 16 + 1) // VALUE chunk: n should be an integer from 1 to 65536 for an axis of size 0, got 65537
of(2, 1, 3).chunk(2, { dim: 3 }) // VALUE chunk: dim should be an axis from -3 to 2, got 3
of(2, 5).clamp(0, 1) // TYPE clamp: takes at most 1 argument, got 2: 0, 1; write { min: 0, max: 1 }
of(2, 5).clamp(0, 1, 2) // TYPE clamp: takes at most 1 argument, got 3: 0, 1, 2
of(2, 3).clamp() // VALUE clamp: options should have min, max or both, got neither
of(2, 3).clamp({ min: '0' }) // TYPE clamp: min should be a number, got "0"
of(2, 3).clamp({ max: null }) // TYPE clamp: max should be a number, got null
clipGradNorm(Object.assign(Array(3), [of(2, 5)]), 1) // TYPE clipGradNorm: parameters[1] should be a Tensor, got undefined
clipGradNorm([of(2)], -1) // VALUE clipGradNorm: maxNorm should be a number >= 0, got -1
clipGradNorm(of(2), 1) // TYPE clipGradNorm: parameters should be an array of Tensors, got a Tensor
scope(() => Object.assign(new Conv1D(6, 6), { bias: of(1) }).forward(of(3, 6))) // SHAPE Conv1D.forward: bias should have shape [6], got [1]
cosineWithWarmup(undefined) // VALUE cosineWithWarmup: steps should be an integer from 1 to 9007199254740991, got NaN
cosineWithWarmup({ warmup: 5, steps: 5 }) // VALUE cosineWithWarmup: steps should be an integer from 6 to 9007199254740991, got 5
cosineWithWarmup({ steps: 5, min: 2 }) // VALUE cosineWithWarmup: min should be a number from 0 to 1, got 2
crossEntropy([1, 2], [0]) // TYPE crossEntropy: logits should be a Tensor, got [1, 2]
crossEntropy(of(), 0) // SHAPE crossEntropy: logits should have shape [..., classes], got []
crossEntropy(of(2, 5), [0, 5]) // VALUE crossEntropy: targets[1] should be an integer from 0 to 4, or -100, got 5
crossEntropy(of(2, 0), [0, 1]) // VALUE crossEntropy: targets[0] should be -100, as there is nothing to choose from, got 0
crossEntropy(of(2, 5), [-1, 0]) // VALUE crossEntropy: targets[0] should be an integer from 0 to 4, or -100, got -1
crossEntropy(of(2, 5), [0, 1, 2]) // SHAPE crossEntropy: targets should have shape [2] (logits without the last axis), got [3]
crossEntropy(of(2, 5), [[0], [1]]) // SHAPE crossEntropy: targets should have shape [2] (logits without the last axis), got [2, 1]
crossEntropy(of(2, 5)) // TYPE crossEntropy: targets should be integers (a number, nested arrays, a typed array or a Tensor), got undefined
crossEntropy(of(2, 5), [-100, 0], { ignoreIndex: -1 }) // VALUE crossEntropy: targets[0] should be an integer from 0 to 4, or -1, got -100
crossEntropy(of(2, 5), [0, 0], { ignoreIndex: 0.5 }) // VALUE crossEntropy: ignoreIndex should be an integer from -2147483648 to 2147483647, got 0.5
crossEntropy(of(2, 5), [0, 0], { reduction: 'avg' }) // VALUE crossEntropy: reduction should be 'none' or 'mean' or 'sum', got "avg"
crossEntropy(of(2, 5), [0, 0], { labelSmoothing: 1.1 }) // VALUE crossEntropy: labelSmoothing should be a number from 0 to 1, got 1.1
of(2, 3).cumsum() // TYPE cumsum: dim should be an axis from -2 to 1, got undefined
of(2, 3).cumsum({ dim: 2 }) // VALUE cumsum: dim should be an axis from -2 to 1, got 2
of(2, 5).cumsum({ out: of(2, 5) }) // VALUE cumsum: options should be among dim, got "out" (every result is a new tensor)
of(2, 5).div(of(3)) // SHAPE div: other should broadcast with shape [2, 5], got shape [3]
dropout(of(2, 5), { p: 2 }) // VALUE dropout: p should be a number from 0 to 1, got 2
dropout(of(2, 5), { training: 1 }) // TYPE dropout: training should be true or false, got 1
scope(() => Object.assign(new Embedding(5, 3), { weight: gone }).forward([1])) // DISPOSED Embedding.forward: weight should be a live Tensor, got one that was disposed
layers.Embedding.forward(of(...Array(64).fill(1))) // SHAPE Embedding.forward: the result should have at most 64 axes, got 65
layers.Embedding.forward('1') // TYPE Embedding.forward: indices should be integers (a number, nested arrays, a typed array or a Tensor), got "1"
layers.Embedding.forward([0, '1']) // TYPE Embedding.forward: indices[1] should be a number or an array, got "1"
layers.Embedding.forward([[0, 1], [2]]) // SHAPE Embedding.forward: indices[1] should have shape [2] like indices[0], got [1]
layers.Embedding.forward(7) // VALUE Embedding.forward: indices should be an integer from 0 to 6, got 7
layers.Embedding.forward([[0, 6], [3, -1]]) // VALUE Embedding.forward: indices[1][1] should be an integer from 0 to 6, got -1
layers.Embedding.forward(BigInt64Array.of(0n, -1n)) // VALUE Embedding.forward: indices[1] should be an integer from 0 to 6, got -1n
layers.Embedding.forward(BigInt64Array.of(0n, 7n)) // VALUE Embedding.forward: indices[1] should be an integer from 0 to 6, got 7n
layers.Embedding.forward(BigInt64Array.of(0n, 2n ** 60n)) // VALUE Embedding.forward: indices[1] should be an integer from 0 to 6, got 1152921504606846976n
layers.Embedding.forward([2 ** 32]) // VALUE Embedding.forward: indices[0] should be an integer from 0 to 6, got 4294967296
layers.Embedding.forward([0.5]) // VALUE Embedding.forward: indices[0] should be an integer from 0 to 6, got 0.5
layers.Embedding.forward(values([[1, 0.5]])) // VALUE Embedding.forward: indices[0][1] should be an integer from 0 to 6, got 0.5
embedding([0], of(2, 3, 4)) // SHAPE embedding: weight should have shape [rows, size] with 1 row or more, got shape [2, 3, 4]
embedding([0], of(0, 5)) // SHAPE embedding: weight should have shape [rows, size] with 1 row or more, got shape [0, 5]
embedding([0, 2], of(2, 5)) // VALUE embedding: indices[1] should be an integer from 0 to 1, got 2
embedding(of(2, 5), [0]) // TYPE embedding: weight should be a Tensor, got [0]
eq ne lt le gt ge: of(2, 3).%('1') // TYPE %: other should be a Tensor or a number, got "1"
eq ne lt le gt ge: of(2, 3).%(of(2)) // SHAPE %: other should broadcast with shape [2, 3], got shape [2]
equal(of(2, 3), [1, 1]) // TYPE equal: y should be a Tensor, got [1, 1]
of(2, 5).expand(3, -1, -1) // TYPE expand: takes at most 1 argument, got 3: 3, -1, -1; write expand([3, -1, -1])
of(2, 3).expand(2) // TYPE expand: shape should be an array of sizes, got 2
of(2, 3).expand([-1, 2, 1, 3]) // VALUE expand: shape[0] should be a non-negative integer, got -1
of(2, 1, 3).expand([2, 2, 4]) // SHAPE expand: shape should be one that shape [2, 1, 3] broadcasts to, got [2, 2, 4]
of(2, 1, 3).expand([6]) // SHAPE expand: shape should be one that shape [2, 1, 3] broadcasts to, got [6]
of(2, 1, 3).expand([2 ** 30, 2, 1, 3]) // MEMORY expand: needs 25769803776 bytes for shape [1073741824, 2, 1, 3], and a tensor may have 2147483520
eye(1.5) // VALUE eye: n should be a non-negative integer, got 1.5
eye(2, '2') // TYPE eye: m should be a non-negative integer, got "2"
eye(2 ** 20) // MEMORY eye: needs 4398046511104 bytes for shape [1048576, 1048576], and a tensor may have 2147483520
new FeedForward({ embDim: Symbol('x') }) // TYPE FeedForward: embDim should be a positive integer, got Symbol(x)
new FeedForward() // TYPE FeedForward: config should be a plain object, got undefined
new FeedForward({ embDim: 4, hiddenDim: 0 }) // VALUE FeedForward: hiddenDim should be a positive integer, got 0
new FeedForward({ embDim: 4, approximate: 'x' }) // VALUE FeedForward: approximate should be 'tanh' or 'none', got "x"
scope(() => { const ff = new FeedForward(config); ff.layers[1] = null; return ff.forward(of(3, 6)) }) // TYPE FeedForward.forward: layers[1] should be a layer, got null
scope(() => Object.assign(new FeedForward(config), { layers: null }).forward(of(3, 6))) // TYPE FeedForward.forward: layers should be an array of layers, got null
of(2, 1, 3).flatten(2, 1) // VALUE flatten: endDim should be startDim (2) or an axis after it, got 1
of(2, 1, 3).flatten(3) // VALUE flatten: startDim should be an axis from -3 to 2, got 3
full(2, 3) // TYPE full: shape should be an array of sizes, got 2
full([2]) // TYPE full: value should be a number, got undefined
gather indexSelect: of(2, 5).%(1, of(2, 5)) // TYPE %: takes at most 1 argument, got 2: 1, a Tensor; write { dim: 1, index }
of(2, 3).gather({ dim: 1, index: [[0], [1], [2]] }) // SHAPE gather: index should have 2 axes, and at most the sizes of [2, 3] except along dim, got shape [3, 1]
of(2, 3).gather({ dim: 1, index: [0] }) // SHAPE gather: index should have 2 axes, and at most the sizes of [2, 3] except along dim, got shape [1]
gather indexSelect: of(2, 3).%() // TYPE %: dim should be an axis from -2 to 1, got undefined
gather indexSelect: of(2, 3).%({ dim: 2, index: [0] }) // VALUE %: dim should be an axis from -2 to 1, got 2
gather indexSelect: of(2, 3).%({ dim: 0 }) // TYPE %: index should be integers (a number, nested arrays, a typed array or a Tensor), got undefined
gather indexSelect: of(2, 3).%({ dim: 0, index: [2] }) // VALUE %: index[0] should be an integer from 0 to 1, got 2
gather indexSelect: of(0).%({ dim: 0, index: [0] }) // VALUE %: index[0] should be left out, as there is nothing to choose from, got 0
new GELU({ approximate: 'erf' }) // VALUE GELU: approximate should be 'tanh' or 'none', got "erf"
new GELU({ approximate: true }) // TYPE GELU: approximate should be 'tanh' or 'none', got true
of(2, 3).gelu({ approximate: 'erf' }) // VALUE gelu: approximate should be 'tanh' or 'none', got "erf"
new GPTModel() // TYPE GPTModel: config should be a plain object, got undefined
new GPTModel({ ...config, nLayers: 2 ** 33 }) // VALUE GPTModel: nLayers should be an integer from 1 to 10000, got 8589934592
new GPTModel({ ...config, dropRate: 2 }) // VALUE GPTModel: dropRate should be a number from 0 to 1, got 2
new GPTModel({ ...config, layerNormEpsilon: -1 }) // VALUE GPTModel: layerNormEpsilon should be a finite float32 >= 0, got -1
layers.GPTModel.forward('hello') // TYPE GPTModel.forward: ids should be integers (a number, nested arrays, a typed array or a Tensor), got "hello"
layers.GPTModel.forward([[1, 7]]) // VALUE GPTModel.forward: ids[0][1] should be an integer from 0 to 6, got 7
layers.GPTModel.forward([[], []]) // SHAPE GPTModel.forward: ids should end in 1 to 3 (contextLength) tokens, got shape [2, 0]
layers.GPTModel.forward([1, 2, 3, 4, 5, 6]) // SHAPE GPTModel.forward: ids should end in 1 to 3 (contextLength) tokens, got shape [6]
layers.GPTModel.forward([[1, 2], [3]]) // SHAPE GPTModel.forward: ids[1] should have shape [2] like ids[0], got [1]
new GPTModel({ ...config, nHeads: 4 }) // VALUE GPTModel: nHeads should be a divisor of 6 (embDim), got 4
layers.GPTModel.forward(3) // SHAPE GPTModel.forward: ids should end in 1 to 3 (contextLength) tokens, got shape []
layers.GPTModel.newCache({ maxTokens: 0 }) // VALUE GPTModel.newCache: maxTokens should be an integer from 1 to 3 (contextLength), got 0
layers.GPTModel.newCache({ maxTokens: 4 }) // VALUE GPTModel.newCache: maxTokens should be an integer from 1 to 3 (contextLength), got 4
layers.GPTModel.newCache({ batchSize: 0 }) // VALUE GPTModel.newCache: batchSize should be a positive integer, got 0
layers.GPTModel.newCache({ batchSize: 1e9 }) // MEMORY GPTModel.newCache: needs 288000000000 bytes for shape [72000000000], and a tensor may have 2147483520
layers.GPTModel.newCache({ dtype: 'float64' }) // VALUE GPTModel.newCache: dtype should be 'float32' or 'int8', got "float64"
layers.GPTModel.newCache({ dtype: 8 }) // TYPE GPTModel.newCache: dtype should be 'float32' or 'int8', got 8
scope(() => layers.GPTModel.newCache().truncate(-1)) // VALUE KeyValueCache.truncate: n should be an integer from 0 to 0 (length), got -1
scope(() => layers.GPTModel.newCache().truncate(1)) // VALUE KeyValueCache.truncate: n should be an integer from 0 to 0 (length), got 1
scope(() => layers.GPTModel.newCache().truncate('1')) // TYPE KeyValueCache.truncate: n should be an integer from 0 to 0 (length), got "1"
closed.truncate(0) // DISPOSED KeyValueCache.truncate: cache should be live, got one that was disposed
layers.GPTModel.forward([1], { cache: closed }) // DISPOSED GPTModel.forward: cache should be live, got one that was disposed
layers.GPTModel.forward([1], { cache: null }) // TYPE GPTModel.forward: cache should be a cache that model.newCache made, got null
layers.GPTModel.forward([1], { lastOnly: 1 }) // TYPE GPTModel.forward: lastOnly should be true or false, got 1
scope(() => layers.GPTModel.forward([1], { cache: new GPTModel(config).newCache() })) // VALUE GPTModel.forward: cache should come from this model, got one of another
scope(() => layers.GPTModel.forward([[1], [2]], { cache: layers.GPTModel.newCache() })) // SHAPE GPTModel.forward: ids should have 1 sequences (the cache's batchSize), got shape [2, 1]
scope(() => layers.GPTModel.forward([1, 2], { cache: layers.GPTModel.newCache({ maxTokens: 1 }) })) // SHAPE GPTModel.forward: ids should end in at most 1 tokens (the cache has 0 of 1), got shape [2]
scope(() => layers.GPTModel.forward([1], { cache: layers.GPTModel.newCache(), returnWeights: true })) // UNSUPPORTED Attention.forward: returnWeights should be false with a cache, which has no weights for earlier tokens, got true
new closed.constructor() // TYPE KeyValueCache: make one with model.newCache()
new layers.int8.int8Weight.constructor() // TYPE Int8Weight: quantize() of a layer makes it
scope(() => { const model = new GPTModel(config).eval(); model.trfBlocks[0].norm1 = Object.assign(new Identity(), { forward: (x) => x.slice(0, 1, { dim: -2 }) }); return model.forward([1, 2], { cache: model.newCache() }) }) // SHAPE Attention.forward: x should have the model's 1 sequences of 2 tokens, got 1 of 1
scope(() => layers.GPTModel.trfBlocks[0].attn.forward(of(1, 6), { cache: layers.GPTModel.newCache() })) // VALUE Attention.forward: cache should be passed on by its model's forward, got one outside of it
scope(() => { const model = new GPTModel(config); return model.forward([1], { cache: model.newCache() }) }) // VALUE GPTModel.forward: cache should be used in evaluation mode; call eval() first, got training mode
scope(() => { const model = new GPTModel(config).eval(); model.trfBlocks[0].attn.train(); return model.forward([1], { cache: model.newCache() }) }) // VALUE Attention.forward: cache should be used in evaluation mode; call eval() first, got training mode
scope(() => Object.assign(new Attention(config), { cProj: leaf }).forward(of(3, 6))) // TYPE Attention.forward: cProj should be a layer, got a Tensor
scope(() => Object.assign(new Attention(config), { cAttn: new Linear(6, 6) }).forward(of(3, 6))) // SHAPE Attention.forward: cAttn's output should have shape [3, 18], got [3, 6]
scope(() => new GPTModel(config).forward([1], { lastOnly: true })) // VALUE GPTModel.forward: lastOnly should be used in evaluation mode; call eval() first, got training mode
scope(() => Object.assign(new GPTModel(config), { trfBlocks: null }).forward([1])) // TYPE GPTModel.forward: trfBlocks should be an array of layers, got null
scope(() => Object.assign(new GPTModel(config), { trfBlocks: [5] }).forward([1])) // TYPE GPTModel.forward: trfBlocks[0] should be a layer, got 5
scope(() => Object.assign(new GPTModel(config), { trfBlocks: [Object.assign(new Identity(), { forward: () => ({}) })] }).forward([1])) // TYPE GPTModel.forward: trfBlocks[0]'s output should be a Tensor, got an object
scope(() => Object.assign(new GPTModel(config), { tokEmb: null }).forward([1])) // TYPE GPTModel.forward: tokEmb should be a layer, got null
scope(() => Object.assign(new GPTModel(config), { finalNorm: undefined }).forward([1])) // TYPE GPTModel.forward: finalNorm should be a layer, got undefined
GPTModel.fromPretrained.call(undefined, file) // TYPE GPTModel.fromPretrained: this should be the class: call it as GPTModel.fromPretrained(...), got undefined
layers.GPTModel.generate([]) // SHAPE GPTModel.generate: ids should be one sequence of at least one token, [tokens] or [1, tokens], got shape [0]
layers.GPTModel.generate(3) // SHAPE GPTModel.generate: ids should be one sequence of at least one token, [tokens] or [1, tokens], got shape []
layers.GPTModel.generate([[1], [2]]) // SHAPE GPTModel.generate: ids should be one sequence of at least one token, [tokens] or [1, tokens], got shape [2, 1]
layers.GPTModel.generate([[[1]]]) // SHAPE GPTModel.generate: ids should be one sequence of at least one token, [tokens] or [1, tokens], got shape [1, 1, 1]
layers.GPTModel.generate([7]) // VALUE GPTModel.generate: ids[0] should be an integer from 0 to 6, got 7
layers.GPTModel.generate('text') // TYPE GPTModel.generate: ids should be integers (a number, nested arrays, a typed array or a Tensor), got "text"
layers.GPTModel.generate([1, 1, 1, 1]) // SHAPE GPTModel.generate: ids should have at most 3 tokens (contextLength), got 4
layers.GPTModel.generate([1], { temperature: -1 }) // VALUE GPTModel.generate: temperature should be a finite float32 >= 0, got -1
layers.GPTModel.generate([1], { temperature: '1' }) // TYPE GPTModel.generate: temperature should be a finite float32 >= 0, got "1"
layers.GPTModel.generate([1], { maxNewTokens: 0 }) // VALUE GPTModel.generate: maxNewTokens should be a positive integer, got 0
layers.GPTModel.generate([1, 1], { maxNewTokens: 3 }) // VALUE GPTModel.generate: maxNewTokens should be at most 2 without slidingWindow, as ids has 2 of at most 3 tokens (contextLength), got 3
layers.GPTModel.generate([1], { topK: -1 }) // VALUE GPTModel.generate: topK should be an integer >= 0, where 0 is no limit, got -1
layers.GPTModel.generate([1], { topK: 1.5 }) // VALUE GPTModel.generate: topK should be an integer >= 0, where 0 is no limit, got 1.5
layers.GPTModel.generate([1], { topP: 1.1 }) // VALUE GPTModel.generate: topP should be a number from 0 to 1, got 1.1
layers.GPTModel.generate([1], { signal: {} }) // TYPE GPTModel.generate: signal should be an AbortSignal, got an object
layers.GPTModel.generate([1], { repetitionPenalty: 0 }) // VALUE GPTModel.generate: repetitionPenalty should be a finite number > 0, got 0
layers.GPTModel.generate([1], { stopTokens: 3 }) // TYPE GPTModel.generate: stopTokens should be an array of tokens, got 3
layers.GPTModel.generate([1], { stopTokens: [1, 7] }) // VALUE GPTModel.generate: stopTokens[1] should be an integer from 0 to 6, got 7
layers.GPTModel.generate([1], { suppressTokens: [-1] }) // VALUE GPTModel.generate: suppressTokens[0] should be an integer from 0 to 6, got -1
layers.GPTModel.generate([1], { slidingWindow: 0 }) // VALUE GPTModel.generate: slidingWindow should be an integer from 1 to 3 (contextLength), got 0
layers.GPTModel.generate([1], { slidingWindow: 4 }) // VALUE GPTModel.generate: slidingWindow should be an integer from 1 to 3 (contextLength), got 4
layers.GPTModel.generate([1], { cache: 1 }) // TYPE GPTModel.generate: cache should be a cache that model.newCache made, got 1
scope(() => layers.GPTModel.generate([1], { cache: layers.GPTModel.newCache({ batchSize: 2 }) })) // SHAPE GPTModel.generate: cache should have batchSize 1, got 2
scope(() => layers.GPTModel.generate([1, 1], { cache: layers.GPTModel.newCache({ maxTokens: 1 }) })) // SHAPE GPTModel.generate: ids should have at most 1 tokens (the cache has 0 of 1 (maxTokens)), got 2
scope(() => layers.GPTModel.generate([1], { cache: layers.GPTModel.newCache({ maxTokens: 2 }), maxNewTokens: 3 })) // VALUE GPTModel.generate: maxNewTokens should be at most 2 without slidingWindow, as ids has 1 of at most 2 tokens (the cache has 0 of 2 (maxTokens)), got 3
scope(() => layers.GPTModel.generate([1], { cache: layers.GPTModel.newCache({ maxTokens: 2 }), slidingWindow: 3 })) // VALUE GPTModel.generate: slidingWindow should be an integer from 1 to 2 (maxTokens), got 3
layers.GPTModel.generate([1], { cache: closed }) // DISPOSED GPTModel.generate: cache should be live, got one that was disposed
scope(() => new GPTModel(config).generate([1])) // VALUE GPTModel.generate: the model should be in evaluation mode; call eval() first, got training mode
GPTModel.fromPretrained(new Uint8Array(8), 'int8') // TYPE GPTModel.fromPretrained: options should be a plain object, got "int8"; write { dtype: "int8" }
Reflect.set(leaf, 'grad', of(1)) // SHAPE grad: value should have shape [2], got [1]
Reflect.set(leaf, 'grad', gone) // DISPOSED grad: value should be a live Tensor, got one that was disposed
Reflect.set(leaf, 'grad', leaf) // VALUE grad: value should be another Tensor, got the tensor itself
Reflect.set(leaf, 'grad', undefined) // TYPE grad: value should be a Tensor or null, got undefined
Reflect.set(leaf, 'grad', { ...of(2) }) // TYPE grad: value should be a Tensor or null, got an object
Reflect.set(gone, 'grad', of(1)) // DISPOSED grad: the tensor should be live, got one that was disposed
of(2, 3).indexSelect({ dim: 1, index: [[0]] }) // SHAPE indexSelect: index should have 1 axis, got shape [1, 1]
of().indexSelect({ dim: 0, index: [0, 0] }) // SHAPE indexSelect: index should have 1 element, got shape [2]
init.normal(of(2, 5), 0, 0.02) // TYPE init.normal: takes at most 2 arguments, got 3: a Tensor, 0, 0.02; write { mean: 0, std: 0.02 }
init.normal([1]) // TYPE init.normal: tensor should be a Tensor, got [1]
init.normal(gone) // DISPOSED init.normal: tensor should be a live Tensor, got one that was disposed
init.normal(of(2, 3), { std: -1 }) // VALUE init.normal: std should be a finite number >= 0, got -1
init.normal(of(2, 3), { mean: NaN }) // VALUE init.normal: mean should be a finite number, got NaN
init.uniform(of(2, 3), { a: 2 }) // VALUE init.uniform: b should be a number from 2 (a) on, got 1
init.uniform(of(2, 3), { a: -3e38, b: 3e38 }) // VALUE init.uniform: b should be a number from -3e+38 (a) on, got 3e+38
init.uniform(of(2, 3), { a: '0' }) // TYPE init.uniform: a should be a finite number, got "0"
init.constant(of(2, 3)) // TYPE init.constant: value should be a number, got undefined
init.ones() // TYPE init.ones: tensor should be a Tensor, got undefined
init.xavierUniform(of(3)) // SHAPE init.xavierUniform: tensor should have 2 axes or more, as a weight [out, in], got shape [3]
init.xavierNormal(of(2, 3), { gain: -1 }) // VALUE init.xavierNormal: gain should be a number from 0 to 1e30, got -1
init.kaimingUniform(of(3)) // SHAPE init.kaimingUniform: tensor should have 2 axes or more, as a weight [out, in], got shape [3]
init.kaimingUniform(of(2, 3), { mode: 'fan_in' }) // VALUE init.kaimingUniform: mode should be 'fanIn' or 'fanOut', got "fan_in"
init.kaimingNormal(of(2, 3), { nonlinearity: 'gelu' }) // VALUE init.kaimingNormal: nonlinearity should be 'linear' or 'sigmoid' or 'tanh' or 'relu' or 'leakyRelu' or 'selu', got "gelu"
init.kaimingNormal(of(2, 3), { a: NaN }) // VALUE init.kaimingNormal: a should be a finite number, got NaN
of(2, 5).item() // SHAPE item: the tensor should have 1 element, got shape [2, 5]
new LayerNorm([]) // VALUE LayerNorm: embDim should have 1 to 64 sizes, got 0
new LayerNorm([2, 0]) // VALUE LayerNorm: embDim[1] should be a positive integer, got 0
layers.LayerNorm2d.forward(of(2, 5)) // SHAPE LayerNorm.forward: x should end in 3, 5 (embDim), got shape [2, 5]
scope(() => Object.assign(new LayerNorm(6), { scale: of(1) }).forward(of(3, 6))) // SHAPE LayerNorm.forward: scale should have shape [6], got [1]
scope(() => Object.assign(new LayerNorm(6), { shift: of(1) }).forward(of(3, 6))) // SHAPE LayerNorm.forward: shift should have shape [6], got [1]
new BatchNorm(6, 1e-6, 0.2) // TYPE BatchNorm: takes at most 2 arguments, got 3: 6, 0.000001, 0.2; write { eps: 0.000001, momentum: 0.2 }
dropout(of(2, 5), 0.2, false) // TYPE dropout: takes at most 2 arguments, got 3: a Tensor, 0.2, false; write { p: 0.2, training: false }
allclose(of(2), of(2), 1, 2, true) // TYPE allclose: takes at most 3 arguments, got 5: a Tensor, a Tensor, 1, 2, true; write { rtol: 1, atol: 2, equalNan: true }
init.uniform(of(2, 5), 0, 1) // TYPE init.uniform: takes at most 2 arguments, got 3: a Tensor, 0, 1; write { a: 0, b: 1 }
new LayerNorm(6, 1e-6, false) // TYPE LayerNorm: takes at most 2 arguments, got 3: 6, 0.000001, false; write { eps: 0.000001, elementwiseAffine: false }
layerNorm(of(2, 5)) // TYPE layerNorm: shape should be a positive integer, got undefined
layerNorm(of(2, 5), [2]) // SHAPE layerNorm: x should end in 2 (shape), got shape [2, 5]
layerNorm(of(2, 5), [5], { eps: 1 }) // TYPE layerNorm: weight should be a Tensor, got an object
layerNorm(of(2, 5), [5], of(2, 5)) // SHAPE layerNorm: weight should have shape [5], got [2, 5]
layerNorm(of(2, 5), [5], null, null, { eps: -1 }) // VALUE layerNorm: eps should be a finite float32 >= 0, got -1
new LayerNorm(2, { elementwiseAffine: 0 }) // TYPE LayerNorm: elementwiseAffine should be true or false, got 0
new Linear(2 ** 20, 2 ** 20) // MEMORY Linear: needs 4398046511104 bytes for shape [1048576, 1048576], and a tensor may have 2147483520
new Sequential(layers.ReLU, layers.Linear).forward(of(2, 5)) // SHAPE Linear.forward: x should end in 6 (inFeatures), got shape [2, 5]
new Linear(1, 1, { device: 'cuda' }) // VALUE Linear: options should be among bias, got "device" (all tensors are on the CPU)
linear([1], of(2, 5)) // TYPE linear: x should be a Tensor, got [1]
linear(of(2, 5)) // TYPE linear: weight should be a Tensor, got undefined
linear(of(2, 5), of(2, 3, 4)) // SHAPE linear: weight should have shape [out, in], got shape [2, 3, 4]
linear(of(2, 5), of(3, 4)) // SHAPE linear: x should end in 4 (the weight's in), got shape [2, 5]
linear(of(2, 5), of(2, 5), of(2, 5)) // SHAPE linear: bias should have shape [2], got [2, 5]
linear(of(2, 5), of(2, 5), { bias: true }) // TYPE linear: bias should be a Tensor, got an object
linear(of(2, 5), layers.int8.weight) // DISPOSED linear: weight should be a live Tensor, got one that quantize has made int8: see int8Weight
load({ build: 'avx' }) // VALUE load: build should be 'simd' or 'relaxed', got "avx"
load({ build: 1 }) // TYPE load: build should be 'simd' or 'relaxed', got 1
load({ int8Kernel: 'int4' }) // VALUE load: int8Kernel should be 'dot' or 'int16', got "int4"
load({ threads: 0 }) // VALUE load: threads should be a positive integer, got 0
load({ threads: '2' }) // TYPE load: threads should be a positive integer, got "2"
load({ maxMemory: 0 }) // VALUE load: maxMemory should be a number of MiB from 1 to 4096, got 0
load({ maxMemory: NaN }) // VALUE load: maxMemory should be a number of MiB from 1 to 4096, got NaN
load({ module: new Uint8Array(8) }) // TYPE load: module should be a WebAssembly.Module, got a Uint8Array
load({ worker: '/worker.js' }) // TYPE load: worker should be a function that returns a new Worker, got "/worker.js"
scope(() => Object.assign(new Linear(5, 6), { bias: gone }).forward(of(2, 5))) // DISPOSED Linear.forward: bias should be a live Tensor, got one that was disposed
scope(() => Object.assign(new Linear(5, 6), { bias: 3 }).forward(of(2, 5))) // TYPE Linear.forward: bias should be a Tensor, got 3
layers.Linear.forward(1) // TYPE Linear.forward: x should be a Tensor, got 1
scope(() => Object.assign(new Linear(6, 6), { weight: of(1) }).forward(of(3, 6))) // SHAPE Linear.forward: weight should have shape [6, 6], got [1]
scope(() => Object.assign(new Linear(6, 6), { bias: of(1) }).forward(of(3, 6))) // SHAPE Linear.forward: bias should have shape [6], got [1]
layers.Linear.loadStateDict({ weight: of(1, 6) }) // VALUE Linear.loadStateDict: dict should have bias, got weight
layers.Linear.loadStateDict({ weight: of(1, 6), bias: of(1), gain: of(1) }) // VALUE Linear.loadStateDict: dict should have no other tensors, or come with strict: false, got gain
layers.Linear.loadStateDict(null) // TYPE Linear.loadStateDict: dict should be a plain object, got null
layers.Linear.requiresGrad(0) // TYPE Linear.requiresGrad: value should be true or false, got 0
manualSeed('1') // TYPE manualSeed: n should be a safe integer, got "1"
manualSeed(1.5) // VALUE manualSeed: n should be a safe integer, got 1.5
manualSeed(2 ** 53) // VALUE manualSeed: n should be a safe integer, got 9007199254740992
of(2, 3).maskedFill([1]) // TYPE maskedFill: mask should be a Tensor, got [1]
of(2, 3).maskedFill(of(2, 3)) // TYPE maskedFill: value should be a number, got undefined
of(2, 3).maskedFill(of(4), 0) // SHAPE maskedFill: mask should broadcast with shape [2, 3], got shape [4]
of(2, 3, 4).matmul(of(3, 5)) // SHAPE matmul: other should have shape [..., 4, cols] or [4] for a tensor of shape [2, 3, 4], got shape [3, 5]
of(2, 3, 4).matmul(of(3, 4, 5)) // SHAPE matmul: other's leading axes should broadcast with shape [2], got shape [3]
of(2, 3, 4).matmul(of(3)) // SHAPE matmul: other should have shape [..., 4, cols] or [4] for a tensor of shape [2, 3, 4], got shape [3]
of(2, 3, 4).matmul(of()) // SHAPE matmul: other should have shape [..., 4, cols] or [4] for a tensor of shape [2, 3, 4], got shape []
of().matmul(of(2, 3, 4)) // SHAPE matmul: the tensor should have at least 1 axis, got shape []
of(4).matmul(of(2, 3, 4)) // SHAPE matmul: other should have shape [..., 4, cols] or [4] for a tensor of shape [4], got shape [2, 3, 4]
of(2, 3, 4).matmul(2) // TYPE matmul: other should be a Tensor, got 2
of(2, 5).max({ dim: 2 }) // VALUE max: dim should be an axis from -2 to 1, got 2
max min argmax argmin: of(2, 3).%({ dim: [0] }) // TYPE %: dim should be an axis from -2 to 1, got [0]
max min argmax argmin: of(0, 3).%() // SHAPE %: the tensor should have elements, got shape [0, 3]
max min argmax argmin: of(0, 3).%({ dim: 0 }) // SHAPE %: the tensor should have elements along dim, got shape [0, 3]
maximum minimum: %(1, of(2, 3)) // TYPE %: x should be a Tensor, got 1
maximum minimum: %(of(2, 3)) // TYPE %: y should be a Tensor or a number, got undefined
maximum minimum: %(of(2, 3), gone) // DISPOSED %: y should be a live Tensor, got one that was disposed
maximum minimum: %(of(2, 3), of(2)) // SHAPE %: y should broadcast with shape [2, 3], got shape [2]
of(2, 5).mean({ dim: 2 }) // VALUE mean: dim should be an axis from -2 to 1, got 2
of(2, 5).mean(JSON.parse('{"__proto__": 0}')) // VALUE mean: options should be among dim, keepdim, got "__proto__"
of(2, 5).mean({ dim: Symbol('axis') }) // TYPE mean: dim should be an axis from -2 to 1, got Symbol(axis)
mean max min argmax argmin: of(2, 5).%(-1, true) // TYPE %: takes at most 1 argument, got 2: -1, true; write { dim: -1, keepdim: true }
new Module().forward(1, {}) // UNSUPPORTED Module.forward: not defined for 1, an object
new ModuleList(layers.Linear) // TYPE ModuleList: modules should be an array of layers, got a Linear
new ModuleList([layers.Linear, 1]) // TYPE ModuleList: modules[1] should be a layer, got 1
new ModuleList().append(null) // TYPE ModuleList.append: module should be a layer, got null
new ModuleList([layers.Linear, layers.ReLU]).at(2) // VALUE ModuleList.at: index should be an integer from -2 to 1, got 2
new ModuleList().forward(of(1, 2)) // UNSUPPORTED ModuleList.forward: not defined for a Tensor
new ModuleList().map() // TYPE ModuleList.map: fn should be a function, got undefined
mse(of(2, 5), [1]) // TYPE mse: target should be a Tensor, got [1]
mse(1, of(2, 5)) // TYPE mse: prediction should be a Tensor, got 1
mse(of(2, 5), of(3)) // SHAPE mse: target should have shape [2, 5], got [3]
mse(of(2, 5), of(2, 5), { reduction: 'avg' }) // VALUE mse: reduction should be 'none' or 'mean' or 'sum', got "avg"
multinomial([1], 1) // TYPE multinomial: probabilities should be a Tensor, got [1]
multinomial(values([1, 0, 2])) // TYPE multinomial: n should be a positive integer, got undefined
multinomial(values([1, 0, 2]), 3) // VALUE multinomial: n should be at most 2, the elements above 0 of a row, without replacement, got 3
multinomial(values([[1], [0]]), 1) // VALUE multinomial: probabilities should have an element above 0 in each row, got a row without
multinomial(of(), 1) // SHAPE multinomial: probabilities should have 1 axis or 2, got shape []
multinomial(values([1, 0, 2]), 1, { replacement: 1 }) // TYPE multinomial: replacement should be true or false, got 1
multinomial(values([1, NaN]), 1, { replacement: true }) // VALUE multinomial: probabilities should be finite numbers >= 0, got NaN
multinomial(values([1, Infinity]), 1, { replacement: true }) // VALUE multinomial: probabilities should be finite numbers >= 0, got Infinity
multinomial(values([1, -1]), 1, { replacement: true }) // VALUE multinomial: probabilities should be finite numbers >= 0, got -1
noGrad(function* () {}) // TYPE noGrad: fn should return its result at once, got a generator function
noGrad(async function* () {}) // TYPE noGrad: fn should return its result at once, got a generator function
zeros ones rand: %(2, 3) // TYPE %: takes at most 1 argument, got 2: 2, 3; write %([2, 3])
onesLike() // TYPE onesLike: x should be a Tensor, got undefined
new Optimizer([of(2)]) // TYPE Optimizer: defaults should be a plain object, got undefined
scope(() => new Optimizer([Object.assign(parameter(ones([2])), { grad: ones([2]) })], { lr: 1 }).step()) // VALUE Optimizer.update: Optimizer should define update, one step of one parameter
parameter([1]) // TYPE parameter: tensor should be a Tensor, got [1]
scope(() => parameter(leaf.mul(2))) // VALUE parameter: tensor should be a leaf, got a computed one; detach() it
of(2, 5).permute(0, 2, 1) // TYPE permute: takes at most 1 argument, got 3: 0, 2, 1; write permute([0, 2, 1])
permute(of(2, 5), 1, 0) // TYPE permute: takes at most 2 arguments, got 3: a Tensor, 1, 0; write permute(x, [1, 0])
of(2, 3, 4).permute(2) // TYPE permute: dims should be an array of axes, got 2
of(2, 3, 4).permute([0, 1]) // VALUE permute: dims should name each of 3 axes once, got [0, 1]
of(2, 3, 4).permute([0, 1, 1]) // VALUE permute: dims should name each of 3 axes once, got [0, 1, 1]
of(2, 3, 4).permute([0, 1, 3]) // VALUE permute: dims should name each of 3 axes once, got [0, 1, 3]
of(2, 3, 4).permute([-1n, 0, 1]) // VALUE permute: dims should name each of 3 axes once, got an array of 3
of(2, 3, 4).permute(['0', 1, 2]) // VALUE permute: dims should name each of 3 axes once, got an array of 3
randint(0, 10) // TYPE randint: shape should be an array of sizes, got undefined
randint(3, 3, [1]) // VALUE randint: high should be an integer from 4 to 16777216, got 3
randint(0.5, 3, [1]) // VALUE randint: low should be an integer from -16777216 to 16777216, got 0.5
randn(5) // TYPE randn: shape should be an array of sizes, got 5
randn([2, '5']) // TYPE randn: shape[1] should be a non-negative integer, got "5"
randn([2, -5]) // VALUE randn: shape[1] should be a non-negative integer, got -5
randn([2, 0.5]) // VALUE randn: shape[1] should be a non-negative integer, got 0.5
randn(sparse) // TYPE randn: shape[1] should be a non-negative integer, got undefined
randn(Array(65).fill(1)) // VALUE randn: shape should have at most 64 elements, got 65
randn(Array(2 ** 32 - 1)) // VALUE randn: shape should have at most 64 elements, got 4294967295
randn([0, 2 ** 20, 2 ** 20]) // MEMORY randn: needs 4398046511104 bytes for shape [0, 1048576, 1048576], where 0 counts as 1, and a tensor may have 2147483520
randn([2 ** 29]) // MEMORY randn: needs 2147483648 bytes for shape [536870912], and a tensor may have 2147483520
randn(2, 3, 4) // TYPE randn: takes at most 1 argument, got 3: 2, 3, 4; write randn([2, 3, 4])
record(of(2), [leaf, of(2)], () => [null, null]) // VALUE record: output should be a new tensor, got one of the inputs
scope(() => record(leaf.mul(1), [leaf], () => [null])) // VALUE record: output should be a new tensor, got one that requires a gradient already
record(of(2), leaf, () => [null]) // TYPE record: inputs should be an array of tensors, got a Tensor
record(of(2), [leaf], null) // TYPE record: gradients should be a function, got null
record(of(2), [leaf], () => [null], [1]) // TYPE record: saved[0] should be a Tensor, got 1
layers.Linear.quantize({ groupSize: 0 }) // VALUE Linear.quantize: groupSize should be an even positive integer, or Infinity, got 0
layers.Linear.quantize({ groupSize: -2 }) // VALUE Linear.quantize: groupSize should be an even positive integer, or Infinity, got -2
layers.Linear.quantize({ groupSize: 3 }) // VALUE Linear.quantize: groupSize should be an even positive integer, or Infinity, got 3
layers.Linear.quantize({ groupSize: 2.5 }) // VALUE Linear.quantize: groupSize should be an even positive integer, or Infinity, got 2.5
layers.Linear.quantize({ groupSize: NaN }) // VALUE Linear.quantize: groupSize should be an even positive integer, or Infinity, got NaN
layers.Linear.quantize({ groupSize: '64' }) // TYPE Linear.quantize: groupSize should be an even positive integer, or Infinity, got "64"
of(0).reshape([0, 2 ** 29]) // MEMORY reshape: needs 2147483648 bytes for shape [0, 536870912], where 0 counts as 1, and a tensor may have 2147483520
of(2, 5).reshape([3]) // SHAPE reshape: shape should hold 10 elements, got [3]
of(2, 5).reshape(10) // TYPE reshape: shape should be an array of sizes, got 10
of(2, 5).reshape(...Array(99).fill(1)) // TYPE reshape: takes at most 1 argument, got 99
of(2, 5).reshape(5, -1) // TYPE reshape: takes at most 1 argument, got 2: 5, -1; write reshape([5, -1])
of(0).reshape([-1, 0]) // SHAPE reshape: shape should hold 0 elements, got [-1, 0]
of(2, 3).reshape([-1, 4]) // SHAPE reshape: shape should hold 6 elements, got [-1, 4]
of(2, 3).reshape([-1, -1]) // VALUE reshape: shape[1] should be a non-negative integer, got -1
scope(() => { const relu = new ReLU(); relu.onForward(() => 1); return relu.forward(x) }) // TYPE ReLU.onForward: a listener's result should be a Tensor or undefined (an arrow function with braces returns undefined), got 1
scope(() => { const relu = new ReLU(); relu.onForward(() => null); return relu.forward(x) }) // TYPE ReLU.onForward: a listener's result should be a Tensor or undefined (an arrow function with braces returns undefined), got null
scope(() => { const relu = new ReLU(); relu.onForward(() => ({ output: x })); return relu.forward(x) }) // TYPE ReLU.onForward: a listener's result should be a Tensor or undefined (an arrow function with braces returns undefined), got an object
scope(() => { const relu = new ReLU(); relu.onForward(() => gone); return relu.forward(x) }) // DISPOSED ReLU.onForward: a listener's result should be a live Tensor, got one that was disposed
rmsNorm(of(2, 5), []) // VALUE rmsNorm: shape should have 1 to 64 sizes, got 0
rmsNorm(of(2, 5), 5, of(2, 3, 4)) // SHAPE rmsNorm: weight should have shape [5], got [2, 3, 4]
scope(() => Object.assign(new RMSNorm(6), { scale: of(1) }).forward(of(3, 6))) // SHAPE RMSNorm.forward: scale should have shape [6], got [1]
saveSafetensors({ x: of(2) }, 0.5) // TYPE saveSafetensors: options should be a plain object, got 0.5
saveSafetensors([of(2, 5)]) // TYPE saveSafetensors: dictOrModule should be a plain object, got an array of 1
saveSafetensors({ gone }) // DISPOSED saveSafetensors: gone should be a live Tensor, got one that was disposed
saveSafetensors({ a: [1] }) // TYPE saveSafetensors: a should be a Tensor, got [1]
saveSafetensors({ __metadata__: of(1) }) // VALUE saveSafetensors: names should not be reserved by the format, got "__metadata__"
saveSafetensors({ x: values([1, -65520]) }, { dtype: 'float16' }) // VALUE saveSafetensors: "x" should hold numbers up to 65504 to become float16, got -65520
saveSafetensors({ weight: layers.int8.weight, weight_scale: of(2, 1) }) // VALUE saveSafetensors: "weight_scale" should be free for the scales of "weight", which is int8, got a tensor
saveSafetensors({ x: of(1) }, { names: 'gpt2' }) // VALUE saveSafetensors: names should be 'ours' for tensors by name, got 'gpt2'
saveSafetensors(layers.Linear, { names: 'book' }) // VALUE saveSafetensors: names should be 'ours' for a layer that is no GPTModel, got 'book'
scope(() => saveSafetensors(new GPTModel({ ...config, layerNormEpsilon: 1e-3 }), { names: 'book' })) // VALUE saveSafetensors: names should not be 'book' for a model with another eps than 1e-5, or GELU's erf form, got 'book'
scope(() => saveSafetensors(Object.assign(new GPTModel(config), { finalNorm: new RMSNorm(6) }), { names: 'gpt2' })) // VALUE saveSafetensors: names should be 'ours' for a model with other layers than GPT-2's, got 'gpt2'
scope(() => { const model = new GPTModel({ ...config, nLayers: 2 }); model.trfBlocks[1].norm2 = new LayerNorm(6, { eps: 1 }); return saveSafetensors(model, { names: 'gpt2' }) }) // VALUE saveSafetensors: names should be 'ours' for a model with other layers than GPT-2's, got 'gpt2'
scope(() => { const model = new GPTModel({ ...config, nLayers: 2 }); model.trfBlocks[1].attn = new Attention({ ...config, nHeads: 3 }); return saveSafetensors(model, { names: 'gpt2' }) }) // VALUE saveSafetensors: names should be 'ours' for a model with other layers than GPT-2's, got 'gpt2'
scope(() => { const model = new GPTModel({ ...config, nLayers: 2 }); model.trfBlocks[1].ff = new FeedForward({ embDim: 6, approximate: 'none' }); return saveSafetensors(model, { names: 'gpt2' }) }) // VALUE saveSafetensors: names should be 'ours' for a model with other layers than GPT-2's, got 'gpt2'
scope(() => saveSafetensors(new GPTModel(config).quantize(), { names: 'gpt2' })) // UNSUPPORTED saveSafetensors: names should be 'ours' for int8 weights, got 'gpt2'
scope(() => saveSafetensors(Object.assign(new GPTModel(config), { extra: new Linear(1, 1) }), { names: 'gpt2' })) // VALUE saveSafetensors: names should be 'ours' for this model, got 'gpt2', which has no extra.weight, extra.bias
scope(() => saveSafetensors(Object.assign(new Linear(1, 1), { bias: gone }))) // DISPOSED saveSafetensors: bias should be a live Tensor, got one that was disposed
scope(() => saveSafetensors(Object.assign(new GPTModel(config), { trfBlocks: null }), { names: 'ours' })) // TYPE saveSafetensors: trfBlocks should be an array of layers, got null
scaledDotProductAttention(q, q) // TYPE scaledDotProductAttention: v should be a Tensor, got undefined
scaledDotProductAttention(of(4), q, q) // SHAPE scaledDotProductAttention: q should have 2 axes or more, got shape [4]
scaledDotProductAttention(q, of(3, 5), q) // SHAPE scaledDotProductAttention: k should end in 4, as q, got shape [3, 5]
scaledDotProductAttention(q, q, of(5, 4)) // SHAPE scaledDotProductAttention: v should end in [3, n], as k has 3 keys, got shape [5, 4]
scaledDotProductAttention(q, of(3, 3, 4), q) // SHAPE scaledDotProductAttention: k's leading axes should broadcast with shape [2], got shape [3]
scaledDotProductAttention(q, q, of(3, 3, 4)) // SHAPE scaledDotProductAttention: v's leading axes should broadcast with shape [2], got shape [3]
scaledDotProductAttention(q, q, q, { attnMask: of(2, 3) }) // SHAPE scaledDotProductAttention: attnMask should broadcast with shape [2, 3, 3], got shape [2, 3]
scaledDotProductAttention(q, q, q, { attnMask: [[1]] }) // TYPE scaledDotProductAttention: attnMask should be a Tensor, got an array of 1
scaledDotProductAttention(q, q, q, { attnMask: of(3, 3), isCausal: true }) // VALUE scaledDotProductAttention: isCausal should be false with an attnMask, got true
scaledDotProductAttention(q, q, q, { isCausal: 1 }) // TYPE scaledDotProductAttention: isCausal should be true or false, got 1
scaledDotProductAttention(q, q, q, { dropout: -1 }) // VALUE scaledDotProductAttention: dropout should be a number from 0 to 1, got -1
scaledDotProductAttention(q, q, q, { scale: '1' }) // TYPE scaledDotProductAttention: scale should be a number, got "1"
scope() // TYPE scope: fn should be a function, got undefined
scope(async () => of(1)) // TYPE scope: fn should return its result at once, got a Promise; a scope cannot free the tensors of an async function
scope(function* () {}) // TYPE scope: fn should return its result at once, got a generator function
Object.assign(new Sequential(), { layers: null }).forward(of(2)) // TYPE Sequential.forward: layers should be an array of layers, got null
Object.assign(new Sequential(), { layers: [new ReLU(), 5] }).forward(of(2)) // TYPE Sequential.forward: layers[1] should be a layer, got 5
new Sequential(layers.ReLU, [layers.ReLU]) // TYPE Sequential: modules[1] should be a layer, got an array of 1
layers.Sequential.apply(null) // TYPE Sequential.apply: fn should be a function, got null
layers.Sequential.onForward() // TYPE Sequential.onForward: listener should be a function, got undefined
layers.Sequential.train(0) // TYPE Sequential.train: mode should be true or false, got 0
new SGD([of(2, 5)], 0.1, 0.9) // TYPE SGD: takes at most 2 arguments, got 3: an array of 1, 0.1, 0.9; write { lr: 0.1, momentum: 0.9 }
new SGD([{ params: [of(2)] }]) // TYPE SGD: lr should be a finite number >= 0, got undefined
new SGD([of(2)], { lr: 1, momentum: -1 }) // VALUE SGD: momentum should be a finite number >= 0, got -1
new SGD([of(2)], { lr: 1, dampening: Infinity }) // VALUE SGD: dampening should be a finite number, got Infinity
new SGD([of(2)], { lr: 1, nesterov: 1 }) // TYPE SGD: nesterov should be true or false, got 1
new SGD([of(2)], { lr: 1, nesterov: true }) // VALUE SGD: nesterov should be used with momentum > 0 and dampening = 0, got momentum 0 and dampening 0
SGD Adam AdamW: new %([], { lr: 0.1 }) // VALUE %: parameters should have at least one Tensor, got none
SGD Adam AdamW: new %([{ params: [] }, { params: [], lr: 1 }], { lr: 0.1 }) // VALUE %: parameters should have at least one Tensor, got none
new SGD([of(2)], 0.1) // TYPE SGD: options should be a plain object, got 0.1; write { lr: 0.1 }
of().slice(0) // SHAPE slice: the tensor should have 1 axis or more, got shape []
of(2, 5).slice('1') // TYPE slice: start should be an integer, got "1"
of(2, 5).slice(0, 1.5) // VALUE slice: end should be an integer, got 1.5
softmax(of(2, 3), { dim: 2 }) // VALUE softmax: dim should be an axis from -2 to 1, got 2
new Softmax({ dim: '0' }) // TYPE Softmax: dim should be an integer, got "0"
new Softmax({ dim: 0.5 }) // VALUE Softmax: dim should be an integer, got 0.5
softmax logSoftmax: of(2, 1, 3).%({ dim: 3 }) // VALUE %: dim should be an axis from -3 to 2, got 3
new Softmax({ dim: 2 }).forward(of(2, 3)) // VALUE Softmax.forward: dim should be an axis from -2 to 1, got 2
of(2, 3, 4).split(0) // VALUE split: size should be a positive integer, got 0
of(2, 3, 4).split(2, { dim: 3 }) // VALUE split: dim should be an axis from -3 to 2, got 3
of(2, 1, 3).squeeze(3) // VALUE squeeze: dim should be an axis from -3 to 2, got 3
stack([of(2, 3), of(3)]) // SHAPE stack: tensors[1] should have shape [2, 3], got [3]
stack([of(2, 3)], { dim: 3 }) // VALUE stack: dim should be an axis from -3 to 2, got 3
of(2, 3).std({ correction: 1, unbiased: true }) // VALUE std: options should have correction or unbiased, got both
of(2, 5).sum({ dtype: 'float64' }) // VALUE sum: options should be among dim, keepdim, got "dtype" (all tensors are float32)
sum(of(2, 5), 0, true) // TYPE sum: takes at most 2 arguments, got 3: a Tensor, 0, true; write { dim: 0, keepdim: true }
sum mean var std: of(2, 3).%({ dim: [0, 2] }) // VALUE %: dim[1] should be an axis from -2 to 1, got 2
sum mean var std: of(2, 3).%({ dim: [1, -1] }) // VALUE %: dim should name each axis once, got [1, -1]
sum mean var: of(2, 5).%([0, 1]) // TYPE %: options should be a plain object, got [0, 1]; write { dim: [0, 1] }
new leaf.constructor() // TYPE Tensor: make one with gpt.tensor(values)
tensor(['a']) // TYPE tensor: values[0] should be a number or an array, got "a"
tensor([[[1], [2]], [3, 4]]) // SHAPE tensor: values[1] should have shape [2, 1] like values[0], got [2]
tensor(cyclic) // VALUE tensor: values should have at most 64 levels, got more
tensor(deep) // VALUE tensor: values should have at most 64 levels, got more
tensor(transferred) // VALUE tensor: values should be readable, got a Float32Array whose memory was transferred or made smaller
tensor([transferred]) // VALUE tensor: values[0] should be readable, got a Float32Array whose memory was transferred or made smaller
tensor(new DataView(new ArrayBuffer(8))) // TYPE tensor: values should be a number or an array, got a DataView
tensor([1], { dtype: 1 }) // TYPE tensor: shape should be an array of sizes, got an object (all tensors are float32)
tensor([[1, '2']]) // TYPE tensor: values[0][1] should be a number or an array, got "2"
tensor([1, [2]]) // SHAPE tensor: values[1] should have shape [] like values[0], got [1]
tensor([1, 2, 3], [2, 2]) // SHAPE tensor: values should be flat with 4 elements, or nested, for shape [2, 2], got shape [3]
tensor([[1, 2]], [2, 1]) // SHAPE tensor: values should be flat with 2 elements, or nested, for shape [2, 1], got shape [1, 2]
tensor([1], [1.5]) // VALUE tensor: shape[0] should be a non-negative integer, got 1.5
of(2, 5).topk(2, -1, false) // TYPE topk: takes at most 2 arguments, got 3: 2, -1, false; write { dim: -1, largest: false }
of(2, 3).topk() // TYPE topk: k should be an integer from 0 to 3, got undefined
of(2, 3).topk(3, { dim: 0 }) // VALUE topk: k should be an integer from 0 to 2, got 3
of(2, 3).topk(1, { largest: 1 }) // TYPE topk: largest should be true or false, got 1
of(2, 3, 4).toString({ sciMode: 1 }) // TYPE toString: sciMode should be true or false, got 1
of(2, 3, 4).toString({ precision: -1 }) // VALUE toString: precision should be an integer from 0 to 20, got -1
layers.TransformerBlock.forward(of(1, 6), { returnWeight: true }) // VALUE TransformerBlock.forward: context should have options among returnWeights, cache, lastOnly, got "returnWeight"
scope(() => Object.assign(new TransformerBlock(config), { norm1: (x) => x }).forward(of(3, 6))) // TYPE TransformerBlock.forward: norm1 should be a layer, got function norm1
scope(() => Object.assign(new TransformerBlock(config), { ff: Object.assign(new Identity(), { forward: () => ({}) }) }).forward(of(3, 6))) // TYPE TransformerBlock.forward: ff's output should be a Tensor, got an object
of(2, 5).transpose(0) // TYPE transpose: dim1 should be an axis from -2 to 1, got undefined
of(2, 5).transpose(-3, 0) // VALUE transpose: dim0 should be an axis from -2 to 1, got -3
tril([[1]]) // TYPE tril: x should be a Tensor, got an array of 1
tril triu: of(3).%() // SHAPE %: the tensor should have 2 axes or more, got shape [3]
tril triu: of(2, 3).%({ diagonal: 0.5 }) // VALUE %: diagonal should be an integer from -2147483648 to 2147483648, got 0.5
of(...Array(64).fill(1)).unsqueeze(0) // VALUE unsqueeze: shape should have at most 64 elements, got 65
of(2, 1, 3).unsqueeze() // TYPE unsqueeze: dim should be an axis from -4 to 3, got undefined
of(2, 1, 3).unsqueeze(4) // VALUE unsqueeze: dim should be an axis from -4 to 3, got 4
of(2, 5).var({ keepdim: 1 }) // TYPE var: keepdim should be true or false, got 1
of(2, 5).var({ unbiased: false, correction: 0 }) // VALUE var: options should have correction or unbiased, got both
of(2, 5).var({ correction: NaN }) // VALUE var: correction should be a finite number, got NaN
of(2, 5).var({ correction: true }) // TYPE var: correction should be a finite number, got true
of(2, 5).var({ unbiased: 'no' }) // TYPE var: unbiased should be true or false, got "no"
var std: of(2, 5).%(-1, false, true) // TYPE %: takes at most 1 argument, got 3: -1, false, true; write { dim: -1, unbiased: false, keepdim: true }
of(2, 5).view(1, 2) // TYPE view: takes at most 1 argument, got 2: 1, 2; write view([1, 2])
of(2, 5).view([1], 2) // TYPE view: takes at most 1 argument, got 2: [1], 2
of(2, 3).view([4]) // SHAPE view: shape should hold 6 elements, got [4]
where(true, of(2, 3), of(2, 3)) // TYPE where: condition should be a Tensor, got true
where(of(2, 3), of(2, 3)) // TYPE where: y should be a Tensor or a number, got undefined
where(of(2, 3), of(2), 0) // SHAPE where: x should broadcast with shape [2, 3], got shape [2]
where(of(2, 3), 0, of(4)) // SHAPE where: y should broadcast with shape [2, 3], got shape [4]
leaf.requiresGrad = 1 // TYPE requiresGrad: value should be true or false, got 1
scope(() => (leaf.mul(2).requiresGrad = false)) // VALUE requiresGrad: value should be set on a leaf only, got a computed tensor; detach() gives one without a gradient
zeros(null) // TYPE zeros: shape should be an array of sizes, got null
zeros([2], { dtype: 1, device: 2 }) // TYPE zeros: takes at most 1 argument, got 2: [2], an object (all tensors are float32) (all tensors are on the CPU)
zeros([0, 2 ** 29 - 31]) // MEMORY zeros: needs 2147483524 bytes for shape [0, 536870881], where 0 counts as 1, and a tensor may have 2147483520
zerosLike([2]) // TYPE zerosLike: x should be a Tensor, got [2]
`
