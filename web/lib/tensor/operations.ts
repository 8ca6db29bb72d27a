// The operations: each is a function of the package, such as `gpt.exp(x)`, and a method of Tensor, `x.exp()`: see
// operation.ts. Those on each element are rows here: a name, a kernel of c/gpt_layers.h, a gradient, and what users
// read.

import { checkNumber, checkOptions } from '../check.ts'
import { fail } from '../errors.ts'
import { type Binary, type Unary, binary, comparison, map, unary } from './elementwise.ts'
import { operation } from './operation.ts'
import { Tensor } from './tensor.ts'

export { gelu } from './gelu.ts'
export { matmul } from './matmul.ts'
export { argmax, argmin, cumsum, logsumexp, max, mean, min, norm, std, sum, var } from './reduce.ts'
export { clone, detach, expand, flatten, reshape, squeeze, unsqueeze, view } from './reshape.ts'
export { at, chunk, gather, indexSelect, slice, split } from './slice.ts'
export { logSoftmax, softmax } from './softmax.ts'
export { topk } from './topk.ts'
export { permute, transpose } from './transpose.ts'
export { maskedFill, tril, triu } from './where.ts'

/** The absolute value of each element, as torch.abs. Its gradient at 0 is 0, as PyTorch's. */
export const abs: Unary = /* @__PURE__ */ unary('gpt_abs', {
  kernel: 'gpt_abs_backward',
  cost: 0.14,
})

/** The cosine of each element, in radians, as torch.cos; NaN of an infinity. */
export const cos: Unary = /* @__PURE__ */ unary('gpt_cos', {
  fromX: (dy, x) => dy.mul(x.sin()).neg(),
  cost: 3.8,
})

/**
 * The error function of each element, as torch.erf; within 2e-7 of float64.
 *
 * @example String(gpt.tensor([0.5]).erf()) // 'tensor([0.5205])'
 */
export const erf: Unary = /* @__PURE__ */ unary('gpt_erf', {
  fromX: (dy, x) => dy.mul(x.mul(x).neg().exp()).mul(2 / Math.sqrt(Math.PI)),
  cost: 3.4,
})

/** e to the power of each element, as torch.exp. */
export const exp: Unary = /* @__PURE__ */ unary('gpt_exp', { fromY: (dy, y) => dy.mul(y) })

/** The natural logarithm of each element, as torch.log; NaN below 0, -Infinity at 0. */
export const log: Unary = /* @__PURE__ */ unary('gpt_log', {
  fromX: (dy, x) => dy.div(x),
  cost: 5,
})

/** Minus each element, as torch.neg. */
export const neg: Unary = /* @__PURE__ */ operation((x: Tensor) => x.mul(-1))

/** 1 / x of each element, as torch.reciprocal. */
export const reciprocal: Unary = /* @__PURE__ */ unary(
  'gpt_pow',
  { fromY: (dy, y) => dy.mul(y.mul(y)).neg() },
  -1,
)

/** max(0, x) of each element, as torch.relu. Its gradient at 0 is 0. */
export const relu: Unary = /* @__PURE__ */ unary('gpt_relu_forward', {
  kernel: 'gpt_relu_backward',
  cost: 0.14,
})

/** 1 / √x of each element, as torch.rsqrt; Infinity at 0, NaN below. */
export const rsqrt: Unary = /* @__PURE__ */ unary(
  'gpt_pow',
  { fromY: (dy, y) => dy.mul(y.pow(3)).mul(-0.5) },
  -0.5,
)

/**
 * σ(x) = 1 / (1 + e^-x) of each element, as torch.sigmoid.
 *
 * @example gpt.tensor([0]).sigmoid().item() // 0.5
 */
export const sigmoid: Unary = /* @__PURE__ */ unary('gpt_sigmoid', {
  fromY: (dy, y) => dy.mul(y.neg().add(1)).mul(y),
  cost: 2,
})

/**
 * x · σ(x) = x / (1 + e^-x) of each element, as torch's F.silu.
 *
 * @example String(gpt.tensor([1]).silu()) // 'tensor([0.7311])'
 */
export const silu: Unary = /* @__PURE__ */ unary('gpt_silu_forward', {
  kernel: 'gpt_silu_backward',
  cost: 2,
})

/** The sine of each element, in radians, as torch.sin; NaN of an infinity. */
export const sin: Unary = /* @__PURE__ */ unary('gpt_sin', {
  fromX: (dy, x) => dy.mul(x.cos()),
  cost: 3.8,
})

/** The square root of each element, as torch.sqrt; NaN below 0. */
export const sqrt: Unary = /* @__PURE__ */ unary('gpt_sqrt', { fromY: (dy, y) => dy.div(y.mul(2)) })

/** The hyperbolic tangent of each element, as torch.tanh. */
export const tanh: Unary = /* @__PURE__ */ unary('gpt_tanh', {
  fromY: (dy, y) => dy.sub(dy.mul(y.mul(y))),
  cost: 2.2,
})

/**
 * Each element to the power of the exponent, as torch.pow.
 *
 * @example gpt.tensor([2, 3]).pow(2).toArray() // [4, 9]
 */
export const pow = /* @__PURE__ */ operation((x: Tensor, exponent: number): Tensor => {
  checkNumber('exponent', exponent)
  // dx = dy · exponent · x^(exponent - 1). That of the exponent 0 is 0: 0 · 0^-1 would be NaN.
  const fromX = (dy: Tensor, x: Tensor) =>
    exponent === 0
      ? Tensor.full(x.shape, 0)
      : dy.mul((exponent === 2 ? x : x.pow(exponent - 1)).mul(exponent))
  // c/elementwise.c has vectors for some exponents.
  const size = Math.abs(exponent)
  const cost = size === 0.5 || (Number.isInteger(size) && size <= 8) ? 1 : 13
  return map(x, 'gpt_pow', { fromX, cost }, exponent)
})

export interface ClampOptions {
  /** what is below becomes min; -Infinity by default */
  min?: number
  /** what is above becomes max, also where min is larger; Infinity by default */
  max?: number
}

/**
 * Each element, limited to the range from `min` to `max`, as torch.clamp. NaN stays NaN.
 *
 * @throws {GptLayersError} VALUE where neither is given
 * @example gpt.tensor([-2, 0.5, 2]).clamp({ min: -1, max: 1 }).toArray() // [-1, 0.5, 1]
 */
export const clamp = /* @__PURE__ */ operation((x: Tensor, options?: ClampOptions): Tensor => {
  const checks = { min: checkNumber, max: checkNumber }
  const given = checkOptions<ClampOptions>(options, { min: undefined, max: undefined }, checks)
  if (given.min === undefined && given.max === undefined) {
    throw fail('VALUE', 'options', 'have min, max or both', 'neither')
  }
  const { min = -Infinity, max = Infinity } = given
  return map(x, 'gpt_clamp', { kernel: 'gpt_clamp_backward', cost: 0.14 }, min, max)
}, 'min max')

const same = (dy: Tensor): Tensor => dy

/** x + other, as torch.add; both broadcast as in PyTorch. */
export const add: Binary = /* @__PURE__ */ binary('gpt_add', { dx: same, dother: same })

/** x - other, as torch.sub; both broadcast as in PyTorch. */
export const sub: Binary = /* @__PURE__ */ binary('gpt_sub', { dx: same, dother: same, isMinus: true })

/** x · other, element by element, as torch.mul; both broadcast as in PyTorch. */
export const mul: Binary = /* @__PURE__ */ binary('gpt_mul', {
  dx: (dy, { other }) => dy.mul(other),
  dother: (dy, { x }) => dy.mul(x),
  reads: { dx: ['other'], dother: ['x'] },
})

/** x / other, element by element, as torch.div; both broadcast as in PyTorch. */
export const div: Binary = /* @__PURE__ */ binary('gpt_div', {
  dx: (dy, { other }) => dy.div(other),
  dother: (dy, { other, y }) => dy.div(other).mul(y),
  isMinus: true,
  reads: { dx: ['other'], dother: ['other', 'y'] },
})

/**
 * 1 where x = other, otherwise 0, as torch.eq; NaN equals nothing. Both broadcast as in PyTorch. It has no gradient.
 */
export const eq: Binary = /* @__PURE__ */ comparison('gpt_eq')

/** 1 where x ≠ other, otherwise 0, as torch.ne. Both broadcast as in PyTorch. It has no gradient. */
export const ne: Binary = /* @__PURE__ */ comparison('gpt_ne')

/** 1 where x < other, otherwise 0, as torch.lt. Both broadcast as in PyTorch. It has no gradient. */
export const lt: Binary = /* @__PURE__ */ comparison('gpt_lt')

/** 1 where x ≤ other, otherwise 0, as torch.le. Both broadcast as in PyTorch. It has no gradient. */
export const le: Binary = /* @__PURE__ */ comparison('gpt_le')

/** 1 where x > other, otherwise 0, as torch.gt. Both broadcast as in PyTorch. It has no gradient. */
export const gt: Binary = /* @__PURE__ */ comparison('gpt_lt', { isSwapped: true })

/** 1 where x ≥ other, otherwise 0, as torch.ge. Both broadcast as in PyTorch. It has no gradient. */
export const ge: Binary = /* @__PURE__ */ comparison('gpt_le', { isSwapped: true })
