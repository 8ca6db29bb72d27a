// The public exports, nothing else.

export { GPT_CONFIG_124M } from './config.ts'
export { type ErrorCode, GptLayersError } from './errors.ts'
export {
  type KaimingOptions,
  type NormalOptions,
  type UniformOptions,
  type XavierOptions,
  init,
} from './init.ts'
export { type LoadOptions, dispose, load } from './load.ts'
export {
  type Build,
  type Exports,
  type Int8Kernel,
  build,
  exports,
  int8Kernel,
  threads,
  threadsReason,
} from './runtime/runtime.ts'
export type { AnyWorker } from './threads/threads.ts'

export {
  arange,
  eye,
  full,
  manualSeed,
  ones,
  onesLike,
  rand,
  randint,
  randn,
  tensor,
  zeros,
  zerosLike,
} from './tensor/create.ts'
export { cat, stack } from './tensor/join.ts'
export { noGrad, parameter, record, scope } from './tensor/autograd.ts'
export type { BackwardOptions } from './tensor/tape.ts'
export { type AllcloseOptions, allclose, equal } from './tensor/equal.ts'
export * from './tensor/operations.ts'
export { Tensor } from './tensor/tensor.ts'
export type { GELUOptions } from './tensor/gelu.ts'
export type { Indices } from './tensor/indices.ts'
export { Int8Weight } from './tensor/int8weight.ts'
export { type MultinomialOptions, multinomial } from './tensor/multinomial.ts'
export type { NestedArray } from './tensor/nested.ts'
export type { PrintOptions } from './tensor/print.ts'
export type { AxisReduction, CumsumOptions, Extremes, Reduction, VarianceOptions } from './tensor/reduce.ts'
export type { AxisOptions, PickOptions } from './tensor/slice.ts'
export type { SoftmaxOptions } from './tensor/softmax.ts'
export type { TopkOptions } from './tensor/topk.ts'
export { type TriangleOptions, maximum, minimum, where } from './tensor/where.ts'
export type { BigIntArray, NumberArray } from './typed.ts'

export { type Context, type ForwardEvent, type ForwardListener, Module } from './layers/module.ts'
export { GELU, ReLU, Sigmoid, SiLU, Softmax } from './layers/activations.ts'
export {
  type AttentionConfig,
  type ScaledDotProductAttentionOptions,
  Attention,
  scaledDotProductAttention,
} from './layers/attention.ts'
export { type BatchNormOptions, BatchNorm } from './layers/batchnorm.ts'
export { Identity, ModuleList, Sequential } from './layers/container.ts'
export { type DropoutOptions, Dropout, dropout } from './layers/dropout.ts'
export { Embedding, embedding } from './layers/embedding.ts'
export { type FeedForwardConfig, FeedForward } from './layers/feedforward.ts'
export { type AffineOptions, Conv1D, Linear, linear } from './layers/linear.ts'
export {
  type LayerNormOptions,
  type RMSNormOptions,
  LayerNorm,
  layerNorm,
  RMSNorm,
  rmsNorm,
} from './layers/norms.ts'
export { type TransformerBlockConfig, TransformerBlock } from './layers/transformerblock.ts'
export { type CacheOptions, KeyValueCache } from './layers/kvcache.ts'
export type { LoadedKeys } from './files/copy.ts'

export { type CrossEntropyOptions, type LossReduction, type MSEOptions, crossEntropy, mse } from './losses.ts'

export { type AdamOptions, type AdamWOptions, Adam, AdamW } from './optim/adam.ts'
export { type ClipOptions, clipGradNorm } from './optim/clip.ts'
export { type CosineOptions, cosineWithWarmup } from './optim/cosine.ts'
export type { GivenGroup, ParamGroup } from './optim/groups.ts'
export { type OptimizerState, Optimizer } from './optim/optimizer.ts'
export { type SGDOptions, SGD } from './optim/sgd.ts'

export { loadSafetensors, loadTorch } from './files/load.ts'
export type {
  BlobLike,
  FileHandleLike,
  FileSource,
  ReaderLike,
  ResponseLike,
  Sources,
  StreamLike,
} from './files/bytes.ts'
export type { SignalLike } from './check.ts'

export { GPTModel } from './models/gptmodel.ts'
export type { GPTModelConfig } from './models/gptconfig.ts'
export type { GenerateOptions } from './models/generate.ts'
export type { PretrainedOptions, ProgressListener } from './models/pretrained.ts'
export type { Candidate, GeneratedToken } from './models/sample.ts'
export { saveSafetensors } from './models/save.ts'
