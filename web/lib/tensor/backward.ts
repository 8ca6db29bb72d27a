// `backward`: the tape's steps from the last to the first.

import { run } from '../runtime/runtime.ts'
import { temporary, withoutScope } from '../runtime/scope.ts'
import { Step, withoutTape } from './tape.ts'
import { Tensor } from './tensor.ts'

export interface BackwardOptions {
  /** whether the graph stays for another `backward`, which adds its gradients; false by default: it is freed */
  retainGraph?: boolean
}

/**
 * Computes the gradient of a tensor with respect to every leaf that it was computed from, and adds it to the
 * leaf's `.grad`.
 *
 * @param gradient the gradient of the root; null for 1
 * @throws {GptLayersError} VALUE where an earlier backward has freed the graph; what the steps throw
 */
export function backward(root: Tensor, gradient: Tensor | null, retainGraph: boolean): void {
  const steps = stepsBefore(root.step)
  const sums: Sums = new Map()
  for (const step of steps) step.hold()
  try {
    // A gradient belongs to who receives it, and to no scope.
    withoutScope(() =>
      withoutTape(() => {
        // A copy: the caller may change its gradient, and it may be the `.grad` of a leaf, to which is added here.
        give(root.step ?? root, gradient === null ? oneOf(root.shape) : gradient.clone(), sums)
        for (const step of steps) {
          const dy = sums.get(step)
          sums.delete(step)
          if (dy !== undefined) runStep(step, dy, sums)
          if (!retainGraph) step.release()
        }
      }),
    )
  } finally {
    for (const sum of sums.values()) sum.letGo()
    for (const step of steps) step.letGo()
  }
}

/** The gradients that have come so far, of the outputs of steps that have not run. */
type Sums = Map<Step, Tensor>

/** @param dy passes to this function */
function runStep(step: Step, dy: Tensor, sums: Sums): void {
  const { targets } = step
  let gradients: (Tensor | null)[] = []
  try {
    if (addPart(step, dy, sums)) return
    temporary(() => {
      gradients = step.run(dy).map((dx, i) => (targets[i] === null ? null : (dx?.hold() ?? null)))
    })
    for (const [i, dx] of gradients.entries()) {
      const target = targets[i]
      gradients[i] = null
      // Only gradients on their way may share memory: it is not added to.
      if (dx && target) give(target, hasMemoryOf(dx, dy) ? dx : ofItsOwn(dx), sums)
    }
  } finally {
    for (const dx of gradients) dx?.letGo()
    dy.letGo()
  }
}

/** @param given passes to the target */
function give(target: Step | Tensor, given: Tensor, sums: Sums): void {
  if (!(target instanceof Step)) {
    addToLeaf(target, given)
    return
  }
  const sum = sums.get(target)
  sums.set(target, sum === undefined ? given : add(sum, given))
}

/**
 * Adds the gradient of a part to that of the whole, where the whole has one already.
 *
 * @returns whether it did
 */
function addPart({ addTo, targets: [target] }: Step, dy: Tensor, sums: Sums): boolean {
  if (addTo === null || target === null || target === undefined) return false
  const sum = target instanceof Step ? sums.get(target) : target.grad
  if (!sum || sum.disposed || (target instanceof Step ? sum.isShared : target.disposed)) return false
  addTo(sum, dy)
  sum.changed()
  return true
}

/** @returns this step and all before it, the last one first */
function stepsBefore(last: Step | null): Step[] {
  const found: Set<Step> = new Set(last ? [last] : [])
  for (const step of found) {
    step.checkLive()
    for (const target of step.targets) if (target instanceof Step) found.add(target)
  }
  return [...found].sort((a, b) => b.number - a.number)
}

/**
 * @param sum passes to this function, unless it throws
 * @param given passes to this function
 * @returns sum + given
 */
function add(sum: Tensor, given: Tensor): Tensor {
  if (!sum.isShared) {
    addInPlace(sum, given)
    return sum
  }
  try {
    const result = sum.add(given)
    sum.letGo()
    return result
  } finally {
    given.letGo()
  }
}

/** @param given passes to this function */
function addInPlace(sum: Tensor, given: Tensor): void {
  try {
    run('gpt_add', [sum, sum, given, 1, sum.size, 0, 1, 0, 1])
  } finally {
    given.letGo()
  }
}

/** A tensor of a single 1. */
function oneOf(shape: readonly number[]): Tensor {
  const one = Tensor.empty(shape)
  one.data[0] = 1
  return one
}

/** @param given passes to the leaf: it becomes `.grad`, or it is added to that */
function addToLeaf(leaf: Tensor, given: Tensor): void {
  const { grad } = leaf
  if (leaf.disposed) given.letGo()
  else if (grad === null || grad.disposed) leaf.receiveGradient(ofItsOwn(given))
  else {
    addInPlace(grad, given)
    grad.changed()
  }
}

const hasMemoryOf = (a: Tensor, b: Tensor): boolean => a.byteOffset === b.byteOffset

/**
 * @param given passes to this function
 * @returns a tensor of the same values that nobody else has, nor its memory
 */
function ofItsOwn(given: Tensor): Tensor {
  if (!given.isShared) return given
  try {
    return given.clone()
  } finally {
    given.letGo()
  }
}
