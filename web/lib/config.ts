import { checkObject, describe } from './check.ts'
import { fail } from './errors.ts'

/**
 * The configuration of the smallest GPT-2 model: 124 million parameters.
 * Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
 *
 * | property | meaning |
 * | --- | --- |
 * | `vocabSize` | number of different tokens |
 * | `contextLength` | greatest number of tokens in a sequence |
 * | `embDim` | number of features of a token |
 * | `nHeads` | attention heads in a transformer block |
 * | `nLayers` | number of transformer blocks |
 * | `dropRate` | probability that dropout zeroes an activation in training mode |
 * | `qkvBias` | whether the query, key and value projections have a bias |
 *
 * `qkvBias: false` is the notebook's choice, for a model trained from scratch. GPT-2's published weights have
 * these biases and a tied output layer. Load them with `GPTModel.fromPretrained`, where the file decides.
 *
 * @example new gpt.TransformerBlock(GPT_CONFIG_124M)
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

/** The names of all configurations: one configuration may be given to a model and to each of its layers. */
export const CONFIG_NAMES: readonly string[] = [
  'vocabSize',
  'contextLength',
  'embDim',
  'nHeads',
  'nLayers',
  'dropRate',
  'qkvBias',
  'bias',
  'layerNormEpsilon',
  'tieWeights',
  'hiddenDim',
  'approximate',
]

/**
 * A configuration. A name that no layer knows is refused, because it is nearly always misspelled.
 *
 * @returns the config; values are not checked
 */
export function checkConfig<C extends object>(config: C): C {
  for (const name of Object.keys(checkObject('config', config))) {
    if (CONFIG_NAMES.includes(name)) continue
    throw fail('VALUE', 'config', `have names among ${CONFIG_NAMES.join(', ')}`, describe(name))
  }
  return config
}
