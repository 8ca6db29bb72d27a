import { checkBoolean, checkOptions } from '../check.ts'
import { fail } from '../errors.ts'
import { type FunctionName, type Runtime, SCRATCH } from '../runtime/runtime.ts'
import { record, recordKernel } from '../runtime/tape.ts'
import { checkRows, checkTensorOf } from '../tensor/check.ts'
import { type Int8Weight, type Matrix, asMatrix, int8Of, MATRIX } from '../tensor/int8weight.ts'
import { leading } from '../tensor/shape.ts'
import { Tensor } from '../tensor/tensor.ts'
import { Module } from './module.ts'

/**
 * What Linear and Conv1D share: y = x · W + bias. They differ in the layout of the weight, its initial
 * values, and the names of the sizes.
 */
interface Layout {
  /** the size of x's last axis */
  inputs: number
  /** the size of y's last axis */
  outputs: number
  /** the name of the argument `inputs`, for errors */
  inputsName: string
  weightShape: readonly number[]
  /** whether weightShape is [inputs, outputs] */
  isTransposed: boolean
  forward: FunctionName
  backward: FunctionName
}

export interface AffineOptions {
  /** whether there is a bias; true by default */
  bias?: boolean
}

/** The base of Linear and Conv1D. */
export class Affine extends Module {
  #layout: Layout

  weight: Tensor
  /** [the features that come out], or null without a bias */
  bias: Tensor | null

  /** @internal */
  constructor(
    runtime: Runtime,
    layout: Layout,
    options: AffineOptions | undefined,
    initialize: (parameters: { weight: Tensor; bias: Tensor | null }) => void,
  ) {
    super(runtime)
    const { outputs, weightShape } = layout
    const { bias } = checkOptions(options, { bias: true })
    checkBoolean('bias', bias)
    this.#layout = layout
    const parameters = runtime.temporary(() => ({
      weight: Tensor.parameter(runtime, weightShape),
      bias: bias ? Tensor.parameter(runtime, [outputs]) : null,
    }))
    if (!runtime.meta) initialize(parameters)
    this.weight = parameters.weight
    this.bias = parameters.bias
  }

  /**
   * @param x [..., the features that go in], not modified
   * @returns [..., the features that come out]
   * @throws {GptLayersError} SHAPE when the last axis does not fit; TYPE, DISPOSED, MEMORY
   */
  override forward(x: Tensor): Tensor {
    const { inputs, outputs, inputsName, forward, backward } = this.#layout
    const { runtime } = this
    const rows = checkRows(runtime, x, inputs, inputsName)
    const int8Weight = this.int8Weight?.checkUsable(runtime, [outputs, inputs])
    const y = Tensor.empty(runtime, [...leading(x.shape, 1), outputs])
    if (int8Weight) {
      const read = [x, int8Weight, this.#bias()]
      const sizes = [rows, inputs, outputs, int8Weight.groupSize]
      runtime.run('gpt_int8_linear_forward', [y, SCRATCH, ...read, ...sizes])
      const refuse = () => {
        const expected = 'float32 for backward, got int8, made by quantize; call forward in gpt.noGrad'
        throw fail('UNSUPPORTED', 'weight', `be ${expected}`)
      }
      return record(y, [x], refuse, [])
    }
    const { weight, bias } = Affine.parametersOf(this)
    runtime.run(forward, [y, SCRATCH, x, weight, bias, rows, inputs, outputs])
    return recordKernel(y, {
      inputs: [x, weight, bias],
      saved: [x, weight],
      backward: (dy, dx, dweight, dbias) => {
        const written = [dx, dweight, dbias]
        runtime.run(backward, [...written, SCRATCH, dy, x, weight, rows, inputs, outputs])
      },
    })
  }

  /**
   * The parameters, which the user may have disposed or replaced. Not a method, which a class that extends a
   * layer could override: kernels rely on it.
   *
   * @internal
   */
  static parametersOf(layer: Affine): { weight: Tensor; bias: Tensor | null } {
    const { runtime, weight } = layer
    checkTensorOf(runtime, 'weight', weight, layer.#layout.weightShape)
    return { weight, bias: layer.#bias() }
  }

  #bias(): Tensor | null {
    const { runtime, bias } = this
    return bias === null ? null : checkTensorOf(runtime, 'bias', bias, [this.#layout.outputs])
  }

  /** The weight that `quantize` has made; null where `weight` is float32. */
  get int8Weight(): Int8Weight | null {
    return int8Of(this.weight)
  }

  /** @internal */
  override [MATRIX](): Matrix | null {
    const { weightShape, isTransposed } = this.#layout
    return asMatrix(this.weight, weightShape, { transposed: isTransposed, isProduct: true })
  }
}
