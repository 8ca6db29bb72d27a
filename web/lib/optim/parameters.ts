import type { Tensor } from '../tensor/tensor.ts'
import { checkArray } from '../check.ts'
import { fail } from '../errors.ts'
import { checkTensor } from '../tensor/check.ts'

/**
 * An array of live tensors, each of them once.
 *
 * @param names what has come before, by its name: the parameters of earlier groups
 * @returns a copy
 */
export function checkParameters(
  parameters: unknown,
  name: string = 'parameters',
  names: Map<Tensor, string> = new Map(),
): readonly Tensor[] {
  checkArray(name, parameters, 'an array of Tensors')
  return Array.from(parameters, (value, i) => {
    const own = `${name}[${i}]`
    const parameter = checkTensor(own, value)
    if (parameter.step !== null) {
      const expected = 'a leaf, such as a layer has in parameters(), got a computed tensor'
      throw fail('VALUE', own, `be ${expected}`)
    }
    const first = names.get(parameter)
    if (first !== undefined) throw fail('VALUE', own, `differ from ${first}`, 'the same Tensor')
    names.set(parameter, own)
    return parameter
  })
}

/**
 * The gradient of a parameter, or null if it has none. Optimizers and clipping skip such a parameter, as PyTorch
 * does.
 *
 * @param i its place among all parameters
 */
export function gradientOf(parameter: Tensor, i: number): Tensor | null {
  const { grad } = checkTensor(`parameters[${i}]`, parameter)
  return grad === null || grad.disposed ? null : grad
}
