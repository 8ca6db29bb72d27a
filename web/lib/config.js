/**
 * The configuration of GPT-2's smallest model, 124 million parameters, as the notebook's cell 16 has it.
 *
 * - `vocabSize`: tokens in the vocabulary
 * - `contextLength`: tokens a sequence may have
 * - `embDim`: the size of a token's vector
 * - `nHeads`, `nLayers`: attention heads a layer, transformer blocks
 * - `dropRate`: the share of activations that dropout zeroes in training
 * - `qkvBias`: whether the projections to query, key and value have a bias
 */
export const GPT_CONFIG_124M = Object.freeze({
  vocabSize: 50257,
  contextLength: 1024,
  embDim: 768,
  nHeads: 12,
  nLayers: 12,
  dropRate: 0.1,
  qkvBias: false,
})
