import { checkFinite, checkNonNegative, checkNumber, checkOptions, named, number, oneOf } from './check.ts'
import { fail } from './errors.ts'
import * as random from './runtime/random.ts'
import { sizeOf } from './tensor/shape.ts'
import { checkTensor, Tensor } from './tensor/tensor.ts'

export interface NormalOptions {
  /** 0 by default */
  mean?: number
  /** the standard deviation; 1 by default */
  std?: number
}

export interface UniformOptions {
  /** the least number; 0 by default */
  a?: number
  /** the end, which is not drawn; 1 by default */
  b?: number
}

export interface XavierOptions {
  /** a factor, at most 1e30; 1 by default */
  gain?: number
}

export interface KaimingOptions {
  /** leakyRelu's slope below 0; 0 by default */
  a?: number
  /** the size that counts: 'fanIn', the default, is in; 'fanOut' is out */
  mode?: 'fanIn' | 'fanOut'
  /** what comes after the layer; 'leakyRelu' by default */
  nonlinearity?: 'linear' | 'sigmoid' | 'tanh' | 'relu' | 'leakyRelu' | 'selu'
}

/** PyTorch's calculate_gain. */
const GAINS = { linear: 1, sigmoid: 1, tanh: 5 / 3, relu: Math.SQRT2, leakyRelu: Math.SQRT2, selu: 3 / 4 }

/**
 * Initial values, as torch.nn.init: each function fills a tensor in place, and returns it.
 *
 * @namespace
 * @example
 * const { weight } = new gpt.Linear(5, 6)
 * gpt.init.normal(weight, { std: 0.02 }) === weight // true
 */
export const init = {
  /**
   * Draws a tensor's elements from N(mean, std), as PyTorch's init.normal_: the same bits.
   *
   * @example gpt.init.normal(layer.weight, { std: 0.02 })
   */
  normal(tensor: Tensor, options?: NormalOptions): Tensor {
    return filled('normal', arguments, () => {
      const checks = { mean: checkFinite, std: checkNonNegative }
      const { mean, std } = checkOptions(options, { mean: 0, std: 1 }, checks)
      random.normal(tensor, std, mean)
    })
  },

  /**
   * Draws a tensor's elements from U[a, b), as PyTorch's init.uniform_: the same bits.
   *
   * @example gpt.init.uniform(layer.weight, { a: -0.1, b: 0.1 })
   */
  uniform(tensor: Tensor, options?: UniformOptions): Tensor {
    return filled('uniform', arguments, () => {
      const { a, b } = checkOptions(options, { a: 0, b: 1 }, { a: checkFinite })
      const isEnd = (b: number) => b >= a && Math.fround(Math.fround(b) - Math.fround(a)) < Infinity
      checkNumber('b', b, `a number from ${a} (a) on`, isEnd)
      random.uniform(tensor, a, b)
    })
  },

  /** Sets all elements to a value, as PyTorch's init.constant_. */
  constant(tensor: Tensor, value: number): Tensor {
    return filled('constant', arguments, () => {
      checkNumber('value', value)
      tensor.data.fill(value)
    })
  },

  /** Sets all elements to 0, as PyTorch's init.zeros_. */
  zeros(tensor: Tensor): Tensor {
    return filled('zeros', arguments, () => tensor.data.fill(0))
  },

  /** Sets all elements to 1, as PyTorch's init.ones_. */
  ones(tensor: Tensor): Tensor {
    return filled('ones', arguments, () => tensor.data.fill(1))
  },

  /**
   * Draws a weight's elements from U[-a, a), a = gain · √(6 / (in + out)), as PyTorch's init.xavier_uniform_
   * (Glorot, Bengio 2010): the same bits.
   *
   * @param tensor [out, in, ...]: a Linear's weight. More axes multiply both sizes
   */
  xavierUniform(tensor: Tensor, options?: XavierOptions): Tensor {
    return filled('xavierUniform', arguments, () => drawUniform(tensor, xavierStd(tensor, options)))
  },

  /**
   * Draws a weight's elements from N(0, std), std = gain · √(2 / (in + out)), as PyTorch's init.xavier_normal_:
   * the same bits.
   *
   * @param tensor as for xavierUniform
   */
  xavierNormal(tensor: Tensor, options?: XavierOptions): Tensor {
    return filled('xavierNormal', arguments, () => random.normal(tensor, xavierStd(tensor, options)))
  },

  /**
   * Draws a weight's elements from U[-b, b), b = gain · √(3 / in), as PyTorch's init.kaiming_uniform_ (He et
   * al. 2015, arXiv:1502.01852): the same bits. The gain is √(2 / (1 + a²)) for leakyRelu, √2 for relu, 5/3
   * for tanh, 3/4 for selu, and 1 for linear and sigmoid.
   *
   * @param tensor as for xavierUniform
   * @example gpt.init.kaimingUniform(layer.weight, { nonlinearity: 'relu' })
   */
  kaimingUniform(tensor: Tensor, options?: KaimingOptions): Tensor {
    return filled('kaimingUniform', arguments, () => drawUniform(tensor, kaimingStd(tensor, options)))
  },

  /**
   * Draws a weight's elements from N(0, std), std = gain / √in, as PyTorch's init.kaiming_normal_: the same
   * bits.
   *
   * @param tensor as for xavierUniform
   * @param options as for kaimingUniform
   */
  kaimingNormal(tensor: Tensor, options?: KaimingOptions): Tensor {
    return filled('kaimingNormal', arguments, () => random.normal(tensor, kaimingStd(tensor, options)))
  },
}

/** See `checkCount`. */
const IN_PYTORCH: Readonly<Record<string, string>> = { normal: 'mean std', uniform: 'a b' }

/**
 * @param args the arguments of the public function: a tensor and others
 * @param fill checks the other arguments and writes the elements
 */
function filled(name: keyof typeof init, args: ArrayLike<unknown>, fill: () => unknown): Tensor {
  const checked = (tensor: Tensor) => {
    // In the constructor of a model that fromPretrained makes: the file has its values.
    if (tensor instanceof Tensor && tensor.isMeta) return tensor
    checkTensor('tensor', tensor)
    fill()
    tensor.changed()
    return tensor
  }
  const fn = named(`init.${name}`, checked, IN_PYTORCH[name], init[name].length)
  return fn(...(args as unknown as [Tensor]))
}

/** Draws from the uniform distribution of this standard deviation around 0. */
function drawUniform(tensor: Tensor, std: number): void {
  const bound = Math.sqrt(3) * std
  random.uniform(tensor, -bound, bound)
}

function xavierStd(tensor: Tensor, options: XavierOptions | undefined): number {
  const checks = { gain: number('a number from 0 to 1e30', (n) => n >= 0 && n <= 1e30) }
  const { gain } = checkOptions(options, { gain: 1 }, checks)
  const { fanIn, fanOut } = fansOf(tensor)
  return tensor.size === 0 ? 0 : gain * Math.sqrt(2 / (fanIn + fanOut))
}

function kaimingStd(tensor: Tensor, options: KaimingOptions | undefined): number {
  const defaults: Required<KaimingOptions> = { a: 0, mode: 'fanIn', nonlinearity: 'leakyRelu' }
  const { a, mode, nonlinearity } = checkOptions(options, defaults, {
    a: checkFinite,
    mode: oneOf('fanIn', 'fanOut'),
    nonlinearity: oneOf(...Object.keys(GAINS)),
  })
  const gain = nonlinearity === 'leakyRelu' ? Math.sqrt(2 / (1 + a ** 2)) : GAINS[nonlinearity]
  const fans = fansOf(tensor)
  return tensor.size === 0 ? 0 : gain / Math.sqrt(fans[mode])
}

function fansOf({ shape }: Tensor): { fanIn: number; fanOut: number } {
  if (shape.length < 2) throw fail('SHAPE', 'tensor', 'have 2 axes or more, as a weight [out, in]', shape)
  const [out, inputs, ...others] = shape
  const each = sizeOf(others)
  return { fanIn: inputs * each, fanOut: out * each }
}
