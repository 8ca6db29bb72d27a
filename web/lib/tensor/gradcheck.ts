// gradcheck: the gradients of `backward` beside central differences.

import {
  checkArray,
  checkBoolean,
  checkFunction,
  checkNonNegative,
  checkNumber,
  checkOptions,
  named,
} from '../check.ts'
import { fail, GptLayersError } from '../errors.ts'
import { backward, stepsBefore } from './backward.ts'
import { checkTensor } from './check.ts'
import { freeing } from './scope.ts'
import { records } from './tape.ts'
import { Tensor } from './tensor.ts'

const DEFAULTS = { eps: 5e-3, atol: 1e-3, rtol: 1e-2, raiseException: true }

export interface GradcheckOptions {
  /** how far an element moves in each direction, > 0; 5e-3 by default */
  eps?: number
  /** what a derivative may be off by, absolute; 1e-3 by default */
  atol?: number
  /** and relative to the numerical derivative; 1e-2 by default */
  rtol?: number
  /** whether a wrong gradient is an error; with false it returns false. True by default */
  raiseException?: boolean
}

/**
 * Compares the gradients of `backward` with central differences, as torch.autograd.gradcheck: for each element
 * x of the inputs and each element y of what `fn` returns,
 *
 *     |dy/dx - (y(x + eps) - y(x - eps)) / 2eps| <= atol + rtol · |(y(x + eps) - y(x - eps)) / 2eps|
 *
 * A float32 y near 1 is rounded by 6e-8, so its difference quotient by 1e-5 at eps = 5e-3, and it is off by
 * eps² / 6 of the third derivative. PyTorch's defaults (eps 1e-6) are for float64. Choose inputs near 1, away
 * from kinks such as relu's at 0.
 *
 * It takes a `backward` for each element of y, and two calls of fn for each of x: use small tensors.
 *
 * @param fn gets the inputs, and returns a tensor or an array of them; the same for the same inputs
 * @param inputs a tensor, or an array of them, which `fn` may also reach otherwise, such as `parameters()` of a
 *   layer. Those that require a gradient are checked
 * @returns true; false where a gradient is wrong and `raiseException` is false. Values and `.grad` are as
 *   before
 * @throws {GptLayersError} VALUE where a gradient is wrong, and in `noGrad`
 * @example
 * const x = gpt.parameter(gpt.randn([2, 3]))
 * gpt.gradcheck((x) => x.softmax({ dim: 1 }), x) // true
 */
export function gradcheck(
  fn: (...inputs: Tensor[]) => Tensor | readonly Tensor[],
  inputs: Tensor | readonly Tensor[],
  options?: GradcheckOptions,
): boolean {
  return named('gradcheck', arguments, 3, () => {
    checkFunction<typeof fn>('fn', fn)
    const leaves = checkLeaves(inputs)
    if (!records(...leaves)) {
      throw new GptLayersError('VALUE', 'should be called outside of noGrad, which records no gradients')
    }
    const { eps, atol, rtol, raiseException } = checkOptions(options, DEFAULTS)
    checkNumber('eps', eps, 'a finite number > 0', (n) => n > 0 && n < Infinity)
    checkNonNegative('atol', atol)
    checkNonNegative('rtol', rtol)
    checkBoolean('raiseException', raiseException)
    const outputs = () => {
      const result = fn(...leaves)
      const list = result instanceof Tensor ? [result] : result
      checkArray('what fn returns', list, 'a Tensor or an array of Tensors')
      return list.map((tensor, i) => checkTensor(`output ${i} of fn`, tensor))
    }
    const rows = freeing(() => jacobian(outputs(), leaves))
    for (const [i, input] of leaves.entries()) {
      for (let at = 0; input.requiresGrad && at < input.size; at++) {
        const slopes = differences(outputs, input, at, eps)
        const wrong = rows.findIndex(({ gradients }, row) => {
          const tolerance = atol + rtol * Math.abs(slopes[row])
          return !(Math.abs(gradients[i][at] - slopes[row]) <= tolerance) // a NaN is wrong
        })
        if (wrong < 0) continue
        if (!raiseException) return false
        const { name, gradients } = rows[wrong]
        const derivative = `the derivative of ${name} by ${elementOf(`inputs[${i}]`, input.shape, at)}`
        throw fail('VALUE', derivative, `be ${slopes[wrong]} (numerical)`, `${gradients[i][at]} (analytical)`)
      }
    }
    return true
  })
}

function checkLeaves(inputs: unknown): readonly Tensor[] {
  const list = inputs instanceof Tensor ? [inputs] : inputs
  checkArray('inputs', list, 'a Tensor or an array of Tensors')
  const leaves = list.map((input, i) => checkTensor(`inputs[${i}]`, input))
  if (leaves.some(({ requiresGrad, step }) => requiresGrad && step === null)) return leaves
  throw fail('VALUE', 'inputs', 'have a leaf that requires a gradient, such as gpt.parameter makes', 'none')
}

/**
 * @returns by element of the outputs: its name, and its gradients with respect to the inputs. No `.grad` is
 *   changed
 */
function jacobian(
  outputs: readonly Tensor[],
  inputs: readonly Tensor[],
): { name: string; gradients: Float32Array[] }[] {
  const reached = outputs.flatMap((y) => [y, ...stepsBefore(y.step).flatMap(({ targets }) => targets)])
  const isLeaf = (one: unknown): one is Tensor => one instanceof Tensor && one.step === null
  const leaves = new Set([...inputs, ...reached].filter(isLeaf))
  const before = [...leaves].map((leaf) => ({ leaf, grad: leaf.grad?.disposed ? null : leaf.grad }))
  for (const leaf of leaves) leaf.receiveGradient(null)
  try {
    return outputs.flatMap((y, o) =>
      Array.from({ length: y.size }, (_, k) => {
        const dy = Tensor.zeros(y.shape)
        dy.data[k] = 1
        if (y.requiresGrad) backward(y, dy, true)
        const gradients = inputs.map(({ grad, size }) => grad?.data.slice() ?? new Float32Array(size))
        for (const leaf of leaves) leaf.freeGradient()
        return { name: elementOf(`output ${o}`, y.shape, k), gradients }
      }),
    )
  } finally {
    for (const { leaf, grad } of before) {
      leaf.freeGradient()
      leaf.receiveGradient(grad)
    }
  }
}

/** @returns by element of the outputs: its difference quotient where one element of an input moves */
function differences(outputs: () => Tensor[], input: Tensor, at: number, eps: number): number[] {
  const value = input.data[at]
  const move = (by: number) => {
    input.data[at] = value + by
    return { x: input.data[at], ys: freeing(() => outputs().flatMap(({ data }) => [...data])) }
  }
  try {
    const [above, below] = [move(eps), move(-eps)]
    return above.ys.map((y, i) => (y - below.ys[i]) / (above.x - below.x)) // x + eps was rounded
  } finally {
    input.data[at] = value
  }
}

/** @returns such as `inputs[0] at [1, 2]` */
function elementOf(name: string, shape: readonly number[], index: number): string {
  const places: number[] = []
  let rest = index
  for (const size of [...shape].reverse()) {
    places.unshift(rest % size)
    rest = Math.floor(rest / size)
  }
  return places.length === 0 ? name : `${name} at [${places.join(', ')}]`
}
