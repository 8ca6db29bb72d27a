import { checkOptions, checkSize, construct, named } from '../check.ts'
import { fail } from '../errors.ts'
import * as random from '../runtime/random.ts'
import { type FunctionName, run, SCRATCH } from '../runtime/runtime.ts'
import { temporary } from '../runtime/scope.ts'
import { int8Of, Int8Weight, isByDot } from '../tensor/int8weight.ts'
import { leading } from '../tensor/shape.ts'
import { record, recordKernel } from '../tensor/tape.ts'
import { checkOptional, checkRows, checkTensor, checkTensorOf, Tensor } from '../tensor/tensor.ts'
import { type Matrix, asMatrix } from '../files/matrix.ts'
import { Module } from './module.ts'

export interface AffineOptions {
  /** whether there is a bias; true by default */
  bias?: boolean
}

/** How Linear and Conv1D differ. */
interface Kind {
  /** the names of the two sizes, as the constructor takes them. The weight has them in the other order */
  names: readonly [string, string]
  /** whether the weight is [inputs, outputs] */
  isTransposed: boolean
  forward: FunctionName
  backward: FunctionName
  initialize: (weight: Tensor, bias: Tensor | null) => void
}

const LINEAR: Kind = {
  names: ['inFeatures', 'outFeatures'],
  isTransposed: false,
  forward: 'gpt_linear_forward',
  backward: 'gpt_linear_backward',
  initialize: (weight, bias) => random.linear(weight, bias, weight.shape[1], weight.shape[0]),
}

const CONV1D: Kind = {
  names: ['nf', 'nx'],
  isTransposed: true,
  forward: 'gpt_conv1d_forward',
  backward: 'gpt_conv1d_backward',
  initialize: (weight, bias) => {
    random.normal(weight, 0.02) // GPT-2's deviation
    bias?.data.fill(0)
  },
}

/**
 * y = x · weightᵀ + bias, as torch's F.linear: the layer Linear with parameters of your own.
 *
 * @param x [..., in], not modified
 * @param weight [out, in]
 * @param bias [out]; none by default
 * @returns [..., out]
 * @throws {GptLayersError} SHAPE where the sizes do not fit
 * @example gpt.linear(gpt.tensor([1, 2]), gpt.tensor([[3, 4]]), gpt.tensor([5])).toArray() // [16]
 */
export const linear = /* @__PURE__ */ named(
  'linear',
  (x: Tensor, weight: Tensor, bias?: Tensor | null): Tensor => {
    const { shape } = checkTensor('weight', weight)
    if (shape.length !== 2) throw fail('SHAPE', 'weight', 'have shape [out, in]', shape)
    const [outputs, inputs] = shape
    const rows = checkRows(x, [inputs], "the weight's in")
    return affine(x, weight, checkOptional('bias', bias ?? null, [outputs]), [rows, inputs, outputs], LINEAR)
  },
)

/**
 * y = x · W + bias, on the tape.
 *
 * @param x [..., inputs]
 * @param sizes rows, inputs, outputs
 * @returns [..., outputs]
 */
function affine(
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  sizes: readonly [number, number, number],
  kind: Kind,
): Tensor {
  const y = Tensor.empty([...leading(x.shape, 1), sizes[2]])
  run(kind.forward, [y, SCRATCH, x, weight, bias, ...sizes])
  return recordKernel(y, {
    inputs: [x, weight, bias],
    saved: [x, weight],
    backward: (dy, dx, dweight, dbias) =>
      run(kind.backward, [dx, dweight, dbias, SCRATCH, dy, x, weight, ...sizes]),
  })
}

/** The base of Linear and Conv1D. */
export class Affine extends Module {
  /** @internal */
  static override readonly ownName: string = 'Affine'

  #kind: Kind
  #shape: readonly number[]
  #inputs: number
  #outputs: number

  weight: Tensor
  /** [the features that come out], or null without a bias */
  bias: Tensor | null

  /**
   * @internal
   * @param args those of Linear or Conv1D: two sizes, which are not checked yet, and the options
   */
  constructor(kind: Kind, args: ArrayLike<unknown>, options: AffineOptions | undefined) {
    super()
    const { shape, weight, bias } = construct(new.target, args, 3, () => {
      const shape = kind.names.map((name, i) => {
        const size = args[i]
        checkSize(name, size)
        return size
      })
      shape.reverse()
      const given = checkOptions(options, { bias: true })
      return temporary(() => {
        const weight = Tensor.parameter(shape)
        const bias = given.bias ? Tensor.parameter([shape[kind.isTransposed ? 1 : 0]]) : null
        if (!weight.isMeta) kind.initialize(weight, bias)
        return { shape, weight, bias }
      })
    })
    this.#kind = kind
    this.#shape = shape
    ;[this.#outputs, this.#inputs] = kind.isTransposed ? [shape[1], shape[0]] : shape
    this.weight = weight
    this.bias = bias
  }

  /**
   * @param x [..., the features that go in], not modified
   * @returns [..., the features that come out]
   * @throws {GptLayersError} SHAPE when the last axis does not fit
   */
  override forward(x: Tensor): Tensor {
    const [kind, inputs, outputs] = [this.#kind, this.#inputs, this.#outputs]
    const rows = checkRows(x, [inputs], kind.names[kind.isTransposed ? 1 : 0])
    const sizes = [rows, inputs, outputs] as const
    const int8Weight = this.int8Weight && Int8Weight.checkUsable(this.int8Weight, [outputs, inputs])
    if (int8Weight) {
      const y = Tensor.empty([...leading(x.shape, 1), outputs])
      const read = [x, int8Weight, this.#bias()]
      run('gpt_int8_linear_forward', [y, SCRATCH, ...read, ...sizes, int8Weight.groupSize, isByDot()])
      const refuse = () => {
        const expected = 'float32 for backward, got int8, made by quantize; call forward in gpt.noGrad'
        throw fail('UNSUPPORTED', 'weight', `be ${expected}`)
      }
      return record(y, [x], refuse, [])
    }
    const { weight, bias } = Affine.parametersOf(this)
    return affine(x, weight, bias, sizes, kind)
  }

  /**
   * The parameters, which the user may have disposed or replaced. Not a method, which a class that extends a
   * layer could override: kernels rely on it.
   *
   * @internal
   */
  static parametersOf(layer: Affine): { weight: Tensor; bias: Tensor | null } {
    return { weight: checkTensorOf('weight', layer.weight, layer.#shape), bias: layer.#bias() }
  }

  #bias(): Tensor | null {
    return checkOptional('bias', this.bias, [this.#outputs])
  }

  /** The weight that `quantize` has made; null where `weight` is float32. */
  get int8Weight(): Int8Weight | null {
    return int8Of(this.weight)
  }

  /** @internal */
  override get int8Matrix(): Matrix | null {
    return asMatrix(this.weight, this.#shape, { transposed: this.#kind.isTransposed, isProduct: true })
  }
}

/** y = x · weightᵀ + bias, as PyTorch's nn.Linear: x [..., inFeatures], weight [outFeatures, inFeatures]. */
export class Linear extends Affine {
  /** @internal */
  static override readonly ownName: string = 'Linear'

  readonly inFeatures: number
  readonly outFeatures: number

  /**
   * Draws the weight, then the bias, from the random generator as PyTorch does: both from
   * U(-1/√inFeatures, 1/√inFeatures).
   *
   * @example new Linear(5, 6).forward(gpt.randn([2, 5])).shape // [2, 6]
   */
  constructor(inFeatures: number, outFeatures: number, options?: AffineOptions) {
    super(LINEAR, arguments, options)
    this.inFeatures = inFeatures
    this.outFeatures = outFeatures
  }

  override extraRepr(): string {
    const bias = this.bias ? 'True' : 'False'
    return `in_features=${this.inFeatures}, out_features=${this.outFeatures}, bias=${bias}`
  }
}

/**
 * y = x · weight + bias, GPT-2's linear layer, as transformers' Conv1D: x [..., nx], weight [nx, nf]. It is a
 * Linear whose weight is stored transposed and whose sizes come in the other order.
 */
export class Conv1D extends Affine {
  /** @internal */
  static override readonly ownName: string = 'Conv1D'

  readonly nf: number
  readonly nx: number

  /**
   * Draws the weight from N(0, 0.02) from the random generator, as PyTorch's nn.init.normal_. The bias is
   * zeros.
   *
   * @param nf features that come out
   * @param nx features that go in
   * @example new Conv1D(6, 5).forward(gpt.randn([2, 5])).shape // [2, 6]
   */
  constructor(nf: number, nx: number, options?: AffineOptions) {
    super(CONV1D, arguments, options)
    this.nf = nf
    this.nx = nx
  }

  override extraRepr(): string {
    return `nf=${this.nf}, nx=${this.nx}`
  }
}
