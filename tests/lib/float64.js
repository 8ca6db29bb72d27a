// GPT-2's forward pass in float64, of the weights that a model has: the judge of int8 weights.

/** @import { GPTModel, Int8Weight, LayerNorm, Module, Tensor } from 'gpt-layers' */

/**
 * A weight in float64, by output and input.
 *
 * @param {{ weight: Tensor, int8Weight: Int8Weight | null }} layer
 * @param {boolean} isConv whether its float32 weight is [inputs, outputs]
 * @returns {{ values: Float64Array, outputs: number, inputs: number }} values [outputs, inputs]
 */
function matrixOf({ weight, int8Weight }, isConv) {
  const [outputs, inputs] = isConv ? [...weight.shape].reverse() : weight.shape
  const values = new Float64Array(outputs * inputs)
  const stored = int8Weight ? int8Weight.values() : weight.data.slice()
  const scales = int8Weight?.scales()
  const size = int8Weight?.groupSize ?? inputs
  const groups = Math.ceil(inputs / size)
  for (let o = 0, at = 0; o < outputs; o++) {
    for (let i = 0; i < inputs; i++, at++) {
      const value = stored[isConv && !int8Weight ? i * outputs + o : at]
      values[at] = value * (scales?.[o * groups + Math.floor(i / size)] ?? 1)
    }
  }
  return { values, outputs, inputs }
}

/** @param {Float64Array[]} rows @param {ReturnType<typeof matrixOf>} matrix @param {Tensor | null} bias */
const product = (rows, { values, outputs, inputs }, bias) =>
  rows.map((x) => {
    const y = Float64Array.from({ length: outputs }, (_, o) => bias?.data[o] ?? 0)
    for (let o = 0; o < outputs; o++) {
      let sum = 0
      for (let i = 0, at = o * inputs; i < inputs; i++, at++) sum += values[at] * x[i]
      y[o] += sum
    }
    return y
  })

/** @param {Float64Array[]} rows @param {Module} norm a LayerNorm */
function normalized(rows, norm) {
  const { scale, shift, eps } = /** @type {LayerNorm} */ (norm)
  return rows.map((x) => {
    const mean = x.reduce((sum, value) => sum + value, 0) / x.length
    const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length
    return x.map(
      (value, i) =>
        ((value - mean) / Math.sqrt(variance + eps)) * (scale?.data[i] ?? 1) + (shift?.data[i] ?? 0),
    )
  })
}

/** @param {number} x the tanh form */
const gelu = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))

/** @param {Float64Array[]} qkv @param {number} heads @returns {Float64Array[]} */
function attention(qkv, heads) {
  const width = qkv[0].length / 3
  const size = width / heads
  return qkv.map((row, t) => {
    const y = new Float64Array(width)
    for (let begin = 0; begin < width; begin += size) {
      const scores = qkv.slice(0, t + 1).map((other) => {
        let score = 0
        for (let i = 0; i < size; i++) score += row[begin + i] * other[width + begin + i]
        return score / Math.sqrt(size)
      })
      const most = Math.max(...scores)
      const weights = scores.map((score) => Math.exp(score - most))
      const sum = weights.reduce((total, weight) => total + weight, 0)
      weights.forEach((weight, s) => {
        for (let i = 0; i < size; i++) y[begin + i] += (weight / sum) * qkv[s][2 * width + begin + i]
      })
    }
    return y
  })
}

/** @param {Float64Array[]} a @param {Float64Array[]} b */
const added = (a, b) => a.map((row, t) => row.map((value, i) => value + b[t][i]))

/**
 * @param {GPTModel} model in evaluation mode
 * @param {readonly number[]} ids
 * @returns {Float64Array[]} the logits of each token
 */
export function logitsInFloat64(model, ids) {
  const { tokEmb, posEmb, trfBlocks, finalNorm, outHead, embDim } = model
  const tokens = matrixOf(tokEmb, false).values
  let h = ids.map((id, t) =>
    Float64Array.from(
      { length: embDim },
      (_, i) => tokens[id * embDim + i] + posEmb.weight.data[t * embDim + i],
    ),
  )
  for (const { attn, ff, norm1, norm2 } of trfBlocks) {
    const qkv = product(normalized(h, norm1), matrixOf(attn.cAttn, true), attn.cAttn.bias)
    h = added(h, product(attention(qkv, attn.nHeads), matrixOf(attn.cProj, true), attn.cProj.bias))
    const [first, , second] = ff.layers
    const hidden = product(normalized(h, norm2), matrixOf(first, false), first.bias)
    h = added(
      h,
      product(
        hidden.map((row) => row.map(gelu)),
        matrixOf(second, false),
        second.bias,
      ),
    )
  }
  return product(normalized(h, finalNorm), matrixOf(outHead, false), null)
}
