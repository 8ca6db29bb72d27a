import {
  type Check,
  checkBoolean,
  checkNonNegativeFloat32,
  checkObject,
  checkProbability,
  checkSize,
  describe,
  integer,
  oneOf,
} from './check.ts'
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

/** The most blocks: more are a mistake, and would take minutes before memory is full. */
const MAX_LAYERS = 10_000

/** The names of all configurations: one configuration may be given to a model and to each of its layers. */
const CHECKS: Readonly<Record<string, Check>> = {
  vocabSize: checkSize,
  contextLength: checkSize,
  embDim: checkSize,
  nHeads: checkSize,
  nLayers: /* @__PURE__ */ integer(1, MAX_LAYERS),
  dropRate: checkProbability,
  qkvBias: checkBoolean,
  bias: checkBoolean,
  layerNormEpsilon: checkNonNegativeFloat32,
  tieWeights: checkBoolean,
  hiddenDim: checkSize,
  approximate: /* @__PURE__ */ oneOf('tanh', 'none'),
}

/** Those without a default. */
const REQUIRED = ['vocabSize', 'contextLength', 'embDim', 'nHeads', 'nLayers']

export const isConfigName = (name: string): boolean => Object.hasOwn(CHECKS, name)

/**
 * A configuration. A name that no layer knows is refused, because it is nearly always misspelled.
 *
 * @param names of the values that are checked. Other values may be wrong: they are for other layers
 */
export function checkConfig<C extends object>(config: C, ...names: (keyof C & string)[]): C {
  const given = checkObject('config', config)
  for (const name of Object.keys(given)) {
    if (isConfigName(name)) continue
    throw fail('VALUE', 'config', `have names among ${Object.keys(CHECKS).join(', ')}`, describe(name))
  }
  for (const name of names) {
    if (given[name] !== undefined || REQUIRED.includes(name)) CHECKS[name](name, given[name])
  }
  return config
}
