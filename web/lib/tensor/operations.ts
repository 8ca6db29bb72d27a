// The operations: each is a function of the package, such as `gpt.exp(x)`, and a method of Tensor, `x.exp()`.

export * from './ops.ts'
export { gelu } from './gelu.ts'
export { matmul } from './matmul.ts'
export { gather, indexSelect } from './pick.ts'
export { argmax, argmin, cumsum, logsumexp, max, mean, min, norm, std, sum, var } from './reduce.ts'
export { clone, detach, expand, flatten, reshape, squeeze, unsqueeze, view } from './reshape.ts'
export { at, chunk, slice, split } from './slice.ts'
export { logSoftmax, softmax } from './softmax.ts'
export { topk } from './topk.ts'
export { permute, transpose } from './transpose.ts'
export { maskedFill, tril, triu } from './where.ts'
