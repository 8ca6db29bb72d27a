// The public exports, nothing else.

export type { ErrorCode } from './errors.ts'
export type { Gpt } from './gpt.ts'
export type { Tensor } from './tensor/tensor.ts'
export type { Int8Weight } from './tensor/int8weight.ts'
export type { Indices } from './tensor/indices.ts'
export type { Build, LoadOptions } from './load.ts'
export type { AnyWorker } from './threads/workers.ts'
export type { Exports } from './runtime/runtime.ts'
export type { NestedArray } from './tensor/nested.ts'
export type { BigIntArray, NumberArray } from './typed.ts'
export type { Context, ForwardEvent, ForwardListener } from './layers/forward.ts'
export type { BatchNorm, BatchNormOptions } from './layers/batchnorm.ts'
export type { RMSNorm, RMSNormOptions } from './layers/rmsnorm.ts'
export type { Softmax, SoftmaxOptions } from './layers/softmax.ts'
export type { Module } from './layers/module.ts'
export type { Linear } from './layers/linear.ts'
export type { Conv1D } from './layers/conv1d.ts'
export type { ReLU } from './layers/relu.ts'
export type { GELU, GELUOptions } from './layers/gelu.ts'
export type { LayerNorm, LayerNormOptions } from './layers/layernorm.ts'
export type { Dropout } from './layers/dropout.ts'
export type { Identity } from './layers/identity.ts'
export type { Embedding } from './layers/embedding.ts'
export type { FeedForward, FeedForwardConfig } from './layers/feedforward.ts'
export type { Attention, AttentionConfig } from './layers/attention.ts'
export type { Sequential } from './layers/sequential.ts'
export type { TransformerBlock, TransformerBlockConfig } from './layers/transformerblock.ts'
export type { GPTModel, GPTModelConfig } from './layers/gptmodel.ts'
export type { Optimizer } from './optim/optimizer.ts'
export type { SGD, SGDOptions } from './optim/sgd.ts'
export type { AdamW, AdamWOptions } from './optim/adamw.ts'
export type { PrintOptions } from './tensor/print.ts'
export type { Reduction, VarianceOptions } from './tensor/reduce.ts'
export type { AxisOptions } from './tensor/slice.ts'
export type { AffineOptions } from './layers/affine.ts'
export type { LoadedKeys } from './checkpoint/load.ts'
export type { PretrainedOptions, ProgressListener } from './checkpoint/pretrained.ts'
export type {
  FileSource,
  Sources,
  BlobLike,
  ResponseLike,
  StreamLike,
  ReaderLike,
  FileHandleLike,
} from './checkpoint/source.ts'
export type { SignalLike } from './check.ts'
export type { KeyValueCache, CacheOptions } from './generate/cache.ts'
export type { GenerateOptions } from './generate/generate.ts'
export type { GeneratedToken, Candidate } from './generate/sample.ts'

export { GPT_CONFIG_124M } from './config.ts'
export { GptLayersError } from './errors.ts'
export { load } from './load.ts'
