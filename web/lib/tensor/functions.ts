// What PyTorch has as a function and as a method: gpt.exp(x) is x.exp(). The methods have the details: shapes,
// options, errors.

import type { AxisReduction, Extremes } from './reduce.ts'
import { named } from '../check.ts'
import { checkTensor } from './check.ts'
import { Tensor } from './tensor.ts'

/** A method, as a function whose first argument is the tensor. */
export type TensorFunction<Name extends keyof Tensor> = Tensor[Name] extends (
  ...args: infer Args
) => infer Result
  ? (x: Tensor, ...args: Args) => Result
  : never

/** `max` and `min`. */
export interface ExtremeFunction {
  (x: Tensor): Tensor
  (x: Tensor, options: AxisReduction & { dim: number }): Extremes
  (x: Tensor, options?: AxisReduction): Tensor | Extremes
}

/** `argmax` and `argmin`. */
export interface ArgExtremeFunction {
  (x: Tensor): number
  (x: Tensor, options: AxisReduction): Tensor
}

function asFunction(name: string & keyof Tensor): (x: Tensor, ...args: unknown[]) => never {
  return (...args) => {
    const method = Tensor.prototype[name] as (...args: unknown[]) => never
    const [x, ...rest] = args
    return named(name, args, 1 + method.length, () => method.apply(checkTensor('x', x), rest))
  }
}

/** The absolute value of each element, as `torch.abs`. */
export const abs: TensorFunction<'abs'> = /* @__PURE__ */ asFunction('abs')
/** x + y, as `torch.add`; y may be a number, and they broadcast. */
export const add: TensorFunction<'add'> = /* @__PURE__ */ asFunction('add')
/** The index of the largest element, or along an axis, as `torch.argmax`. */
export const argmax: ArgExtremeFunction = /* @__PURE__ */ asFunction('argmax')
/** The index of the smallest element, or along an axis, as `torch.argmin`. */
export const argmin: ArgExtremeFunction = /* @__PURE__ */ asFunction('argmin')
/** n pieces along an axis, as `torch.chunk`; copies. */
export const chunk: TensorFunction<'chunk'> = /* @__PURE__ */ asFunction('chunk')
/** Each element, limited to a range, as `torch.clamp`. */
export const clamp: TensorFunction<'clamp'> = /* @__PURE__ */ asFunction('clamp')
/** A copy with its own memory, as `torch.clone`. */
export const clone: TensorFunction<'clone'> = /* @__PURE__ */ asFunction('clone')
/** The cosine of each element, as `torch.cos`. */
export const cos: TensorFunction<'cos'> = /* @__PURE__ */ asFunction('cos')
/** The sums of the elements up to each one, as `torch.cumsum`. */
export const cumsum: TensorFunction<'cumsum'> = /* @__PURE__ */ asFunction('cumsum')
/** The same memory without its gradient, as `torch.detach`. */
export const detach: TensorFunction<'detach'> = /* @__PURE__ */ asFunction('detach')
/** x / y, as `torch.div`; y may be a number, and they broadcast. */
export const div: TensorFunction<'div'> = /* @__PURE__ */ asFunction('div')
/** 1 where x = y, otherwise 0, as `torch.eq`. */
export const eq: TensorFunction<'eq'> = /* @__PURE__ */ asFunction('eq')
/** e to the power of each element, as `torch.exp`. */
export const exp: TensorFunction<'exp'> = /* @__PURE__ */ asFunction('exp')
/** Some neighboring axes as one, as `torch.flatten`. */
export const flatten: TensorFunction<'flatten'> = /* @__PURE__ */ asFunction('flatten')
/** An element along an axis for each index, as `torch.gather`. */
export const gather: TensorFunction<'gather'> = /* @__PURE__ */ asFunction('gather')
/** 1 where x ≥ y, otherwise 0, as `torch.ge`. */
export const ge: TensorFunction<'ge'> = /* @__PURE__ */ asFunction('ge')
/** x · Φ(x) of each element, as `functional.gelu`; the tanh form by default. */
export const gelu: TensorFunction<'gelu'> = /* @__PURE__ */ asFunction('gelu')
/** 1 where x > y, otherwise 0, as `torch.gt`. */
export const gt: TensorFunction<'gt'> = /* @__PURE__ */ asFunction('gt')
/** The parts at some indices of an axis, as `torch.index_select`. */
export const indexSelect: TensorFunction<'indexSelect'> = /* @__PURE__ */ asFunction('indexSelect')
/** 1 where x ≤ y, otherwise 0, as `torch.le`. */
export const le: TensorFunction<'le'> = /* @__PURE__ */ asFunction('le')
/** The natural logarithm of each element, as `torch.log`. */
export const log: TensorFunction<'log'> = /* @__PURE__ */ asFunction('log')
/** The logarithm of softmax, as `torch.log_softmax`. */
export const logSoftmax: TensorFunction<'logSoftmax'> = /* @__PURE__ */ asFunction('logSoftmax')
/** log Σ e^x, of all elements or along axes, as `torch.logsumexp`. */
export const logsumexp: TensorFunction<'logsumexp'> = /* @__PURE__ */ asFunction('logsumexp')
/** 1 where x < y, otherwise 0, as `torch.lt`. */
export const lt: TensorFunction<'lt'> = /* @__PURE__ */ asFunction('lt')
/** A value in place of the elements where a mask is not 0, as `torch.masked_fill`. */
export const maskedFill: TensorFunction<'maskedFill'> = /* @__PURE__ */ asFunction('maskedFill')
/** The matrix product, as `torch.matmul`; leading axes broadcast. */
export const matmul: TensorFunction<'matmul'> = /* @__PURE__ */ asFunction('matmul')
/** The largest element, or along an axis values and indices, as `torch.max`. */
export const max: ExtremeFunction = /* @__PURE__ */ asFunction('max')
/** The mean of all elements, or along axes, as `torch.mean`. */
export const mean: TensorFunction<'mean'> = /* @__PURE__ */ asFunction('mean')
/** The smallest element, or along an axis values and indices, as `torch.min`. */
export const min: ExtremeFunction = /* @__PURE__ */ asFunction('min')
/** x · y of each element, as `torch.mul`; y may be a number, and they broadcast. */
export const mul: TensorFunction<'mul'> = /* @__PURE__ */ asFunction('mul')
/** 1 where x ≠ y, otherwise 0, as `torch.ne`. */
export const ne: TensorFunction<'ne'> = /* @__PURE__ */ asFunction('ne')
/** Minus each element, as `torch.neg`. */
export const neg: TensorFunction<'neg'> = /* @__PURE__ */ asFunction('neg')
/** √Σ x², of all elements or along axes, as `torch.norm`. */
export const norm: TensorFunction<'norm'> = /* @__PURE__ */ asFunction('norm')
/** The axes in another order, as `torch.permute`; a copy. */
export const permute: TensorFunction<'permute'> = /* @__PURE__ */ asFunction('permute')
/** Each element to a power, as `torch.pow`. */
export const pow: TensorFunction<'pow'> = /* @__PURE__ */ asFunction('pow')
/** 1 / x of each element, as `torch.reciprocal`. */
export const reciprocal: TensorFunction<'reciprocal'> = /* @__PURE__ */ asFunction('reciprocal')
/** max(0, x) of each element, as `torch.relu`. */
export const relu: TensorFunction<'relu'> = /* @__PURE__ */ asFunction('relu')
/** The same memory in another shape, as `torch.reshape`. */
export const reshape: TensorFunction<'reshape'> = /* @__PURE__ */ asFunction('reshape')
/** 1 / √x of each element, as `torch.rsqrt`. */
export const rsqrt: TensorFunction<'rsqrt'> = /* @__PURE__ */ asFunction('rsqrt')
/** 1 / (1 + e^-x) of each element, as `torch.sigmoid`. */
export const sigmoid: TensorFunction<'sigmoid'> = /* @__PURE__ */ asFunction('sigmoid')
/** x / (1 + e^-x) of each element, as `functional.silu`. */
export const silu: TensorFunction<'silu'> = /* @__PURE__ */ asFunction('silu')
/** The sine of each element, as `torch.sin`. */
export const sin: TensorFunction<'sin'> = /* @__PURE__ */ asFunction('sin')
/** e^x / Σ e^x over an axis, the last by default, as `torch.softmax`. */
export const softmax: TensorFunction<'softmax'> = /* @__PURE__ */ asFunction('softmax')
/** Pieces of one size along an axis, as `torch.split`; copies. */
export const split: TensorFunction<'split'> = /* @__PURE__ */ asFunction('split')
/** The square root of each element, as `torch.sqrt`. */
export const sqrt: TensorFunction<'sqrt'> = /* @__PURE__ */ asFunction('sqrt')
/** Without the axes of size 1, as `torch.squeeze`. */
export const squeeze: TensorFunction<'squeeze'> = /* @__PURE__ */ asFunction('squeeze')
/** The standard deviation of all elements, or along axes, as `torch.std`. */
export const std: TensorFunction<'std'> = /* @__PURE__ */ asFunction('std')
/** x - y, as `torch.sub`; y may be a number, and they broadcast. */
export const sub: TensorFunction<'sub'> = /* @__PURE__ */ asFunction('sub')
/** The sum of all elements, or along axes, as `torch.sum`. */
export const sum: TensorFunction<'sum'> = /* @__PURE__ */ asFunction('sum')
/** The hyperbolic tangent of each element, as `torch.tanh`. */
export const tanh: TensorFunction<'tanh'> = /* @__PURE__ */ asFunction('tanh')
/** The k largest elements along an axis, and their indices, as `torch.topk`. */
export const topk: TensorFunction<'topk'> = /* @__PURE__ */ asFunction('topk')
/** Two axes swapped, as `torch.transpose`; a copy. */
export const transpose: TensorFunction<'transpose'> = /* @__PURE__ */ asFunction('transpose')
/** The lower triangle of each matrix, as `torch.tril`. */
export const tril: TensorFunction<'tril'> = /* @__PURE__ */ asFunction('tril')
/** The upper triangle of each matrix, as `torch.triu`. */
export const triu: TensorFunction<'triu'> = /* @__PURE__ */ asFunction('triu')
/** With one axis of size 1 more, as `torch.unsqueeze`. */
export const unsqueeze: TensorFunction<'unsqueeze'> = /* @__PURE__ */ asFunction('unsqueeze')
/** The variance of all elements, or along axes, as `torch.var`. */
export const variance: TensorFunction<'var'> = /* @__PURE__ */ asFunction('var')
