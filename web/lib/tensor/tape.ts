// The tape: how a tensor was computed, so that `backward` can go back from a loss to the parameters.
//
//     const h = x.mul(weight)        x ────────┐
//     const loss = h.sum()           weight ── mul ── h ── sum ── loss
//
// Each operation or layer whose output needs a gradient records a step. A tensor knows the step that made it,
// and a step knows where the gradients of its inputs go: to the steps that made them, or to a leaf's `.grad`.
// A leaf is a tensor that no step made, such as a parameter.
//
// `backward` runs the steps from the last to the first. Each step gets the gradient of its output, the sum
// over all uses of that output, and computes the gradients of its inputs. Then the step lets go of its tensors,
// unless the graph is retained. runtime/scope.ts says who owns a tensor.

import { checkOptions, isPlainObject } from '../check.ts'
import { fail, GptLayersError } from '../errors.ts'
import { run } from '../runtime/runtime.ts'
import { makerLetsGo, temporary, withoutScope } from '../runtime/scope.ts'
import { checkTensorOf, Tensor } from './tensor.ts'

/**
 * Computes the gradients of a step's inputs.
 *
 * @param dy the gradient of the output, of its shape
 * @param wanted which inputs need a gradient
 * @returns one for each input, of its shape; null for one that is not wanted, and for a gradient of zeros
 */
export type Gradients = (dy: Tensor, wanted: readonly boolean[]) => readonly (Tensor | null)[]

let count = 0

/** Steps to be released. One after the other, not by recursion: a graph may be deeper than the stack. */
const waiting: Step[] = []
let isReleasing = false

/**
 * One operation on the tape. It counts who leads back to it: its output, later steps, and a `backward` that runs.
 * When the last of them lets go, so does the step.
 */
export class Step {
  /** A step has a larger number than the steps that made its inputs. */
  number: number
  targets: (Step | Tensor | null)[]
  /** null once the step has let go. */
  gradients: Gradients | null
  saved: { tensor: Tensor; version: number }[] = []
  /** Where the output is a part of the input: adds dy to dx, the input's gradient. */
  addTo: ((dx: Tensor, dy: Tensor) => void) | null = null
  #holders = 1
  /** Whether the step owns its output, which `gradients` reads and nobody else has any more. */
  #ownsOutput = false

  constructor(
    output: Tensor,
    inputs: readonly (Tensor | null)[],
    gradients: Gradients,
    saved: readonly (Tensor | null)[],
  ) {
    this.number = ++count
    this.targets = inputs.map((input) => (input?.requiresGrad ? (input.step ?? input).hold() : null))
    this.gradients = gradients
    for (const tensor of saved) {
      if (tensor === null) continue
      this.saved.push({ tensor, version: tensor.version })
      if (tensor !== output) tensor.hold()
    }
  }

  /** @throws {GptLayersError} DISPOSED, VALUE where what the step has saved is gone or was changed */
  run(dy: Tensor): readonly (Tensor | null)[] {
    for (const { tensor, version } of this.saved) {
      const { shape } = tensor
      const what = `a tensor of shape [${shape.join(', ')}]`
      if (tensor.disposed) {
        const expected = 'be live, since the forward used it and its gradient reads it'
        throw fail('DISPOSED', what, expected, 'one that was disposed')
      }
      if (tensor.version !== version) {
        const expected =
          "be as it was in the forward, got one that, say, an optimizer's step has changed since"
        throw fail('VALUE', what, expected)
      }
    }
    const wanted = this.targets.map((target) => target !== null)
    return this.checkLive()(dy, wanted)
  }

  /** @throws {GptLayersError} VALUE where `backward` has run the step */
  checkLive(): Gradients {
    if (this.gradients !== null) return this.gradients
    const expected = 'be called once; an earlier backward has freed the graph'
    throw new GptLayersError('VALUE', `should ${expected}. Run the forward again`)
  }

  hold(): this {
    this.#holders++
    return this
  }

  letGo(): void {
    if (--this.#holders === 0) this.release()
  }

  /** The output has lost its last owner. Returns whether the step owns it now, since `gradients` reads it. */
  receiveOutput(output: Tensor): boolean {
    if (this.#ownsOutput) return true
    this.letGo()
    this.#ownsOutput = this.#holders > 0 && this.saved.some(({ tensor }) => tensor === output)
    return this.#ownsOutput
  }

  release(): void {
    waiting.push(this)
    if (isReleasing) return
    isReleasing = true
    for (let step = waiting.pop(); step !== undefined; step = waiting.pop()) {
      const { saved, targets } = step
      step.gradients = null
      step.saved = []
      step.targets = []
      for (const { tensor } of saved) {
        if (tensor.step !== step) tensor.letGo()
        else if (step.#ownsOutput) tensor.dispose()
      }
      for (const target of targets) target?.letGo()
    }
    isReleasing = false
  }
}

let isRecording = true

export function withoutTape<T>(fn: () => T): T {
  const before = isRecording
  isRecording = false
  try {
    return fn()
  } finally {
    isRecording = before
  }
}

export function records(...inputs: (Tensor | null)[]): boolean {
  if (isRecording) for (const input of inputs) if (input?.requiresGrad) return true
  return false
}

/**
 * Records how a tensor was computed, where one of the inputs needs a gradient.
 *
 * @param saved the tensors that `gradients` reads. They are kept until `backward`
 */
export function record(
  output: Tensor,
  inputs: readonly (Tensor | null)[],
  gradients: Gradients,
  saved: readonly Tensor[],
): Tensor {
  if (records(...inputs)) output.step = new Step(output, inputs, gradients, saved)
  return output
}

/**
 * Records a step whose output is a part of its input. Its gradient is added to the input's where it lies: so
 * `backward` through all parts of a tensor takes one tensor of its size, not one for each part.
 *
 * @param addTo adds dy, the part's gradient, to dx, the gradient of the whole input
 */
export function recordPart(output: Tensor, input: Tensor, addTo: (dx: Tensor, dy: Tensor) => void): Tensor {
  if (!records(input)) return output
  const { shape } = input
  const gradients: Gradients = (dy) => {
    const dx = Tensor.full(shape, 0)
    addTo(dx, dy)
    return [dx]
  }
  output.step = new Step(output, [input], gradients, [])
  output.step.addTo = addTo
  return output
}

/**
 * Records a layer's step: a kernel writes the gradients of the inputs.
 *
 * @param owned what `backward` reads, too, and was made here for it alone: the step is its only owner. Where no step
 *   is recorded, it is freed
 */
export function recordKernel(
  output: Tensor,
  {
    inputs,
    saved,
    owned = [],
    backward,
  }: {
    inputs: readonly (Tensor | null)[]
    saved: readonly (Tensor | null)[]
    owned?: readonly (Tensor | null)[]
    backward: (dy: Tensor, ...gradients: (Tensor | null)[]) => void
  },
): Tensor {
  if (records(...inputs)) {
    const shapes = inputs.map((input) => input && input.shape)
    const gradients: Gradients = (dy, wanted) => {
      const written = shapes.map((shape, i) => (shape && wanted[i] ? Tensor.empty(shape) : null))
      backward(dy, ...written)
      return written
    }
    output.step = new Step(output, inputs, gradients, [...saved, ...owned])
  }
  for (const tensor of owned) if (tensor) makerLetsGo(tensor)
  return output
}

export interface BackwardOptions {
  /** whether the graph stays for another `backward`, which adds its gradients; false by default: it is freed */
  retainGraph?: boolean
}

/** See `Tensor.backward`. */
export function backward(root: Tensor, first: unknown, second?: BackwardOptions): void {
  const isOptions = second === undefined && isPlainObject(first)
  const { retainGraph } = checkOptions(isOptions ? first : second, { retainGraph: false })
  Tensor.live(root)
  const { shape, size, requiresGrad } = root
  if (!requiresGrad) {
    const expected = 'require a gradient: be a parameter, or computed from one outside of noGrad'
    throw fail('VALUE', 'the tensor', expected)
  }
  const gradient = isOptions || first === undefined ? null : checkTensorOf('gradient', first, shape)
  if (gradient === null && size !== 1) {
    const expected = `be given for a tensor of ${size} numbers, of shape [${shape.join(', ')}]`
    throw fail('SHAPE', 'gradient', expected, 'none')
  }
  const steps = stepsBefore(root.step)
  const sums: Sums = new Map()
  for (const step of steps) step.hold()
  try {
    // A gradient belongs to who receives it, and to no scope.
    withoutScope(() =>
      withoutTape(() => {
        const dRoot = gradient === null ? Tensor.full(shape, 1) : unchanging(gradient, steps)
        give(root.step ?? root, dRoot, sums)
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

/** @param dy this function owns it, and lets go of it */
function runStep(step: Step, dy: Tensor, sums: Sums): void {
  const { targets } = step
  let gradients: (Tensor | null)[] = []
  try {
    if (addPart(step, dy, sums)) return
    temporary(() => {
      gradients = step.run(dy).map((dx, i) => (targets[i] === null ? null : (dx?.hold() ?? null)))
    })
    for (const [i, dx] of gradients.entries()) {
      // Only gradients on their way may share memory: it is not added to. Another one may be a leaf's `.grad`.
      if (dx === null || dx.byteOffset === dy.byteOffset) continue
      gradients[i] = null
      gradients[i] = ofItsOwn(dx)
    }
    for (const [i, dx] of gradients.entries()) {
      const target = targets[i]
      gradients[i] = null
      if (dx && target) give(target, dx, sums)
    }
  } finally {
    for (const dx of gradients) dx?.letGo()
    dy.letGo()
  }
}

/**
 * Adds a gradient to what has come for the output of a step, or to the `.grad` of a leaf.
 *
 * @param given this function owns it: it keeps it as the sum, or lets go of it
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

/** Adds the gradient of a part to that of the whole. Returns false where the whole has none yet. */
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
 * The gradient that `backward` was given, with the caller as one more owner. A copy where it may be the `.grad` of a
 * leaf, to which the steps add.
 */
function unchanging(gradient: Tensor, steps: readonly Step[]): Tensor {
  const isGradOf = (target: Step | Tensor | null) => target instanceof Tensor && target.grad === gradient
  const mayChange = gradient.isShared || steps.some(({ targets }) => targets.some(isGradOf))
  return mayChange ? gradient.clone() : gradient.hold()
}

/**
 * The tensor itself, or a copy where somebody else owns it or uses its memory.
 *
 * @param given this function owns it; the caller owns the result
 */
function ofItsOwn(given: Tensor): Tensor {
  if (!given.isShared) return given
  try {
    return given.clone()
  } finally {
    given.letGo()
  }
}
