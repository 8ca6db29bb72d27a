import * as gpt from 'gpt-layers'
import { GptLayersError, LayerNorm, load, type Tensor } from 'gpt-layers'

export async function normalize(rows: number[][]): Promise<Float32Array> {
  await load({ build: 'simd', threads: 1 })
  const x: Tensor = gpt.tensor(rows)
  try {
    return new LayerNorm(x.shape[1], { eps: 1e-5 }).forward(x).data
  } catch (error) {
    throw error instanceof GptLayersError ? new Error(error.code) : error
  }
}
