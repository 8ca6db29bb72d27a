import { named, nameMethods } from '../check.ts'
import type { Operation } from './operation.ts'
import * as operations from './operations.ts'
import { Tensor } from './tensor.ts'

/** A function of a tensor as its method; of one with overloads, each of up to three. */
type Method<F> = F extends {
  (x: Tensor, ...rest: infer A): infer R
  (x: Tensor, ...rest: infer B): infer S
  (x: Tensor, ...rest: infer C): infer T
}
  ? { (...rest: A): R; (...rest: B): S; (...rest: C): T }
  : F extends (x: Tensor, ...rest: infer A) => infer R
    ? (...rest: A) => R
    : never

type Methods = { [Name in keyof typeof operations]: Method<(typeof operations)[Name]> }

/** @internal web/types.js writes each method into the package's types. */
declare module './tensor.ts' {
  interface Tensor extends Methods {}
}

/** Methods that our own code alone calls, at each step: they throw no error that needs a name. */
const INTERNAL = ['changed', 'freeGradient', 'hold', 'letGo', 'pointerTo', 'receiveGradient', 'step']

/**
 * Names the operations and gives Tensor its methods. `load` does it: importing the package does nothing, and there is
 * no tensor before.
 */
export function defineMethods(): void {
  nameMethods(Tensor, (name, method) => (INTERNAL.includes(name) ? method : named(name, method)))
  for (const [name, operation] of Object.entries(operations)) {
    const { method, setName } = operation as unknown as Operation<unknown>
    setName(name)
    Object.defineProperty(Tensor.prototype, name, { value: method, writable: true, configurable: true })
  }
}
