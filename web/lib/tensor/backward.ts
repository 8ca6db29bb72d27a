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
        const first = gradient === null ? Tensor.full(root.shape, 1) : unchanging(gradient, steps)
        give(root.step ?? root, first, sums)
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
      if (dx && target) give(target, dx.byteOffset === dy.byteOffset ? dx : ofItsOwn(dx), sums)
    }
  } finally {
    for (const dx of gradients) dx?.letGo()
    dy.letGo()
  }
}

/**
 * Adds a gradient to what has come for the output of a step, or to the `.grad` of a leaf.
 *
 * @param given passes to this function
 */
function give(target: Step | Tensor, given: Tensor, sums: Sums): void {
  const isStep = target instanceof Step
  const sum = isStep ? sums.get(target) : target.grad
  if (isStep && !sum) sums.set(target, given)
  else if (!isStep && target.disposed) given.letGo()
  else if (!isStep && (!sum || sum.disposed)) target.receiveGradient(ofItsOwn(given))
  else if (sum) {
    try {
      if (isStep && sum.isShared) {
        sums.set(target, sum.add(given))
        sum.letGo()
      } else {
        run('gpt_add', [sum, sum, given, 1, sum.size, 0, 1, 0, 1])
        sum.changed()
      }
    } finally {
      given.letGo()
    }
  }
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
 * @returns the gradient that `backward` was given; a copy where it may be the `.grad` of a leaf, to which the steps
 *   add. It passes to who calls
 */
function unchanging(gradient: Tensor, steps: readonly Step[]): Tensor {
  const isGradOf = (target: Step | Tensor | null) => target instanceof Tensor && target.grad === gradient
  const mayChange = gradient.isShared || steps.some(({ targets }) => targets.some(isGradOf))
  return mayChange ? gradient.clone() : gradient.hold()
}

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
