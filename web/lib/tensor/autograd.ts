// The public functions of the tape and of scopes: parameter, record, noGrad, scope.

import { checkArray, checkFunction, describe, named } from '../check.ts'
import { fail } from '../errors.ts'
import { heap } from '../runtime/runtime.ts'
import { scoped } from '../runtime/scope.ts'
import { record as recordStep, withoutTape } from './tape.ts'
import { checkTensor, checkTensorOf, Tensor } from './tensor.ts'

/**
 * Makes a tensor a parameter, in place, as PyTorch's nn.Parameter: it requires a gradient, and a module
 * that has it as a property lists it in `parameters()`. A module's other tensors are its buffers:
 * `stateDict` has them, `parameters` does not.
 *
 * @param tensor a leaf: not computed from a tensor that requires a gradient
 * @returns the tensor
 * @example
 * const w = gpt.parameter(gpt.ones([2]))
 * w.sum().backward()
 * w.grad.toArray() // [1, 1]
 */
export const parameter = /* @__PURE__ */ named('parameter', (tensor: Tensor): Tensor =>
  Tensor.makeParameter(checkTensor('tensor', tensor)),
)

/**
 * Records how you computed a tensor, so that `backward` reaches what you computed it from. For an operation
 * that the package does not have, such as a kernel of your own.
 *
 * @param output a new tensor, whose values you have computed
 * @param inputs the tensors that it depends on
 * @param gradients gets the gradient of the output, of its shape, and which inputs need one; returns a
 *   gradient for each input, of its shape, or null for zeros. It runs in `noGrad` and in a scope of its own
 * @param saved the tensors that `gradients` reads, so that no scope frees them before; by default the
 *   inputs and the output
 * @returns the output; unchanged where no input requires a gradient, and in `noGrad`
 * @example
 * const x = gpt.parameter(gpt.tensor([3]))
 * const y = gpt.record(gpt.tensor([x.item() ** 3]), [x], (dy) => [dy.mul(x).mul(x).mul(3)])
 * y.backward()
 * x.grad.toArray() // [27]
 */
export const record = /* @__PURE__ */ named(
  'record',
  (
    output: Tensor,
    inputs: readonly Tensor[],
    gradients: (dy: Tensor, wanted: readonly boolean[]) => readonly (Tensor | null)[],
    saved?: readonly Tensor[],
  ): Tensor => {
    const checkAll = (name: string, list: unknown) => {
      checkArray(name, list, 'an array of tensors')
      return list.map((item, i) => checkTensor(`${name}[${i}]`, item))
    }
    checkTensor('output', output)
    const given = checkAll('inputs', inputs)
    const kept = saved === undefined ? [...given, output] : checkAll('saved', saved)
    if (given.includes(output)) throw fail('VALUE', 'output', 'be a new tensor', 'one of the inputs')
    if (output.requiresGrad) {
      throw fail('VALUE', 'output', 'be a new tensor', 'one that requires a gradient already')
    }
    checkFunction('gradients', gradients)
    const shapes = given.map(({ shape }) => shape)
    const checked: typeof gradients = (dy, wanted) => {
      const expected = `return an array of ${shapes.length}, one for each input`
      const computed = gradients(dy, wanted)
      if (!Array.isArray(computed)) throw fail('TYPE', 'gradients', expected, describe(computed))
      if (computed.length !== shapes.length) {
        throw fail('SHAPE', 'gradients', expected, `an array of ${computed.length}`)
      }
      return computed.map((gradient, i) =>
        gradient === null || !wanted[i]
          ? null
          : checkTensorOf(`the gradient of inputs[${i}]`, gradient, shapes[i]),
      )
    }
    return recordStep(output, given, checked, kept)
  },
)

/**
 * Runs `fn` without recording for `backward`, as torch.no_grad: nothing that it computes requires a
 * gradient, so nothing is kept, and `forward` takes less memory and time.
 *
 * @param fn synchronous
 * @returns the result of fn
 * @throws {GptLayersError} TYPE when fn is not a function, is a generator function, or returns a Promise
 * @example const y = gpt.noGrad(() => model.forward(tokens))
 */
export const noGrad = /* @__PURE__ */ named('noGrad', <T>(fn: () => T): T => {
  checkNoGenerator(fn)
  const result = withoutTape(fn)
  if (result instanceof Promise) {
    throw fail('TYPE', 'fn', 'return its result at once', describe(result))
  }
  return result
})

/**
 * Runs `fn` and frees every tensor that was made inside, the parameters of layers too, except the result of
 * `fn` and what its `backward` needs. A result is a tensor, a layer, or an array, plain object, Map or Set of
 * them. A layer or an optimizer of your own, made before, keeps what its properties hold, also in an array, plain
 * object, Map or Set. A leaf keeps its `.grad`. Where `fn` throws, all other tensors are freed.
 *
 * @param fn synchronous
 * @returns the result of fn
 * @throws {GptLayersError} TYPE when fn is not a function, is a generator function, or returns a Promise
 * @example const y = gpt.scope(() => norm.forward(linear.forward(x))) // frees linear's output
 */
export const scope = /* @__PURE__ */ named('scope', <T>(fn: () => T): T => {
  checkNoGenerator(fn)
  heap() // loaded?
  return scoped(fn)
})

/** A function, but not a generator function: its code would run after noGrad or scope has ended. */
function checkNoGenerator(fn: unknown): void {
  checkFunction('fn', fn)
  if (!String(Reflect.get(fn, Symbol.toStringTag)).endsWith('GeneratorFunction')) return
  throw fail('TYPE', 'fn', 'return its result at once', 'a generator function')
}
