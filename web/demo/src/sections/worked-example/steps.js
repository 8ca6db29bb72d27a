// The steps from the batch to the normalized rows.

/** @import { Settings } from './slice.js' */

/**
 * @typedef {'input' | 'linear' | 'relu' | 'mean' | 'variance' | 'subtract' | 'divide' | 'scale' | 'all'}
 *   StepName
 * @typedef {{ name: StepName, title: string, text: string }} Step
 */

/**
 * @param {Settings} settings
 * @param {{ rows: number, inputs: number, width: number }} sizes
 * @returns {Step[]}
 */
export function stepsOf({ target, unbiased }, { rows, inputs, width }) {
  const divisor = unbiased ? `n − 1 = ${width - 1}` : `n = ${width}`
  const each = rows === 1 ? 'the row' : 'each row'
  /** @type {Step[]} */
  const before = [
    {
      name: 'input',
      title: 'Input',
      text: `${rows === 1 ? 'One sample' : `${rows} samples`}, a row each, of ${inputs} numbers.`,
    },
  ]
  /** @type {Step[]} */
  const layer = [
    {
      name: 'linear',
      title: 'Linear',
      text: `Each of the ${width} results adds up the sample’s ${inputs} numbers, each times a weight of that column, and a bias.`,
    },
    { name: 'relu', title: 'ReLU', text: 'What is below 0 becomes 0; the rest stays.' },
  ]
  /** @type {Step[]} */
  const norm = [
    {
      name: 'mean',
      title: 'Mean',
      text: `One number for ${each}: its sum divided by n = ${width}. No other row has a part in it.`,
    },
    {
      name: 'variance',
      title: 'Variance',
      text: `One more for ${each}: how far its numbers lie from the mean, squared, added up and divided by ${divisor}.`,
    },
    {
      name: 'subtract',
      title: 'Subtract',
      text: `The mean is taken from every number: ${each} slides until its mean is 0.`,
    },
    {
      name: 'divide',
      title: 'Divide',
      text: `By the deviation, the root of the variance (and ε): ${each} is stretched until its variance is 1.`,
    },
    {
      name: 'scale',
      title: 'Scale and shift',
      text: 'Each column times its γ, plus its β. They start as 1 and 0 and do nothing; training changes them, should another mean or width serve better.',
    },
  ]
  return [...before, ...(target === 'outputs' ? layer : []), ...norm]
}
