/** @import { Calls } from '../runtime/calls.js' */
/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { Tensor } from './tensor.js' */

/**
 * Adds a gradient to a parameter's `.grad`. Within a `backward` that happens when the outermost `backward`
 * has succeeded. Where it fails, no `.grad` changes.
 *
 * @param {Tensor} parameter
 * @param {Tensor} gradient of its shape, made in the innermost scope; nobody else uses its memory
 */
export function giveGradient(parameter, gradient) {
  const { gradients } = parameter.runtime.calls
  const sum = gradients?.get(parameter)
  if (sum) add(sum, gradient)
  else if (gradients) gradients.set(parameter, gradient.keep())
  else settle(parameter, gradient.keep())
}

/**
 * Lets a kernel write the gradients of some parameters, and adds them to each `.grad`. Kernels write
 * gradients instead of adding them, so that a part of a call can be run again; see Pool.
 *
 * @param {Runtime} runtime
 * @param {string} where
 * @param {readonly (Tensor | null)[]} parameters checked; null for one that the layer does not have
 * @param {(...gradients: (Tensor | null)[]) => void} write fills tensors of the parameters' shapes
 */
export function addGradients(runtime, where, parameters, write) {
  runtime.scope(() => {
    const gradients = parameters.map((parameter) => parameter && parameter.empty(where, parameter.shape))
    write(...gradients)
    parameters.forEach((parameter, i) => {
      if (parameter) giveGradient(parameter, /** @type {Tensor} */ (gradients[i]))
    })
  })
}

/**
 * Runs a `backward`. The outermost one then adds the gradients that it and those inside gave.
 *
 * @param {Calls} calls
 * @param {object} module
 * @param {Function} backward a method of module
 * @param {unknown[]} args
 * @returns {unknown} what backward returns
 */
export function collectGradients(calls, module, backward, args) {
  if (calls.gradients !== null) return backward.apply(module, args)
  /** @type {Map<Tensor, Tensor>} */
  const gradients = new Map()
  calls.gradients = gradients
  try {
    const result = backward.apply(module, args)
    gradients.forEach((sum, parameter) => settle(parameter, sum))
    return result
  } catch (error) {
    for (const sum of gradients.values()) sum.dispose()
    throw error
  } finally {
    calls.gradients = null
  }
}

/**
 * Needs no memory, so it does not fail.
 *
 * @param {Tensor} parameter
 * @param {Tensor} sum held; becomes the `.grad`, or is disposed
 */
function settle(parameter, sum) {
  const { grad } = parameter
  if (grad !== null && !grad.disposed) {
    add(grad, sum)
    sum.dispose()
  } else if (parameter.disposed) sum.dispose()
  else parameter.grad = sum
}

/** @param {Tensor} sum changed @param {Tensor} gradient of its shape */
function add(sum, gradient) {
  sum.runtime.run('gpt_add', [sum, sum, gradient, 1, sum.size, 0, 1, 0, 1])
}
