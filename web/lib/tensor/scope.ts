import type { Tensor } from './tensor.ts'
import { fail } from '../errors.ts'
import { heap } from '../runtime/runtime.ts'
import { newestStep, Step } from './tape.ts'

/** Runs `fn` and frees the tensors made inside, except those that can be reached from its result. */
export const freeing = <T>(fn: () => T): T => scopeOf(fn, { isLayers: false })

/**
 * As `freeing`, for the temporary tensors of a layer or an operation. What a layer of the user's own has kept
 * in its properties stays, too.
 */
export const temporary = <T>(fn: () => T): T => scopeOf(fn, { isLayers: true })

/**
 * Calls functions one after the other, each with the result of the one before, such as the layers of a model.
 * In `noGrad`, a tensor between two of them is freed as soon as the next is there: memory does not grow with
 * the number of layers. It stays where a layer of the user's own has run, which may have kept it, and where
 * a listener has put it in place of an output.
 */
export const chain = (x: Tensor, functions: Iterable<(x: Tensor) => Tensor>): Tensor =>
  temporary(() => {
    let h = x
    for (const fn of functions) {
      const y = fn(h)
      const isBetween = h !== x && h !== y && y.step === null && heap().hasOnlyOurLayers
      if (isBetween && heap().untrack(h)) h.dispose()
      h = y
    }
    return h
  })

function scopeOf<T>(fn: () => T, options: { isLayers: boolean }): T {
  const newest = newestStep()
  return heap().scope(fn, (kept, made) => survivors(kept, made, newest), options)
}

/**
 * The tensors that a scope must not free: those in its result, and those that the tape needs for the
 * gradients of the result. From here on the latter belong to their steps, which free them after `backward`.
 *
 * @param result what the function of the scope returned
 * @param made the tensors that were made in the scope
 * @param newest the number of the newest step before the scope: older steps need nothing that was made in it
 * @throws {GptLayersError} TYPE for a Promise
 */
function survivors(
  result: unknown,
  made: ReadonlySet<unknown>,
  newest: number,
): { has(tensor: unknown): boolean } {
  const isSingle = made.has(result) && stepOf(result) === null
  if (isSingle) return { has: (tensor) => tensor === result } // the usual case without gradients
  const kept = reachable(result)
  const steps: Set<Step> = new Set()
  const addStep = (step: unknown) => {
    if (step instanceof Step && step.number > newest) steps.add(step)
  }
  for (const value of kept) addStep(stepOf(value))
  /** The step that frees a tensor: the last one that needs it in `backward`. */
  const owners: Map<Tensor, Step> = new Map()
  for (const step of steps) {
    for (const target of step.targets) {
      if (made.has(target)) kept.add(target)
      else addStep(target)
    }
    for (const { tensor } of step.saved) {
      if (!made.has(tensor) || kept.has(tensor)) continue
      const owner = owners.get(tensor) ?? tensor.step ?? step
      owners.set(tensor, owner.number < step.number ? owner : step)
    }
  }
  for (const [tensor, owner] of owners) {
    if (kept.has(tensor)) continue // a leaf of a later step
    kept.add(tensor)
    owner.owned.add(tensor)
  }
  return kept
}

/**
 * Everything that can be reached from a value: through arrays, plain objects, maps, sets and layers.
 *
 * @throws {GptLayersError} TYPE for a Promise
 */
function reachable(root: unknown): Set<unknown> {
  const found = new Set([root])
  for (const value of found) {
    if (typeof value !== 'object' || value === null) continue
    for (const inner of directlyInside(value)) found.add(inner)
  }
  return found
}

/** The step that made a value, where that is a tensor. */
const stepOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'step' in value ? value.step : undefined

/** Whether a value is one of our objects that hold tensors, such as a layer. */
const holdsTensors = (value: object): value is { tensorsForScope: unknown[] } => 'tensorsForScope' in value

function directlyInside(value: object): Iterable<unknown> {
  if (holdsTensors(value)) return value.tensorsForScope
  if (Array.isArray(value) || value instanceof Set) return value
  if (value instanceof Map) return [...value].flat()
  if (value instanceof Promise) {
    const given = 'a Promise; a scope cannot free the tensors of an async function'
    throw fail('TYPE', 'fn', 'return its result at once', given)
  }
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype ? Object.values(value) : []
}
