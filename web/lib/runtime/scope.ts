// Who owns a tensor, and so who frees it.
//
// A tensor counts its owners; the last one that lets go frees it. The first owner is the scope that it was made in,
// or, without a scope, the program: then the garbage collector frees it. A step of the tape owns what its gradient
// reads. A leaf owns its `.grad`.
//
//     const loss = scope(() => {
//       const h = x.mul(weight)      owned by the scope, and by the step of pow, whose gradient reads h
//       return h.pow(2).sum()        the scope lets go of all tensors but its result
//     })
//     loss.backward()                the steps let go of what they own: h is freed

import type { Storage } from './memory.ts'
import { describe, isPlainObject } from '../check.ts'
import { fail } from '../errors.ts'

/** A tensor. */
interface Owned {
  letGo(): void
  /** Whether `backward` may give it a gradient. */
  readonly isTrainedLeaf: boolean
  readonly hasOtherOwners: boolean
}

interface Scope {
  /** The tensors that it owns; null where those that are made belong to the code around. */
  made: Set<Owned> | null
  storages: Storage[]
  isOurs: boolean
  /** The layers and optimizers of the user's own that keep tensors; null for none. */
  keepers: Set<object> | null
}

const NOTHING: ReadonlySet<unknown> = new Set()

let scopes: Scope[] = []

/** The layers and optimizers of the user's own, in the order in which they were made. */
let allKeepers: WeakRef<object>[] = []

export function giveToScope(tensor: Owned): void {
  scopes.at(-1)?.made?.add(tensor)
}

/** The first owner of a tensor that was made in the innermost scope, or without one, lets go of it. */
export function makerLetsGo(tensor: Owned): void {
  scopes.at(-1)?.made?.delete(tensor)
  tensor.letGo()
}

/** As `makerLetsGo`, for a tensor of the innermost scope, unless a layer of the user's own may keep it. */
function letGoEarly(tensor: Owned): void {
  const scope = scopes.at(-1)
  if (scope?.keepers === null && scope.made?.delete(tensor)) tensor.letGo()
}

/**
 * Has the garbage collector watch memory. That takes 0.5 µs, so it waits for the end of the scope: most memory is
 * free by then.
 */
export function watch(storage: Storage): void {
  const scope = scopes.at(-1)
  if (scope === undefined) storage.memory.watch(storage)
  else scope.storages.push(storage)
}

/** Registers a new layer or optimizer of the user's own. */
export function registerKeeper(keeper: object): void {
  allKeepers.push(new WeakRef(keeper))
}

/** Called when a layer or an optimizer of the user's own runs: the open scopes of ours leave it its tensors. */
export function addKeeper(keeper: object): void {
  for (const scope of scopes) if (scope.isOurs) scope.keepers = (scope.keepers ?? new Set()).add(keeper)
}

/**
 * Runs `fn` and lets go of the tensors made inside, except those that can be reached from its result, or from a
 * layer or an optimizer of the user's own that was made before: through its properties, and through arrays, plain
 * objects, maps and sets there.
 *
 * @throws {GptLayersError} TYPE for a Promise; what `fn` throws. Then all tensors made inside are let go of
 */
export function scoped<T>(fn: () => T): T {
  const live = allKeepers.map((reference) => reference.deref()).filter((keeper) => keeper !== undefined)
  const keepers = live.length > 0 ? new Set(live) : null
  return within({ isOurs: false, keepers }, fn, (kept) => {
    // A layer that was made inside keeps tensors from here on only if it is kept.
    allKeepers = allKeepers.filter((reference) => {
      const keeper = reference.deref()
      return keeper !== undefined && (keepers?.has(keeper) || kept.has(keeper))
    })
  })
}

/**
 * A scope of our own, for the temporary tensors of a layer or an operation. Only those layers and optimizers of
 * the user's own keep tensors that run inside. A listener's tensors do not belong to it: see `withUserScopes`.
 */
export const temporary = <T>(fn: () => T): T => within({ isOurs: true, keepers: null }, fn)

/**
 * Calls functions one after the other, each with the result of the one before, such as the layers of a model. A
 * tensor between two of them is let go of as soon as the next is there: in `noGrad`, memory does not grow with the
 * number of layers.
 */
export const chain = <T extends Owned>(x: T, functions: Iterable<(x: T) => T>): T =>
  temporary(() => {
    let h = x
    for (const fn of functions) {
      const y = fn(h)
      if (y !== h) letGoEarly(h)
      h = y
    }
    return h
  })

/** Runs `fn`, whose tensors belong to the code around, and to no scope. */
export const withoutScope = <T>(fn: () => T): T => within({ isOurs: true, keepers: null, made: null }, fn)

function within<T>(
  { isOurs, keepers, made = new Set() }: Pick<Scope, 'isOurs' | 'keepers'> & Partial<Pick<Scope, 'made'>>,
  fn: () => T,
  onEnd?: (kept: ReadonlySet<unknown>) => void,
): T {
  const storages: Storage[] = []
  const scope: Scope = { made, storages, isOurs, keepers }
  scopes.push(scope)
  let kept = NOTHING
  try {
    const result = fn()
    const found = reachable(result, scope)
    onEnd?.(found)
    kept = found
    return result
  } finally {
    scopes.pop()
    const leaves: Owned[] = []
    for (const tensor of made ?? []) {
      if (kept.has(tensor)) giveToScope(tensor)
      else if (tensor.isTrainedLeaf) leaves.push(tensor)
      else tensor.letGo()
    }
    // Steps have let go of leaves by now, unless the result leads to them: then `backward` trains the leaf.
    for (const leaf of leaves) {
      if (leaf.hasOtherOwners) giveToScope(leaf)
      else leaf.letGo()
    }
    for (const storage of storages) if (storage.owners > 0) watch(storage)
  }
}

/** Runs a listener as if the user's scopes alone were open: its tensors outlive the layer that it listens to. */
export function withUserScopes<T>(fn: () => T): T {
  const before = scopes
  scopes = before.filter(({ isOurs }) => !isOurs)
  try {
    return fn()
  } finally {
    scopes = before
  }
}

/**
 * @returns what can be reached from a result and from keepers: through arrays, plain objects, maps, sets and layers
 * @throws {GptLayersError} TYPE for a Promise in the result; a keeper may have one in a property
 */
function reachable(result: unknown, { made, keepers }: Scope): ReadonlySet<unknown> {
  if (made === null || (keepers === null && result === undefined)) return NOTHING
  const found = new Set([result])
  if (keepers === null && (made as Set<unknown>).has(result)) return found
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
  return isPlainObject(value) ? Object.values(value) : []
}
