/** @import { Pointer, Runtime } from '../runtime/runtime.js' */
/** @import { Int8Weight, Matrix } from '../tensor/int8weight.js' */

import { checkBoolean, checkOptions } from '../check.js'
import { GptLayersError } from '../errors.js'
import { SCRATCH } from '../runtime/runtime.js'
import { record, recordKernel } from '../runtime/tape.js'
import { checkRows, checkTensorOf } from '../tensor/check.js'
import { asMatrix, MATRIX } from '../tensor/int8weight.js'
import { leading } from '../tensor/shape.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/**
 * What Linear and Conv1D share: y = x · W + bias. They differ in the layout of the weight, its initial
 * values, and the names of the sizes.
 *
 * @typedef {object} Layout
 * @property {string} name of the class, for errors
 * @property {number} inputs the size of x's last axis
 * @property {number} outputs the size of y's last axis
 * @property {string} inputsName the name of the argument `inputs`, for errors
 * @property {readonly number[]} weightShape
 * @property {boolean} isTransposed whether weightShape is [inputs, outputs]
 * @property {`gpt_${string}_forward`} forward kernel
 * @property {`gpt_${string}_backward`} backward kernel
 */

/**
 * @typedef {object} AffineOptions
 * @property {boolean} [bias] whether there is a bias; true by default
 */

/** The base of Linear and Conv1D. */
export class Affine extends Module {
  /** @type {Layout} */ #layout

  /**
   * @internal
   * @param {Runtime} runtime
   * @param {Layout} layout
   * @param {AffineOptions} options
   * @param {(parameters: { weight: Tensor, bias: Tensor | null }) => void} initialize
   */
  constructor(runtime, layout, options, initialize) {
    super(runtime)
    const { name, outputs, weightShape } = layout
    const { bias } = checkOptions(name, options, { bias: true })
    checkBoolean(name, 'bias', bias)
    this.#layout = layout
    const parameters = runtime.temporary(() => ({
      weight: Tensor.parameter(runtime, name, weightShape),
      bias: bias ? Tensor.parameter(runtime, name, [outputs]) : null,
    }))
    if (!runtime.meta) initialize(parameters)
    /** @type {Tensor} */
    this.weight = parameters.weight
    /** [the features that come out], or null without a bias @type {Tensor | null} */
    this.bias = parameters.bias
  }

  /**
   * @override
   * @param {Tensor} x [..., the features that go in], not modified
   * @returns {Tensor} [..., the features that come out]
   * @throws {GptLayersError} SHAPE when the last axis does not fit; TYPE, DISPOSED, MEMORY
   */
  forward(x) {
    const { name, inputs, outputs, inputsName, backward } = this.#layout
    const where = `${name}.forward`
    const { runtime } = this
    const rows = checkRows(runtime, where, x, inputs, inputsName)
    const y = Tensor.empty(runtime, where, [...leading(x.shape, 1), outputs])
    Affine.run(this, y, x, rows)
    const { weight, bias, int8Weight } = this
    if (int8Weight !== null) {
      const refuse = () => {
        const expected = 'float32 for backward, got int8, made by quantize; call forward in gpt.noGrad'
        throw new GptLayersError('UNSUPPORTED', `${name}: weight should be ${expected}`)
      }
      return record(y, [x], refuse, [])
    }
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
   * The kernel of `forward` alone.
   *
   * @internal
   * @param {Affine} layer
   * @param {Pointer} y [rows, outputs]
   * @param {Pointer} x [rows, inputs]
   * @param {number} rows
   * @throws {GptLayersError} where a parameter is not as it should be; MEMORY
   */
  static run(layer, y, x, rows) {
    const { name, inputs, outputs, forward } = layer.#layout
    const where = `${name}.forward`
    const { runtime } = layer
    const int8Weight = layer.#int8Weight(where)
    if (int8Weight !== null) {
      const weight = [...int8Weight.pointers, layer.#bias(where)]
      const sizes = [rows, inputs, outputs, int8Weight.groupSize]
      return runtime.run('gpt_int8_linear_forward', [y, SCRATCH, x, ...weight, ...sizes])
    }
    const { weight, bias } = Affine.parametersOf(layer, where)
    runtime.run(forward, [y, SCRATCH, x, weight, bias, rows, inputs, outputs])
  }

  /**
   * The parameters, which the user may have disposed or replaced. Not a method, which a class that extends a
   * layer could override: kernels rely on it.
   *
   * @internal
   * @param {Affine} layer
   * @param {string} where
   * @returns {{ weight: Tensor, bias: Tensor | null }}
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED
   */
  static parametersOf(layer, where) {
    const { runtime, weight } = layer
    checkTensorOf(runtime, where, 'weight', weight, layer.#layout.weightShape)
    return { weight, bias: layer.#bias(where) }
  }

  /** @param {string} where @returns {Tensor | null} */
  #bias(where) {
    const { runtime, bias } = this
    return bias === null ? null : checkTensorOf(runtime, where, 'bias', bias, [this.#layout.outputs])
  }

  /** The weight that `quantize` has made; null where `weight` is float32. @returns {Int8Weight | null} */
  get int8Weight() {
    const { weight } = this
    return Tensor.isTensor(weight) ? weight.int8Weight : null
  }

  /** @param {string} where @returns {Int8Weight | null} checked */
  #int8Weight(where) {
    const { int8Weight, runtime } = this
    const { outputs, inputs } = this.#layout
    return int8Weight && int8Weight.checkUsable(runtime, where, [outputs, inputs])
  }

  /** @override @internal @returns {Matrix | null} */
  [MATRIX]() {
    const { weightShape, isTransposed } = this.#layout
    return asMatrix(this.weight, weightShape, { transposed: isTransposed, isProduct: true })
  }
}
