// Runs one batch through three norms. Batch norm is made of the package's operations: its class and all that a
// Module can do would be 7 kB more of the first load.

import { layerNorm, manualSeed, rand, randn, rmsNorm, scope, tensor } from 'gpt-layers'
import { BATCH, FEATURES, type NormName } from './slice.ts'

export const EPS = 1e-5
/** How many batches batch norm has seen in training before it is evaluated. */
const BATCHES_BEFORE = 100
/** The weight of a new batch in batch norm's running statistics. */
const MOMENTUM = 0.1
/** Of the batch that is shown. */
const SEED = 17

export interface Drawn {
  /** The largest batch there is, [6][5]. */
  x: number[][]
  /** What batch norm kept from the batches before. */
  runningMean: Float32Array
  runningVar: Float32Array
}

/** A place in the batch. */
export type Cell = { row: number; col: number }

/**
 * Draws a batch whose features differ in mean and deviation, as a layer's outputs do, and computes batch
 * norm's running statistics from the batches before it.
 */
export function draw(seed = SEED): Drawn {
  return scope(() => {
    manualSeed(seed)
    const deviation = rand([FEATURES]).mul(0.9).add(0.3)
    const mean = randn([FEATURES]).mul(0.8)
    const batch = () => randn([BATCH.max, FEATURES]).mul(deviation).add(mean)
    const x = batch().toArray() as number[][]
    let running = { mean: tensor(Array(FEATURES).fill(0)), variance: tensor(Array(FEATURES).fill(1)) }
    for (let i = 0; i < BATCHES_BEFORE; i++) {
      const next = batch()
      running = {
        mean: running.mean.mul(1 - MOMENTUM).add(next.mean({ dim: 0 }).mul(MOMENTUM)),
        variance: running.variance.mul(1 - MOMENTUM).add(next.var({ dim: 0 }).mul(MOMENTUM)),
      }
    }
    return { x, runningMean: running.mean.data.slice(), runningVar: running.variance.data.slice() }
  })
}

/**
 * @param values of the batch, [samples][5]
 * @param running what batch norm is evaluated with; null while training
 * @returns null for batch norm in training with a single sample, which it refuses
 */
export function normalize(name: NormName, values: number[][], running: Drawn | null): number[][] | null {
  if (name === 'batch' && !running && values.length < 2) return null
  return scope(() => {
    const x = tensor(values)
    const norms = {
      layer: () => layerNorm(x, FEATURES, null, null, { eps: EPS }),
      rms: () => rmsNorm(x, FEATURES, null, { eps: EPS }),
      batch() {
        const mean = running ? tensor(running.runningMean) : x.mean({ dim: 0 })
        const variance = running ? tensor(running.runningVar) : x.var({ dim: 0, unbiased: false })
        return x.sub(mean).div(variance.add(EPS).sqrt())
      },
    }
    return norms[name]().toArray() as number[][]
  })
}

/** The mean and the variance that normalize a number. RMSNorm: mean 0, and the mean of the squares. */
export function statistics(
  name: NormName,
  values: number[][],
  { row, col }: Cell,
  running: Drawn | null,
): { mean: number; variance: number } {
  if (name === 'batch' && running)
    return { mean: running.runningMean[col], variance: running.runningVar[col] }
  return scope(() => {
    const x = tensor(name === 'batch' ? values.map((row) => row[col]) : values[row])
    return name === 'rms'
      ? { mean: 0, variance: x.mul(x).mean().item() }
      : { mean: x.mean().item(), variance: x.var({ unbiased: false }).item() }
  })
}
