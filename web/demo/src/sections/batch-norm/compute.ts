// Runs one batch through three norms. Uses only the package.

import { BatchNorm, LayerNorm, manualSeed, noGrad, rand, randn, RMSNorm, scope, tensor } from 'gpt-layers'
import { BATCH, FEATURES, type NormName } from './slice.ts'

export const EPS = 1e-5
/** How many batches batch norm has seen in training before it is evaluated. */
const BATCHES_BEFORE = 100
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
    const norm = new BatchNorm(FEATURES)
    noGrad(() => {
      for (let i = 0; i < BATCHES_BEFORE; i++) norm.forward(batch())
    })
    return { x, runningMean: norm.runningMean.data.slice(), runningVar: norm.runningVar.data.slice() }
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
    const norm =
      name === 'layer'
        ? new LayerNorm(FEATURES, { eps: EPS })
        : name === 'rms'
          ? new RMSNorm(FEATURES, { eps: EPS })
          : batchNorm(running)
    const y = noGrad(() => norm.forward(tensor(values)))
    return y.toArray() as number[][]
  })
}

function batchNorm(running: Drawn | null) {
  const norm = new BatchNorm(FEATURES, { eps: EPS })
  if (!running) return norm
  norm.runningMean.data.set(running.runningMean)
  norm.runningVar.data.set(running.runningVar)
  return norm.eval()
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
