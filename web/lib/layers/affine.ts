import { checkBoolean, checkCount, checkOptions, checkSize } from '../check.ts'
import { fail, withClass } from '../errors.ts'
import { type FunctionName, run, SCRATCH } from '../runtime/runtime.ts'
import { checkOptional, checkRows, checkTensorOf } from '../tensor/check.ts'
import { type Matrix, asMatrix, int8Of, Int8Weight, isByDot } from '../tensor/int8weight.ts'
import { temporary } from '../runtime/scope.ts'
import { leading, sizeOf } from '../tensor/shape.ts'
import { record, recordKernel } from '../tensor/tape.ts'
import { Tensor } from '../tensor/tensor.ts'
import { Module } from './module.ts'

/** The kernels of y = x · W + bias, and the sizes of W. */
interface Product {
  /** the size of x's last axis */
  inputs: number
  /** the size of y's last axis */
  outputs: number
  forward: FunctionName
  backward: FunctionName
}

/**
 * y = x · W + bias, on the tape.
 *
 * @param x [..., inputs]
 * @returns [..., outputs]
 */
export function affine(x: Tensor, weight: Tensor, bias: Tensor | null, product: Product): Tensor {
  const { inputs, outputs, forward, backward } = product
  const outer = leading(x.shape, 1)
  const sizes = [sizeOf(outer), inputs, outputs]
  const y = Tensor.empty([...outer, outputs])
  run(forward, [y, SCRATCH, x, weight, bias, ...sizes])
  return recordKernel(y, {
    inputs: [x, weight, bias],
    saved: [x, weight],
    backward: (dy, dx, dweight, dbias) =>
      run(backward, [dx, dweight, dbias, SCRATCH, dy, x, weight, ...sizes]),
  })
}

/**
 * What Linear and Conv1D share: y = x · W + bias. They differ in the layout of the weight, its initial
 * values, and the names of the sizes.
 */
interface Layout extends Product {
  /** the name of the argument `inputs`, for errors */
  inputsName: string
  /** both sizes by the names of their arguments, in the arguments' order */
  sizes: Record<string, number>
  weightShape: readonly number[]
  /** whether weightShape is [inputs, outputs] */
  isTransposed: boolean
}

export interface AffineOptions {
  /** whether there is a bias; true by default */
  bias?: boolean
}

/** The base of Linear and Conv1D. */
export class Affine extends Module {
  /** @internal */
  static override readonly ownName: string = 'Affine'

  #layout: Layout

  weight: Tensor
  /** [the features that come out], or null without a bias */
  bias: Tensor | null

  /**
   * @internal
   * @param args the arguments of Linear or Conv1D: two sizes, which are not checked yet, and the options
   */
  constructor(
    args: ArrayLike<unknown>,
    layout: Layout,
    options: AffineOptions | undefined,
    initialize: (parameters: { weight: Tensor; bias: Tensor | null }) => void,
  ) {
    super()
    try {
      checkCount(args, 3)
      const { outputs, sizes, weightShape } = layout
      for (const [name, size] of Object.entries(sizes)) checkSize(name, size)
      const { bias } = checkOptions(options, { bias: true })
      checkBoolean('bias', bias)
      this.#layout = layout
      const parameters = temporary(() => ({
        weight: Tensor.parameter(weightShape),
        bias: bias ? Tensor.parameter([outputs]) : null,
      }))
      if (!parameters.weight.isMeta) initialize(parameters)
      this.weight = parameters.weight
      this.bias = parameters.bias
    } catch (error) {
      throw withClass(error, new.target)
    }
  }

  /**
   * @param x [..., the features that go in], not modified
   * @returns [..., the features that come out]
   * @throws {GptLayersError} SHAPE when the last axis does not fit
   */
  override forward(x: Tensor): Tensor {
    const { inputs, outputs, inputsName } = this.#layout
    const rows = checkRows(x, inputs, inputsName)
    const int8Weight = this.int8Weight && Int8Weight.checkUsable(this.int8Weight, [outputs, inputs])
    if (int8Weight) {
      const y = Tensor.empty([...leading(x.shape, 1), outputs])
      const read = [x, int8Weight, this.#bias()]
      const sizes = [rows, inputs, outputs, int8Weight.groupSize]
      run('gpt_int8_linear_forward', [y, SCRATCH, ...read, ...sizes, isByDot()])
      const refuse = () => {
        const expected = 'float32 for backward, got int8, made by quantize; call forward in gpt.noGrad'
        throw fail('UNSUPPORTED', 'weight', `be ${expected}`)
      }
      return record(y, [x], refuse, [])
    }
    const { weight, bias } = Affine.parametersOf(this)
    return affine(x, weight, bias, this.#layout)
  }

  /**
   * The parameters, which the user may have disposed or replaced. Not a method, which a class that extends a
   * layer could override: kernels rely on it.
   *
   * @internal
   */
  static parametersOf(layer: Affine): { weight: Tensor; bias: Tensor | null } {
    const { weight } = layer
    checkTensorOf('weight', weight, layer.#layout.weightShape)
    return { weight, bias: layer.#bias() }
  }

  #bias(): Tensor | null {
    return checkOptional('bias', this.bias, [this.#layout.outputs])
  }

  /** The weight that `quantize` has made; null where `weight` is float32. */
  get int8Weight(): Int8Weight | null {
    return int8Of(this.weight)
  }

  /** @internal */
  override get int8Matrix(): Matrix | null {
    const { weightShape, isTransposed } = this.#layout
    return asMatrix(this.weight, weightShape, { transposed: isTransposed, isProduct: true })
  }
}
