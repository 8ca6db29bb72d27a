import type { Tensor } from './tensor.ts'
import { describe } from '../check.ts'
import { fail } from '../errors.ts'
import { heap } from '../runtime/runtime.ts'
import { newestStep, Step } from './tape.ts'

/** The layers and optimizers of the user's own, in the order in which they were made. */
let keepers: WeakRef<object>[] = []

export const registerKeeper = (keeper: object): unknown => keepers.push(new WeakRef(keeper))

/**
 * Runs `fn` and frees the tensors made inside, except those that can be reached from its result, or from a layer
 * or an optimizer of the user's own that was made before: through its properties, and through arrays, plain
 * objects, maps and sets that these hold.
 */
export function freeing<T>(fn: () => T): T {
  const newest = newestStep()
  const before: Set<object> = new Set()
  keepers = keepers.filter((reference) => {
    const keeper = reference.deref()
    if (keeper !== undefined) before.add(keeper)
    return keeper !== undefined
  })
  const { length } = keepers
  return heap().scope(
    fn,
    (result, _ran, made) => {
      const kept = survivors(result, before, made, newest)
      keepers = keepers.filter((reference, i) => i < length || kept.has(reference.deref()))
      return kept
    },
    { isLayers: false },
  )
}

/**
 * As `freeing`, for the temporary tensors of a layer or an operation. Of the user's own layers and optimizers only
 * those that ran inside count.
 */
export function temporary<T>(fn: () => T): T {
  const newest = newestStep()
  return heap().scope(fn, (result, ran, made) => survivors(result, ran, made, newest), { isLayers: true })
}

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
      const isBetween = h !== x && h !== y && y.step === null && heap().hasNoKeepers
      if (isBetween && heap().untrack(h)) h.dispose()
      h = y
    }
    return h
  })

/** Takes a new tensor out of the innermost scope, so that no scope frees it. */
export function unscoped(tensor: Tensor): Tensor {
  heap().untrack(tensor)
  return tensor
}

/**
 * The tensors that a scope must not free: those in its result or its keepers, and those that the tape needs for the
 * gradients of the result. From here on the latter belong to the steps that read them, of which the last to run
 * in `backward` frees them: two results may need the same tensor.
 *
 * @param result what the function of the scope returned
 * @param keepers the layers and optimizers of the user's own that may keep tensors
 * @param made the tensors that were made in the scope
 * @param newest the number of the newest step before the scope: older steps need nothing that was made in it
 * @throws {GptLayersError} TYPE for a Promise
 */
function survivors(
  result: unknown,
  keepers: ReadonlySet<object>,
  made: ReadonlySet<unknown>,
  newest: number,
): { has(tensor: unknown): boolean } {
  const isSingle = keepers.size === 0 && (result === undefined || made.has(result))
  // The usual cases: nothing is returned, or a tensor without a gradient.
  if (isSingle && !stepOf(result)) return { has: (tensor) => tensor === result }
  const kept = isSingle ? new Set([result]) : reachable(result, keepers)
  const steps: Set<Step> = new Set()
  const addStep = (step: unknown) => {
    if (step instanceof Step && step.number > newest) steps.add(step)
  }
  for (const value of kept) addStep(stepOf(value))
  /** The steps that read a tensor in `backward`. The last of them frees it. */
  const readers: Map<Tensor, Set<Step>> = new Map()
  for (const step of steps) {
    for (const target of step.targets) {
      if (made.has(target)) kept.add(target)
      else addStep(target)
    }
    for (const { tensor } of step.saved) {
      if (!made.has(tensor) || kept.has(tensor)) continue
      const known = readers.get(tensor)
      if (known === undefined) readers.set(tensor, new Set([step]))
      else known.add(step)
    }
  }
  for (const [tensor, steps] of readers) {
    if (kept.has(tensor)) continue // a leaf of a later step
    kept.add(tensor)
    for (const step of steps) step.owned.set(tensor, steps)
  }
  return kept
}

/**
 * Everything that can be reached from a result and from what keeps tensors: through arrays, plain objects, maps,
 * sets and layers.
 *
 * @throws {GptLayersError} TYPE for a Promise in the result; a layer may have one in a property
 */
function reachable(result: unknown, keepers: ReadonlySet<object>): Set<unknown> {
  const found = new Set([result])
  const layers = new Set(keepers)
  for (const value of found) {
    if (value instanceof Promise) {
      const given = `${describe(value)}; a scope cannot free the tensors of an async function`
      throw fail('TYPE', 'fn', 'return its result at once', given)
    }
    if (isLayer(value)) layers.add(value)
    else addObjects(found, inside(value))
  }
  for (const layer of layers) {
    const held: Set<unknown> = new Set(Object.values(layer))
    for (const value of held) {
      if (isLayer(value)) layers.add(value)
      else addObjects(held, inside(value))
      found.add(value)
    }
  }
  return found
}

function addObjects(found: Set<unknown>, values: Iterable<unknown>): void {
  for (const value of values) if (typeof value === 'object') found.add(value)
}

/** The step that made a value, where that is a tensor. */
const stepOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'step' in value ? value.step : undefined

/** Whether a value is a layer: nothing else has this method, and an import of Module would go upward. */
const isLayer = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && 'ownParts' in value

/** Whether a value is another object of ours that holds tensors, such as a cache. */
const holdsTensors = (value: object): value is { tensorsForScope: unknown[] } => 'tensorsForScope' in value

/** What a value holds directly; nothing for a layer. */
function inside(value: unknown): Iterable<unknown> {
  if (typeof value !== 'object' || value === null) return []
  if (holdsTensors(value)) return value.tensorsForScope
  if (Array.isArray(value) || value instanceof Set) return value
  if (value instanceof Map) return [...value.keys(), ...value.values()]
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype ? Object.values(value) : []
}
