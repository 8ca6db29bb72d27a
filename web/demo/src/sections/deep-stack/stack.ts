// A deep stack of small layers: its forward signals and backward gradients. Uses only the package.
//
// A layer is Linear, LayerNorm (in one of the two stacks), activation. Measured is the input of the
// activation: there LayerNorm acts.

import type { Gpt, Tensor } from 'gpt-layers'
import type { Both, Settings, Snapshot } from './words.ts'

const WIDTH = 64
const INPUTS = 8
const SAMPLES = 128
/** The sample whose numbers are shown: its deviation is about that of all. */
const SAMPLE = 1
const LEARNING_RATE = 3e-4

/** What PyTorch's Linear draws, U(-1/√n, 1/√n), has the deviation 1/√(3n). */
const DEVIATION_TO_GAIN = Math.sqrt(3)

/**
 * The task: y is a smooth function of x with mean 0 and variance 1, so the loss of guessing the mean is 1.
 *
 * @param gpt seeded
 * @returns [SAMPLES, INPUTS], [SAMPLES, 1]
 */
export function task(gpt: Gpt): { x: Tensor; y: Tensor } {
  const x = gpt.randn([SAMPLES, INPUTS])
  const y = gpt.scope(() => {
    const rows = x.toArray() as number[][]
    const raw = gpt.tensor(rows.map((row) => [Math.sin(2 * row[0]) + row[1] * row[2] - 0.5 * row[3]]))
    return raw.sub(raw.mean()).div(raw.var({ unbiased: false }).sqrt())
  })
  return { x, y }
}

/** A stack that learns the task: call `measure`, then `step`, in turns. */
export class Stack {
  #gpt
  #task
  #blocks
  #head
  #all
  #optimizer
  /** The weights of the layers as they were drawn. */
  #drawn: { weight: Tensor; values: Float32Array }[] = []

  /**
   * With the same seed both stacks start from the same weights, because LayerNorm draws none.
   *
   * @param settings the weights' deviation is gain / √inputs, the biases start at 0
   */
  constructor(gpt: Gpt, { depth, gain, activation, seed }: Settings, { norm }: { norm: boolean }) {
    gpt.manualSeed(seed)
    this.#gpt = gpt
    this.#task = task(gpt)
    const Activation = { relu: gpt.ReLU, gelu: gpt.GELU, none: null }[activation]
    this.#blocks = Array.from({ length: depth }, (_, i) => {
      const linear = new gpt.Linear(i === 0 ? INPUTS : WIDTH, WIDTH)
      const bias = linear.bias as Tensor
      bias.data.fill(0)
      this.#drawn.push({ weight: linear.weight, values: linear.weight.data.slice() })
      return {
        before: norm ? [linear, new gpt.LayerNorm(WIDTH)] : [linear],
        after: Activation ? [new Activation()] : [],
      }
    })
    this.#head = new gpt.Linear(WIDTH, 1)
    const bias = this.#head.bias as Tensor
    bias.data.fill(0)
    const layers = this.#blocks.flatMap(({ before, after }) => [...before, ...after])
    this.#all = new gpt.Sequential(...layers, this.#head)
    this.#optimizer = new gpt.AdamW(this.#all.parameters(), { lr: LEARNING_RATE })
    this.scale(gain)
  }

  /** Sets all weights of the layers to those first drawn, at another size. */
  scale(gain: number) {
    for (const { weight, values } of this.#drawn) {
      const { data } = weight
      for (let i = 0; i < data.length; i++) data[i] = values[i] * gain * DEVIATION_TO_GAIN
    }
  }

  /** One forward and one backward pass. */
  measure(): Snapshot {
    return this.#gpt.scope(() => {
      this.#optimizer.zeroGrad()
      const gradients: number[] = []
      const moments: (ReturnType<typeof momentsOf> & { sample: Float32Array })[] = []
      const signal = this.#forward((signal, i) => {
        const sample = signal.data.slice(SAMPLE * WIDTH, (SAMPLE + 1) * WIDTH)
        moments.push({ ...momentsOf(signal.data), sample })
        return this.#withGradient(signal, (dy) => (gradients[i] = normOf(dy.data)))
      })
      const loss = this.#gpt.mse(this.#head.forward(signal), this.#task.y)
      loss.backward()
      return {
        loss: loss.item(),
        means: moments.map(({ mean }) => mean),
        deviations: moments.map(({ deviation }) => deviation),
        gradients,
        samples: moments.map(({ sample }) => sample),
      }
    })
  }

  /** The deviation in each layer, by a forward pass alone. */
  deviations(): number[] {
    const found: number[] = []
    this.#gpt.noGrad(() =>
      this.#gpt.scope(() => {
        this.#forward((signal) => {
          found.push(momentsOf(signal.data).deviation)
          return signal
        })
      }),
    )
    return found
  }

  /** @param look gets what goes into each layer's activation, and returns what goes on */
  #forward(look: (signal: Tensor, i: number) => Tensor): Tensor {
    let signal = this.#task.x
    this.#blocks.forEach(({ before, after }, i) => {
      for (const layer of before) signal = layer.forward(signal)
      signal = look(signal, i)
      for (const layer of after) signal = layer.forward(signal)
    })
    return signal
  }

  /**
   * @param look gets the gradient of x in `backward`
   * @returns the same values
   */
  #withGradient(x: Tensor, look: (dy: Tensor) => void): Tensor {
    const gradients = (dy: Tensor) => {
      look(dy)
      return [dy]
    }
    return this.#gpt.record(x.detach(), [x], gradients, [])
  }

  /** One step of AdamW with the measured gradients. */
  step() {
    this.#optimizer.step()
  }

  dispose() {
    for (const held of [this.#all, this.#optimizer, this.#task.x, this.#task.y]) held.dispose()
  }
}

/** Both stacks before any training. */
export class Pair {
  #stacks

  constructor(gpt: Gpt, settings: Settings) {
    this.#stacks = {
      without: new Stack(gpt, settings, { norm: false }),
      with: new Stack(gpt, settings, { norm: true }),
    }
  }

  measure(gain: number): Both<Snapshot> {
    const one = (stack: Stack) => {
      stack.scale(gain)
      return stack.measure()
    }
    return { without: one(this.#stacks.without), with: one(this.#stacks.with) }
  }

  /** The deviation in each layer without layer norm. */
  deviations(gain: number): number[] {
    this.#stacks.without.scale(gain)
    return this.#stacks.without.deviations()
  }

  dispose() {
    this.#stacks.without.dispose()
    this.#stacks.with.dispose()
  }
}

// In float64, because the squares of vanishing and exploding values (1e-25, 1e20) are no float32.

export function momentsOf(values: ArrayLike<number>) {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]
  const mean = sum / values.length
  let squares = 0
  for (let i = 0; i < values.length; i++) squares += (values[i] - mean) ** 2
  return { mean, deviation: Math.sqrt(squares / values.length) }
}

function normOf(values: Float32Array) {
  let squares = 0
  for (let i = 0; i < values.length; i++) squares += values[i] ** 2
  return Math.sqrt(squares)
}
