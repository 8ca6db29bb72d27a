// What makes an operation public: a function, such as `gpt.exp(x)`, and a method of Tensor, `x.exp()`.

import { checkCount, named } from '../check.ts'
import { withName } from '../errors.ts'
import { checkTensor, Tensor } from './tensor.ts'

/** The function of an operation, with what is not public. */
export interface Operation<F> {
  compute: F
  method: (this: Tensor, ...rest: never[]) => unknown
  setName: (name: string) => void
}

/**
 * The name of the function and of the method is that of the export: see methods.ts.
 *
 * @param compute gets a live tensor; its other arguments are not checked yet. It declares each, and none with a
 *   default value: `length` counts them
 * @param inPyTorch see `checkCount`
 * @returns the function
 */
export function operation<F extends (x: Tensor, ...rest: never[]) => unknown>(
  compute: F,
  inPyTorch?: string,
): F {
  const most = compute.length - 1
  let name = 'gpt-layers' // before `load`, when there is no tensor
  const fn = (x: Tensor, ...rest: never[]): unknown => compute(checkTensor('x', x), ...rest)
  /** As `named`, but for a call less: methods are called most. */
  const method = function (this: Tensor, ...rest: never[]): unknown {
    try {
      if (rest.length > most) checkCount(rest, most, name, inPyTorch)
      Tensor.live(this)
      return compute(this, ...rest)
    } catch (error) {
      throw withName(error, name)
    }
  }
  const setName = (given: string) => void (name = given)
  return Object.assign(
    named(() => name, fn as F, inPyTorch, most + 1),
    { compute, method, setName },
  )
}

/** @returns what computes an operation, for a layer: the errors of the layer begin with its own name */
export const computeOf = <F>(operation: F): F => (operation as Operation<F>).compute
