// `backward`: the tape's steps from the last to the first.

import { run } from '../runtime/runtime.ts'
import { temporary, unscoped } from './scope.ts'
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
  /** What has come so far, for the steps that have not run. */
  const sums: Map<Step, Tensor> = new Map()
  const give = (target: Step | Tensor, given: Tensor) => {
    try {
      if (target instanceof Step) {
        const sum = sums.get(target)
        sums.set(target, sum === undefined ? given : add(sum, given))
      } else addToLeaf(target, given)
    } catch (error) {
      given.dispose()
      throw error
    }
  }
  withoutTape(() => {
    // A copy: the caller may change its gradient, and it may be the `.grad` of a leaf, to which is added here.
    give(root.step ?? root, unscoped(gradient === null ? oneOf(root.shape) : gradient.clone()))
    try {
      for (const step of stepsBefore(root.step)) {
        const dy = sums.get(step)
        if (dy !== undefined) {
          if (!addPart(step, dy, sums)) {
            const { targets } = step
            // All are taken before one is given: two may be the same tensor, and `give` disposes what it adds.
            let taken: (Tensor | null)[] = []
            temporary(() => {
              taken = step.run(dy).map((dx, i) => (targets[i] === null ? null : dx && Tensor.take(dx)))
            })
            try {
              for (const [i, dx] of taken.entries()) if (dx && !hasMemoryOf(dx, dy)) taken[i] = ofItsOwn(dx)
              for (const [i, dx] of taken.entries()) {
                const target = targets[i]
                taken[i] = null
                if (target !== null && dx !== null) give(target, dx)
              }
            } finally {
              for (const dx of taken) dx?.dispose()
            }
          }
          sums.delete(step)
          dy.dispose()
        }
        if (!retainGraph) step.release()
      }
    } finally {
      for (const sum of sums.values()) sum.dispose()
    }
  })
}

/**
 * Adds the gradient of a part to that of the whole, where the whole has one already.
 *
 * @returns whether it did
 */
function addPart({ addTo, targets: [target] }: Step, dy: Tensor, sums: ReadonlyMap<Step, Tensor>): boolean {
  if (addTo === null || target === null || target === undefined) return false
  const sum = target instanceof Step ? sums.get(target) : target.grad
  if (!sum || sum.disposed || (target instanceof Step ? sum.isShared : target.disposed)) return false
  addTo(sum, dy)
  sum.changed()
  return true
}

/** @returns this step and all before it, the last one first */
export function stepsBefore(last: Step | null): Step[] {
  const found: Set<Step> = new Set(last ? [last] : [])
  for (const step of found) {
    step.checkLive()
    for (const target of step.targets) if (target instanceof Step) found.add(target)
  }
  return [...found].sort((a, b) => b.number - a.number)
}

/**
 * @param sum taken: disposed, unless it is the result
 * @param given taken: disposed
 * @returns sum + given, in the memory of `sum` if no other tensor uses that
 */
function add(sum: Tensor, given: Tensor): Tensor {
  const result = sum.isShared ? unscoped(Tensor.empty(sum.shape)) : sum
  run('gpt_add', [result, sum, given, 1, sum.size, 0, 1, 0, 1])
  if (result !== sum) sum.dispose()
  given.dispose()
  return result
}

/** A tensor of a single 1. */
function oneOf(shape: readonly number[]): Tensor {
  const one = Tensor.empty(shape)
  one.data[0] = 1
  return one
}

/** @param given taken: it becomes the leaf's `.grad`, or it is added to that and disposed */
function addToLeaf(leaf: Tensor, given: Tensor): void {
  const { grad } = leaf
  if (leaf.disposed) given.dispose()
  else if (grad !== null && !grad.disposed) {
    run('gpt_add', [grad, grad, given, 1, grad.size, 0, 1, 0, 1])
    grad.changed()
    given.dispose()
  } else leaf.receiveGradient(ofItsOwn(given))
}

const hasMemoryOf = (a: Tensor, b: Tensor): boolean => a.byteOffset === b.byteOffset

/**
 * Gradients on their way share their memory with each other only, so that adding to a leaf's `.grad` changes
 * none of them.
 *
 * @param given belongs to this function: it is returned or disposed
 * @returns a tensor of the same values that shares its memory with no other one
 */
function ofItsOwn(given: Tensor): Tensor {
  if (!given.isShared) return given
  try {
    return unscoped(given.clone())
  } finally {
    given.dispose()
  }
}
