// The public exports, nothing else.

/** @typedef {import('./errors.js').ErrorCode} ErrorCode */
/** @typedef {import('./gpt.js').Gpt} Gpt */
/** @typedef {import('./tensor/tensor.js').Tensor} Tensor */
/** @typedef {import('./tensor/int8weight.js').Int8Weight} Int8Weight */
/** @typedef {import('./tensor/indices.js').Indices} Indices */
/** @typedef {import('./load.js').Build} Build */
/** @typedef {import('./load.js').LoadOptions} LoadOptions */
/** @typedef {import('./threads/workers.js').AnyWorker} AnyWorker */
/** @typedef {import('./runtime/runtime.js').Exports} Exports */
/** @typedef {import('./tensor/nested.js').NestedArray} NestedArray */
/** @typedef {import('./typed.js').NumberArray} NumberArray */
/** @typedef {import('./layers/forward.js').Context} Context */
/** @typedef {import('./layers/forward.js').ForwardEvent} ForwardEvent */
/** @typedef {import('./layers/forward.js').ForwardListener} ForwardListener */
/** @typedef {import('./layers/batchnorm.js').BatchNorm} BatchNorm */
/** @typedef {import('./layers/rmsnorm.js').RMSNorm} RMSNorm */
/** @typedef {import('./layers/softmax.js').Softmax} Softmax */
/** @typedef {import('./losses/loss.js').Loss} Loss */
/** @typedef {import('./layers/module.js').Module} Module */
/** @typedef {import('./layers/linear.js').Linear} Linear */
/** @typedef {import('./layers/conv1d.js').Conv1D} Conv1D */
/** @typedef {import('./layers/relu.js').ReLU} ReLU */
/** @typedef {import('./layers/gelu.js').GELU} GELU */
/** @typedef {import('./layers/layernorm.js').LayerNorm} LayerNorm */
/** @typedef {import('./layers/dropout.js').Dropout} Dropout */
/** @typedef {import('./layers/embedding.js').Embedding} Embedding */
/** @typedef {import('./layers/feedforward.js').FeedForward} FeedForward */
/** @typedef {import('./layers/attention.js').Attention} Attention */
/** @typedef {import('./layers/sequential.js').Sequential} Sequential */
/** @typedef {import('./layers/transformerblock.js').TransformerBlock} TransformerBlock */
/** @typedef {import('./layers/gptmodel.js').GPTModel} GPTModel */
/** @typedef {import('./optim/optimizer.js').Optimizer} Optimizer */
/** @typedef {import('./optim/sgd.js').SGD} SGD */
/** @typedef {import('./optim/adamw.js').AdamW} AdamW */
/** @typedef {import('./tensor/print.js').PrintOptions} PrintOptions */
/** @typedef {import('./tensor/reduce.js').Reduction} Reduction */
/** @typedef {import('./tensor/reduce.js').VarianceOptions} VarianceOptions */
/** @typedef {import('./tensor/slice.js').AxisOptions} AxisOptions */
/** @typedef {import('./layers/affine.js').AffineOptions} AffineOptions */
/** @typedef {import('./layers/gelu.js').GELUOptions} GELUOptions */
/** @typedef {import('./layers/layernorm.js').LayerNormOptions} LayerNormOptions */
/** @typedef {import('./layers/batchnorm.js').BatchNormOptions} BatchNormOptions */
/** @typedef {import('./layers/rmsnorm.js').RMSNormOptions} RMSNormOptions */
/** @typedef {import('./layers/feedforward.js').FeedForwardConfig} FeedForwardConfig */
/** @typedef {import('./layers/attention.js').AttentionConfig} AttentionConfig */
/** @typedef {import('./layers/transformerblock.js').TransformerBlockConfig} TransformerBlockConfig */
/** @typedef {import('./layers/gptmodel.js').GPTModelConfig} GPTModelConfig */
/** @typedef {import('./checkpoint/gpt2.js').LoadModelOptions} LoadModelOptions */
/** @typedef {import('./checkpoint/source.js').FileSource} FileSource */
/** @typedef {import('./generate/cache.js').KeyValueCache} KeyValueCache */
/** @typedef {import('./generate/cache.js').CacheOptions} CacheOptions */
/** @typedef {import('./generate/generate.js').GenerateOptions} GenerateOptions */
/** @typedef {import('./generate/sample.js').GeneratedToken} GeneratedToken */
/** @typedef {import('./generate/sample.js').Candidate} Candidate */
/** @typedef {import('./optim/sgd.js').SGDOptions} SGDOptions */
/** @typedef {import('./optim/adamw.js').AdamWOptions} AdamWOptions */

export { GPT_CONFIG_124M } from './config.js'
export { GptLayersError } from './errors.js'
export { load } from './load.js'
