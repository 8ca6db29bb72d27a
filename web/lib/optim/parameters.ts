import type { Tensor } from '../tensor/tensor.ts'
import { checkArray } from '../check.ts'
import { fail } from '../errors.ts'
import { checkTensor } from '../tensor/check.ts'

/**
 * An array of live tensors, each of them once.
 *
 * @returns a copy
 */
export function checkParameters(parameters: unknown): readonly Tensor[] {
  checkArray('parameters', parameters, 'an array of Tensors')
  return Array.from(parameters, (value, i) => {
    const parameter = checkTensor(`parameters[${i}]`, value)
    if (parameter.step !== null) {
      const expected = 'a leaf, such as a layer has in parameters(), got a computed tensor'
      throw fail('VALUE', `parameters[${i}]`, `be ${expected}`)
    }
    const first = parameters.indexOf(parameter)
    if (first === i) return parameter
    throw fail('VALUE', `parameters[${i}]`, `differ from parameters[${first}]`, 'the same Tensor')
  })
}

/**
 * The parameters that have a gradient, and the gradients. As in PyTorch, the others are left out.
 *
 * @returns each gradient has its parameter's shape
 */
export function withGradients(parameters: readonly Tensor[]): { parameter: Tensor; grad: Tensor }[] {
  return parameters.flatMap((parameter, i) => {
    checkTensor(`parameters[${i}]`, parameter)
    const { grad } = parameter
    return grad === null || grad.disposed ? [] : [{ parameter, grad }]
  })
}
