import { load, GptLayersError, type Gpt, type Tensor } from 'gpt-layers'

export async function normalize(rows: number[][]): Promise<Float32Array> {
  const gpt: Gpt = await load({ build: 'simd', threads: 1 })
  const x: Tensor = gpt.tensor(rows)
  try {
    return new gpt.LayerNorm(x.shape[1], { eps: 1e-5 }).forward(x).data
  } catch (error) {
    throw error instanceof GptLayersError ? new Error(error.code) : error
  }
}
